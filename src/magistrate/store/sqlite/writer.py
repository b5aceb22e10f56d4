"""Makes the writes of this process on a SQLite file, in a thread of its own, those that wait together in one
transaction.

Writes that wait are committed as one group, each with a revision of its own: they share the wait for the disk, which is
longer than the writing, and one notification of the event loop. An exception undoes only the write that raised it. See
docs/decisions/0010-sqlite-commits-writes-in-groups.md."""

import asyncio
import queue
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, compress
from operator import itemgetter
from typing import Any, Generic, NoReturn, TypeVar, cast

import apsw

from magistrate.engine.names import Revision
from magistrate.errors import StoreUnavailable
from magistrate.store.contract.revisions import NOTHING_WRITTEN, KnownRevisions, RevisionId, note_writes
from magistrate.store.scripts.database import Execute, Find, FindTogether, Observer, Rows, Script, Select, Step
from magistrate.store.scripts.runs import read_moved_head
from magistrate.store.sql import statements as sql
from magistrate.store.sql.insertions import join_insertions
from magistrate.store.sql.statements import Parameter

KEYS_AT_ONCE = 512
"""Limits the keys that one statement looks up. A statement has at most 32,766 values, and a key up to seven; longer
statements are not faster, and are too long to be kept prepared."""

MANY_KEYS = 32
"""Sets the number of keys from which on columns that are alike in all of them are bound once."""

MOST_GROUPS = 4
"""Limits the groups of keys that are alike in their first column and looked up apart from the others."""

_COLUMNS = re.compile(r"\(([^()]*)\) IN$")

Lookup = tuple[str, Sequence[Parameter]]
"""Holds a statement and its values."""


def find_statements(find: Find) -> Iterator[Lookup]:
    """Yields statements that together find the rows of all keys, four times as fast as one statement per key. The keys
    of a large write are often alike in all columns but one or two, which halves the time."""
    if len(find.keys) == 1:
        yield find.one, find.keys[0]
        return
    for group in _group_keys(find.keys):
        for start in range(0, len(group), KEYS_AT_ONCE):
            yield _find_together(find.any_of, _pad_keys(group[start : start + KEYS_AT_ONCE]))


def _group_keys(keys: Sequence[tuple[str, ...]]) -> Sequence[Sequence[tuple[str, ...]]]:
    """Returns the keys with the same first column together, if these are many and there are few such columns: a write
    has objects and subjects of two types, for example."""
    columns = list(map(itemgetter(0), keys)) if len(keys) >= MANY_KEYS else []
    names = dict.fromkeys(columns)
    if not 1 < len(names) <= MOST_GROUPS:
        return [keys]
    return [list(compress(keys, map(name.__eq__, columns))) for name in names]


def _find_together(any_of: str, keys: Sequence[tuple[str, ...]]) -> Lookup:
    columns = list(zip(*keys, strict=True)) if len(keys) >= MANY_KEYS else ()
    alike = tuple(place for place, column in enumerate(columns) if column.count(column[0]) == len(column))
    values: Iterable[Parameter]
    if 0 < len(alike) < len(columns):
        differing = zip(*(column for place, column in enumerate(columns) if place not in alike), strict=True)
        values = chain((columns[place][0] for place in alike), chain.from_iterable(differing))
    else:
        alike, values = (), chain.from_iterable(keys)
    return _write_statement(any_of, alike, len(keys[0]), len(keys)), list(values)


@lru_cache(maxsize=256)
def _write_statement(any_of: str, alike: Sequence[int], width: int, keys: int) -> str:
    """Returns the statement that looks up `keys` keys of `width` columns. The columns at the places of `alike` are
    equal in all keys; they are bound first, and once."""
    places = ", ".join(["(" + ", ".join("?" * (width - len(alike))) + ")"] * keys)
    if not alike:
        return f"{any_of} (VALUES {places})"
    found = _COLUMNS.search(any_of)
    assert found is not None
    names = found[1].split(", ")
    equal = " AND ".join(f"{names[place]} = ?" for place in alike)
    differing = ", ".join(name for place, name in enumerate(names) if place not in alike)
    return f"{any_of[: found.start()]}{equal} AND ({differing}) IN (VALUES {places})"


