"""Drives evaluations of the engine through the reads they request, all at one revision."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Protocol, TypeVar

from magistrate.engine.evaluation.work import ITEMS_AT_ONCE, Container, Work, dismantle
from magistrate.engine.lists.search import Checkpoints, Steps, WarrantLists
from magistrate.engine.model.model import Model
from magistrate.engine.names import Revision
from magistrate.engine.warrants.reader import AnyRead, WarrantReader
from magistrate.engine.warrants.warrant import Warrant
from magistrate.operations.scheduling import checkpoint, is_time_up, take_checkpoint

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


LEAST_ITEMS = 50
"""Counts the items that a run without any counts as, because of the time it takes to free it."""


class Releasable(Protocol):
    def release(self) -> Iterator[int]:
        """Frees what it holds, in steps; it must not be used afterwards."""
        ...


class Run(Releasable, Protocol[T_co]):
    """Represents an evaluation in progress with one model."""

    @property
    def model(self) -> Model: ...

    @property
    def work(self) -> Work: ...

    def advance(self) -> Sequence[AnyRead] | None:
        """Returns the reads that are missing: an empty sequence if there are none, None when the time slice is over."""
        ...

    def take(self, rows: Sequence[Sequence[Warrant]]) -> None:
        """Takes the rows of these reads, one sequence per read, in order."""
        ...

    def outcome(self) -> T_co | None:
        """Returns the outcome, or None as long as it is not known."""
        ...


async def complete_run(reader: WarrantReader, run: Run[T], at: Revision, is_short: bool = False) -> T:
    """Returns the outcome of a run whose model is that of this revision, and releases the run. One that `is_short`
    yields only when it must, not after each read. Raises what the run raises."""
    try:
        return await drive_run(reader, run, at, is_short)
    finally:
        release_run(run)


async def drive_run(reader: WarrantReader, run: Run[T], at: Revision, is_short: bool = False) -> T:
    """Returns the outcome like `complete_run`, and leaves it to the caller to release the run."""
    while (outcome := run.outcome()) is None:
        reads, is_prefetched = run.advance(), is_short
        if reads:
            result = await reader.read_warrants(reads, at, run.work.left + 1)
            run.take(result.warrants)
            is_prefetched = is_short or result.is_prefetched
        if not is_prefetched or run.work.has_left_aside or is_time_up():
            await take_checkpoint(run.work)
    return outcome


async def complete_steps(reader: WarrantReader, steps: Steps[T], work: Work, at: Revision) -> T:
    """Returns what the steps of a search return. Raises what they raise."""
    warrants: WarrantLists | None = None
    while True:
        work.pass_checkpoint()
        try:
            reads = steps.send(warrants)
        except StopIteration as stop:
            returned: T = stop.value
            return returned
        warrants = (await reader.read_warrants(reads, at, work.left + 1)).warrants if reads is not None else None
        if reads is None or is_time_up():
            await take_checkpoint(work)


async def complete_checkpoints(steps: Checkpoints[T], work: Work) -> T:
    """Returns what steps that need no rows return. Raises what they raise."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            returned: T = stop.value
            return returned
        await take_checkpoint(work)
        work.pass_checkpoint()


_releasing: set[asyncio.Task[None]] = set()
"""Keeps references to these tasks, because the event loop itself holds tasks weakly."""


def release_run(run: Releasable) -> None:
    """Frees what a run holds; if that is much, the rest is freed step by step after the response."""
    release_runs([run])


def release_runs(runs: Iterable[Releasable]) -> None:
    """Frees what several runs hold, like `release_run`."""
    steps, freed = chain.from_iterable(run.release() for run in runs), 0
    for count in steps:
        freed += max(count, LEAST_ITEMS)
        if freed >= ITEMS_AT_ONCE:
            _release_later(steps)
            return


def free_in_steps(evicted: Container) -> None:
    """Frees what a container holds step by step, beginning in a later iteration of the event loop."""
    _release_later(dismantle([evicted]))


async def finish_releases() -> None:
    """Waits until everything is freed that is being freed in steps."""
    while _releasing:
        await asyncio.wait(_releasing)


def _release_later(steps: Iterator[int]) -> None:
    task = asyncio.create_task(_release_on(steps))
    _releasing.add(task)
    task.add_done_callback(_releasing.discard)


async def _release_on(steps: Iterator[int]) -> None:
    for _ in steps:
        await checkpoint()
