"""Lists the changes of tuples from the change log (docs/openfga.md#changes)."""

from dataclasses import dataclass
from typing import NamedTuple

from magistrate.engine.importers.names import DIRECT
from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import OpenFgaRefusal
from magistrate.operations.context import Context
from magistrate.operations.openfga.names import is_tuple
from magistrate.operations.scheduling import checkpoint, is_time_up
from magistrate.store.contract.events import END_OF_PLACES, Event, LogPart
from magistrate.store.contract.revisions import NOTHING_WRITTEN, Presence, RevisionId

INVALID_TOKEN = "invalid_continuation_token"
ROWS_AT_ONCE = 200
MAX_BYTES = 262_144
"""Limits the contents of the changes that are read at once, as policies and definitions of types have (256 KiB)."""
MAX_PARTS = 100
"""Limits how often the log is read for one page. If none of 20,000 changes is one of a tuple, the page is empty, and
its token leads on."""
WRITTEN, ENDED = ("created",), ("deleted", "expired")
"""List what was done with tuples that are there then, or are not. Other time limits, which only /v2 gives, are no
change."""


class LogPosition(NamedTuple):
    """Says how far the log was read: up to a position in a revision with these bits."""

    revision: Revision
    bits: int | None
    position: int


BEGINNING = LogPosition(*NOTHING_WRITTEN, END_OF_PLACES)


class TupleChange(NamedTuple):
    """Holds a tuple that was written, or else deleted, and when, in microseconds since 1970 UTC."""

    warrant: Warrant
    is_written: bool
    at: int


@dataclass(frozen=True, slots=True)
class ChangePage:
    """Holds changes, the oldest first. `position` is the one to go on from, None if nothing is behind the one at which
    the page began. `was_written` says that something was, even if it is not kept."""

    changes: list[TupleChange]
    position: LogPosition | None
    was_written: bool
    revision: Revision


async def list_changes(
    ctx: Context, after: LogPosition | None, of_type: TypeName | None, since: int | None, limit: int
) -> ChangePage:
    """Lists the changes of tuples on objects of a type, or of all, behind a position; without one, from a time on, or
    from the oldest that are kept. Raises OpenFgaRefusal for a position in a history that the store does not have, or
    behind which some are not kept any more."""
    position = after or await _find_beginning(ctx, since)
    changes: list[TupleChange] = []
    is_last = False
    for _ in range(MAX_PARTS):
        part = LogPart(RevisionId(*position[:2]), ROWS_AT_ONCE, MAX_BYTES, position.position)
        page = await ctx.store.read_log(part)
        if page.presence is not Presence.STORED:
            raise OpenFgaRefusal(INVALID_TOKEN, "the continuation token is of a history that the store does not have")
        if after is not None and page.deleted > after.revision:
            raise OpenFgaRefusal(INVALID_TOKEN, "changes behind this token are not kept any more; begin without one")
        for event in page.rows:
            position = LogPosition(Revision(event.place[0]), event.bits, event.place[2])
            change = _read_change(event, of_type)
            if change is not None and (after is not None or since is None or event.at >= since):
                changes.append(change)
                if len(changes) == limit:
                    break
        is_last = page.following is None
        if is_last or len(changes) == limit:
            break
        if is_time_up():
            await checkpoint()
    was_written = bool(page.deleted) or since is not None
    return ChangePage(changes, position if changes or not is_last else None, was_written, page.newest.revision)


async def _find_beginning(ctx: Context, since: int | None) -> LogPosition:
    """Returns a position before everything that was written from a time on. It may be long before, if revisions of the
    time are not listed any more."""
    if since is None:
        return BEGINNING
    match = (await ctx.store.find_revision_at(since - 1)).match
    return BEGINNING if match is None else LogPosition(match.revision, None, END_OF_PLACES)


async def find_end(ctx: Context) -> LogPosition:
    """Returns the position behind everything that was written."""
    newest = (await ctx.store.read_log(LogPart(ctx.store.known.newest, 0, 0))).newest
    return LogPosition(*newest, END_OF_PLACES)


def _read_change(event: Event, of_type: TypeName | None) -> TupleChange | None:
    """Returns the change of a tuple, None if it is one of something else."""
    if event.kind != "warrant" or event.action not in (*WRITTEN, *ENDED):
        return None
    object_type, object_id, relation, subject_type, subject_id, subject_relation = event.key[:6]
    if not relation.startswith(DIRECT) or of_type not in (None, object_type):
        return None
    is_written = event.action in WRITTEN
    warrant = Warrant(
        TypeName(object_type),
        ObjectId(object_id),
        RelationName(relation),
        TypeName(subject_type),
        ObjectId(subject_id),
        subject_relation,
        (event.content or "") if is_written else "",
        event.at,
        event.place[2],
    )
    return TupleChange(warrant, is_written, event.at) if is_tuple(warrant) else None
