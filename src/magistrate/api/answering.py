"""Answers calls from a store that may be restored, or fail over, at any time (docs/consistency.md#lost-writes)."""

from typing import Any

from magistrate.api.freshness import find_token
from magistrate.api.route import Route
from magistrate.api.service import Answer, Call, answer_call
from magistrate.errors import HistoryReplaced, MagistrateError, RevisionLost
from magistrate.operations.consistency import require_stored

MOST_ATTEMPTS = 3
"""Limits how often a read is begun that turns out to be of a history that the store has no more."""


async def answer_in_history(route: Route, call: Call[Any]) -> tuple[Answer, str]:
    """Returns the answer to a call, and its token. A read is answered from a store that holds the write of its token,
    and from one history of it: if that is replaced meanwhile, it begins anew.

    Raises RevisionLost, HistoryReplaced, and what the handler raises."""
    store = call.context.store
    for _ in range(1 if route.writes else MOST_ATTEMPTS):
        history, demands = store.known.history, store.known.demands
        try:
            answer = await _answer_with_token(route, call)
            if demands != store.known.demands:
                await store.confirm_history()
            token = await find_token(store, answer.revision)
        except RevisionLost:
            raise
        except MagistrateError:
            if route.writes or history == store.known.history:
                raise
        else:
            if route.writes or history == store.known.history:
                return answer, token
    raise HistoryReplaced


async def _answer_with_token(route: Route, call: Call[Any]) -> Answer:
    """Answers a call if the store holds the write of its token, before and after: between both, it may fail over."""
    if not call.freshness.revision:
        return await answer_call(route.handler, call)
    await require_stored(call.context.store, call.freshness.id)
    try:
        answer = await answer_call(route.handler, call)
    except MagistrateError:
        await require_stored(call.context.store, call.freshness.id)
        raise
    await require_stored(call.context.store, call.freshness.id)
    return answer
