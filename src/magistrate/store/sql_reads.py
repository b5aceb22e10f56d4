"""Reads revisions, warrants and the history from any Database, as three parts of the store."""

import asyncio
import time
from collections.abc import Sequence
from contextvars import Context
from dataclasses import replace

import msgspec

from magistrate.engine.names import Revision
from magistrate.engine.warrants.read_ahead import AheadResult, PlacedRead, ReadsAhead
from magistrate.engine.warrants.reader import AnyRead, ReadResult
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import HistoryReplaced, RevisionUnavailable
from magistrate.store.contract.read_origins import OLDEST_READ
from magistrate.store.contract.revisions import (
    STALE_MS,
    KnownRevisions,
    LoggedChange,
    LogPlace,
    Presence,
    RevisionId,
    RevisionLookup,
    RevisionTime,
    Span,
)
from magistrate.store.contract.stored_rows import ALIVE
from magistrate.store.database import Database, Row, Rows
from magistrate.store.sql.changes import LIST_CHANGES
from magistrate.store.sql.dialect import Parameter
from magistrate.store.sql.reads import ahead_statement, read_statement, split_reads
from magistrate.store.sql.revisions import FIND_BITS, FIND_REVISION, FIND_REVISION_AT, LOCATE_REVISION
from magistrate.store.sql.warrants import LIST_TIMED_WARRANTS


class SqlRevisions:
    """Implements RevisionStore."""

    database: Database
    _locating: asyncio.Task[Presence] | None = None

    @property
    def known(self) -> KnownRevisions:
        return self.database.known

    async def identify(self, revision: Revision) -> RevisionId:
        if (known_id := self.known.find(revision)) is not None:
            return known_id
        [row] = await self.database.read(FIND_BITS, (revision,))
        self.note_newest(row)
        identified = RevisionId(revision, row[4])
        if row[3] is not None:
            self.known.note_stored(identified)
        return identified

    async def confirm_history(self) -> None:
        if self.known.unlinked is None:
            return
        since = self.known.newest
        [row] = await self.database.read(LOCATE_REVISION, (since.revision, since.revision))
        self.link(RevisionId(row[0], row[2]), build_id(row[3:5]), since)

    def link(self, newest: RevisionId, before: RevisionId | None, since: RevisionId) -> bool:
        """Does the work of KnownRevisions.link. Raises HistoryReplaced if it is certain that the history is another,
        and not only too long ago to be known."""
        is_same = self.known.link(newest, before, since)
        if not is_same and (before is not None or newest.revision < since.revision):
            raise HistoryReplaced
        return is_same

    async def locate(self, revision_id: RevisionId) -> Presence:
        if revision_id.revision >= ALIVE:  # anyone can make such a token, and databases have no larger integers
            return Presence.AHEAD
        since, sent_at = self.known.newest, time.monotonic()
        [row] = await self.database.read(LOCATE_REVISION, (since.revision, revision_id.revision))
        newest = RevisionId(Revision(row[0]), row[2])
        self.known.link(newest, build_id(row[3:5]), since)
        self.known.note_confirmed(newest, sent_at)
        if revision_id.revision > newest.revision:
            return Presence.AHEAD
        stored = build_id(row[5:7])
        if stored is not None:
            self.known.note_stored(stored)
        is_same = stored is None or revision_id.bits is None or stored.bits == revision_id.bits
        return Presence.STORED if is_same else Presence.REPLACED

    async def read_at(
        self, sql: str, values: tuple[Parameter, ...], at: Revision | None, long: bool = False
    ) -> tuple[Rows, Revision]:
        """Returns the rows of a statement that begin with NEWEST, and the revision that they are of: `at`, or the
        newest. A replica may answer if it holds that revision; for the newest one, if it is as new as the request
        demands. Raises RevisionUnavailable."""
        if self.database.has_replicas and (rows := await self._read_replica(sql, values, at)) is not None:
            return rows, rows[0][0] if at is None else at
        rows = await self.database.read(sql, values, long)
        return rows, self.check_revision(rows[0], at)

    async def _read_replica(self, sql: str, values: tuple[Parameter, ...], at: Revision | None) -> Rows | None:
        """Returns the rows of a replica, or None. Its newest revision is noted nowhere: what is known of the history is
        what the primary has said."""
        least = await self._find_least(at)
        if least is None or least.bits is None:
            return None

        async def confirm_rows(rows: Rows) -> bool:
            newest, horizon = RevisionId(Revision(rows[0][0]), rows[0][2]), Revision(rows[0][1])
            if at is not None:
                return horizon <= at
            # It may have writes that the primary does not have.
            return newest == least or self.known.holds(newest) or await self.locate(newest) is Presence.STORED

        return await self.database.read_replica(sql, values, least, confirm_rows)

    async def _find_least(self, at: Revision | None) -> RevisionId | None:
        """Returns the revision that a replica has to hold: `at`, or for the newest the newer one of what the request
        demands and of what was the newest STALE_MS ago. Returns None if only the primary may be read."""
        if at is not None:
            return self.known.find(at)
        oldest = OLDEST_READ.get()
        if oldest is None or not await self._follow_primary():
            return None
        return max(self.known.newest, oldest, key=lambda revision_id: revision_id.revision)

    async def _follow_primary(self) -> bool:
        """Returns whether it is known what was the newest revision less than STALE_MS before this was called, or later.
        Where that takes a statement on the primary, all that wait share it."""
        revisions, since = self.known, time.monotonic() - STALE_MS / 1_000
        for _ in range(2):  # the first statement may have been sent before that
            if revisions.confirmed_at >= since and revisions.holds(revisions.newest):
                return True
            if self._locating is None:
                self._locating = asyncio.create_task(self.locate(revisions.newest), context=Context())
                self._locating.add_done_callback(self._end_locating)
            await asyncio.shield(self._locating)  # it goes on for the others if one of them is cancelled
        return revisions.holds(revisions.newest)

    def _end_locating(self, ended: asyncio.Task[Presence]) -> None:
        """Retrieves the error: if nobody waited for the statement any more, asyncio would log that nobody did."""
        self._locating = None
        if not ended.cancelled():
            ended.exception()

    def note_newest(self, row: Row) -> None:
        """Notes what a row that begins with NEWEST says."""
        self.known.note_newest(RevisionId(row[0], row[2]))

    def check_revision(self, row: Row, at: Revision | None) -> Revision:
        """Returns the revision of a read whose rows begin with NEWEST. Raises RevisionUnavailable."""
        newest, horizon = row[0], row[1]
        self.note_newest(row)
        if at is None:
            return Revision(newest)
        if not horizon <= at <= newest:
            raise RevisionUnavailable(at)
        return at


