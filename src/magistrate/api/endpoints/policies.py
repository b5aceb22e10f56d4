"""Defines the bodies and handlers of /v2/policies (docs/policies.md#named-policies)."""

from collections.abc import Sequence

import msgspec

from magistrate.api.endpoints.lists import render_page
from magistrate.api.parse import read_batch, read_boolean, read_elements
from magistrate.api.render import render_time
from magistrate.api.service import Answer, Call
from magistrate.engine.named_policy import NamedPolicy, read_named_policy
from magistrate.engine.names import PolicyName
from magistrate.engine.terms import policy_name
from magistrate.errors import InvalidParameter, NotFound
from magistrate.operations import policies
from magistrate.operations.history import pin_page
from magistrate.operations.paging import read_wanted
from magistrate.operations.policies import POLICY_LIST
from magistrate.operations.policy_definitions import read_policy_definition
from magistrate.operations.scheduling import aside
from magistrate.store.contract import StoredPolicy


class NamedPolicyBody(msgspec.Struct, frozen=True):
    """Represents a named policy to create or replace. `parameters` maps the variables of the expression to their types:
    string, integer, boolean, float, array or map."""

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


async def create(call: Call[NamedPolicyBody]) -> Answer:
    written = await policies.put_policies(call.context, [_read(call.body)], call.stamp())
    return Answer(_render(written.value[0]), written.revision)


async def apply(call: Call[list[NamedPolicyBody]]) -> Answer:
    is_whole_set = read_boolean(call.parameters, "replace")
    new = read_batch(call.body, _read)
    written = await policies.put_policies(call.context, new, call.stamp(), is_whole_set=is_whole_set)
    return Answer([_render(row) for row in written.value], written.revision)


async def get(call: Call[None]) -> Answer:
    name = _read_name(call.path["name"])
    found = await policies.get_policy(call.context, name, call.freshness, call.as_of)
    return Answer(_render(found.value), found.revision)


async def update(call: Call[NamedPolicyBody]) -> Answer:
    name, body = _read_name(call.path["name"]), call.body
    new = read_named_policy(name, body.parameters, body.expression, body.description)
    written = await policies.put_policies(call.context, [new], call.stamp(), must_exist=True)
    return Answer(_render(written.value[0]), written.revision)


async def delete(call: Call[None]) -> Answer:
    name = _read_name(call.path["name"])
    return Answer(None, await policies.delete_policy(call.context, name, call.stamp()))


async def list_page(call: Call[None]) -> Answer:
    wanted = read_wanted(POLICY_LIST, call.parameters, call.context.store.identity)
    wanted = await pin_page(call.context, wanted, call.as_of, call.freshness)
    found = await policies.list_policies(call.context, wanted, call.freshness)
    return Answer(await render_page(found.value, _render), found.revision)


async def read_policies(bodies: Sequence[NamedPolicyBody], name: str) -> Sequence[NamedPolicy]:
    """Returns the policies that the elements of this array describe. Raises InvalidParameter."""
    size = sum(len(body.expression or "") for body in bodies)
    return await aside(lambda: read_elements(bodies, _read, name), size)


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
