"""Reads the change log revision by revision, within bounds in bytes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from magistrate.engine.byte_sizes import OBJECT_BYTES, measure_text
from magistrate.engine.names import Revision
from magistrate.errors import NotRetained, RevisionLost
from magistrate.operations.history.times import render_time
from magistrate.store.contract.events import Action, Event, EventKind, LogPage, LogPart
from magistrate.store.contract.revisions import Presence, RevisionId
from magistrate.store.contract.store import Store

MAX_CHANGES = 500
"""Limits the changes of a page, and therefore of a revision whose changes are held together."""
MAX_BYTES = 262_144
"""Limits what the contents of a page take, in characters (256 KiB); the last of them may exceed it."""
BYTES_OF_A_CHANGE = 700
"""Counts what a change takes in memory besides its texts."""


@dataclass(frozen=True, slots=True)
class WrittenRevision:
    """Holds what one write has changed, in the order in which it did. Its time is the one at which it was reached, in
    microseconds since 1970 UTC, which never goes back.

    `changes` has changes of objects, object types, policies and warrants, also of the warrants that ended with an
    object. It is None if these are more than MAX_CHANGES or take more than MAX_BYTES: `RevisionLog.read_changes` reads
    them piece by piece. A warrant that got other time limits is updated, and has them."""

    id: RevisionId
    written_at: int
    actor: str | None
    request_id: str | None
    changes: Sequence[Event] | None
    size: int
    """Is about how many bytes it takes in memory."""


def measure_change(event: Event) -> int:
    """Returns about how many bytes a change takes in memory."""
    texts = (*event.key, event.content or "", event.actor or "", event.request_id or "")
    return BYTES_OF_A_CHANGE + sum(map(measure_text, texts))


@dataclass(frozen=True, slots=True)
class RevisionBatch:
    """Holds revisions in their order without a gap, and `newest`, the one up to which its reader has seen everything
    then, reached at `newest_at`. Writes that changed nothing are left out."""

    revisions: Sequence[WrittenRevision]
    newest: RevisionId
    newest_at: int


@dataclass(frozen=True, slots=True)
class RevisionPage:
    """Holds what follows a revision that was reached at `after_at`, None if that is not known any more. `is_last` says
    that nothing else follows yet, and `is_ahead` that the revision itself is not written yet."""

    batch: RevisionBatch
    after_at: int | None
    is_last: bool
    is_ahead: bool


class LargePart(NamedTuple):
    """Names a part of the changes of one revision: those of a kind with an action, behind a position in it, from -1
    on."""

    written: RevisionId
    kind: EventKind
    action: Action
    behind: int


class RevisionLog:
    """Reads the log of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def read_newest(self) -> tuple[RevisionId, int]:
        """Returns the newest revision and when it was reached."""
        page = await self._store.read_log(LogPart(self._store.known.newest, 0, 0))
        return page.newest, page.newest_at

    async def read_page(self, after: RevisionId) -> RevisionPage:
        """Returns the revisions that follow one, as many as MAX_CHANGES and MAX_BYTES allow, but at least one.

        Raises RevisionLost if another write has its number, and NotRetained if some that follow it are deleted."""
        page = await self._store.read_log(LogPart(after, MAX_CHANGES, MAX_BYTES))
        if page.presence is Presence.REPLACED:
            raise RevisionLost
        if page.presence is Presence.AHEAD:
            return RevisionPage(RevisionBatch((), after, page.newest_at), None, is_last=True, is_ahead=True)
        _require_kept(page, after.revision)
        revisions = tuple(_build_revisions(page))
        is_last = page.following is None
        newest, newest_at = (page.newest, page.newest_at) if is_last else (revisions[-1].id, revisions[-1].written_at)
        return RevisionPage(RevisionBatch(revisions, newest, newest_at), page.after_at, is_last, is_ahead=False)

    async def read_changes(
        self, written: RevisionId, kind: EventKind, action: Action, behind: int
    ) -> tuple[Sequence[Event], bool]:
        """Returns some changes of one revision behind a position in it, from -1 on, and whether others follow.

        Raises RevisionLost, and NotRetained."""
        page = await self._store.read_log(LogPart(written, MAX_CHANGES, MAX_BYTES, behind, (kind, action)))
        if page.presence is not Presence.STORED:
            raise RevisionLost
        _require_kept(page, Revision(written.revision - 1))
        return page.rows, page.following is not None


def _require_kept(page: LogPage, after: Revision) -> None:
    """Raises NotRetained if changes that were made after a revision are deleted."""
    if page.deleted > after:
        raise NotRetained(render_time(page.deleted_at or page.newest_at))


def _build_revisions(page: LogPage) -> Iterator[WrittenRevision]:
    """Yields the revisions of a page. One of which the page has only a part is left for the next page, unless it is
    the first."""
    for number, (_, rows) in enumerate(groupby(page.rows, lambda event: event.place[0])):
        changes = tuple(rows)
        first = changes[0]
        revision = Revision(first.place[0])
        is_whole = revision != page.following
        if is_whole or not number:
            written = RevisionId(revision, first.bits)
            kept = changes if is_whole else None
            size = OBJECT_BYTES + sum(map(measure_change, kept or ()))
            yield WrittenRevision(written, first.at, first.actor, first.request_id, kept, size)
