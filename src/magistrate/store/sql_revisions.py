"""Implements over any Database what tells writes with the same number from each other (see known_revisions.py)."""

from magistrate.engine.terms import Revision
from magistrate.errors import HistoryReplaced, RevisionUnavailable
from magistrate.store import sql
from magistrate.store.database import Database, Row
from magistrate.store.known_revisions import KnownRevisions, Presence, RevisionId
from magistrate.store.stored_rows import ALIVE


class SqlRevisions:
    """Implements RevisionStore."""

    database: Database

    @property
    def known(self) -> KnownRevisions:
        return self.database.known

    async def identify(self, revision: Revision) -> RevisionId:
        if (known := self.known.find(revision)) is not None:
            return known
        [row] = await self.database.read(sql.FIND_BITS, (revision,))
        self.note_newest(row)
        found = RevisionId(revision, row[4])
        if row[3] is not None:
            self.known.note_stored(found)
        return found

    async def confirm_history(self) -> None:
        if self.known.unlinked is None:
            return
        since = self.known.newest
        [row] = await self.database.read(sql.LOCATE_REVISION, (since.revision, since.revision))
        self.link(RevisionId(row[0], row[2]), build_id(row[3:5]), since)

    def link(self, newest: RevisionId, before: RevisionId | None, since: RevisionId) -> bool:
        """Does the work of KnownRevisions.link. Raises HistoryReplaced if it is certain that the history is another,
        and not only too long ago to be known."""
        is_same = self.known.link(newest, before, since)
        if not is_same and (before is not None or newest.revision < since.revision):
            raise HistoryReplaced
        return is_same

    async def locate(self, id: RevisionId) -> Presence:
        if id.revision >= ALIVE:  # anyone can make such a token, and databases have no larger integers
            return Presence.AHEAD
        since = self.known.newest
        [row] = await self.database.read(sql.LOCATE_REVISION, (since.revision, id.revision))
        newest = RevisionId(Revision(row[0]), row[2])
        self.known.link(newest, build_id(row[3:5]), since)
        if id.revision > newest.revision:
            return Presence.AHEAD
        found = build_id(row[5:7])
        if found is not None:
            self.known.note_stored(found)
        is_same = found is None or id.bits is None or found.bits == id.bits
        return Presence.STORED if is_same else Presence.REPLACED

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
