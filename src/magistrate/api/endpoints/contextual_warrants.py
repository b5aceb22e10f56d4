"""Reads the contextual warrants of requests (docs/api.md#contextual-warrants)."""

from collections.abc import Sequence

import msgspec

from magistrate.api.endpoints.alike_warrants import read_alike_warrants
from magistrate.api.endpoints.plain_bodies import read_plain_runs
from magistrate.api.endpoints.warrants import (
    ReadPolicies,
    WarrantBody,
    read_warrant,
    read_warrant_policies,
)
from magistrate.api.json_decoders import build_decoder
from magistrate.api.parse import decode_body
from magistrate.engine.plain_warrants import PlainRuns
from magistrate.engine.policy import is_kept
from magistrate.errors import InvalidParameter, InvalidRequest, UnknownMember
from magistrate.operations.contextual_warrants import (
    CONTEXTUAL_WARRANTS,
    MAX_CONTEXTUAL_WARRANTS,
)
from magistrate.store.contract import NewWarrant

MAX_DEPTH = 8
"""Limits the levels of contextual warrants in a query string; an array of warrants has four."""

DOCUMENTED_LIMIT = msgspec.Meta(extra_json_schema={"maxItems": MAX_CONTEXTUAL_WARRANTS})
"""Sets the limit in the OpenAPI document only: here, the error for it is an InvalidParameter."""

_DECODER = build_decoder(list[WarrantBody])
_NONE_READ: ReadPolicies = {}


def are_readable_at_once(bodies: Sequence[WarrantBody]) -> bool:
    """Returns whether no policy of these warrants has to be read first, which takes milliseconds if it is long."""
    return all(not body.policy or is_kept(body.policy) for body in bodies[:MAX_CONTEXTUAL_WARRANTS])


def read_plain_warrants(bodies: Sequence[WarrantBody]) -> PlainRuns | None:
    """Returns the warrants that these bodies describe, or None unless all of them are valid and have no policy, no time
    limits and no `*`; `read_contextual_warrants` then reads them one by one.

    A user may be in a hundred groups."""
    return read_plain_runs(bodies, has_wildcards=False) if len(bodies) <= MAX_CONTEXTUAL_WARRANTS else None


class ContextualMember(msgspec.Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Represents the contextual warrants of a body without the other members."""

    contextual_warrants: list[WarrantBody]

    def read_plain(self) -> PlainRuns | None:
        """Returns the warrants if there are any, and all are plain."""
        return read_plain_warrants(self.contextual_warrants) if self.contextual_warrants else None


def read_contextual_text(text: str, begin: int, end: int, max_depth: int) -> PlainRuns | None:
    """Returns the warrants in the JSON array between these places of a text, or None if they have to be decoded."""
    return read_alike_warrants(text, begin, end, MAX_CONTEXTUAL_WARRANTS, max_depth)


def read_contextual_warrants(
    bodies: Sequence[WarrantBody] | None, policies: ReadPolicies = _NONE_READ
) -> Sequence[NewWarrant]:
    """Returns the warrants that these bodies describe. `policies` has the errors of the policies that are not kept.

    Raises InvalidParameter, whose parameter begins with the place of the warrant: `contextualWarrants[3].relation`."""
    if not bodies:
        return ()
    if len(bodies) > MAX_CONTEXTUAL_WARRANTS:
        raise InvalidParameter(CONTEXTUAL_WARRANTS, f"must be at most {MAX_CONTEXTUAL_WARRANTS} warrants")
    new: list[NewWarrant] = []
    for place, body in enumerate(bodies):
        try:
            new.append(read_warrant(policies, body))
        except InvalidParameter as error:
            raise error.within(f"{CONTEXTUAL_WARRANTS}[{place}].") from None
    return new


async def judge_contextual_warrants(bodies: Sequence[WarrantBody] | None) -> Sequence[NewWarrant]:
    """Returns what `read_contextual_warrants` does, with other requests in between when policies are read."""
    some = (bodies or ())[:MAX_CONTEXTUAL_WARRANTS]
    return read_contextual_warrants(bodies, await read_warrant_policies(some))


def decode_contextual_warrants(text: str | None) -> Sequence[WarrantBody]:
    """Returns the contextual warrants in a query string, which are the text of a JSON array."""
    if not text:
        return ()
    try:
        return decode_body(text.encode(), _DECODER, MAX_DEPTH)
    except UnknownMember as error:
        raise error.within(CONTEXTUAL_WARRANTS) from None
    except (InvalidRequest, UnicodeEncodeError):
        raise InvalidParameter(CONTEXTUAL_WARRANTS, "must be the JSON text of an array of warrants") from None
