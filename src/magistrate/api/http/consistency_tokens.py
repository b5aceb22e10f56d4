"""Defines the headers that state how fresh an answer must be and how fresh it is (docs/compatibility.md#tokens)."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from magistrate.api.http.metrics import METRICS
from magistrate.api.route import Route
from magistrate.api.service import Answer, Call, answer_call
from magistrate.engine.names import Revision
from magistrate.errors import HistoryReplaced, InvalidRequest, MagistrateError, RevisionLost
from magistrate.operations.consistency import NO_DEMAND, Freshness, read_token, require_stored, write_token
from magistrate.store.contract.store import Store
from magistrate.store.contract.stored_rows import Identity

TOKEN_HEADERS = ("Service-Token", "Warrant-Token")

token_of = lru_cache(maxsize=256)(write_token)
_read_short_token = lru_cache(maxsize=1_024)(read_token)
MOST_CACHED_CHARACTERS = 64
"""Limits the texts that are cached; tokens are shorter."""


def read_freshness(identity: Identity, given: Mapping[str, str]) -> Freshness:
    """Returns the freshness that these headers demand.

    Raises InvalidRequest if they differ, and InvalidParameter for the token of another store."""
    if not given:
        return NO_DEMAND
    if len(set(given.values())) > 1:
        raise InvalidRequest(f"{' and '.join(given)} must be the same if both are given")
    header, text = next(iter(given.items()))
    read = _read_short_token if len(text) <= MOST_CACHED_CHARACTERS else read_token
    freshness = read(identity, header, text)
    if freshness is NO_DEMAND:
        METRICS.unknown_tokens += 1
    return freshness


async def find_token(store: Store, revision: Revision) -> str:
    """Returns the token of a revision of the store. Raises StoreUnavailable."""
    return token_of(store.identity, await store.identify(revision))


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
