"""Handles /authz, at which gateways learn whether a request may pass (docs/gateways.md)."""

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import quote

from magistrate.api.calls import Answer, Call, Deferred
from magistrate.engine.evaluation.check import Check
from magistrate.engine.forwarding.rules import SUBJECT_HEADER, Access
from magistrate.engine.names import Revision
from magistrate.engine.subjects import Subject
from magistrate.errors import NotFound, Unauthenticated
from magistrate.operations.checks.check import PendingChecks
from magistrate.operations.checks.check_batch import ALL_NEEDED, Decisions

REFUSED = 403
_SAFE = "!#$&'()*+,/:;=?@[]^`{|}~<> "
"""Has the characters of an id that a header can have as they are, beside letters, digits and `_.-`."""

GatewayAnswer = Answer[Mapping[str, Any]]


def answer_authz(call: Call[None]) -> GatewayAnswer | Deferred[Mapping[str, Any]]:
    """Returns the answer if nothing has to be read for it, otherwise what reads the rest. Raises Unauthenticated if the
    rule needs a subject, and the request has none."""
    resolution = call.forwarded
    assert resolution is not None
    subject = resolution.subject if call.holder is None else call.holder.subject
    if resolution.access is Access.NOBODY:
        return _answer_without_check(call, None, resolution.reason)
    if subject is None and resolution.access is not Access.ANYONE:
        raise Unauthenticated("The request names no subject")
    if resolution.access is not Access.CHECKED or subject is None:
        return _answer_without_check(call, subject)
    check = resolution.build_check(subject)
    if call.holder is not None:
        check = Check(check.object, check.relation, subject, call.holder.overlay_context({}))
    pending = PendingChecks(
        call.context,
        [check],
        ALL_NEEDED,
        call.freshness,
        origin=call.origin,
        visible_types=call.visible_types,
    )
    decisions = pending.decide_at_once()
    if decisions is None:
        return Deferred(partial(_answer_after_reads, call, pending, subject))
    return _answer_decided(subject, decisions)


async def _answer_after_reads(call: Call[None], pending: PendingChecks, subject: Subject) -> GatewayAnswer:
    try:
        return _answer_decided(subject, await pending.decide())
    except NotFound as missing:
        # A gateway would take 404 for a fault, and answer 500.
        return _refuse(missing.message, await call.context.store.check())


def _answer_decided(subject: Subject, decisions: Decisions) -> GatewayAnswer:
    if decisions.value[-1].is_authorized:
        return _allow(subject, decisions.revision)
    return _refuse("Not Authorized", decisions.revision)


def _answer_without_check(
    call: Call[None], subject: Subject | None, reason: str = ""
) -> GatewayAnswer | Deferred[Mapping[str, Any]]:
    """Returns the answer of a rule without a check, at the revision that is known."""
    build = partial(_refuse, reason) if reason else partial(_allow, subject)
    graph = call.context.caches.graph.current_graph(call.freshness)
    if graph is not None:
        return build(graph.revision)

    async def answer_at_newest() -> GatewayAnswer:
        return build(await call.context.store.check())

    return Deferred(answer_at_newest)


def _allow(subject: Subject | None, revision: Revision) -> GatewayAnswer:
    """Returns the answer with the subject, which is empty if there is none: a gateway that copies it then replaces what
    the client sent."""
    written = "" if subject is None else quote(f"{subject.type}:{subject.id}", safe=_SAFE)
    return Answer({"code": 200, "result": "Authorized"}, revision, {SUBJECT_HEADER: written}, status=200)


def _refuse(reason: str, revision: Revision) -> GatewayAnswer:
    return Answer({"code": "forbidden", "message": reason}, revision, status=REFUSED)
