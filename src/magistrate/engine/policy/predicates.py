"""Compiles the functions that take a closure: `all(list, {.amount < 10})`.

The closure is evaluated for one element after another, with the element as `#`; each iteration is charged the parts of
its body. Evaluation ends as soon as the result is decided.
"""

from __future__ import annotations  # evaluated annotations are kept with every function: see Evaluate

from collections.abc import Callable, Iterator
from typing import Any

from magistrate.engine.policy.kinds import ANY, ARRAY, BOOL, INT, LIST, NIL, Kinds
from magistrate.engine.policy.node import Evaluate, PolicyNode, compose_node, require
from magistrate.engine.policy.run import Fault, PolicyRun

Verdicts = Iterator[tuple[Any, bool]]
"""Yields each element with the result of the closure for it, evaluated lazily."""


def _index_of_first(verdicts: Verdicts) -> int | None:
    return next((index for index, (_, holds) in enumerate(verdicts) if holds), None)


PREDICATES: dict[str, tuple[Kinds, Callable[[Verdicts], Any]]] = {
    "all": (BOOL, lambda verdicts: all(holds for _, holds in verdicts)),
    "any": (BOOL, lambda verdicts: any(holds for _, holds in verdicts)),
    "none": (BOOL, lambda verdicts: not any(holds for _, holds in verdicts)),
    "one": (BOOL, lambda verdicts: sum(holds for _, holds in verdicts) == 1),
    "count": (INT, lambda verdicts: sum(holds for _, holds in verdicts)),
    "filter": (ARRAY, lambda verdicts: [element for element, holds in verdicts if holds]),
    "find": (ANY, lambda verdicts: next((element for element, holds in verdicts if holds), None)),
    "findIndex": (INT | NIL, _index_of_first),
}
"""Maps names to the kind of the result and the implementation. Their closures must give bools; that of `map` may give
anything."""

TAKE_CLOSURES = frozenset({*PREDICATES, "map"})


def over_elements(name: str, source: PolicyNode, body: PolicyNode, offset: int) -> PolicyNode:
    """Compiles `name(source, {body})`. Within the body, `#` is the element; an outer one is restored after it."""
    require(source.kinds, LIST, name, source.offset)
    if name == "map":
        evaluate = _mapping(source.evaluate, body.evaluate, body.weight + 1)
        result = ARRAY
    else:
        require(body.kinds, BOOL, f"the closure of {name}", body.offset)
        result, decide = PREDICATES[name]
        evaluate = _deciding(decide, source.evaluate, body.evaluate, body.weight + 1)
    node = compose_node(evaluate, result, offset, source, body)
    node.free_item = source.free_item
    return node


def _elements(run: PolicyRun, source: Evaluate) -> list[Any] | range:
    found = source(run)
    if type(found) is list or type(found) is range:
        return found
    raise Fault("a closure needs a list")


def _verdicts(run: PolicyRun, elements: list[Any] | range, body: Evaluate, cost: int) -> Verdicts:
    for element in elements:
        run.charge(cost)
        run.item = element
        holds = body(run)
        if type(holds) is not bool:
            raise Fault("the closure must give a bool")
        yield element, holds


def _deciding(decide: Callable[[Verdicts], Any], source: Evaluate, body: Evaluate, cost: int) -> Evaluate:
    def evaluate(
        run: PolicyRun,
        decide: Callable[[Verdicts], Any] = decide,
        source: Evaluate = source,
        body: Evaluate = body,
        cost: int = cost,
    ) -> Any:
        elements, outer = _elements(run, source), run.item
        decided = decide(_verdicts(run, elements, body, cost))
        run.item = outer
        return decided

    return evaluate


def _mapping(source: Evaluate, body: Evaluate, cost: int) -> Evaluate:
    def evaluate(run: PolicyRun, source: Evaluate = source, body: Evaluate = body, cost: int = cost) -> list[Any]:
        mapped: list[Any] = []
        elements, outer = _elements(run, source), run.item
        for element in elements:
            run.charge(cost)
            run.item = element
            mapped.append(body(run))
        run.item = outer
        return mapped

    return evaluate
