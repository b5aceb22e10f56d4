"""Defines the bodies and the handler of /v2/check and its alias /v2/authorize (docs/compatibility.md#check)."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from operator import attrgetter
from typing import Annotated, Any

import msgspec
from msgspec.structs import astuple, replace

from magistrate.api.auth.callers import Holder
from magistrate.api.calls import Answer, Call, Deferred
from magistrate.api.endpoints.objects import TypeText
from magistrate.api.endpoints.policies import check_context_size, context_bytes
from magistrate.api.endpoints.warrant_bodies import (
    DOCUMENTED_LIMIT,
    ContextualMember,
    are_readable_at_once,
    read_contextual_text,
    read_contextual_warrants,
    read_plain_warrants,
    validate_contextual_warrants,
)
from magistrate.api.endpoints.warrants import (
    IdOrWildcard,
    RelationText,
    SubjectBody,
    WarrantAnswer,
    WarrantBody,
    read_check,
    render_path,
)
from magistrate.api.http.body_cache import LastMember
from magistrate.engine.evaluation.check import Check, Decision
from magistrate.engine.names import ObjectId
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef, are_object_ids, relation_name, type_name
from magistrate.engine.warrants.overlay import NO_CHANGES
from magistrate.engine.warrants.plain_warrants import PlainRuns, PlainWarrants
from magistrate.errors import Forbidden, InvalidParameter, NotFound
from magistrate.operations.checks.check import PendingChecks
from magistrate.operations.checks.check_batch import ALL_NEEDED, UNTIL_AUTHORIZED, UNTIL_DENIED, Decisions
from magistrate.operations.history.points_in_time import AS_OF, read_as_of
from magistrate.operations.models.undefined_names import (
    UsedName,
    collect_names,
    describe_missing_type,
    require_defined_names,
)
from magistrate.operations.readers.contextual_warrants import (
    CONTEXTUAL_WARRANTS,
    ContextualWarrants,
    build_contextual_warrants,
)

MAX_CHECKS = 1_000
"""Limits the warrants in one check."""
MAX_CHECKS_BY_TOKEN = 100
"""Limits the warrants in one check with a bearer token, which any browser may hold."""
MAX_CONTEXTS = 128
"""Limits the contexts of warrants that have their own, as a multiple of the maximum context size: 8 MiB by default."""

STOP_AT = {None: ALL_NEEDED, "anyOf": UNTIL_AUTHORIZED, "allOf": UNTIL_DENIED, "batch": ALL_NEEDED}

NO_CONTEXT: Mapping[str, Any] = {}

ALLOWED, DENIED = (200, "Authorized"), (403, "Not Authorized")

_IS_AUTHORIZED, _IS_IMPLICIT = attrgetter("is_authorized"), attrgetter("is_implicit")


class SingleCheckBody(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """Represents a warrant to check. Its `context` is merged over the context of the whole check. With a bearer token,
    `subject` may be omitted."""

    object_type: TypeText | None = None
    object_id: IdOrWildcard | None = None
    relation: RelationText | None = None
    subject: SubjectBody | None = None
    context: dict[str, Any] | None = None


class CheckBody(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, dict=True):
    """Represents a check of one warrant, or of several with an operator: `anyOf`, `allOf`, or `batch` for an answer to
    each. `contextualWarrants` count as if they were written, for this request alone; a bearer token cannot pass
    any."""

    op: str | None = None
    warrants: list[SingleCheckBody] | None = None
    debug: bool | None = None
    context: dict[str, Any] | None = None
    contextual_warrants: Annotated[list[WarrantBody], DOCUMENTED_LIMIT] | None = None
    strict: Annotated[bool | None, msgspec.Meta(description="whether undefined names are errors")] = None
    as_of: Annotated[str | None, msgspec.Meta(description="a token or a time: the answer is as of it")] = None
    consistent_read: Annotated[bool | None, msgspec.Meta(description="accepted, without effect")] = None

    @cached_property
    def plain_checks(self) -> tuple[str | None, Sequence[Check]] | None:
        """Holds the operator and the checks, or None if there is a context, an id is not valid, or a subject is
        missing. Raises InvalidParameter, MissingParameter."""
        if self.context:
            return None
        op, check_bodies = _read_operator(self, MAX_CHECKS)
        return (op, [*map(_build_plain_check, check_bodies)]) if _are_plain(check_bodies) else None

    @cached_property
    def types_of_objects(self) -> frozenset[str | None]:
        """Holds the types of the objects that are checked, and None for all types: with contextual warrants, the answer
        can be made to depend on any object."""
        if self.is_contextual:
            return frozenset({None})
        return frozenset(check.object_type for check in self.warrants or () if check.object_type)

    @property
    def is_contextual(self) -> bool:
        return bool(self.contextual_warrants)

    @cached_property
    def plain_contextual(self) -> PlainRuns | None:
        """Holds the contextual warrants, if all are plain."""
        return read_plain_warrants(self.contextual_warrants or ())


class JoinedCheckBody(CheckBody, frozen=True, dict=True):
    """Represents the body of a check whose contextual warrants were read before: `known_runs`, with at least one."""

    known_runs: PlainRuns | None = None

    @property
    def is_contextual(self) -> bool:
        return True

    @cached_property
    def plain_contextual(self) -> PlainRuns | None:
        return self.known_runs


def _join_contextual(others: CheckBody, runs: PlainRuns) -> CheckBody:
    """Returns the body that has these contextual warrants as well. Raises InvalidParameter, MissingParameter."""
    joined = JoinedCheckBody(*astuple(others), runs)  # type: ignore[call-arg]  # of which mypy does not know the number
    # The checks were perhaps read before. A property that is set takes nothing to look up.
    vars(joined).update(plain_checks=others.plain_checks, plain_contextual=runs)
    return joined


CONTEXTUAL_LAST = LastMember(
    CONTEXTUAL_WARRANTS, ContextualMember, ContextualMember.read_plain, _join_contextual, read_text=read_contextual_text
)
"""Describes how a check ends whose contextual warrants are likely to come again."""


class CheckAnswer(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Represents the answer to a check. `code` is 200 or 403. With `debug`, it has `processingTime` in milliseconds,
    and for each warrant that holds, keyed by its written form, the warrants that it depends on, from the subject to the
    object."""

    code: int
    result: str
    is_implicit: bool
    processing_time: int = 0
    decision_path: dict[str, list[WarrantAnswer]] | msgspec.UnsetType = msgspec.UNSET


