"""Defines the headers that state how fresh an answer must be and how fresh it is (docs/compatibility.md#tokens)."""

from collections.abc import Mapping
from functools import lru_cache

from magistrate.api.http.metrics import METRICS
from magistrate.engine.names import Revision
from magistrate.errors import InvalidRequest
from magistrate.operations.consistency import NO_DEMAND, Freshness, read_token, write_token
from magistrate.store.contract.store import Store
from magistrate.store.contract.stored_rows import Identity

TOKEN_HEADERS = ("Service-Token", "Warrant-Token")

token_of = lru_cache(maxsize=256)(write_token)
_read_short_token = lru_cache(maxsize=1_024)(read_token)
MAX_CACHED_CHARACTERS = 64
"""Limits the texts that are cached; tokens are shorter."""


def read_freshness(identity: Identity, tokens: Mapping[str, str]) -> Freshness:
    """Returns the freshness that these headers demand.

    Raises InvalidRequest if they differ, and InvalidParameter for the token of another store."""
    if not tokens:
        return NO_DEMAND
    if len(set(tokens.values())) > 1:
        raise InvalidRequest(f"{' and '.join(tokens)} must be the same if both are given")
    header, text = next(iter(tokens.items()))
    read = _read_short_token if len(text) <= MAX_CACHED_CHARACTERS else read_token
    freshness = read(identity, header, text)
    if freshness is NO_DEMAND:
        METRICS.unknown_tokens += 1
    return freshness


async def find_token(store: Store, revision: Revision) -> str:
    """Returns the token of a revision of the store. Raises StoreUnavailable."""
    return token_of(store.identity, await store.identify(revision))
