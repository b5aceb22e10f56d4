"""Defines computations as steps: generators that yield when they need rows and when their time slice is over."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from magistrate.engine.model.model import Model
from magistrate.engine.names import RelationName, TypeName
from magistrate.engine.warrants.reader import AnyRead
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import ITEMS_AT_ONCE, ITEMS_FOR_A_NODE, Container, Pieces, Work, free_containers

T = TypeVar("T")

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


def take_pieces(pieces: Pieces[T], work: Work) -> Checkpoints[T]:
    """Returns what is computed in pieces."""
    while True:
        try:
            items = next(pieces)
        except StopIteration as stop:
            returned: T = stop.value
            return returned
        yield from work.checkpoint(items // ITEMS_FOR_A_NODE)


def discard(containers: Sequence[Container], work: Work) -> Checkpoints[None]:
    """Frees what these hold."""
    yield from take_pieces(free_containers(containers), work)


def empty_list(items: list[Any], work: Work) -> Checkpoints[None]:
    """Frees what a list holds."""
    while items:
        count = min(len(items), ITEMS_AT_ONCE)
        del items[-count:]
        yield from work.checkpoint(count // ITEMS_FOR_A_NODE)


def fetch_warrants(reads: Sequence[AnyRead]) -> Steps[WarrantLists]:
    warrants = yield reads
    assert warrants is not None
    return warrants


class Run(Generic[T]):
    """Represents steps in progress: `advance` names the reads that they miss, `take` takes the rows of these, and so on
    until it `has_ended`. Operations drive it (operations/runs.py)."""

    def __init__(self, work: Work, steps: Steps[T], remains: Sequence[Container] = ()) -> None:
        self.work = work
        self.has_ended = False
        self._steps = steps
        self._remains = remains
        self._warrants: WarrantLists | None = None
        self._outcome: T | None = None

    def advance(self) -> Sequence[AnyRead] | None:
        """Returns the reads that are missing, None when the time slice is over; nothing when it has ended. Raises
        what the steps raise."""
        if self.has_ended:
            return []
        self.work.pass_checkpoint()
        warrants, self._warrants = self._warrants, None
        try:
            return self._steps.send(warrants)
        except StopIteration as stop:
            self._outcome, self.has_ended = stop.value, True
            return []

    def take(self, warrants: WarrantLists) -> None:
        """Takes the rows of these reads, one sequence per read, in order."""
        self._warrants = warrants

    def outcome(self) -> T | None:
        """Returns what the steps returned, or None as long as they are not at their end."""
        return self._outcome

    def release(self) -> Iterator[int]:
        """Ends the steps if they are not at their end, and frees what remains of them, in steps. It must not be used
        afterwards."""
        self._steps.close()
        yield from free_containers(self._remains)


def answer_reads(run: Run[T], answer: Callable[[AnyRead], Sequence[Warrant]]) -> Checkpoints[T]:
    """Returns the outcome of a run whose reads are answered at once."""
    while True:
        reads = run.advance()
        if run.has_ended:
            outcome: T = run.outcome()  # type: ignore[assignment]  # which may be None
            return outcome
        if reads:
            run.take([answer(read) for read in reads])
        yield None