CheckAnswers = CheckAnswer | list[CheckAnswer]

PLAIN_ANSWERS: Mapping[tuple[bool, bool], CheckAnswer] = {
    (is_authorized, is_implicit): CheckAnswer(code=code, result=result, is_implicit=is_implicit)
    for is_authorized, (code, result) in ((True, ALLOWED), (False, DENIED))
    for is_implicit in (True, False)
}
"""Holds the answers without `debug`, by whether the check is authorized, and implicitly."""

Paths = Sequence[list[WarrantAnswer]]
"""Holds the warrants that each decision depends on, as far as they are shown."""


def answer_check(call: Call[CheckBody]) -> Answer[CheckAnswers] | Deferred[CheckAnswers]:
    """Returns the answer if the graph cache has all that the checks need, otherwise what reads the rest."""
    body = call.body
    if call.holder is not None and body.is_contextual:
        raise Forbidden(f"a bearer token cannot pass {CONTEXTUAL_WARRANTS}")
    if body.debug and (call.holder is not None or call.is_limited):
        # The warrants of an answer name other users and types.
        call = replace(call, body=replace(body, debug=None))
    if not body.is_contextual:
        return _decide(call, None)
    now = call.context.now()
    plain = body.plain_contextual
    if plain is not None:
        return _decide(call, ContextualWarrants(PlainWarrants(plain, now), now))
    bodies = body.contextual_warrants or ()
    if not are_readable_at_once(bodies):
        return Deferred(partial(_answer_after_policies, call))
    return _decide(call, build_contextual_warrants(read_contextual_warrants(bodies), now))


async def _answer_after_policies(call: Call[CheckBody]) -> Answer[CheckAnswers]:
    new = await validate_contextual_warrants(call.body.contextual_warrants)
    answer = _decide(call, build_contextual_warrants(new, call.context.now()))
    return answer if isinstance(answer, Answer) else await answer


