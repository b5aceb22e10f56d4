"""Runs searches as generators, which yield when they need rows and when their time slice is over."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from magistrate.engine.evaluation.facts import WARRANTS_FOR_A_NODE
from magistrate.engine.evaluation.work import ITEMS_AT_ONCE, Container, Work, dismantle
from magistrate.engine.model.model import Model
from magistrate.engine.names import RelationName, TypeName
from magistrate.engine.warrants.reader import AnyRead
from magistrate.engine.warrants.warrant import Warrant

T = TypeVar("T")

ITEMS_FREED_FOR_A_NODE = 10
"""Counts the items that are freed in the time of one unit of work."""

WarrantLists = Sequence[Sequence[Warrant]]

Steps = Generator[Sequence[AnyRead] | None, WarrantLists | None, T]
"""The generator yields the reads that are missing and is sent their rows; it yields None when its time slice is over
and is sent None."""

Checkpoints = Generator[None, WarrantLists | None, T]
"""The generator yields when its time slice is over; it needs no rows."""


def prepare_plans(model: Model, names: Iterable[tuple[TypeName, RelationName]], work: Work) -> Checkpoints[None]:
    """Compiles the plans of all these names."""
    for of_type, relation in names:
        while not model.prepare(of_type, relation, work):
            yield None


def take_steps(processing: Generator[int, None, T], work: Work) -> Checkpoints[T]:
    """Returns what a generator returns that yields how many rows it has processed since it yielded last."""
    while True:
        try:
            warrants = next(processing)
        except StopIteration as stop:
            returned: T = stop.value
            return returned
        work.hasten_checkpoint(warrants // WARRANTS_FOR_A_NODE)
        if work.needs_checkpoint:
            yield None


def discard(containers: Sequence[Container], work: Work) -> Checkpoints[None]:
    """Frees what these hold."""
    for removed in dismantle(containers):
        work.hasten_checkpoint(removed // ITEMS_FREED_FOR_A_NODE)
        if work.needs_checkpoint:
            yield None


def empty_list(items: list[Any], work: Work) -> Checkpoints[None]:
    """Frees what a list holds."""
    while items:
        count = min(len(items), ITEMS_AT_ONCE)
        del items[-count:]
        work.hasten_checkpoint(count // ITEMS_FREED_FOR_A_NODE)
        if work.needs_checkpoint:
            yield None


def fetch_warrants(reads: Sequence[AnyRead]) -> Steps[WarrantLists]:
    warrants = yield reads
    assert warrants is not None
    return warrants


class Search(Generic[T]):
    """Wraps Steps in the interface that operations drive, like an Evaluation."""

    def __init__(self, model: Model, work: Work, steps: Steps[T], remains: Sequence[Container] = ()) -> None:
        self.model = model
        self.work = work
        self._steps = steps
        self._remains = remains
        self._warrants: WarrantLists | None = None
        self._outcome: T | None = None

    def advance(self) -> Sequence[AnyRead] | None:
        """Implements Run.advance (see operations/checks/evaluating.py). Raises BudgetExceeded."""
        if self._outcome is not None:
            return []
        self.work.pass_checkpoint()
        warrants, self._warrants = self._warrants, None
        try:
            return self._steps.send(warrants)
        except StopIteration as stop:
            self._outcome = stop.value
            return []

    def take(self, warrants: WarrantLists) -> None:
        self._warrants = warrants

    def outcome(self) -> T | None:
        return self._outcome

    def release(self) -> Iterator[int]:
        """Ends the steps if they are not complete, and dismantles what remains of them."""
        self._steps.close()
        yield from dismantle(self._remains)