def build_id(row: Row) -> RevisionId | None:
    """Builds the id of a revision from its columns (revision, bits), which are NULL if there is none."""
    revision, bits = row
    return None if revision is None else RevisionId(Revision(revision), bits)


MAX_ROWS = 600
"""Limits the warrants that may be read while others wait, which takes some milliseconds; more are read as a long
read. What the graph cache reads of one key is less, so that it is read once (engine/cache/graph.py: MAX_EACH)."""


async def build_answers(rows: Rows, reads: int) -> list[list[Warrant]]:
    """Returns the warrants of each read request, of which there are `reads`, from the rows of their statement. Other
    tasks run in between. The rows are freed meanwhile: tens of thousands of them at once take milliseconds."""
    answers: list[list[Warrant]] = [[] for _ in range(reads)]
    if rows[0][4] is None:
        return answers
    for start in range(0, len(rows), MAX_ROWS):
        if start:
            await asyncio.sleep(0)
        some = rows[start : start + MAX_ROWS]
        rows[start : start + MAX_ROWS] = [()] * len(some)
        for row in some:
            answers[row[4]].append(Warrant(*row[5:]))
    return answers


MAX_SHORT_IDS = 500
"""Limits the ids of an ordinary read; one with more ids is a long read from the start, because it is likely to return
many rows."""


