"""Determines who sends a request that a gateway passes on, and which rules are in force (docs/gateways.md)."""

from collections.abc import Iterable

import msgspec

from magistrate.api.auth.bearer import SESSION, Bearers
from magistrate.api.auth.callers import SCHEME, Holder, bearer_token
from magistrate.api.bounded_cache import BoundedCache
from magistrate.engine.forwarding.rules import (
    KEY_HEADER,
    ForwardedRequest,
    OriginalRequest,
    Resolution,
    RuleTable,
    TokenKind,
)
from magistrate.errors import InvalidToken, NotFound, RulesUnavailable, Unauthenticated
from magistrate.operations.keys.callers import Caller

RawHeaders = Iterable[tuple[bytes, bytes]]
_KEY_HEADER = KEY_HEADER.lower().encode()
_AUTHORIZATION = b"authorization"


class Forwarded(msgspec.Struct, frozen=True):
    """Represents what rules say about a request, and which they are: others may say something else."""

    table: RuleTable
    resolution: Resolution


BYTES_OF_A_RESOLUTION, RESOLUTION_FACTOR = 1_500, 3
"""Estimate what a resolution takes with what was read of its request, and with what repeats these, as measured."""
MAX_ORIGINAL_BYTES = 1_024
"""Limits the size of what is read of a request whose resolution is kept (1 KiB)."""


class ForwardRules:
    """Holds the rules that are in force, which are replaced when the file changes, and what they said about requests
    that are likely to come again, in up to `max_bytes`. A service that `has_file` lets nothing through until the file
    has been read."""

    def __init__(self, has_file: bool = False, max_bytes: int = 0) -> None:
        self.table: RuleTable | None = None
        self._has_file = has_file
        self._max_bytes = max_bytes
        self._resolutions = self._open_cache()

    @property
    def bytes(self) -> int:
        """Returns an estimate of the bytes that the resolutions take."""
        return self._resolutions.bytes

    def replace_table(self, table: RuleTable) -> None:
        """Puts rules into force in place of those before."""
        self.table, self._resolutions = table, self._open_cache()

    def apply_rules(self, path: str, request: ForwardedRequest) -> Forwarded:
        """Returns what the rules say about a request. Raises NotFound if the service has none, and RulesUnavailable if
        its file was not valid since it started."""
        table = self.table
        if table is None:
            if self._has_file:
                raise RulesUnavailable
            raise NotFound("Endpoint", path, "; the service has no rules, which --forward-rules names")
        original = table.select_original(request)
        if isinstance(original, Resolution):
            return Forwarded(table, original)
        forwarded = self._resolutions.get(original)
        if forwarded is not None:
            self._resolutions.move_to_end(original)
            return forwarded
        forwarded = Forwarded(table, table.resolve_original(original))
        if _count_bytes(original) <= MAX_ORIGINAL_BYTES:
            self._resolutions.keep(original, forwarded)
        return forwarded

    def _open_cache(self) -> "BoundedCache[OriginalRequest, Forwarded]":
        return BoundedCache(self._max_bytes, _measure_resolution)


def _measure_resolution(original: OriginalRequest, forwarded: Forwarded) -> int:
    return BYTES_OF_A_RESOLUTION + RESOLUTION_FACTOR * _count_bytes(original)


def _count_bytes(original: OriginalRequest) -> int:
    return len(original.method) + len(original.host) + len(original.path) + len(original.identity or b"")


def read_gateway_key(headers: RawHeaders) -> str:
    """Returns the key of a gateway as a header Authorization would have it. Raises Unauthenticated unless there is
    one."""
    keys = [value for name, value in headers if name == _KEY_HEADER]
    if len(keys) != 1:
        fault = "Missing" if not keys else "More than one"
        raise Unauthenticated(f"{fault} header {KEY_HEADER}, which has the key of the gateway")
    return f"{SCHEME} {keys[0].decode('latin-1')}"


async def identify_holder(bearers: Bearers, resolution: Resolution, headers: RawHeaders, gateway: Caller) -> Holder:
    """Returns the user whose token a request carries. A session must be one of the store of the gateway. Raises
    Unauthenticated, ProviderUnavailable or StoreUnavailable."""
    authorization = next((value.decode("latin-1") for name, value in headers if name == _AUTHORIZATION), None)
    token = bearer_token(authorization)
    if token is None:
        raise Unauthenticated("Missing header Authorization: send `Authorization: Bearer <token>`")
    identified = await bearers.identify(token)
    caller, holder = identified.caller, identified.holder
    kind = TokenKind.SESSION if caller.origin == SESSION else TokenKind.JWT
    is_of_other_store = kind is TokenKind.SESSION and caller.store != gateway.store
    if holder is None or kind is not resolution.token or is_of_other_store:
        raise InvalidToken
    return holder
