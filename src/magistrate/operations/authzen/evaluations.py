"""Decides evaluations (docs/authzen.md): checks whose policies may read properties of subject and resource."""

from collections.abc import Sequence
from itertools import compress
from operator import attrgetter, not_
from typing import NamedTuple

from msgspec.structs import replace

from magistrate.engine.evaluation.check import Check, Decision
from magistrate.engine.model.model import Model
from magistrate.engine.names import RelationName, Revision, TypeName
from magistrate.errors import MagistrateError
from magistrate.operations.authzen.actions import (
    may_name_action,
    replace_actions,
    replace_actions_at_once,
)
from magistrate.operations.authzen.properties import add_meta
from magistrate.operations.checks.check import PendingChecks
from magistrate.operations.checks.check_batch import NO_TYPES, CheckRun, Decisions
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.models.undefined_names import UsedName, find_undefined_name
from magistrate.operations.runs import complete_run
from magistrate.store.contract.lists import Snapshot

_IS_AUTHORIZED = attrgetter("is_authorized")


class ModelState(NamedTuple):
    """Holds a revision and its model."""

    revision: Revision
    model: Model


async def read_state(ctx: Context, at: Revision | None, freshness: Freshness) -> ModelState:
    """Returns the state at a revision, or at the newest. Raises RevisionUnavailable, and InvalidParameter if the token
    is from the future."""
    newest = await ctx.store.read_warrants((), at, 1)
    freshness.demand(newest.newest)
    return ModelState(newest.revision, await ctx.caches.models.at(newest.revision, newest.model_revision))


class PendingEvaluations:
    """Represents evaluations that wait for their decisions, in the manner of PendingChecks: `attempt` is called
    first, and `complete` if it returned None. The context of each check in `pending` is an ObservedContext, and `reads`
    is what they note. An undefined object type denies, it is no error."""

    def __init__(self, pending: PendingChecks, reads: set[str]) -> None:
        self._pending = replace(pending, is_logged=False, visible_types=NO_TYPES)
        self._is_logged = pending.is_logged
        self._checks = pending.checks
        self._reads = reads

    def attempt(self) -> Decisions | None:
        """Returns the decisions if memory has all they need, otherwise None. Raises StoreUnavailable."""
        checks = replace_actions_at_once(self._pending.ctx, self._checks, self._pending.freshness)
        if checks is not self._checks:
            self._pending = self._pending.begin_again(checks, self._pending.freshness)
        decided = self._pending.decide_at_once()
        return None if decided is None or self._reads else self._log(self._pending, decided)

    async def complete(self) -> Decisions:
        """Returns the decisions after `attempt` returned None. Raises BudgetExceeded, InvalidParameter if the
        token is from the future or there is too much meta, StoreUnavailable."""
        try:
            return await self._complete()
        except MagistrateError:
            if self._is_logged:
                self._pending.record_failure()
            raise

    async def _complete(self) -> Decisions:
        ctx = self._pending.ctx
        if not self._reads and not may_name_action(ctx, self._checks):
            decided = await self._pending.decide()
            if not self._reads and not may_name_action(ctx, self._checks):
                return self._log(self._pending, decided)
        if may_name_action(ctx, self._checks):
            return await self.complete_at(await read_state(ctx, None, self._pending.freshness))
        return await self._decide_with_meta(await read_state(self._pending.ctx, None, self._pending.freshness))

    async def complete_at(self, state: ModelState) -> Decisions:
        """Returns the decisions at the revision of this state, which need not be the newest. Raises BudgetExceeded,
        StoreUnavailable."""
        checks = replace_actions(state.model, self._checks)
        self._pending = self._pending.begin_again(checks, self._pending.freshness)
        decided = self._pending.decide_at_once() or (None if self._reads else await self._pending.decide())
        if self._reads:
            return await self._decide_with_meta(state)
        if decided is None or decided.revision != state.revision:
            decided = await self._run(self._pending, state)
            if self._reads:
                return await self._decide_with_meta(state)
        return self._log(self._pending, decided)

    async def _decide_with_meta(self, state: ModelState) -> Decisions:
        checks = await add_meta(self._pending.ctx, self._pending.checks, state.revision)
        pending = self._pending.begin_again(checks, Freshness("", state.revision))
        decided = pending.decide_at_once() or await pending.decide()
        if decided.revision != state.revision:
            # Decisions and meta are of one revision, even if something is written between the reads.
            decided = await self._run(pending, state)
        return self._log(pending, decided)

    async def _run(self, pending: PendingChecks, state: ModelState) -> Decisions:
        ctx = pending.ctx
        run = CheckRun(state.model, pending.build_batch(ctx.now()))
        return Snapshot(state.revision, await complete_run(ctx.store, run, state.revision))

    def _log(self, pending: PendingChecks, decided: Decisions) -> Decisions:
        if self._is_logged:
            pending.record_decisions(decided)
        return decided


def may_have_undefined(ctx: Context, checks: Sequence[Check], decisions: Sequence[Decision]) -> bool:
    """Returns whether a check that is denied may name a type or relation that is not defined, as far as is known
    without a read."""
    is_denied = map(not_, map(_IS_AUTHORIZED, decisions))
    denied = {(check.object.type, check.relation) for check in compress(checks, is_denied)}
    if not denied:
        return False
    model = ctx.caches.models.known
    return model is None or not all(_is_defined(model, *names) for names in denied)


async def describe_undefined(
    ctx: Context, checks: Sequence[Check], decisions: Sequence[Decision], at: Revision, visible: frozenset[str] | None
) -> list[str | None]:
    """Returns for each decision the sentence that says which name the model of this revision does not define, None for
    those that are allowed or have no such name. It suggests only object types that are `visible`."""
    pairs = list(zip(checks, decisions, strict=False))
    if not may_have_undefined(ctx, checks, decisions):
        return [None] * len(pairs)
    newest = await ctx.store.read_warrants((), at, 1)
    model = await ctx.caches.models.at(newest.revision, newest.model_revision)
    return [None if decision.is_authorized else _find_undefined(model, check, visible) for check, decision in pairs]


def _is_defined(model: Model, of_type: TypeName, relation: RelationName) -> bool:
    defined = model.types.get(of_type)
    return defined is not None and (relation in defined.relations or relation in defined.actions)


def _find_undefined(model: Model, check: Check, visible: frozenset[str] | None) -> str | None:
    if _is_defined(model, check.object.type, check.relation):
        return None
    fault = find_undefined_name(model, [UsedName(check.object.type, check.relation)], visible)
    return None if fault is None else fault.message