def _decide(
    call: Call[CheckBody], contextual: ContextualWarrants | None
) -> Answer[CheckAnswers] | Deferred[CheckAnswers]:
    started = call.context.now() if call.body.debug else 0
    op, checks = read_checks(call.body, call.context.max_context_bytes, call.holder)
    pending = PendingChecks(
        call.context,
        checks,
        STOP_AT[op],
        call.freshness,
        with_path=bool(call.body.debug),
        contextual=contextual,
        origin=call.origin,
        visible_types=call.visible_types,
    )
    if call.body.as_of is not None:
        past = _CheckRequest(call, op, checks, contextual, started=started)
        return Deferred(partial(past.answer, partial(past.decide_as_of, pending)))
    decisions = pending.decide_at_once()
    is_strict = call.is_strict if call.body.strict is None else call.body.strict
    if decisions is None or (is_strict and not all(map(_IS_AUTHORIZED, decisions.value))):
        request = _CheckRequest(call, op, checks, contextual, started=started)
        if decisions is None:
            return Deferred(partial(request.answer, pending.decide))
        return Deferred(partial(request.build_answer, decisions))
    return _build_plain_answer(op, decisions)  # with `debug`, nothing is decided at once


class _CheckRequest(msgspec.Struct, frozen=True):
    """Holds the operator and the checks of a call, its contextual warrants, and when it began, which only an answer
    with `debug` says."""

    call: Call[CheckBody]
    op: str | None
    checks: Sequence[Check]
    contextual: ContextualWarrants | None
    started: int = 0

    @property
    def _is_strict(self) -> bool:
        """Returns whether undefined names are errors. Raises InvalidParameter."""
        return self.call.is_strict if self.call.body.strict is None else self.call.body.strict

    async def answer(self, decide: Callable[[], Awaitable[Decisions]]) -> Answer[CheckAnswers]:
        """Returns the answer after reads: those for the decisions, and for undefined names."""
        try:
            decisions = await decide()
        except NotFound as missing:
            if not self._is_strict:
                raise
            types = self.call.visible_types
            raise await describe_missing_type(self.call.context, missing, "objectType", types) from None
        return await self.build_answer(decisions)

    async def decide_as_of(self, pending: PendingChecks) -> Decisions:
        """Returns the decisions at a past point in time. Raises Forbidden for a bearer token."""
        call = self.call
        if call.holder is not None:
            raise Forbidden(f"a bearer token can only check as of now: leave out {AS_OF}, or use an API key")
        as_of = read_as_of(call.context.store.identity, call.body.as_of or "")
        _ = self._is_strict  # what is wrong with the request is said before it is answered
        return await pending.decide_as_of(as_of)

    async def build_answer(self, decisions: Decisions) -> Answer[CheckAnswers]:
        call = self.call
        if self._is_strict:
            await require_defined_names(
                call.context,
                _collect_denied(self.checks, decisions),
                decisions.revision,
                NO_CHANGES if self.contextual is None else self.contextual.overlay,
                is_past=call.body.as_of is not None,
                visible=call.visible_types,
            )
        paths = [await render_path(decision.path) for decision in decisions.value]
        if not call.body.debug:
            return _build_plain_answer(self.op, decisions)
        if self.op != "batch":
            return Answer(self._build_debug_answer(self.checks, decisions.value, paths), decisions.revision)
        answers = [
            self._build_debug_answer([check], [decision], [path])
            for check, decision, path in zip(self.checks, decisions.value, paths, strict=True)
        ]
        return Answer(answers, decisions.revision)

    def _build_debug_answer(self, checks: Sequence[Check], decisions: Sequence[Decision], paths: Paths) -> CheckAnswer:
        """Returns the answer with `debug` to a check of these warrants: the last decision decides it."""
        is_authorized = decisions[-1].is_authorized
        code, result = ALLOWED if is_authorized else DENIED
        rendered = {check.render(): path for check, path in zip(checks, paths, strict=False) if path}
        return CheckAnswer(
            code=code,
            result=result,
            is_implicit=is_authorized and any(map(_IS_IMPLICIT, decisions)),
            processing_time=(self.call.context.now() - self.started) // 1_000,
            decision_path=rendered or msgspec.UNSET,
        )


def _collect_denied(checks: Sequence[Check], decisions: Decisions) -> Iterator[UsedName]:
    """Returns the names in the checks that were denied."""
    pairs = zip(checks, decisions.value, strict=False)
    return chain.from_iterable(collect_names(check) for check, decision in pairs if not decision.is_authorized)


def _build_plain_answer(op: str | None, decisions: Decisions) -> Answer[CheckAnswers]:
    """Returns the answer without `debug`."""
    if op == "batch":
        return Answer(
            [PLAIN_ANSWERS[decision.is_authorized, decision.is_implicit] for decision in decisions.value],
            decisions.revision,
        )
    is_authorized = decisions.value[-1].is_authorized
    is_implicit = is_authorized and any(map(_IS_IMPLICIT, decisions.value))
    return Answer(PLAIN_ANSWERS[is_authorized, is_implicit], decisions.revision)


