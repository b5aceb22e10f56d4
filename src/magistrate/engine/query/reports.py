"""Finds the warrant that is reported on an object: the first that a walk through the parts of a stage reaches."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from magistrate.engine.expansion import Operation, Plan
from magistrate.engine.query.result_set import EXPLICIT, ListValue, truth_of
from magistrate.engine.terms import WILDCARD, ObjectId
from magistrate.engine.truth import TRUE
from magistrate.engine.warrants import Warrant, creation_order

PlacedWarrant = tuple[int, Warrant]
"""Holds a warrant to be reported, after its position among the alternatives."""


class Reporting(Protocol):
    """Represents a stage on which reports are known; see ReverseNode."""

    @property
    def plan(self) -> Plan | Operation | None: ...

    @property
    def branches(self) -> "Sequence[Reporting]": ...

    @property
    def first_warrants(self) -> dict[ObjectId, PlacedWarrant] | None: ...

    @property
    def explicit(self) -> dict[ObjectId, PlacedWarrant]: ...

    def value(self, id: ObjectId) -> ListValue: ...


def note_reports(
    found: dict[ObjectId, PlacedWarrant],
    explicit: dict[ObjectId, PlacedWarrant],
    position: int,
    given: Iterable[tuple[Warrant, ListValue]],
) -> None:
    """Keeps for each object the first of all warrants that give it."""
    for warrant, value in given:
        if value >= TRUE:
            id, placed = warrant.object_id, (position, warrant)
            first = found.setdefault(id, placed)
            if first is not placed and _order(placed) < _order(first):
                found[id] = placed
            if value is EXPLICIT:
                first = explicit.setdefault(id, placed)
                if first is not placed and _order(placed) < _order(first):
                    explicit[id] = placed


def find_report(root: Reporting, id: ObjectId) -> Warrant | None:
    """Returns the warrant that is reported on an object where the stage holds: the first that a walk through its parts
    reaches. No part is visited twice."""
    if root.value(id) is EXPLICIT:
        placed = _first(root.explicit, id)
        return placed[1] if placed else None
    walked: set[Reporting] = set()
    waiting: list[Reporting | Warrant] = [root]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Warrant):
            return one
        if one not in walked and one.value(id) >= TRUE:
            walked.add(one)
            waiting += reversed(_reasons(one, id))
    return None


def _reasons(node: Reporting, id: ObjectId) -> Sequence[Reporting | Warrant]:
    """Returns the parts and warrants that make the stage hold, in order."""
    if isinstance(node.plan, Operation) and node.plan.links:
        placed = _first(node.first_warrants or {}, id)
        return [placed[1]] if placed else []
    if isinstance(node.plan, Operation):
        positions = node.plan.rule.reasons([truth_of(branch.value(id)) for branch in node.branches])
        return [node.branches[position] for position in positions]
    assert node.plan is not None
    placed = _first(node.first_warrants or {}, id)
    if placed is None:
        return node.branches
    positions = [node.plan.positions[branch] for branch in node.plan.branches]
    return [
        *(branch for branch, position in zip(node.branches, positions, strict=True) if position < placed[0]),
        placed[1],
    ]


def _first(placed: Mapping[ObjectId, PlacedWarrant], id: ObjectId) -> PlacedWarrant | None:
    """Returns the first report on this object or on the wildcard."""
    return min([placed[where] for where in (id, WILDCARD) if where in placed], key=_order, default=None)


def _order(placed: PlacedWarrant) -> tuple[int, tuple[int, int]]:
    return placed[0], creation_order(placed[1])
