"""Drives runs of the engine: makes the reads that they request, all at one revision, yields to other tasks, and frees
what they leave."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Protocol, TypeVar

from magistrate.engine.names import Revision
from magistrate.engine.steps import Checkpoints, Run, Steps
from magistrate.engine.warrants.reader import WarrantReader
from magistrate.engine.work import ITEMS_AT_ONCE, Container, Work, free_containers
from magistrate.operations.scheduling import checkpoint, is_time_up, take_checkpoint

T = TypeVar("T")

MIN_ITEMS = 50
"""Counts the items that a run without any counts as, because of the time it takes to free it."""


class Releasable(Protocol):
    def release(self) -> Iterator[int]:
        """Frees what it holds, in steps; it must not be used afterwards."""
        ...


async def complete_run(reader: WarrantReader, run: Run[T], at: Revision) -> T:
    """Returns the outcome of a run at this revision, and releases the run. Raises what the run raises."""
    try:
        return await drive_run(reader, run, at)
    finally:
        release_run(run)


async def drive_run(reader: WarrantReader | None, run: Run[T], at: Revision | None) -> T:
    """Returns the outcome like `complete_run`, and leaves it to the caller to release the run. A run that reads nothing
    needs no reader."""
    outcome: T = await drive_while(lambda: True, reader, run, at)  # type: ignore[assignment]  # which may be None
    return outcome


async def drive_while(
    is_wanted: Callable[[], bool], reader: WarrantReader | None, run: Run[T], at: Revision | None
) -> T | None:
    """Returns the outcome like `drive_run`, or None as soon as it is not wanted any more.

    It yields to other tasks at the end of a time slice, and after a read only if the time of the iteration is up: most
    reads are small."""
    while is_wanted():
        reads = run.advance()
        if run.has_ended:
            return run.outcome()
        if reads is not None:
            assert reader is not None
            run.take((await reader.read_warrants(reads, at, run.work.left + 1)).warrants if reads else ())
        if reads is None or run.work.has_offloaded_step or is_time_up():
            await take_checkpoint(run.work)
    return None


async def complete_steps(reader: WarrantReader, steps: Steps[T], work: Work, at: Revision) -> T:
    """Returns what steps return. Raises what they raise."""
    return await drive_run(reader, Run(work, steps), at)


async def complete_checkpoints(steps: Checkpoints[T], work: Work) -> T:
    """Returns what steps that need no rows return. Raises what they raise."""
    return await drive_run(None, Run(work, steps), None)


_releasing: set[asyncio.Task[None]] = set()
"""Keeps references to these tasks, because the event loop itself holds tasks weakly."""


def release_run(run: Releasable) -> None:
    """Frees what a run holds; if that is much, the rest is freed step by step after the response."""
    release_runs([run])


def release_runs(runs: Iterable[Releasable]) -> None:
    """Frees what several runs hold, like `release_run`."""
    steps, freed = chain.from_iterable(run.release() for run in runs), 0
    for count in steps:
        freed += max(count, MIN_ITEMS)
        if freed >= ITEMS_AT_ONCE:
            _release_later(steps)
            return


def free_in_steps(evicted: Container) -> None:
    """Frees what a container holds step by step, beginning in a later iteration of the event loop."""
    _release_later(free_containers([evicted]))


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