class SqlWarrantReads(SqlRevisions):
    """Implements the part of a store that reads warrants."""

    async def read_warrants(
        self, reads: Sequence[AnyRead], at: Revision | None, most: int, with_expired: bool = False
    ) -> ReadResult:
        first, *others = split_reads(reads)
        result = await self._read_batch(first, at, most, with_expired)
        if not others:
            return result
        answers = [*result.warrants]
        for batch in others:
            await asyncio.sleep(0)  # each is built and read in some milliseconds, in which nothing else runs
            remaining = most - sum(map(len, answers))
            answers += (await self._read_batch(batch, result.revision, max(remaining, 1), with_expired)).warrants
        return replace(result, warrants=answers)

    async def read_ahead(
        self, reads: Sequence[PlacedRead], ahead: ReadsAhead, at: Revision | None, most: int
    ) -> AheadResult:
        statement = ahead_statement(reads, ahead, at, most, dialect=self.database.dialect)
        rows, revision = await self.read_at(statement.sql, statement.values, at)
        model_revision = Revision(rows[0][3])
        placed = [] if rows[0][4] is None else [(row[4], Warrant(*row[5:])) for row in rows]
        return AheadResult(revision, Revision(rows[0][0]), model_revision, placed)

    async def _read_batch(
        self, reads: Sequence[AnyRead], at: Revision | None, most: int, with_expired: bool
    ) -> ReadResult:
        is_long = any(read.ids is None for read in reads) or sum(len(read.ids or ()) for read in reads) > MAX_SHORT_IDS
        limit = most if is_long else min(most, MAX_ROWS)
        statement = read_statement(reads, at, limit, self.database.dialect, with_expired=with_expired)
        rows, revision = await self.read_at(statement.sql, statement.values, at, long=is_long)
        model_revision = Revision(rows[0][3])
        if limit <= len(rows) and limit < most:
            statement = read_statement(reads, revision, most, self.database.dialect, with_expired=with_expired)
            rows, _ = await self.read_at(statement.sql, statement.values, revision, long=True)
        newest = Revision(rows[0][0])
        return ReadResult(revision, newest, model_revision, await build_answers(rows, len(reads)))


BEFORE_ALL: LogPlace = (0, -1)


class SqlHistory(SqlRevisions):
    """Implements HistoryStore."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def find_revision(self, revision: Revision) -> RevisionLookup:
        return await self._find_revision(FIND_REVISION, revision)

    async def find_revision_at(self, time: int) -> RevisionLookup:
        return await self._find_revision(FIND_REVISION_AT, time)

    async def _find_revision(self, statement: str, value: int) -> RevisionLookup:
        [row] = await self.database.read(statement, (value,))
        self.note_newest(row)
        newest, horizon, _, model_revision, *times = row
        match, oldest = (
            RevisionTime(*columns) if columns[0] is not None else None for columns in (times[:3], times[4:])
        )
        revision_id = build_id((times[0], times[3]))
        if revision_id is not None:
            self.known.note_stored(revision_id)
        is_readable = match is not None and match.revision >= horizon
        return RevisionLookup(match if is_readable else None, newest, model_revision, oldest)

    async def list_changes(
        self, first: Revision, last: Revision, behind: LogPlace | None, most: int
    ) -> Sequence[LoggedChange]:
        values = (first, last, *(behind or BEFORE_ALL), most)
        rows = await self.database.read(LIST_CHANGES, values, long=True)
        newest, deleted = rows[0][:2]
        self.note_newest(rows[0])
        if first < deleted or last > newest:
            raise RevisionUnavailable(first)
        return [_build_change(row[3:]) for row in rows if row[3] is not None]

    async def list_timed_warrants(self, span: Span, most: int) -> Sequence[Warrant]:
        if span.since == span.until:
            return ()
        times = (min(span.since, span.until), max(span.since, span.until))
        limits = (*times, span.first, span.last, *times, span.first)
        values = (*limits, *limits, span.last, span.first, most)
        rows, _ = await self.read_at(LIST_TIMED_WARRANTS, values, span.last, long=True)
        if rows[0][1] > span.first:
            raise RevisionUnavailable(span.first)
        return [*{row[11]: Warrant(*row[3:]) for row in rows if row[3] is not None}.values()]


def _build_change(row: Row) -> LoggedChange:
    revision, position, action, kind, key, before, after, starts_at, expires_at = row
    names = msgspec.json.decode(key, type=tuple[str, ...])
    policy = (before if action in ("deleted", "expired") else after) if kind == "warrant" else None
    return LoggedChange(
        (revision, position), action, kind, names, policy=policy or "", starts_at=starts_at, expires_at=expires_at
    )
