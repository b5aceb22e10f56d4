"""Defines the bodies and handlers of /v2/policies (docs/policies.md#named-policies)."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints.lists import ListAnswer, render_page
from magistrate.api.http.json_values import build_decoder, render_time
from magistrate.api.http.request_values import decode_body, read_batch, read_boolean, read_elements
from magistrate.engine.names import PolicyName
from magistrate.engine.policy.named_policies import NamedPolicy, read_named_policy
from magistrate.engine.terms import policy_name
from magistrate.errors import InvalidParameter, InvalidRequest, NotFound
from magistrate.operations.history.points_in_time import pin_page
from magistrate.operations.models import policies
from magistrate.operations.models.definitions import read_policy_definition
from magistrate.operations.models.policies import POLICY_LIST
from magistrate.operations.paging import read_page_request
from magistrate.operations.scheduling import offload
from magistrate.store.contract.stored_rows import StoredPolicy


class NamedPolicyBody(msgspec.Struct, frozen=True):
    """Represents a named policy to create or replace. `parameters` maps the variables of the expression to their types:
    string, integer, boolean, float, array, map or any."""

    name: str | None = None
    parameters: dict[str, str] | None = None
    expression: str | None = None
    description: str | None = None


class NamedPolicyAnswer(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Represents a stored named policy."""

    name: str
    parameters: dict[str, str]
    expression: str
    description: str = ""
    created_at: str


async def create(call: Call[NamedPolicyBody]) -> Answer[NamedPolicyAnswer]:
    written = await policies.put_policies(call.context, [_read(call.body)], call.stamp())
    return Answer(_render(written.value[0]), written.revision)


async def apply(call: Call[list[NamedPolicyBody]]) -> Answer[list[NamedPolicyAnswer]]:
    is_whole_set = read_boolean(call.parameters, "replace")
    new = read_batch(call.body, _read)
    written = await policies.put_policies(call.context, new, call.stamp(), is_whole_set=is_whole_set)
    return Answer([_render(row) for row in written.value], written.revision)


async def get(call: Call[None]) -> Answer[NamedPolicyAnswer]:
    name = _read_name(call.path["name"])
    stored = await policies.get_policy(call.context, name, call.freshness, call.as_of)
    return Answer(_render(stored.value), stored.revision)


async def update(call: Call[NamedPolicyBody]) -> Answer[NamedPolicyAnswer]:
    name, body = _read_name(call.path["name"]), call.body
    new = read_named_policy(name, body.parameters, body.expression, body.description)
    written = await policies.put_policies(call.context, [new], call.stamp(), must_exist=True)
    return Answer(_render(written.value[0]), written.revision)


async def delete(call: Call[None]) -> Answer[None]:
    name = _read_name(call.path["name"])
    return Answer(None, await policies.delete_policy(call.context, name, call.stamp()))


async def list_page(call: Call[None]) -> Answer[ListAnswer[NamedPolicyAnswer]]:
    bounds = read_page_request(POLICY_LIST, call.parameters, call.context.store.identity)
    bounds = await pin_page(call.context, bounds, call.as_of, call.freshness)
    page = await policies.list_policies(call.context, bounds, call.freshness)
    return Answer(await render_page(page.value, _render), page.revision)


async def read_policies(bodies: Sequence[NamedPolicyBody], name: str) -> Sequence[NamedPolicy]:
    """Returns the policies that the elements of this array describe. Raises InvalidParameter."""
    size = sum(len(body.expression or "") for body in bodies)
    return await offload(lambda: read_elements(bodies, _read, name), size)


def _read(body: NamedPolicyBody) -> NamedPolicy:
    return read_named_policy(body.name, body.parameters, body.expression, body.description)


def _read_name(text: str) -> PolicyName:
    """Returns the name in the path. Raises NotFound for an invalid name, as for a policy that does not exist."""
    try:
        return policy_name(text, "name")
    except InvalidParameter:
        raise NotFound("Policy", text) from None


def _render(row: StoredPolicy) -> NamedPolicyAnswer:
    content = read_policy_definition(row.definition)
    return NamedPolicyAnswer(
        name=row.name,
        parameters=content.parameters,
        expression=content.expression,
        description=content.description,
        created_at=render_time(row.created_at),
    )


MAX_CONTEXT_DEPTH = 128
"""Limits the levels of a context in a query string."""

_DECODER = build_decoder(dict[str, Any])


def check_context_size(context: Mapping[str, Any], limit: int) -> Mapping[str, Any]:
    """Raises InvalidParameter if the context is more than `limit` bytes of compact JSON."""
    if context:
        context_bytes(context, limit)
    return context


def context_bytes(context: Mapping[str, Any], limit: int) -> int:
    """Returns the size of the context as compact JSON. Raises InvalidParameter if it is more than `limit` bytes."""
    size = len(msgspec.json.encode(context))
    if size > limit:
        raise InvalidParameter("context", f"must be at most {limit} bytes of JSON")
    return size


def read_context(text: str | None, limit: int) -> Mapping[str, Any]:
    """Returns the context in a query string, which is the text of a JSON object. If it is absent or empty, there is no
    context."""
    if not text:
        return {}
    try:
        context = decode_body(text.encode(), _DECODER, MAX_CONTEXT_DEPTH)
    except (InvalidRequest, InvalidParameter, UnicodeEncodeError):
        raise InvalidParameter("context", "invalid") from None
    return check_context_size(context, limit)
