"""Queues writes, and runs the scripts of those that share a transaction ahead of their execution.

Scripts are run one after another, each as if it were alone; but what all of them look up first is read for all of them
at once. A script then runs against these rows, its changes only noted. When the writes before
it are done, its run counts if they changed nothing that it looked up; otherwise, it is begun again. See
docs/decisions/0072-postgresql-commits-writes-in-groups.md."""

import asyncio
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any, Generic, NamedTuple, TypeVar, cast

from magistrate.engine.names import Revision
from magistrate.store.contract.revisions import KnownRevisions
from magistrate.store.database import (
    Execute,
    FindTogether,
    Observer,
    Row,
    Rows,
    ScriptStart,
    Select,
    Step,
    observe_nothing,
)
from magistrate.store.scripts.heads import HeadMove, read_move
from magistrate.store.sql.changes import INSERT_CHANGE
from magistrate.store.sql.head import MOVE_HEAD, MOVE_MODEL
from magistrate.tracing import CURRENT, NOT_RECORDED, TraceSpan

T = TypeVar("T")

WRITES_AT_ONCE = 64
"""Limits the writes whose scripts run together while others wait for the lock, so that these need not wait long."""

MAX_UNSENT_VALUES = 32_768
"""Limits the values of the statements that a run keeps, unless one statement alone has more: they
take some twenty milliseconds to send, in parts between which other requests run."""


def _open_wait() -> TraceSpan | None:
    span = CURRENT.get()
    return None if span is None else span.open("wait for write")


@dataclass(slots=True, eq=False)
class QueuedWrite:
    """Represents a write that waits for the writer: how its script is begun, the store that it writes to, by its number
    and by what this process knows of its revisions, and the future on which its caller waits, which is cancelled when
    the caller leaves. It is refused after its `deadline`. One that `is_alone` shares its transaction with no other."""

    begin: ScriptStart[Any]
    store: int
    known: KnownRevisions
    result: asyncio.Future[Any]
    deadline: float = math.inf
    makes_revision: bool = True
    is_alone: bool = False
    wait_span: TraceSpan | None = field(default_factory=_open_wait)
    """Is the span of the request that waits, if it is sampled."""

    async def wait(self) -> Any:
        """Returns what the script returns. Raises what it raises."""
        with self.wait_span or NOT_RECORDED:
            return await self.result

    @property
    def was_refused(self) -> bool:
        """Returns whether the caller has received the error that the write was not made."""
        return self.result.done() and not self.result.cancelled()


class WriteResult(NamedTuple):
    """Holds what the script of a write returned, or what it raised."""

    write: QueuedWrite
    value: Any = None
    error: BaseException | None = None

    def answer(self) -> None:
        """Answers the caller, unless it has left or was refused."""
        if self.write.result.done():
            return
        if self.error is None:
            self.write.result.set_result(self.value)
        else:
            self.write.result.set_exception(self.error)


Place = tuple[str, tuple[str, ...]]
"""Identifies a lookup: the statement that finds a row by its key, and the key."""

MissingKeys = Mapping[str, Collection[tuple[str, ...]]]
"""Holds keys to be looked up, by the statement that finds one of them."""


class LookupMemo:
    """Remembers the rows that lookups found in a transaction, until a write of the transaction changes them."""

    def __init__(self) -> None:
        self._rows: dict[Place, Sequence[Row]] = {}
        self._changed: dict[Place, int] = {}
        """Holds the lookups that may find something else than when the transaction began, each with the number of the
        last change."""
        self._former: dict[Place, Sequence[Row] | None] = {}
        """Has what was remembered of these before."""
        self.changes = 0
        """Counts the writes whose changes are remembered."""
        self.resets = 0

    def find_all(self, places: Iterable[Place]) -> Sequence[Sequence[Row]] | None:
        """Returns the rows of each lookup, or None if one is not remembered."""
        rows = [*map(self._rows.get, places)]
        return None if None in rows else cast("Sequence[Sequence[Row]]", rows)

    def select_missing(self, statement: str, keys: Collection[tuple[str, ...]]) -> Collection[tuple[str, ...]]:
        """Returns the keys whose lookup is not remembered."""
        return [key for key in keys if (statement, key) not in self._rows] if self._rows else keys

    def remember(self, statement: str, keys: Iterable[tuple[str, ...]], rows: Iterable[Row]) -> None:
        by_key: dict[tuple[str, ...], Rows] = {key: [] for key in keys}
        width = len(next(iter(by_key), ()))
        for row in rows:
            by_key[row[:width]].append(row)
        self._rows.update(((statement, key), keyed) for key, keyed in by_key.items())

    def apply(self, changes: Mapping[Place, Sequence[Row] | None]) -> None:
        """Remembers what is found after these changes."""
        self.changes += 1
        for place, rows in changes.items():
            self._changed[place] = self.changes
            self._former.setdefault(place, self._rows.get(place))
            if rows is None:
                self._rows.pop(place, None)
            else:
                self._rows[place] = rows

    def is_unchanged(self, places: Iterable[Place], since: int) -> bool:
        """Returns whether these lookups find what they found after so many changes."""
        return not self._changed or all(self._changed.get(place, 0) <= since for place in places)

    def undo_changes(self) -> None:
        """Makes lookups find what they found before all changes."""
        for place, rows in self._former.items():
            if rows is None:
                self._rows.pop(place, None)
            else:
                self._rows[place] = rows
        self._former.clear()
        self._changed.clear()

    def invalidate_all(self) -> None:
        self._rows.clear()
        self.resets += 1


