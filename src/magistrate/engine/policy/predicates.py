"""Compiles the functions that take a closure: `all(list, {.amount < 10})`.

The closure is evaluated for one element after another, with the element as `#`; each iteration is charged the parts of
its body. Evaluation ends as soon as the result is decided.
"""

from __future__ import annotations  # evaluated annotations are kept with every function: see Evaluate

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from magistrate.engine.policy.equality import hashable
from magistrate.engine.policy.logic import attempt
from magistrate.engine.policy.node import Evaluate, PolicyNode, Refusal, compose_node, compose_of_all, require
from magistrate.engine.policy.run import Fault, PolicyRun
from magistrate.engine.policy.types import (
    ANY,
    ARRAY,
    BOOL,
    GROUPS,
    INT,
    NIL,
    StaticType,
    is_bool,
    is_slice,
    slice_of,
)
from magistrate.engine.policy.values import LISTS, MAPS, Byte, GroupMap, MadeList, json_value, values_of

Verdicts = Iterator[tuple[int, Any]]
"""Yields the elements for which the closure is true, each with its index, evaluated lazily."""


def _is_one(verdicts: Verdicts) -> bool:
    return sum(1 for _ in verdicts) == 1


def _find(verdicts: Verdicts) -> Any:
    return next((element for _, element in verdicts), None)


def _find_index(verdicts: Verdicts) -> int | None:
    return next((index for index, _ in verdicts), None)


_DECIDE: dict[str, Callable[[Verdicts], Any]] = {
    "one": _is_one,
    "count": lambda verdicts: sum(1 for _ in verdicts),
    "filter": lambda verdicts: MadeList([element for _, element in verdicts]),
    "find": _find,
    "findIndex": _find_index,
    "findLast": _find,
    "findLastIndex": _find_index,
}
"""Maps functions whose closures must give bools to the implementation."""

_QUANTIFIERS: dict[str, tuple[bool, bool]] = {"all": (False, False), "any": (True, True), "none": (True, False)}
"""Maps functions to the result of the closure that ends the search, and to what the function is then."""

_ABSORBING: dict[str, bool] = {"some": True, "every": False}
"""Maps functions for which an error for one element does not matter if another decides to the result that decides."""

_BACKWARDS = frozenset({"findLast", "findLastIndex"})
_COLLECTING = frozenset({"map", "filter", "reduce"})
_RESULTS: dict[str, StaticType] = {
    **dict.fromkeys(("all", "any", "none", "one", *_ABSORBING), BOOL),
    **dict.fromkeys(("count", "findIndex", "findLastIndex"), INT),
    "groupBy": GROUPS,
}

CLOSURES_OF_GO = frozenset({*_DECIDE, *_QUANTIFIERS, "map", "groupBy", "reduce"})
TAKE_CLOSURES = CLOSURES_OF_GO | _ABSORBING.keys()

POINTERS: Mapping[str, Mapping[str, StaticType]] = {"map": {"index": INT}, "reduce": {"index": INT, "acc": ANY}}
"""Maps functions to the names that may follow `#` in their closures."""


def over_elements(name: str, source: PolicyNode, body: PolicyNode, initial: PolicyNode | None) -> PolicyNode:
    """Compiles `name(source, {body})`. Within the body, `#` is the element; an outer one is restored after it."""
    if body.type is NIL:
        raise Refusal(f"the closure of {name} does not take <nil>", body.offset)
    if name in _DECIDE or name in _QUANTIFIERS or name in _ABSORBING:
        require(body, (is_bool,), f"the closure of {name}", body.offset)
    children = [source, body] if initial is None else [source, body, initial]
    evaluate = _compile_loop(name, source, body, initial)
    compose = compose_of_all if name in _COLLECTING else compose_node
    node = compose(evaluate, _result_type(name, source, body), source.offset, *children)
    node.is_backwards = node.is_backwards or name in _BACKWARDS
    return node


def _result_type(name: str, source: PolicyNode, body: PolicyNode) -> StaticType:
    if name == "map":
        return slice_of(body.type)
    if name == "reduce":
        return body.type
    if name in _RESULTS:
        return _RESULTS[name]
    if name == "filter":
        return source.type if is_slice(source.type) else ARRAY
    return source.type.element or ANY


def _compile_loop(name: str, source: PolicyNode, body: PolicyNode, initial: PolicyNode | None) -> Evaluate:
    cost = body.weight + 1
    if name == "map":
        return _mapping(source.evaluate, body.evaluate, cost)
    if name == "groupBy":
        return _grouping(source.evaluate, body.evaluate, cost)
    if name == "reduce":
        return _reducing(source.evaluate, body.evaluate, cost, initial.evaluate if initial else None)
    if name in _ABSORBING:
        return _absorbing(_ABSORBING[name], source.evaluate, body.evaluate, cost)
    if name in _QUANTIFIERS:
        return _quantifying(*_QUANTIFIERS[name], source.evaluate, body.evaluate, cost)
    return _deciding(_DECIDE[name], source.evaluate, body.evaluate, cost, step=-1 if name in _BACKWARDS else 1)


