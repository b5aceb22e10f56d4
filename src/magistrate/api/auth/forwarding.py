"""Determines who sends a request that a gateway passes on, and which rules are in force (docs/gateways.md)."""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from magistrate.api.auth.bearer import SESSION, Bearers
from magistrate.api.auth.callers import SCHEME, Holder, bearer_token
from magistrate.engine.forwarding.rules import KEY_HEADER, ForwardedRequest, Resolution, RuleTable, TokenKind
from magistrate.errors import InvalidToken, NotFound, Unauthenticated
from magistrate.operations.keys.callers import Caller

RawHeaders = Iterable[tuple[bytes, bytes]]
_KEY_HEADER = KEY_HEADER.lower().encode()
_AUTHORIZATION = b"authorization"


@dataclass(slots=True)
class ForwardRules:
    """Holds the rules that are in force, None if the service has none. They are replaced when the file changes."""

    table: RuleTable | None = None

    def apply_rules(self, path: str, request: ForwardedRequest) -> Resolution:
        """Returns what the rules say about a request. Raises NotFound if there are none."""
        if self.table is None:
            raise NotFound("Endpoint", path, "; the service has no rules, which --forward-rules names")
        return self.table.resolve(request)


class Forwarded(msgspec.Struct, frozen=True):
    """Represents what rules say about a request, and which they are: others may say something else."""

    table: RuleTable
    resolution: Resolution


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
