"""Decisions as they are kept, the newest of them, by a script."""

from collections.abc import Callable, Sequence

import msgspec

from magistrate.engine.terms import Revision
from magistrate.store import sql
from magistrate.store.database import Execute, Script, Select
from magistrate.store.events import NewDecision
from magistrate.store.sql import Parameter

FORGOTTEN_AT_ONCE = 4_000
"""With one call, at the most: more than it brings, for when fewer are to be kept than before."""


def keep_decisions(decisions: Sequence[NewDecision], most: int) -> Callable[[Revision], Script[None]]:
    def script(head: Revision) -> Script[None]:
        [[(last,)]] = yield Select(sql.LAST_DECISION, [()])
        kept = decisions[-most:]
        newest = last + len(kept)
        yield Execute(sql.INSERT_DECISION, [_row(number, one) for number, one in enumerate(kept, last + 1)])
        yield Execute(sql.FORGET_SURPLUS_DECISIONS, [(newest - most, FORGOTTEN_AT_ONCE)])

    return script


def _row(number: int, decision: NewDecision) -> tuple[Parameter, ...]:
    action = "allowed" if decision.is_authorized else "denied"
    return number, decision.at, action, msgspec.json.encode(decision.names).decode(), decision.context
