"""Stores the newest decisions, as a script, and builds events from rows."""

from collections.abc import Sequence
from itertools import accumulate, chain, islice
from typing import Any

import msgspec

from magistrate.engine.names import Revision
from magistrate.errors import EventsNotKept
from magistrate.store.contract.events import (
    CHANGES,
    DECISIONS,
    END_OF_PLACES,
    DecisionRecord,
    Event,
    EventFilter,
    EventPosition,
    FollowedEvents,
    LogPage,
    LogPart,
    Place,
)
from magistrate.store.contract.revisions import Presence, RevisionId
from magistrate.store.database import Execute, Row, Rows, Script, Select
from magistrate.store.sql.decisions import (
    DELETE_DECISIONS,
    INSERT_DECISION,
    LAST_DECISION,
    LAST_SURPLUS_DECISION,
    MOVE_DELETED_DECISIONS,
)
from magistrate.store.sql.dialect import Parameter
from magistrate.store.sql.insertions import insert_rows

DELETED_AT_ONCE = 4_000
"""Limits how many decisions one call deletes: more than it adds, so that the limit can be lowered."""

_ALLOWED, _DENIED = "allowed", "denied"

MAX_ROWS = 256
"""Limits the rows of one statement. There are few statements, because between two of them a thread that writes has to
wait for the interpreter."""


def keep_decisions(head: Revision, decisions: Sequence[DecisionRecord], most: int) -> Script[None]:
    [[(last, reached_at)]] = yield Select(LAST_DECISION, [()])
    times = islice(accumulate((decision.at for decision in decisions), max, initial=reached_at), 1, None)
    rows = [
        (number, head, at, *_row(decision))
        for number, (at, decision) in enumerate(zip(times, decisions, strict=True), last + 1)
    ]
    while rows:
        batch = rows[: 1 << (min(len(rows), MAX_ROWS).bit_length() - 1)]
        statement = insert_rows(INSERT_DECISION, len(batch))
        assert statement is not None
        yield Execute(statement, [tuple(chain.from_iterable(batch))])
        del rows[: len(batch)]
    surplus = last + len(decisions) - most
    if surplus > 0:
        [last_surplus] = yield Select(LAST_SURPLUS_DECISION, [(surplus, DELETED_AT_ONCE)])
        yield from delete_decisions(last_surplus)


def delete_decisions(last: Sequence[Row]) -> Script[None]:
    """Deletes the decisions up to the one with this number; none if no number is given."""
    for (number,) in last:
        yield Execute(MOVE_DELETED_DECISIONS, [(number, number)])
        yield Execute(DELETE_DECISIONS, [(number,)])


def _row(decision: DecisionRecord) -> tuple[Parameter, ...]:
    action = _ALLOWED if decision.is_authorized else _DENIED
    key = msgspec.json.encode(decision.names).decode()
    kept = (decision.context, decision.revision, decision.contextual_warrants, int(decision.is_partial))
    return (decision.at, action, key, *kept, decision.actor, decision.request_id, decision.bits)


def build_decision(row: Row) -> DecisionRecord:
    """Builds a decision from the columns (decided_at, action, key, context, revision, contextual_warrants, is_partial,
    actor, request_id, bits)."""
    at, action, key, context, revision, contextual_warrants, is_partial, *origin = row
    names = msgspec.json.decode(key, type=tuple[str, ...])
    columns: Row = (at, action == _ALLOWED, names, context, revision, contextual_warrants, bool(is_partial), *origin)
    return DecisionRecord(*columns)


def build_event(*row: Any) -> Event:
    """Builds an event from the columns (*place, at, made_at, action, kind, key, content, starts_at, expires_at, actor,
    request_id, bits)."""
    revision, source, number, at, made_at, action, kind, key, content, *others = row
    names = msgspec.json.decode(key, type=tuple[str, ...])
    columns: Row = (action, kind, names, content, (revision, source, number), at, made_at, *others)
    return Event(*columns)


def build_followed(rows: Rows, after: EventPosition | None, limit: int, only: EventFilter) -> FollowedEvents:
    """Builds the result from rows of `follow_statement`. Raises EventsNotKept."""
    newest, _, _, changes, decisions, decisions_at, last_decision, *_ = rows[0]
    if after is None:
        after = EventPosition((-1, CHANGES, -1), changes, decisions)
    _require_kept(after, only, (changes, CHANGES, END_OF_PLACES), (decisions_at, DECISIONS, decisions))
    followed = tuple(build_event(*row[7:]) for row in rows if row[7] is not None)
    place = followed[limit - 1].place if len(followed) > limit else (newest, DECISIONS, last_decision)
    return FollowedEvents(followed[:limit], after._replace(place=place))


_LOG_HEAD_COLUMNS, _LOG_SIZE = 11, -1


def build_log_page(rows: Rows, part: LogPart) -> LogPage:
    """Builds the page from rows of `log_statement`."""
    newest, _, bits, newest_at, deleted, deleted_at, _, _, stored, stored_bits, after_at = rows[0][:_LOG_HEAD_COLUMNS]
    listed = [row[_LOG_HEAD_COLUMNS:] for row in rows if row[_LOG_HEAD_COLUMNS] is not None]
    some = [row for row in listed[: part.limit] if row[_LOG_SIZE] < part.max_bytes]
    following = listed[len(some)][0] if len(some) < len(listed) else None
    if part.after.revision > newest:
        presence = Presence.AHEAD
    else:
        is_same = stored is None or part.after.bits is None or part.after.bits == stored_bits
        presence = Presence.STORED if is_same else Presence.REPLACED
    return LogPage(
        rows=tuple(build_event(*row[:_LOG_SIZE]) for row in some),
        following=None if following is None else Revision(following),
        presence=presence,
        after_at=after_at,
        newest=RevisionId(Revision(newest), bits),
        newest_at=newest_at or 0,
        deleted=Revision(deleted),
        deleted_at=deleted_at,
    )


def _require_kept(after: EventPosition, only: EventFilter, last_change: Place, last_decision: Place) -> None:
    """Raises EventsNotKept unless all events behind a position are kept, given the places of the last that are not."""
    kinds = {selected.kind == "decision" for selected in only.kinds}
    lacks_changes = last_change[0] > after.changes_deleted and last_change > after.place
    lacks_decisions = last_decision[2] > after.decisions_deleted and last_decision > after.place
    if (lacks_changes and False in kinds) or (lacks_decisions and True in kinds):
        raise EventsNotKept
