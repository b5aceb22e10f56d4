"""Reads lines of JSON into checked values for imports. Each line holds the body of a create request and is read like
one."""

from typing import Any

import msgspec
from msgspec.structs import replace

from magistrate.api.endpoints.warrants import WarrantBody, read_new_warrant
from magistrate.api.http.json_values import build_decoder
from magistrate.api.http.request_values import decode_body
from magistrate.engine.model.object_types import SourceDefinition, TypeAdditions, read_object_type
from magistrate.engine.policy.named_policies import NamedPolicy, read_named_policy
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.terms import object_id, type_name
from magistrate.errors import InvalidParameter, InvalidRequest
from magistrate.operations.context import Context
from magistrate.operations.history.times import TIME_MESSAGE, read_time
from magistrate.operations.importing.chunk import Line
from magistrate.operations.writes.objects import render_meta
from magistrate.store.contract.new_rows import NewObject, NewWarrant

WHAT_A_LINE_IS = (
    "is neither an object type (`type` and `relations`), a policy (`name`, `parameters` and `expression`), an object "
    "(`objectType`, `objectId` and perhaps `meta`) nor a warrant (`objectType`, `objectId`, `relation` and `subject`)"
)


class LineBody(WarrantBody, rename="camel", frozen=True, omit_defaults=True):
    """Represents a line, with the members of ObjectTypeBody, NamedPolicyBody and ObjectBody and the creation time that
    answers have."""

    type: str | None = None
    source: SourceDefinition | None = None
    relations: dict[str, RuleDefinition | None] | None = None
    allowed_types: dict[str, tuple[str, ...]] | None = None
    actions: dict[str, str] | None = None
    description: str | None = None
    descriptions: dict[str, str] | None = None
    name: str | None = None
    parameters: dict[str, str] | None = None
    expression: str | None = None
    meta: dict[str, Any] | None = None
    created_at: str | None = None


_DECODER = build_decoder(LineBody)
_ENCODER = msgspec.json.Encoder()


def read_line(ctx: Context, max_json_depth: int, line: bytes) -> Line:
    """Returns the value that the line describes; an object must have an id. The `createdAt` of a warrant is kept,
    because `expiresIn` and `warrant.createdAt` in policies depend on it.

    Raises InvalidRequest, InvalidParameter or MissingParameter like a request with this body."""
    body = _decode_line(line, max_json_depth)
    if body.expression is not None:
        return _read_policy(body)
    is_type = body.type is not None or body.relations is not None
    is_limited = body.starts_at is not None or body.expires_at is not None
    has_condition = is_limited or bool(body.policy or body.context)
    is_warrant = body.subject is not None or body.relation is not None or has_condition
    if is_warrant and not is_type and body.meta is None:
        return _read_warrant(body)
    if is_type and not is_warrant and body.object_type is None and body.meta is None:
        additions = TypeAdditions(body.allowed_types, body.actions, body.description, body.descriptions)
        return read_object_type(body.type, body.source, body.relations, additions)
    if body.object_type is not None and not is_warrant and not is_type:
        of_type, own_id = type_name(body.object_type, "objectType"), object_id(body.object_id, "objectId")
        return NewObject(of_type, own_id, render_meta(ctx, body.meta))
    raise InvalidRequest(WHAT_A_LINE_IS)


def _read_policy(body: LineBody) -> NamedPolicy:
    others = replace(body, name=None, parameters=None, expression=None, description=None, created_at=None)
    if others != LineBody():
        raise InvalidRequest(WHAT_A_LINE_IS)
    return read_named_policy(body.name, body.parameters, body.expression, body.description)


def _read_warrant(body: LineBody) -> NewWarrant:
    new = read_new_warrant(body)
    if body.created_at is None:
        return new
    created_at = read_time(body.created_at, "createdAt")
    if created_at < 0:
        raise InvalidParameter("createdAt", f"{TIME_MESSAGE}, since 1970")
    return replace(new, created_at=created_at)


def _decode_line(line: bytes, max_json_depth: int) -> LineBody:
    """Decodes a line. A line that reads the same when it is encoded again has no repeated member and, outside meta, no
    deep nesting. Most lines are so and skip the search for both."""
    try:
        body = _DECODER.decode(line)
        if body.meta is None and body.relations is None and _ENCODER.encode(body) == line.rstrip():
            return body
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass  # decode_body reports the error in the usual words
    return decode_body(line, _DECODER, max_json_depth)
