"""Defines the bodies and handler of /v2/sessions and /v1/sessions (docs/compatibility.md#sessions)."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints.objects import IdText, TypeText
from magistrate.api.endpoints.policies import check_context_size
from magistrate.engine.terms import object_id, type_name
from magistrate.errors import InvalidParameter, MissingParameter
from magistrate.operations.sessions import sessions
from magistrate.operations.sessions.session_keys import MAX_TTL_SECONDS
from magistrate.operations.sessions.sessions import CHECKS, DASHBOARD, DEFAULT_TTL_SECONDS, Session

MAX_SESSION_CONTEXT_BYTES = 4_096
"""Limits the compact JSON of a session's context (4 KiB): it travels in a header with each check, and proxies refuse
headers above 8 KiB."""

KINDS = (CHECKS, DASHBOARD)
STRATEGIES = ("rbac", "fgac")


_Strategy = msgspec.Meta(extra_json_schema={"enum": [*STRATEGIES, "", None]})
_Ttl = msgspec.Meta(
    description="how many seconds the token is valid for; 0: the default",
    extra_json_schema={"minimum": 0, "maximum": MAX_TTL_SECONDS, "default": DEFAULT_TTL_SECONDS},
)


class SessionBody(msgspec.Struct, rename="camel", frozen=True):
    """Represents a session to create. `type` is `sess` for checks, or `ssdash` for a dashboard, which needs a tenant
    and a strategy as well. `context` is added to every check, as far as policies read it."""

    type: Annotated[str | None, msgspec.Meta(extra_json_schema={"enum": list(KINDS)})] = None
    user_id: IdText | None = None
    tenant_id: IdText | None = None
    ttl: Annotated[int | None, _Ttl] = None
    context: dict[str, Any] | None = None
    self_service_strategy: Annotated[str | None, _Strategy] = None
    object_type: TypeText | None = None
    object_id: IdText | None = None


class SessionAnswer(msgspec.Struct):
    """Represents the token of a new session, to be sent as `Authorization: Bearer <token>`."""

    token: str


async def create(call: Call[SessionBody]) -> Answer[SessionAnswer]:
    session = _read(call.body, min(MAX_SESSION_CONTEXT_BYTES, call.context.max_context_bytes))
    begun = await sessions.begin_session(call.context, session)
    call.freshness.demand(begun.revision)
    return Answer(SessionAnswer(begun.value), begun.revision)


def _read(body: SessionBody, max_context_bytes: int) -> Session:
    kind = _read_choice(body.type, KINDS, "type")
    user = object_id(body.user_id, "userId")
    tenant = object_id(body.tenant_id, "tenantId") if body.tenant_id or kind == DASHBOARD else None
    ttl_seconds = _ttl(body.ttl)
    context = check_context_size(body.context or {}, max_context_bytes)
    return Session(
        kind, user, tenant, context, ttl_seconds=ttl_seconds, further=_dashboard(body) if kind == DASHBOARD else {}
    )


def _read_choice(text: str | None, choices: tuple[str, str], parameter: str) -> str:
    if not text:
        raise MissingParameter(parameter)
    if text not in choices:
        raise InvalidParameter(parameter, f"must be either {' or '.join(choices)}")
    return text


def _ttl(seconds: int | None) -> int:
    if not seconds:
        return DEFAULT_TTL_SECONDS  # some clients send 0 for a ttl that was not set
    if seconds < 1:
        raise InvalidParameter("ttl", "must be greater than or equal to 1")
    if seconds > MAX_TTL_SECONDS:
        raise InvalidParameter("ttl", f"must be less than {MAX_TTL_SECONDS + 1}")
    return seconds


def _dashboard(body: SessionBody) -> Mapping[str, str]:
    """Returns the additional values of a dashboard session, by the names of the members."""
    dashboard = {"selfServiceStrategy": _read_choice(body.self_service_strategy, STRATEGIES, "selfServiceStrategy")}
    if body.object_type:
        dashboard["objectType"] = type_name(body.object_type, "objectType")
    if body.object_id:
        dashboard["objectId"] = object_id(body.object_id, "objectId")
    return dashboard