def _quantifying(ending: bool, result: bool, source: Evaluate, body: Evaluate, cost: int) -> Evaluate:
    def evaluate(
        run: PolicyRun,
        source: Evaluate = source,
        body: Evaluate = body,
        settings: tuple[int, bool, bool] = (cost, ending, result),
    ) -> bool:
        elements, outer = _elements(run, source), run.item
        cost, ending, decided = settings
        for element in elements if type(elements) is not list else map(json_value, elements):
            run.charge(cost)
            run.item = element
            holds = body(run)
            if type(holds) is not bool:
                raise Fault("the closure must give a bool")
            if holds is ending:
                break
        else:
            decided = not decided
        run.item = outer
        return decided

    return evaluate


def _absorbing(ending: bool, source: Evaluate, body: Evaluate, cost: int) -> Evaluate:
    def evaluate(
        run: PolicyRun,
        source: Evaluate = source,
        body: Evaluate = body,
        settings: tuple[int, bool] = (cost, ending),
    ) -> bool:
        elements, outer = _elements(run, source), (run.item, run.iteration)
        cost, ending = settings
        is_known = True
        for element in values_of(elements):
            run.charge(cost)
            run.item = element
            holds = attempt(run, body)
            if holds is ending:
                run.item, run.iteration = outer
                return ending
            is_known = is_known and type(holds) is bool
        run.item, run.iteration = outer
        if not is_known:
            raise Fault("no element decides")
        return not ending

    return evaluate


def _elements(run: PolicyRun, source: Evaluate) -> Sequence[Any]:
    container = source(run)
    if type(container) in LISTS:
        elements: Sequence[Any] = container
        return elements
    if type(container) is str:
        run.charge(len(container))
        return [Byte(byte) for byte in container.encode(errors="surrogatepass")]
    if not container and type(container) in MAPS:
        return []
    raise Fault("a closure needs a list")


def _verdicts(run: PolicyRun, elements: Sequence[Any], body: Evaluate, cost: int, step: int) -> Verdicts:
    size, is_json = len(elements), type(elements) is list
    for index in range(size) if step > 0 else range(size - 1, -1, -1):
        run.charge(cost)
        element = elements[index]
        if is_json and type(element) is int:
            element = float(element)
        run.item = element
        holds = body(run)
        if type(holds) is not bool:
            raise Fault("the closure must give a bool")
        if holds:
            yield index, element


def _deciding(decide: Callable[[Verdicts], Any], source: Evaluate, body: Evaluate, cost: int, step: int) -> Evaluate:
    def evaluate(
        run: PolicyRun,
        decide: Callable[[Verdicts], Any] = decide,
        source: Evaluate = source,
        body: Evaluate = body,
        settings: tuple[int, int] = (cost, step),
    ) -> Any:
        elements, outer = _elements(run, source), run.item
        decided = decide(_verdicts(run, elements, body, *settings))
        run.item = outer
        return decided

    return evaluate


def _mapping(source: Evaluate, body: Evaluate, cost: int) -> Evaluate:
    def evaluate(run: PolicyRun, source: Evaluate = source, body: Evaluate = body, cost: int = cost) -> list[Any]:
        mapped = MadeList()
        elements, outer = _elements(run, source), (run.item, run.iteration)
        for index, element in enumerate(values_of(elements)):
            run.charge(cost)
            run.item, run.iteration = element, (index, None)
            mapped.append(body(run))
        run.item, run.iteration = outer
        return mapped

    return evaluate


def _grouping(source: Evaluate, body: Evaluate, cost: int) -> Evaluate:
    def evaluate(run: PolicyRun, source: Evaluate = source, body: Evaluate = body, cost: int = cost) -> GroupMap | None:
        groups = GroupMap()
        elements, outer = _elements(run, source), run.item
        for element in values_of(elements):
            run.charge(cost + 1)
            run.item = element
            key = body(run)
            groups.setdefault((type(key), hashable(key)), MadeList()).append(element)
        run.item = outer
        return groups or None  # no groups are nil, as in Go

    return evaluate


def _reducing(source: Evaluate, body: Evaluate, cost: int, initial: Evaluate | None) -> Evaluate:
    def evaluate(run: PolicyRun) -> Any:
        elements = list(values_of(_elements(run, source)))
        run.charge(len(elements) // 8)
        outer = run.item, run.iteration
        first = 0
        if initial is not None:
            value = initial(run)
        elif len(elements):
            value, first = elements[0], 1
        else:
            raise Fault("an empty list has no first element")
        for index in range(first, len(elements)):
            run.charge(cost)
            run.item, run.iteration = elements[index], (index, value)
            value = body(run)
        run.item, run.iteration = outer
        return value

    return evaluate