def _pad_keys(keys: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Returns the keys, the last of them repeated until their number is a power of two, so that there are few
    different statements."""
    return [*keys, *[keys[-1]] * ((1 << (len(keys) - 1).bit_length()) - len(keys))]


PAGES_BETWEEN_CHECKPOINTS = 1_000
"""Sets how long the log becomes before it is copied, in pages: SQLite's own default."""


class WalCheckpoints:
    """Replaces the automatic checkpoints of a connection: `run_if_due` is to be called after each transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._pages = 0
        connection.set_wal_hook(self._note_pages)

    def run_if_due(self) -> None:
        """Copies the log if it is long enough, as far as readers allow. What cannot be copied is tried again after the
        next transaction: an error of a checkpoint fails no write, as with SQLite's own."""
        if self._pages >= PAGES_BETWEEN_CHECKPOINTS:
            self._pages = 0
            with suppress(apsw.Error):
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def _note_pages(self, connection: apsw.Connection, database: str, pages: int) -> int:
        self._pages = pages
        return apsw.SQLITE_OK


T = TypeVar("T")

WRITES_AT_ONCE = 64
"""Limits the writes that are committed together, so that the first of them need not wait long for the last."""

BEGIN_TRANSACTION = f"BEGIN IMMEDIATE; {sql.READ_HEAD}"


@dataclass(slots=True, eq=False)
class WaitingWrite(Generic[T]):
    """Represents a script that is queued for the writer: the deadline until which it may wait, and the future on which
    its caller waits; it is cancelled when the caller leaves."""

    begin: Callable[[Revision], Script[T]]
    deadline: float
    result: asyncio.Future[T]


Group = Sequence[WaitingWrite[Any]]
Outcome = tuple[WaitingWrite[Any], Any, Exception | None]
"""Holds a write and what it returned, or what it raised."""


class FileWriter:
    """Runs the scripts of writes, one group at a time, on one connection. `check_file` raises StoreUnavailable if the
    file must not be written to, `translate` raises what the store raises for an error of SQLite."""

    def __init__(
        self,
        connection: apsw.Connection,
        observer: Observer,
        check_file: Callable[[], None],
        translate: Callable[[apsw.Error], NoReturn],
        known: KnownRevisions,
    ) -> None:
        self.connection = connection
        self.statements = 0
        self._observer = observer
        self._checkpoints = WalCheckpoints(connection)
        self._check_file = check_file
        self._translate = translate
        self._known = known
        self._waiting: queue.SimpleQueue[WaitingWrite[Any] | None] = queue.SimpleQueue()
        self._head = self._stored_head = NOTHING_WRITTEN
        """Are the newest revision, as the transaction sees it, and what it has stored of it."""
        self._head_before, self._written = NOTHING_WRITTEN, list[RevisionId]()
        """Are the newest revision before the transaction, and those that it makes."""
        self._has_changed = False
        """Says whether the script that runs has changed anything."""
        self._thread = threading.Thread(target=self._write_on, name="sqlite-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    async def transact(self, begin: Callable[[Revision], Script[T]], deadline: float) -> T:
        """Implements Database.transact. A write whose caller leaves is not made, unless it has begun; others in its
        group are."""
        write = WaitingWrite(begin, deadline, asyncio.get_running_loop().create_future())
        self._waiting.put(write)
        result: T = await write.result
        return result

    def close(self) -> None:
        """Makes the writes that wait, and closes the connection."""
        self._waiting.put(None)
        self._thread.join()
        self.connection.close()

    def _write_on(self) -> None:
        """Runs the writer thread until it reads the None behind the last write."""
        while (write := self._waiting.get()) is not None:
            group = [write]
            while len(group) < WRITES_AT_ONCE and not self._waiting.empty():
                following = self._waiting.get()
                if following is None:
                    self._waiting.put(None)
                    break
                group.append(following)
            self._write_group(group)
            self._checkpoints.run_if_due()

    def _write_group(self, group: Group) -> None:
        try:
            outcomes = self._commit_group(group)
            _answer(outcomes, partial(note_writes, self._known, self._head_before, tuple(self._written)))
        except BaseException as error:  # for any error, the thread must continue and no caller may wait forever
            failure = error if isinstance(error, Exception) else StoreUnavailable("the write was broken off")
            _answer([(write, None, failure) for write in group])

    def _commit_group(self, group: Group) -> list[Outcome]:
        """Returns what each write that was in time returned or raised; all that returned are on disk. An exception
        raised here fails all of them."""
        try:
            group = self._begin_group(group)
            outcomes = self._run_together(group)
            if outcomes is None:
                self._roll_back()
                outcomes = [self._run_apart(write) for write in self._begin_group(group)]
            if outcomes:
                self._store_head()
                self._observer("COMMIT")
                self.connection.execute("COMMIT")
        except apsw.Error as error:
            self._roll_back()
            self._translate(error)
        except BaseException:
            self._roll_back()
            raise
        return outcomes

    def _roll_back(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def _begin_group(self, group: Group) -> Group:
        """Begins a transaction and returns the writes that are still in time by then. The others are refused, each at
        its deadline. Without any, no transaction is left open."""
        self._check_file()
        self._roll_back()
        while group := _refuse_late(group):
            earliest = min(write.deadline for write in group)
            self.connection.set_busy_timeout(max(1, int((earliest - time.monotonic()) * 1000)))
            try:
                [(head, _, bits)] = self.connection.execute(BEGIN_TRANSACTION).fetchall()
                self._head = self._stored_head = RevisionId(Revision(cast(int, head)), cast("int | None", bits))
                self._head_before, self._written = self._head, []
                break
            except apsw.BusyError:
                continue
        group = _refuse_late(group)
        if not group:
            self._roll_back()
        return group

    def _run_together(self, group: Group) -> list[Outcome] | None:
        """Runs the writes without savepoints. Returns None if one of several has failed after it had changed something:
        the others have then to be spared what it did."""
        outcomes: list[Outcome] = []
        for write in group:
            self._has_changed = False
            try:
                outcomes.append((write, self._drive(write.begin(self._head.revision)), None))
            except Exception as error:
                if len(group) == 1:
                    raise
                if self._has_changed or isinstance(error, apsw.Error):
                    return None
                outcomes.append((write, None, error))
        return outcomes

    def _run_apart(self, write: WaitingWrite[Any]) -> Outcome:
        """Runs a write in a savepoint, which has a cost but lets an exception undo this write alone and spare the
        rest of the group."""
        self._store_head()
        head, written = self._head, len(self._written)
        self.connection.execute("SAVEPOINT one_write")
        try:
            try:
                return write, self._drive(write.begin(head.revision)), None
            except apsw.Error as error:
                self._translate(error)
        except Exception as error:
            if not self.connection.in_transaction:  # SQLite rolls back by itself when the disk is full
                raise
            self.connection.execute("ROLLBACK TO one_write")
            self._head = self._stored_head = head
            del self._written[written:]
            return write, None, error
        finally:
            if self.connection.in_transaction:
                self.connection.execute("RELEASE one_write")

    def _drive(self, script: Script[T]) -> T:
        try:
            step = next(script)
            while True:
                step = script.send(self._perform(step))
        except StopIteration as finished:
            result: T = finished.value
            return result

    def _perform(self, step: Step) -> list[Rows]:
        if isinstance(step, Execute):
            if step.values:
                self._execute(step)
            return []
        if isinstance(step, FindTogether):
            return [self._find_rows(find) for find in step.finds]
        if isinstance(step, Find):
            return [self._find_rows(step)]
        if isinstance(step, Select):
            return self._select(step)
        step.run()
        return []

    def _execute(self, step: Execute) -> None:
        self._has_changed = True
        if step.sql == sql.MOVE_HEAD:  # once for the group, before anything may read it
            self._head = read_moved_head(step)
            self._written.append(self._head)
            return
        if step.changes is None:
            self._store_head()
        self._observer(step.sql)
        self.statements += len(step.values)
        if len(step.values) == 1:
            self.connection.execute(step.sql, step.values[0])
        else:
            for statement, rows in join_insertions(step.sql, step.values):
                self.connection.executemany(statement, rows)

    def _select(self, step: Select) -> list[Rows]:
        if step.values:
            self._store_head()
            self._observer(step.sql)
            self.statements += len(step.values)
        return [self.connection.execute(step.sql, values).fetchall() for values in step.values]

    def _store_head(self) -> None:
        if self._head != self._stored_head:
            self._observer(sql.MOVE_HEAD)
            self.statements += 1
            self.connection.execute(sql.MOVE_HEAD, (*self._head, self._head.revision))
            self._stored_head = self._head

    def _find_rows(self, step: Find) -> Rows:
        if not step.keys:
            return []
        self._observer(step.one)
        self.statements += 1
        rows: Rows = []
        for statement, values in find_statements(step):
            rows += self.connection.execute(statement, values)
        return rows


def _refuse_late(group: Group) -> Group:
    """Returns the writes that have a caller still waiting, and refuses the others."""
    now = time.monotonic()
    in_time = [write for write in group if write.deadline > now and not write.result.cancelled()]
    if len(in_time) < len(group):
        late = "the database had no time for this write; it was not made"
        _answer([(write, None, StoreUnavailable(late)) for write in group if write not in in_time])
    return in_time


def _answer(outcomes: Sequence[Outcome], note: Callable[[], None] = lambda: None) -> None:
    """Notes what was written, and answers the callers of these writes, in one step of their event loop."""
    if outcomes:
        with suppress(RuntimeError):  # the loop is closed, and nobody waits
            outcomes[0][0].result.get_loop().call_soon_threadsafe(_set_results, outcomes, note)


def _set_results(outcomes: Sequence[Outcome], note: Callable[[], None]) -> None:
    note()
    for write, value, error in outcomes:
        if write.result.done():
            continue
        if error is None:
            write.result.set_result(value)
        else:
            write.result.set_exception(error)
