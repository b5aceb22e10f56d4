"""Defines the bodies and handlers of /v2/keys (docs/api.md#keys)."""

import re
from typing import Annotated

import msgspec
from msgspec.structs import asdict

from magistrate.api.auth.callers import OPERATOR
from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints.lists import ListAnswer, render_page
from magistrate.api.endpoints.objects import TypeText
from magistrate.api.http.json_values import render_time
from magistrate.api.http.request_values import document_pattern
from magistrate.engine.names import TypeName
from magistrate.engine.terms import type_name
from magistrate.errors import InvalidParameter, MissingParameter
from magistrate.operations.history.times import read_time
from magistrate.operations.keys import caller_keys as keys
from magistrate.operations.keys.caller_keys import KEY_LIST, MAX_GRACE_SECONDS, IssuedKey, KeyDraft
from magistrate.operations.keys.callers import Scope
from magistrate.operations.paging import read_page_request
from magistrate.store.contract.keys import StoredKey

MAX_TYPES = 100
"""Limits the object types that a key can be limited to."""

NAME_MESSAGE = (
    "can only contain letters A-Z and a-z, digits, and the characters _ - . and @, at most 64 of them; "
    f"a name cannot begin with {OPERATOR}"
)
_NAME = re.compile(r"[A-Za-z0-9_.@-]{1,64}")
RESERVED_NAMES = ("magistrate", "import", "expiry", "webhooks")
"""Lists the actors of writes that no caller makes."""

SCOPE_NAMES = [str(scope) for scope in Scope]
NameText = Annotated[str, document_pattern(r"^[A-Za-z0-9_.@-]{0,64}$")]
ScopeText = Annotated[str, msgspec.Meta(extra_json_schema={"enum": SCOPE_NAMES})]
TimeText = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]
GraceSeconds = Annotated[int, msgspec.Meta(extra_json_schema={"minimum": 0, "maximum": MAX_GRACE_SECONDS})]


class KeyBody(msgspec.Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Represents a key to create. Without `objectTypes` it is valid for all, without `expiresAt` until it is
    revoked."""

    name: NameText | None = None
    scopes: Annotated[list[ScopeText], msgspec.Meta(extra_json_schema={"minItems": 1})] | None = None
    object_types: Annotated[list[TypeText], msgspec.Meta(extra_json_schema={"maxItems": MAX_TYPES})] | None = None
    expires_at: TimeText | None = None


class RotationBody(msgspec.Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Represents how a key is rotated: for how many seconds the old one stays valid."""

    grace_seconds: GraceSeconds | None = None


class KeyAnswer(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Represents a stored key. `prefix` is the beginning of its secret; `previousUntil` is when the secret before the
    last rotation ends or has ended. `lastUsedAt` may be behind by a minute or two."""

    id: str
    name: str
    prefix: str
    scopes: list[str]
    object_types: list[str] | None = None
    created_at: str
    created_by: str
    last_used_at: str | None = None
    expires_at: str | None = None
    previous_until: str | None = None


class IssuedKeyAnswer(KeyAnswer, kw_only=True):
    """Represents a key with its secret, which is shown this once."""

    key: str


class CallerAnswer(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Represents who makes the request. `name` is that in the change log, `scopes` has all scopes that the caller has,
    and `objectTypes` is absent if there is no limit."""

    name: str
    scopes: list[str]
    object_types: list[str] | None = None


async def create(call: Call[KeyBody]) -> Answer[IssuedKeyAnswer]:
    issued = await keys.create_key(call.context, call.caller, _read_draft(call.body))
    return Answer(_render_issued(issued.value), issued.revision)


async def get(call: Call[None]) -> Answer[KeyAnswer]:
    key = await keys.get_key(call.context, call.path["id"], call.freshness)
    return Answer(_render_key(key.value), key.revision)


async def get_caller(call: Call[None]) -> Answer[CallerAnswer]:
    """Answers what the caller may do, whether by a stored key, a key of the operator, or a token of a service."""
    caller = call.caller
    types = None if caller.object_types is None else sorted(caller.object_types)
    answer = CallerAnswer(name=caller.actor, scopes=[s for s in SCOPE_NAMES if s in caller.scopes], object_types=types)
    return Answer(answer, await call.context.store.check())


async def list_page(call: Call[None]) -> Answer[ListAnswer[KeyAnswer]]:
    bounds = read_page_request(KEY_LIST, call.parameters, call.context.store.identity)
    page = await keys.list_keys(call.context, bounds, call.freshness)
    return Answer(await render_page(page.value, _render_key), page.revision)


async def delete(call: Call[None]) -> Answer[None]:
    return Answer(None, await keys.delete_key(call.context, call.path["id"]))


async def rotate(call: Call[RotationBody]) -> Answer[IssuedKeyAnswer]:
    grace_seconds = call.body.grace_seconds or 0
    if not 0 <= grace_seconds <= MAX_GRACE_SECONDS:
        raise InvalidParameter("graceSeconds", f"must be from 0 to {MAX_GRACE_SECONDS}")
    issued = await keys.rotate_key(call.context, call.caller, call.path["id"], grace_seconds)
    return Answer(_render_issued(issued.value), issued.revision)


def _read_draft(body: KeyBody) -> KeyDraft:
    expires_at = None if body.expires_at is None else read_time(body.expires_at, "expiresAt")
    return KeyDraft(_read_name(body.name), _read_scopes(body.scopes), _read_types(body.object_types), expires_at)


def _read_name(text: str | None) -> str:
    if not text:
        raise MissingParameter("name")
    if not _NAME.fullmatch(text) or text.startswith(OPERATOR):
        raise InvalidParameter("name", NAME_MESSAGE)
    if text in RESERVED_NAMES:
        raise InvalidParameter("name", f"cannot be {text}, which names the service itself in the change log")
    return text


def _read_scopes(names: list[str] | None) -> tuple[Scope, ...]:
    """Returns the scopes in the order of their definition, each once."""
    if not names:
        raise MissingParameter("scopes")
    unknown = next((name for name in names if name not in SCOPE_NAMES), None)
    if unknown is not None:
        raise InvalidParameter("scopes", f"{unknown!a} is no scope; there are {', '.join(SCOPE_NAMES)}")
    return tuple(scope for scope in Scope if scope in names)


def _read_types(names: list[str] | None) -> tuple[TypeName, ...] | None:
    if names is None:
        return None
    if not 1 <= len(names) <= MAX_TYPES:
        raise InvalidParameter("objectTypes", f"must be 1 to {MAX_TYPES} object types, or absent for all")
    return tuple(sorted({type_name(name, "objectTypes") for name in names}))


def _render_key(row: StoredKey) -> KeyAnswer:
    return KeyAnswer(
        id=row.id,
        name=row.name,
        prefix=row.prefix,
        scopes=[*row.scopes],
        object_types=None if row.object_types is None else [*row.object_types],
        created_at=render_time(row.created_at),
        created_by=row.created_by,
        last_used_at=_render_moment(row.last_used_at),
        expires_at=_render_moment(row.expires_at),
        previous_until=_render_moment(row.previous_until),
    )


def _render_moment(at: int | None) -> str | None:
    return None if at is None else render_time(at)


def _render_issued(issued: IssuedKey) -> IssuedKeyAnswer:
    return IssuedKeyAnswer(**asdict(_render_key(issued.row)), key=issued.secret)
