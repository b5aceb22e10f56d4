"""Compiles the functions that take a closure: `all(list, {.amount < 10})`.

The closure is evaluated for one element after another, with the element as `#`; each iteration is charged the parts of
its body. Evaluation ends as soon as the result is decided.
"""

from __future__ import annotations  # evaluated annotations are kept with every function: see Evaluate

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from magistrate.engine.policy.equality import hashable
from magistrate.engine.policy.node import Evaluate, PolicyNode, Refusal, compose_node, compose_of_all, require
from magistrate.engine.policy.operations import attempt
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


def _count(verdicts: Verdicts) -> int:
    return sum(1 for _ in verdicts)


def _filter(verdicts: Verdicts) -> MadeList:
    return MadeList([element for _, element in verdicts])


def _find(verdicts: Verdicts) -> Any:
    return next((element for _, element in verdicts), None)


def _find_index(verdicts: Verdicts) -> int | None:
    return next((index for index, _ in verdicts), None)


def _quantifying(source: Evaluate, body: Evaluate, cost: int, ending: bool, result: bool) -> Evaluate:
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


def _absorbing(source: Evaluate, body: Evaluate, cost: int, ending: bool) -> Evaluate:
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


def _deciding(
    source: Evaluate, body: Evaluate, cost: int, decide: Callable[[Verdicts], Any], step: int = 1
) -> Evaluate:
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


def _reducing(source: Evaluate, body: Evaluate, cost: int, initial: Evaluate | None = None) -> Evaluate:
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


class ClosureFunction(NamedTuple):
    """Describes a function that takes a closure: what compiles its loop, and the type of its result, or what finds it
    from the list and the body. The closure gives a bool unless it `gives_any`, and may have `pointers` after `#`. It
    `collects` if all of its parts are needed at once; it `is_own` if Go `expr` lacks it."""

    compile_loop: Callable[..., Evaluate]
    result: StaticType | Callable[[PolicyNode, PolicyNode], StaticType]
    gives_any: bool = False
    collects: bool = False
    is_backwards: bool = False
    is_own: bool = False
    pointers: Mapping[str, StaticType] = {}


def _type_of_element(source: PolicyNode, body: PolicyNode) -> StaticType:
    return source.type.element or ANY


def _type_of_list(source: PolicyNode, body: PolicyNode) -> StaticType:
    return source.type if is_slice(source.type) else ARRAY


CLOSURE_FUNCTIONS: Mapping[str, ClosureFunction] = {
    "all": ClosureFunction(partial(_quantifying, ending=False, result=False), BOOL),
    "any": ClosureFunction(partial(_quantifying, ending=True, result=True), BOOL),
    "none": ClosureFunction(partial(_quantifying, ending=True, result=False), BOOL),
    "some": ClosureFunction(partial(_absorbing, ending=True), BOOL, is_own=True),
    "every": ClosureFunction(partial(_absorbing, ending=False), BOOL, is_own=True),
    "one": ClosureFunction(partial(_deciding, decide=lambda verdicts: _count(verdicts) == 1), BOOL),
    "count": ClosureFunction(partial(_deciding, decide=_count), INT),
    "filter": ClosureFunction(partial(_deciding, decide=_filter), _type_of_list, collects=True),
    "find": ClosureFunction(partial(_deciding, decide=_find), _type_of_element),
    "findIndex": ClosureFunction(partial(_deciding, decide=_find_index), INT),
    "findLast": ClosureFunction(partial(_deciding, decide=_find, step=-1), _type_of_element, is_backwards=True),
    "findLastIndex": ClosureFunction(partial(_deciding, decide=_find_index, step=-1), INT, is_backwards=True),
    "groupBy": ClosureFunction(_grouping, GROUPS, gives_any=True),
    "map": ClosureFunction(
        _mapping,
        lambda source, body: slice_of(body.type),
        gives_any=True,
        collects=True,
        pointers={"index": INT},
    ),
    "reduce": ClosureFunction(
        _reducing,
        lambda source, body: body.type,
        gives_any=True,
        collects=True,
        pointers={"index": INT, "acc": ANY},
    ),
}


def over_elements(name: str, source: PolicyNode, body: PolicyNode, *initial: PolicyNode) -> PolicyNode:
    """Compiles `name(source, {body})`. Within the body, `#` is the element; an outer one is restored after it."""
    function = CLOSURE_FUNCTIONS[name]
    if body.type is NIL:
        raise Refusal(f"the closure of {name} does not take <nil>", body.offset)
    if not function.gives_any:
        require(body, (is_bool,), f"the closure of {name}", body.offset)
    result = function.result
    static = result if isinstance(result, StaticType) else result(source, body)
    initials = [child.evaluate for child in initial]
    evaluate = function.compile_loop(source.evaluate, body.evaluate, body.weight + 1, *initials)
    compose = compose_of_all if function.collects else compose_node
    node = compose(evaluate, static, source.offset, source, body, *initial)
    node.is_backwards = node.is_backwards or function.is_backwards
    return node
