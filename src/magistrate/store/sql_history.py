"""Implements the history of a store over any Database (see history.py)."""

from collections.abc import Sequence

import msgspec

from magistrate.engine.terms import Revision
from magistrate.engine.warrants import Warrant
from magistrate.errors import RevisionUnavailable
from magistrate.store import sql
from magistrate.store.database import Database, Row
from magistrate.store.history import LoggedChange, LogPlace, RevisionLookup, RevisionTime, Span
from magistrate.store.sql_revisions import SqlRevisions, build_id

BEFORE_ALL: LogPlace = (0, -1)


class SqlHistory(SqlRevisions):
    """Implements HistoryStore."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def find_revision(self, revision: Revision) -> RevisionLookup:
        return await self._find_revision(sql.FIND_REVISION, revision)

    async def find_revision_at(self, time: int) -> RevisionLookup:
        return await self._find_revision(sql.FIND_REVISION_AT, time)

    async def _find_revision(self, statement: str, value: int) -> RevisionLookup:
        [row] = await self.database.read(statement, (value,))
        self.note_newest(row)
        newest, horizon, _, model_revision, *times = row
        found, oldest = (RevisionTime(*one) if one[0] is not None else None for one in (times[:3], times[4:]))
        id = build_id((times[0], times[3]))
        if id is not None:
            self.known.note_stored(id)
        is_readable = found is not None and found.revision >= horizon
        return RevisionLookup(found if is_readable else None, newest, model_revision, oldest)

    async def list_changes(
        self, first: Revision, last: Revision, behind: LogPlace | None, most: int
    ) -> Sequence[LoggedChange]:
        values = (first, last, *(behind or BEFORE_ALL), most)
        rows = await self.database.read(sql.LIST_CHANGES, values, long=True)
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
        rows = await self.database.read(sql.LIST_TIMED_WARRANTS, values, long=True)
        self.check_revision(rows[0], span.last)
        self.check_revision(rows[0], span.first)
        return [*{row[11]: Warrant(*row[3:]) for row in rows if row[3] is not None}.values()]


def _build_change(row: Row) -> LoggedChange:
    revision, position, action, kind, key, before, after, starts_at, expires_at = row
    names = msgspec.json.decode(key, type=tuple[str, ...])
    policy = (before if action in ("deleted", "expired") else after) if kind == "warrant" else None
    return LoggedChange((revision, position), action, kind, names, policy or "", starts_at, expires_at)
