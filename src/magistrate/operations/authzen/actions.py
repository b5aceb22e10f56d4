"""Searches for the actions that a subject may take on a resource: the relations of its type that the subject has on it,
all decided together (docs/authzen.md#searches)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from magistrate.engine.evaluation.check import Check
from magistrate.engine.model.model import Model
from magistrate.engine.names import RelationName, Revision
from magistrate.engine.terms import ObjectRef, Subject
from magistrate.operations.authzen.evaluations import PendingEvaluations, read_state
from magistrate.operations.checks.check_batch import ALL_NEEDED, Decisions
from magistrate.operations.consistency import NO_DEMAND, Freshness
from magistrate.operations.context import Context
from magistrate.operations.paging import ListKind, Page, PageRequest, Sort, read_page
from magistrate.store.contract.lists import PageSlice, Slice, Snapshot

SORT = "name"


def action_kind(name: str) -> ListKind[RelationName]:
    """Returns the kind of the listing; its cursors are valid only for a listing of this name."""
    return ListKind(name, {SORT: Sort(SORT, lambda relation: (relation,))}, is_snapshot=True)


@dataclass(frozen=True, slots=True)
class ActionSearch:
    """Holds whose actions on which resource are searched for. `context` is an ObservedContext, `reads` is its set."""

    object: ObjectRef
    subject: Subject
    context: Mapping[str, Any]
    reads: set[str]

    def begin(
        self, ctx: Context, model: Model, freshness: Freshness, is_behind: Callable[[RelationName], bool]
    ) -> tuple[list[Check], PendingEvaluations]:
        """Returns the checks of the relations of the type, sorted, and their evaluations."""
        defined = model.types.get(self.object.type)
        names = sorted(filter(is_behind, defined.relations)) if defined is not None else []
        checks = [Check(self.object, name, self.subject, self.context) for name in names]
        return checks, PendingEvaluations(
            ctx=ctx, checks=checks, reads=self.reads, stop_at=ALL_NEEDED, freshness=freshness, is_logged=False
        )


def list_at_once(ctx: Context, search: ActionSearch, freshness: Freshness) -> Snapshot[list[RelationName]] | None:
    """Returns all actions if memory has what they need, otherwise None. Raises StoreUnavailable."""
    graph = ctx.caches.graph.current_graph(freshness)
    if graph is None or search.object.type not in graph.model.types:
        return None
    checks, pending = search.begin(ctx, graph.model, freshness, lambda name: True)
    decided = pending.attempt() if checks else None
    return None if decided is None else Snapshot(decided.revision, _list_allowed(checks, decided))


async def list_page(
    ctx: Context, search: ActionSearch, page_request: PageRequest, freshness: Freshness, kind: ListKind[RelationName]
) -> Snapshot[Page[RelationName]]:
    """Returns a page of actions, sorted; there are none if the type is not defined.

    Raises BudgetExceeded, and what `read_page` raises."""
    return await read_page(kind, page_request, freshness, ctx.store, read=partial(_read_slice, ctx, search))


async def _read_slice(
    ctx: Context, search: ActionSearch, bounds: Slice, at: Revision | None
) -> Snapshot[PageSlice[RelationName]]:
    state = await read_state(ctx, at, NO_DEMAND)
    after = "" if bounds.boundary is None else str(bounds.boundary[0])
    checks, pending = search.begin(ctx, state.model, NO_DEMAND, lambda name: name > after)
    allowed = _list_allowed(checks, await pending.complete_at(state)) if checks else []
    rows = tuple(allowed[: bounds.limit])
    is_later = bounds.boundary is not None
    follows = len(allowed) > len(rows)
    return Snapshot(state.revision, PageSlice(rows, precedes=is_later and bool(rows), follows=follows))


def _list_allowed(checks: Sequence[Check], decided: Decisions) -> list[RelationName]:
    pairs = zip(checks, decided.value, strict=True)
    return [check.relation for check, decision in pairs if decision.is_authorized]