class ScriptRun(Generic[T]):
    """Represents a script that runs as the write after revision `head`. `executes` are the statements that it has
    yielded and that are not run yet; `step` is the step at which it has to wait for the database, None at its end;
    then it has returned `value` or raised `error`."""

    def __init__(self, begin: ScriptStart[Any], head: Revision, memo: LookupMemo, observer: Observer) -> None:
        self.executes: list[Execute] = []
        self.step: Step | None = None
        self.value: Any = None
        self.error: Exception | None = None
        self.move: HeadMove | None = None
        """Says which revision the script made, if any."""
        self.changed: dict[Place, Sequence[Row] | None] = {}
        """Has the lookups that the script changes, with the rows that are found then, if that is known."""
        self.may_change_all = False
        self.logged: list[Row] = []
        """Has the rows on warrants that the script adds to the change log."""
        self.moves_model = False
        self.head = head
        self._memo = memo
        self._resets = memo.resets
        self._observer = observer
        self.looked_up: set[Place] = set()
        self._since = 0
        """Counts the changes that the first lookup saw."""
        self._unsent_values = 0
        self._script = begin(head)
        self.answer(None)

    def counts(self, head: Revision) -> bool:
        """Returns whether the run would be the same if it were begun now, after revision `head`."""
        is_current = self.head == head and self._resets == self._memo.resets
        return is_current and self._memo.is_unchanged(self.looked_up, self._since)

    def list_missing(self) -> MissingKeys:
        """Returns what has to be looked up for the run to advance, before any of its own statements is sent; nothing
        if the run has ended, or cannot advance before the writes ahead of it are done."""
        missing: dict[str, list[tuple[str, ...]]] = {}
        if isinstance(self.step, FindTogether) and not self._reads_own_changes(self.step):
            for find in self.step.finds:
                keys = self._memo.select_missing(find.statement, find.keys)
                if keys and self.changed:
                    keys = [key for key in keys if (find.statement, key) not in self.changed]
                if keys:
                    missing.setdefault(find.statement, []).extend(keys)
        return missing

    def advance(self) -> None:
        """Runs the script until it has to wait for the database, or ends."""
        if isinstance(self.step, FindTogether) and (rows := self._answer(self.step)) is not None:
            self.answer(rows)

    def take_executes(self) -> list[Execute]:
        """Returns the statements that are not run yet, for the caller to run them."""
        taken, self.executes, self._unsent_values = self.executes, [], 0
        return taken

    def answer(self, rows: list[Rows] | None) -> None:
        """Sends the script what its step found, None to begin it, and advances."""
        try:
            while rows is not None or self.step is None:
                # mypy takes the type of what is sent from later steps; None is what begins a generator.
                self.step = self._script.send(rows)  # type: ignore[arg-type]
                if self._observer is not observe_nothing:
                    self._observe(self.step)
                rows = self._answer(self.step)
        except StopIteration as finished:
            self.step, self.value = None, finished.value
        except Exception as error:
            self._script.close()
            self.step, self.error = None, error

    def _observe(self, step: Step) -> None:
        if isinstance(step, Execute | Select):
            if step.values:
                self._observer(step.sql)
        elif isinstance(step, FindTogether):
            for find in step.finds:
                if find.keys:
                    self._observer(find.statement)

    def _answer(self, step: Step) -> list[Rows] | None:
        """Returns what the script is sent for the step, or None if that takes the database."""
        if isinstance(step, Execute):
            if step.values:
                self._note(step)
            return [] if self._unsent_values <= MAX_UNSENT_VALUES else None
        if isinstance(step, Select):
            return None if step.values else []
        if not isinstance(step, FindTogether) or self._reads_own_changes(step):
            return None
        answer: list[Rows] = []
        looked_up: list[Place] = []
        for find in step.finds:
            places = [*zip(repeat(find.statement), find.keys, strict=False)]
            others = [place for place in places if place not in self.changed] if self.changed else places
            rows_of_each = self._memo.find_all(others)
            if rows_of_each is None:
                return None
            looked_up += others
            if len(others) < len(places):
                by_place = {place: rows for place in places if (rows := self.changed.get(place)) is not None}
                by_place.update(zip(others, rows_of_each, strict=True))
                rows_of_each = [by_place[place] for place in places]
            answer.append([*chain.from_iterable(rows_of_each)])
        if not self.looked_up:
            self._since = self._memo.changes
        self.looked_up.update(looked_up)
        return answer

    def _note(self, step: Execute) -> None:
        if step.sql == MOVE_HEAD:
            self.move = read_move(step)
            return
        self.executes.append(step)
        self._unsent_values += len(step.values) * len(step.values[0])
        if step.sql == INSERT_CHANGE:
            self.logged += [row for row in step.values if row[3] == "warrant"]
        self.moves_model |= step.sql == MOVE_MODEL
        if step.changes is None:
            self.may_change_all = True
        else:
            for find, rows in step.changes.items():
                self.changed.update(zip(zip(repeat(find), rows, strict=False), rows.values(), strict=True))

    def _reads_own_changes(self, step: FindTogether) -> bool:
        """Returns whether the step finds what the script has changed itself, without saying what is found then."""
        if not self.changed:
            return self.may_change_all
        return self.may_change_all or any(
            self.changed.get((find.statement, key), []) is None for find in step.finds for key in find.keys
        )


class MissingLookups:
    """Collects what runs have to look up, each key once."""

    def __init__(self, runs: Iterable[ScriptRun[Any]] = ()) -> None:
        self.keys: dict[str, dict[tuple[str, ...], None]] = {}
        """Has the keys by the statement that finds one of them."""
        for run in runs:
            self.add(run)

    def __len__(self) -> int:
        return sum(map(len, self.keys.values()))

    def add(self, run: ScriptRun[Any]) -> None:
        for statement, keys in run.list_missing().items():
            self.keys.setdefault(statement, {}).update(dict.fromkeys(keys))
