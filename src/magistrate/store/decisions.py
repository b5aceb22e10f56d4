"""Stores the newest decisions, as a script, and reads one of them."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain

import msgspec

from magistrate.engine.terms import Revision
from magistrate.store import sql
from magistrate.store.database import Execute, Row, Script, Select
from magistrate.store.events import DecisionRecord
from magistrate.store.sql import Parameter

DELETED_AT_ONCE = 4_000
"""Limits how many decisions one call deletes: more than it adds, so that the limit can be lowered."""

_ALLOWED, _DENIED = "allowed", "denied"

MOST_ROWS = 256
"""Limits the rows of one statement."""


def keep_decisions(decisions: Sequence[DecisionRecord], most: int) -> Callable[[Revision], Script[None]]:
    def script(head: Revision) -> Script[None]:
        [[(last,)]] = yield Select(sql.LAST_DECISION, [()])
        kept = decisions[-most:]
        newest = last + len(kept)
        rows = [_row(number, one) for number, one in enumerate(kept, last + 1)]
        while rows:
            batch = rows[: 1 << (min(len(rows), MOST_ROWS).bit_length() - 1)]
            yield Execute(_insertion(len(batch)), [tuple(chain.from_iterable(batch))])
            del rows[: len(batch)]
        yield Execute(sql.DELETE_SURPLUS_DECISIONS, [(newest - most, DELETED_AT_ONCE)])

    return script


@lru_cache
def _insertion(rows: int) -> str:
    """Returns one statement for many rows: between two statements, a thread that writes has to wait for the
    interpreter."""
    return sql.INSERT_DECISIONS + ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"] * rows)


def _row(number: int, decision: DecisionRecord) -> tuple[Parameter, ...]:
    action = _ALLOWED if decision.is_authorized else _DENIED
    key = msgspec.json.encode(decision.names).decode()
    kept = (decision.context, decision.revision, decision.contextual_warrants, int(decision.is_partial))
    return (number, decision.at, action, key, *kept, decision.actor, decision.request_id)


def build_decision(row: Row) -> DecisionRecord:
    """Builds a decision from the columns (decided_at, action, key, context, revision, contextual_warrants, is_partial,
    actor, request_id)."""
    at, action, key, context, revision, contextual_warrants, is_partial, *origin = row
    names = msgspec.json.decode(key, type=tuple[str, ...])
    made_at = None if revision is None else Revision(revision)
    kept = (context, made_at, contextual_warrants, bool(is_partial))
    return DecisionRecord(at, action == _ALLOWED, names, *kept, *origin)
