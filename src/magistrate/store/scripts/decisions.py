"""Stores the newest decisions, as a script, and reads one of them."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate, chain, islice

import msgspec

from magistrate.engine.names import Revision
from magistrate.store.contract.events import DecisionRecord
from magistrate.store.scripts.database import Execute, Row, Script, Select
from magistrate.store.sql import statements as sql
from magistrate.store.sql.statements import Parameter

DELETED_AT_ONCE = 4_000
"""Limits how many decisions one call deletes: more than it adds, so that the limit can be lowered."""

_ALLOWED, _DENIED = "allowed", "denied"

_PLACES = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
MOST_ROWS = 256
"""Limits the rows of one statement."""


def keep_decisions(decisions: Sequence[DecisionRecord], most: int) -> Callable[[Revision], Script[None]]:
    def script(head: Revision) -> Script[None]:
        [[(last, reached_at)]] = yield Select(sql.LAST_DECISION, [()])
        times = islice(accumulate((one.at for one in decisions), max, initial=reached_at), 1, None)
        rows = [
            (number, head, at, *_row(one))
            for number, (at, one) in enumerate(zip(times, decisions, strict=True), last + 1)
        ]
        while rows:
            batch = rows[: 1 << (min(len(rows), MOST_ROWS).bit_length() - 1)]
            yield Execute(_insertion(len(batch)), [tuple(chain.from_iterable(batch))])
            del rows[: len(batch)]
        surplus = last + len(decisions) - most
        if surplus > 0:
            [last_surplus] = yield Select(sql.LAST_SURPLUS_DECISION, [(surplus, DELETED_AT_ONCE)])
            yield from delete_decisions(last_surplus)

    return script


def delete_decisions(last: Sequence[Row]) -> Script[None]:
    """Deletes the decisions up to the one with this number; none if no number is given."""
    for (number,) in last:
        yield Execute(sql.MOVE_DELETED_DECISIONS, [(number, number)])
        yield Execute(sql.DELETE_DECISIONS, [(number,)])


@lru_cache
def _insertion(rows: int) -> str:
    """Returns one statement for many rows: between two statements, a thread that writes has to wait for the
    interpreter."""
    return sql.INSERT_DECISIONS + ", ".join([_PLACES] * rows)


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
    made_at = None if revision is None else Revision(revision)
    kept = (context, made_at, contextual_warrants, bool(is_partial))
    return DecisionRecord(at, action == _ALLOWED, names, *kept, *origin)
