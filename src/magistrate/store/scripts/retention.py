"""Deletes what ended longer ago than the retention period, as scripts that are short enough not to delay other
writers.

A revision's age is measured by the clock of its writer, which may be wrong. A revision therefore counts as past only
if it and all revisions before it were written long enough ago: one that is stamped too early does not cause newer
ones to be deleted."""

from collections.abc import Iterable
from itertools import takewhile

from magistrate.engine.names import Revision
from magistrate.store.contract.new_rows import IDEMPOTENCY_HOURS
from magistrate.store.database import Execute, Row, Script, Select
from magistrate.store.scripts.events import delete_decisions
from magistrate.store.scripts.versions import MICROSECONDS_PER_HOUR
from magistrate.store.sql.changes import DELETE_CHANGES, OLDEST_CHANGES
from magistrate.store.sql.decisions import OLDEST_DECISIONS
from magistrate.store.sql.head import MOVE_DELETED_CHANGES, MOVE_HORIZON, READ_HEAD
from magistrate.store.sql.models import NAMED_POLICY, OBJECT_TYPE
from magistrate.store.sql.objects import OBJECT
from magistrate.store.sql.requests import DELETE_ONCE, EXPIRED_ONCE
from magistrate.store.sql.revisions import DELETE_REVISIONS, REVISIONS_FROM
from magistrate.store.sql.tickets import DELETE_TICKET, EXPIRED_TICKETS
from magistrate.store.sql.warrants import DELETE_ENDED_WARRANT, ENDED_WARRANTS

ENDED = (
    *((table.list_ended, table.delete_ended) for table in (OBJECT, OBJECT_TYPE, NAMED_POLICY)),
    (ENDED_WARRANTS, DELETE_ENDED_WARRANT),
)
"""Holds the statements that list rows that ended by a revision, with those that delete such rows."""


def collect(head: Revision, before: int, most: int) -> Script[int]:
    [[(_, horizon, _)]] = yield Select(READ_HEAD, [()])
    [revisions] = yield Select(REVISIONS_FROM, [(horizon, most + 1)])
    past = _past(revisions, before)
    ended_by = past[-1] if past else 0
    ended: list[Row] = []
    for list_ended, delete_ended in ENDED:
        [rows] = yield Select(list_ended, [(ended_by, most)])
        yield Execute(delete_ended, rows)
        ended += rows
    [keys] = yield Select(EXPIRED_ONCE, [(before - IDEMPOTENCY_HOURS * MICROSECONDS_PER_HOUR, most)])
    yield Execute(DELETE_ONCE, keys)
    [tickets] = yield Select(EXPIRED_TICKETS, [(before, most)])
    yield Execute(DELETE_TICKET, tickets)
    if ended:
        # A revision is readable while all rows that ended after it are there.
        horizon = max(row[-1] for row in ended)
        yield Execute(MOVE_HORIZON, [(horizon, horizon)])
    elif len(past) > most:
        # No row ended in these revisions; only moving the horizon reaches the ones behind them.
        yield Execute(MOVE_HORIZON, [(ended_by, ended_by)])
        return len(past)
    return len(ended) + len(keys) + len(tickets)


def delete_events(head: Revision, before: int, most: int) -> Script[int]:
    [oldest] = yield Select(REVISIONS_FROM, [(0, most + 1)])
    past = _past(oldest, before)
    newest = past[-1] if past else 0
    [changes] = yield Select(OLDEST_CHANGES, [(newest, most)])
    # Revisions of changes that are still there stay.
    stays = changes[-1][0] if len(changes) == most else newest
    revisions = [(revision,) for revision in past if revision < stays]
    [decisions] = yield Select(OLDEST_DECISIONS, [(before, most)])
    yield Execute(DELETE_CHANGES, changes[-1:])
    yield Execute(MOVE_DELETED_CHANGES, [(revision, revision) for revision, _ in changes[-1:]])
    yield Execute(DELETE_REVISIONS, revisions[-1:])
    yield from delete_decisions(decisions[-1:])
    return len(changes) + len(revisions) + len(decisions)


def _past(revisions: Iterable[Row], before: int) -> list[int]:
    """Returns the revisions before the first one that was written after `before`."""
    return [revision for revision, _ in takewhile(lambda row: row[1] <= before, revisions)]