def read_checks(body: CheckBody, max_context_bytes: int, holder: Holder | None) -> tuple[str | None, Sequence[Check]]:
    """Returns the operator and the checks of a body. Raises InvalidParameter, MissingParameter, Forbidden."""
    if holder is None and (plain := body.plain_checks) is not None:
        return plain
    op, check_bodies = _read_operator(body, MAX_CHECKS if holder is None else MAX_CHECKS_BY_TOKEN)
    common = check_context_size(body.context or {}, max_context_bytes)
    if holder is None and _are_plain(check_bodies):
        return op, [_build_plain_check(check_body, common) for check_body in check_bodies]
    contexts = _merge_contexts(check_bodies, common, max_context_bytes, holder)
    return op, [_build_check(check_body, contexts, holder) for check_body in check_bodies]


def _read_operator(body: CheckBody, limit: int) -> tuple[str | None, Sequence[SingleCheckBody]]:
    """Returns the operator and the warrants of a body. Raises InvalidParameter if there are more than `limit`."""
    op = body.op or None
    if op not in STOP_AT:
        raise InvalidParameter("op", "must be either anyOf or allOf, or batch")
    check_bodies = body.warrants or []
    if not check_bodies:
        raise InvalidParameter("warrants", "must be greater than or equal to 1")
    if len(check_bodies) > limit:
        raise InvalidParameter("warrants", f"must be less than {limit + 1}")
    if op is None and len(check_bodies) > 1:
        raise InvalidParameter("warrants", "must include operator when including multiple warrants")
    return op, check_bodies


def _are_plain(check_bodies: Sequence[SingleCheckBody]) -> bool:
    """Returns whether these bodies have valid ids, a subject and no context of their own, as almost all have. Ids are
    validated together, which takes a third of the time."""
    ids: set[str | None] = set()
    for check_body in check_bodies:
        subject = check_body.subject
        if subject is None or check_body.context:
            return False
        ids.add(check_body.object_id)
        ids.add(subject.object_id)
    return are_object_ids(ids)


def _build_plain_check(check_body: SingleCheckBody, context: Mapping[str, Any] = NO_CONTEXT) -> Check:
    """Returns the check of a body for which `_are_plain` is true."""
    subject = check_body.subject
    assert subject is not None
    assert check_body.object_id is not None
    assert subject.object_id is not None
    return Check(
        ObjectRef(type_name(check_body.object_type, "objectType"), ObjectId(check_body.object_id)),
        relation_name(check_body.relation, "relation"),
        Subject(
            type_name(subject.object_type, "objectType"),
            ObjectId(subject.object_id),
            relation_name(subject.relation, "relation") if subject.relation else "",
        ),
        context,
    )


def _build_check(check_body: SingleCheckBody, contexts: Iterator[Mapping[str, Any]], holder: Holder | None) -> Check:
    """Returns the check that one warrant of the body describes, with the next context. Raises Forbidden if its subject
    is not the holder."""
    subject = check_body.subject
    if holder is not None and subject is None:
        subject = SubjectBody(holder.subject.type, holder.user)
    names = read_check(check_body.object_type, check_body.object_id, check_body.relation, subject)
    check = Check(*names, next(contexts))
    if holder is not None and check.subject != holder.subject:
        raise Forbidden("a bearer token can only check its own user")
    return check


def _merge_contexts(
    check_bodies: Sequence[SingleCheckBody], common: Mapping[str, Any], limit: int, holder: Holder | None
) -> Iterator[Mapping[str, Any]]:
    """Yields the context of each warrant: its own over the common one, and what the token says over both. Raises
    InvalidParameter if one is too large, or if all together are: each includes a copy of the common one."""
    shared = common if holder is None else holder.overlay_context(common)
    bytes_left = MAX_CONTEXTS * limit
    for check_body in check_bodies:
        if not check_body.context:
            yield shared
            continue
        merged = {**common, **check_body.context}
        bytes_left -= context_bytes(merged, limit)
        if bytes_left < 0:
            raise InvalidParameter(
                "context", f"must be at most {MAX_CONTEXTS * limit} bytes of JSON for all warrants together"
            )
        yield merged if holder is None else holder.overlay_context(merged)
