"""Holds what an expansion from one object reaches: plans and operations on objects, and the edges between them."""

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from magistrate.engine.dismantling import Container, Linked
from magistrate.engine.expansion import Operation, Plan
from magistrate.engine.query.result_set import ListValue, ResultSet
from magistrate.engine.terms import ObjectId, TypeName
from magistrate.engine.truth import FALSE
from magistrate.engine.warrants import Warrant

PlaceOrder = tuple[int, tuple[int, int]]


class PlaceEdge(NamedTuple):
    """Represents an edge from one place to another. `order`: its position among the alternatives, and that of its
    warrant there. `report`: the warrant, if it is to be reported for the subjects found there."""

    order: PlaceOrder
    place: "PlanOnObject"
    limit: ListValue
    report: Warrant | None


class PlanOnObject(Linked):
    """Represents a plan or a gate on one object; WILDCARD: on any object. `given` has the warrants to subjects
    themselves, by their type. `floor` is the value that a quantifier begins with. `result_set` is over the subjects of
    the type that is currently solved.

    There may be tens of thousands, so `given` and `targets` are filled and emptied, never replaced: containers that are
    made while as many others are freed put off the next garbage collection, which then traverses all of them at once
    (wiring/garbage.py)."""

    __slots__ = ("floor", "given", "id", "plan", "result_set", "targets")

    def __init__(self, plan: Plan | Operation, id: ObjectId) -> None:
        self.plan = plan
        self.id = id
        self.given: dict[TypeName, list[Warrant]] = {}
        self.targets: list[PlaceEdge] = []
        self.floor = FALSE
        self.result_set = ResultSet()

    def children(self) -> "Iterator[PlanOnObject]":
        """Returns the places that it has edges to."""
        return map(_place_of, self.targets)

    def unlink(self) -> Sequence[Container]:
        return (self.targets,)


_place_of: Callable[[PlaceEdge], PlanOnObject] = attrgetter("place")
