"""How much a piece of code does, measured without a clock: statements, rows, what is charged to budgets, and the lines
of the engine that are run. The last sees what nobody charges."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import magistrate
from benchmarks.counting import CountingDatabase
from magistrate.engine.work import Work, free_containers

COUNTED = tuple(f"{Path(magistrate.__file__).parent / part}/" for part in ("engine", "operations"))


@dataclass(slots=True)
class Effort:
    """`charged`: to all budgets together, in nodes and warrants. `lines`: of Python, in the engine and operations;
    `freeing`: those of them that take apart what is not needed any more, which was charged when it was made."""

    statements: int = 0
    rows: int = 0
    charged: int = 0
    lines: int = 0
    freeing: int = 0


@dataclass(slots=True)
class Lines:
    count: int = 0
    freeing: int = 0


@contextmanager
def counted_lines() -> Iterator[Lines]:
    """Counts the lines of the engine and operations that this thread runs until the context ends."""
    lines = Lines()

    def count_line(frame: FrameType, event: str, argument: Any) -> Any:
        lines.count += event == "line"
        return count_line

    def count_freed(frame: FrameType, event: str, argument: Any) -> Any:
        lines.freeing += event == "line"
        lines.count += event == "line"
        return count_freed

    def count_call(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code is free_containers.__code__:
            return count_freed
        return count_line if frame.f_code.co_filename.startswith(COUNTED) else None

    before = sys.gettrace()
    sys.settrace(count_call)
    try:
        yield lines
    finally:
        sys.settrace(before)


@contextmanager
def measured_effort(database: CountingDatabase) -> Iterator[Effort]:
    """What is done until the context ends, by this thread. It is complete then."""
    effort = Effort()
    statements, rows = database.reads, database.rows

    spend = Work.spend

    def count_work(work: Work, amount: int) -> None:
        effort.charged += amount
        spend(work, amount)

    Work.spend = count_work  # type: ignore[method-assign,assignment]  # it does the same, and counts
    try:
        with counted_lines() as lines:
            yield effort
    finally:
        Work.spend = spend  # type: ignore[method-assign]  # as it was
        effort.lines, effort.freeing = lines.count, lines.freeing
        effort.statements = database.reads - statements
        effort.rows = database.rows - rows
