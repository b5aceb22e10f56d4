"""Decides checks by authorization models of OpenFGA's API (docs/openfga.md#checks).

By the newest model, checks are those of the store, and answered from the graph cache. By an older one, and where the
user is a userset, they are evaluated over the same warrants with another model in place of that of the store.

A userset has what every member of it has, even if it has none, and itself. So the check is about a subject that cannot
exist otherwise, which one contextual warrant makes a member of the userset, and of nothing else. A wildcard has what a
user of the type has whom no warrant names."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from magistrate.engine.evaluation.check import Check
from magistrate.engine.model.model import Model
from magistrate.engine.names import ObjectId, RelationName
from magistrate.engine.openfga.documents import OpenFgaDocument
from magistrate.engine.openfga.tuples import INVALID, NamedTupleKey
from magistrate.engine.openfga.validation import convert_object, convert_user, find_relation, require_user
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.read_ahead import AheadResult
from magistrate.engine.warrants.reader import ReadResult
from magistrate.engine.work import Work
from magistrate.errors import MagistrateError, OpenFgaRefusal
from magistrate.operations.checks.check import PendingChecks
from magistrate.operations.checks.check_batch import ALL_NEEDED, Decisions
from magistrate.operations.checks.decision_log import RequestOrigin
from magistrate.operations.checks.evaluators import Moment, decide_in_order, list_evaluators
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.openfga.documents import USERSET, ModelUse, UsedModel
from magistrate.operations.readers.contextual_warrants import ContextualWarrants, build_contextual_warrants
from magistrate.store.contract.new_rows import NewWarrant

UNKNOWN_CONDITION = "a condition lacks a parameter, or cannot be evaluated with the values that it has"
NOBODY = ObjectId("::")
"""Is the id of a user whom no tuple names: ids of OpenFGA have no colon."""


class ModelMoment(Moment, frozen=True):
    """Evaluates with another model in place of that of the store."""

    replace_model: Callable[[Model], Model] = lambda model: model

    async def find_model(self) -> Model:
        return self.replace_model(await Moment.find_model(self))

    async def confirm_model(self, result: ReadResult | AheadResult) -> Model:
        return self.replace_model(await Moment.confirm_model(self, result))


def build_pending(
    ctx: Context, checks: Sequence[Check], freshness: Freshness, origin: RequestOrigin, contextual: Sequence[NewWarrant]
) -> PendingChecks:
    """Returns checks that are decided by the model of the store."""
    added = _date(contextual, ctx.now())
    return PendingChecks(ctx, checks, ALL_NEEDED, freshness, contextual=added, origin=origin)


def build_check(document: OpenFgaDocument, key: NamedTupleKey, context: Mapping[str, Any]) -> Check:
    """Returns the check of a model. Raises OpenFgaRefusal."""
    relation = find_relation(document, key.object.type, key.relation)
    require_user(document, key.user)
    subject = convert_user(key.user)
    if key.user.is_wildcard:
        subject = Subject(subject.type, NOBODY, "")
    return Check(convert_object(key.object), relation.name, subject, context)


async def decide_by_model(
    ctx: Context,
    used: UsedModel,
    checks: Sequence[Check],
    freshness: Freshness,
    origin: RequestOrigin,
    contextual: Sequence[NewWarrant],
) -> Decisions:
    """Returns the decisions, all at one revision. If the subject is a userset, there is one check."""
    compiled = used.compiled
    # A contextual tuple counts instead of a stored one with another condition, which the graph cache cannot do.
    replaces = bool(contextual) and bool(compiled.document.conditions)
    if not used.is_live or checks[0].subject.relation or replaces:
        return await _decide_by_document(ctx, used, checks, freshness, origin, contextual)
    pending = build_pending(ctx, checks, freshness, origin, contextual)
    return pending.decide_at_once() or await pending.decide()


async def _decide_by_document(
    ctx: Context,
    used: UsedModel,
    checks: Sequence[Check],
    freshness: Freshness,
    origin: RequestOrigin,
    contextual: Sequence[NewWarrant],
) -> Decisions:
    """Returns the decisions by an authorization model, whatever the model of the store is. A contextual tuple counts
    instead of a stored one, whatever condition that has. If the subject is a userset, there is one check."""
    check, compiled, now = checks[0], used.compiled, ctx.now()
    userset = check.subject if check.subject.relation else None
    logged = PendingChecks(ctx, checks, ALL_NEEDED, freshness, contextual=_date(contextual, now), origin=origin)
    if userset is not None:
        subject = Subject(USERSET, NOBODY, "")
        member = NewWarrant(ObjectRef(userset.type, userset.id), RelationName(userset.relation), subject)
        checks, contextual = [Check(check.object, check.relation, subject, check.context)], (*contextual, member)
    added = None
    if contextual or used.counts_stored is not None:
        added = build_contextual_warrants(contextual, now, replaces=True, counts_stored=used.counts_stored)
    pending = PendingChecks(ctx, checks, ALL_NEEDED, freshness, contextual=added)
    use = ModelUse.CHECKS if userset is None else ModelUse.USERSETS
    moment = ModelMoment(ctx, freshness, replace_model=lambda model: compiled.build_model(model, use))
    try:
        decided = await decide_in_order(list_evaluators(moment, None), pending.build_batch(now))
    except MagistrateError:
        logged.record_failure()
        raise
    logged.record_decisions(decided)
    return decided


def require_known(work: Work) -> None:
    """Raises OpenFgaRefusal if a condition that a search came to cannot be evaluated."""
    if work.has_unknown:
        raise OpenFgaRefusal(INVALID, UNKNOWN_CONDITION)


def _date(contextual: Sequence[NewWarrant], now: int) -> ContextualWarrants | None:
    return build_contextual_warrants(contextual, now) if contextual else None
