"""Searches for subjects, resources and actions (docs/authzen.md#searches).

For subjects and resources it runs the two queries, unless a policy reads properties, which differ from one object to
the next: then each object of the type is checked. The actions that a subject may take on a resource are the relations
and actions of its type that the subject has on it, all decided together."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec.structs import replace

from magistrate.engine.evaluation.check import Check
from magistrate.engine.lists.language import ObjectsQuery, Query, SubjectsQuery
from magistrate.engine.lists.results import QueryRow
from magistrate.engine.model.model import Model
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.errors import NotFound
from magistrate.operations.authzen.actions import find_relation, may_be_action
from magistrate.operations.authzen.evaluations import ModelState, PendingEvaluations, read_state
from magistrate.operations.authzen.properties import build_context, get_subject, read_properties
from magistrate.operations.checks.check import PendingChecks
from magistrate.operations.checks.check_batch import ALL_NEEDED, NO_TYPES, CheckBatch, CheckRun, Decisions
from magistrate.operations.consistency import NO_DEMAND, Freshness
from magistrate.operations.context import Context
from magistrate.operations.lists.evaluators import QueryRequest
from magistrate.operations.lists.query import read_slice
from magistrate.operations.paging import ListKind, Page, PageRequest, Sort, read_page
from magistrate.operations.runs import complete_run
from magistrate.operations.scheduling import checkpoint
from magistrate.store.contract.lists import PageSlice, Slice, Snapshot

CHECKED_AT_ONCE = 50
"""Limits the objects that are checked in one run."""


@dataclass(frozen=True, slots=True)
class EntitySearch:
    """Holds what is searched for: the objects of type `wanted` to which `known` has the relation, or if
    `wants_subjects` the subjects of this type that have it on `known`. `context` is an ObservedContext, `reads` is
    its set."""

    wanted: TypeName
    relation: RelationName
    known: ObjectRef
    wants_subjects: bool
    context: Mapping[str, Any]
    reads: set[str]

    @property
    def object_type(self) -> TypeName:
        """Returns the type of the objects, whose relation or action it is."""
        return self.known.type if self.wants_subjects else self.wanted

    def as_query(self) -> Query:
        if self.wants_subjects:
            return SubjectsQuery(self.known, (self.relation,), (self.wanted,), is_explicit=False)
        return ObjectsQuery(self.known, (self.relation,), (self.wanted,), is_explicit=False)

    def as_check(self, candidate_id: ObjectId) -> Check:
        """Returns the check of one candidate."""
        candidate = ObjectRef(self.wanted, candidate_id)
        checked, subject = (self.known, candidate) if self.wants_subjects else (candidate, self.known)
        return Check(checked, self.relation, Subject(subject.type, subject.id), self.context)


async def list_entities(
    ctx: Context, search: EntitySearch, page_request: PageRequest, freshness: Freshness, kind: ListKind[QueryRow]
) -> Snapshot[Page[ObjectId]]:
    """Returns a page of ids, sorted. There are none if a type is not defined.

    Raises BudgetExceeded, and what `read_page` raises."""
    read = partial(_read_entities, ctx, search, freshness)
    listed = await read_page(kind, page_request, freshness, ctx.store, read=read)
    page = listed.value
    ids = [row.id for row in page.rows if row.id != WILDCARD]
    return Snapshot(listed.revision, Page(ids, page.prev_cursor, page.next_cursor))


async def _read_entities(
    ctx: Context, search: EntitySearch, freshness: Freshness, bounds: Slice, at: Revision | None
) -> Snapshot[PageSlice[QueryRow]]:
    """Returns a slice of the rows; if `relation` is the name of an action, those of the relation that it stands for at
    the revision of the slice."""
    if not may_be_action(ctx, search.object_type, search.relation):
        rows = await _read_related(ctx, search, freshness, bounds, at=at)
        if not may_be_action(ctx, search.object_type, search.relation):
            return rows
        at = rows.revision
    state = await read_state(ctx, at, freshness)
    relation = find_relation(state.model, search.object_type, search.relation)
    related = dataclasses.replace(search, relation=relation)
    return await _read_related(ctx, related, freshness, bounds, at=state.revision)


async def _read_related(
    ctx: Context, search: EntitySearch, freshness: Freshness, bounds: Slice, at: Revision | None
) -> Snapshot[PageSlice[QueryRow]]:
    request = QueryRequest(search.as_query(), search.context, reads=search.reads)
    try:
        rows = await read_slice(ctx, request, bounds, at, freshness)
    except NotFound:
        newest = await read_state(ctx, at, NO_DEMAND)
        return Snapshot(newest.revision, PageSlice((), precedes=False, follows=False))
    if not search.reads:
        return rows
    return await _check_slice(ctx, search, bounds, await read_state(ctx, rows.revision, NO_DEMAND))


async def _check_slice(
    ctx: Context, search: EntitySearch, bounds: Slice, state: ModelState
) -> Snapshot[PageSlice[QueryRow]]:
    """Checks the stored objects of the type behind the boundary, until the slice is full."""
    allowed: list[ObjectId] = []
    after = None if bounds.boundary is None else ObjectId(str(bounds.boundary[1]))
    remaining = ctx.max_query_work
    while len(allowed) <= bounds.limit:
        name = None if after is None else (search.wanted, after)
        names = (await ctx.store.list_names(search.wanted, name, CHECKED_AT_ONCE, state.revision)).value
        some, remaining = await _check_candidates(
            ctx, search, [object_id for _, object_id in names], state, remaining=remaining
        )
        allowed += some
        if len(names) < CHECKED_AT_ONCE:
            break
        after = names[-1][1]
        await checkpoint()
    rows = tuple(_build_rows(search, allowed[: bounds.limit]))
    follows = len(allowed) > bounds.limit
    return Snapshot(
        state.revision, PageSlice(rows, precedes=bounds.boundary is not None and bool(rows), follows=follows)
    )


async def _check_candidates(
    ctx: Context, search: EntitySearch, ids: Sequence[ObjectId], state: ModelState, remaining: int
) -> tuple[list[ObjectId], int]:
    """Returns those of the candidates that are allowed, and the work that is left."""
    if not ids:
        return [], remaining
    candidates = [search.as_check(object_id) for object_id in ids]
    refs = [ref for check in candidates for ref in (get_subject(check), check.object)]
    properties = await read_properties(ctx, refs, state.revision)
    checks = [replace(check, context=build_context(check, properties)) for check in candidates]
    run = CheckRun(state.model, CheckBatch(checks, ALL_NEEDED, ctx.now(), remaining, visible_types=NO_TYPES))
    decisions = await complete_run(ctx.store, run, state.revision)
    assert decisions is not None
    return [
        object_id for object_id, decision in zip(ids, decisions, strict=True) if decision.is_authorized
    ], run.work.left


def _build_rows(search: EntitySearch, ids: Sequence[ObjectId]) -> Iterator[QueryRow]:
    return (
        QueryRow(type=search.wanted, id=object_id, relation=search.relation, warrant=None, is_implicit=True)
        for object_id in ids
    )


ACTION_SORT = "name"


def action_kind(name: str) -> ListKind[RelationName]:
    """Returns the kind of the listing; its cursors are valid only for a listing of this name."""
    return ListKind(name, {ACTION_SORT: Sort(ACTION_SORT, lambda relation: (relation,))}, is_snapshot=True)


@dataclass(frozen=True, slots=True)
class ActionSearch:
    """Holds whose actions on which resource are searched for. `context` is an ObservedContext, `reads` is its set."""

    object: ObjectRef
    subject: Subject
    context: Mapping[str, Any]
    reads: set[str]

    def begin(
        self, ctx: Context, model: Model, freshness: Freshness, is_behind: Callable[[RelationName], bool]
    ) -> tuple[list[RelationName], PendingEvaluations]:
        """Returns the names of the relations and actions of the type, sorted, and their evaluations."""
        defined = model.types.get(self.object.type)
        named = () if defined is None else (*defined.relations, *map(RelationName, defined.actions))
        names = sorted(filter(is_behind, named))
        relations = [find_relation(model, self.object.type, name) for name in names]
        checks = [Check(self.object, relation, self.subject, self.context) for relation in relations]
        pending = PendingChecks(ctx, checks, ALL_NEEDED, freshness, is_logged=False)
        return names, PendingEvaluations(pending, self.reads)


def list_at_once(ctx: Context, search: ActionSearch, freshness: Freshness) -> Snapshot[list[RelationName]] | None:
    """Returns all actions if memory has what they need, otherwise None. Raises StoreUnavailable."""
    graph = ctx.caches.graph.current_graph(freshness)
    if graph is None or search.object.type not in graph.model.types:
        return None
    names, pending = search.begin(ctx, graph.model, freshness, lambda name: True)
    decided = pending.attempt() if names else None
    return None if decided is None else Snapshot(decided.revision, _list_allowed(names, decided))


async def list_actions(
    ctx: Context, search: ActionSearch, page_request: PageRequest, freshness: Freshness, kind: ListKind[RelationName]
) -> Snapshot[Page[RelationName]]:
    """Returns a page of actions, sorted; there are none if the type is not defined.

    Raises BudgetExceeded, and what `read_page` raises."""
    return await read_page(kind, page_request, freshness, ctx.store, read=partial(_read_actions, ctx, search))


async def _read_actions(
    ctx: Context, search: ActionSearch, bounds: Slice, at: Revision | None
) -> Snapshot[PageSlice[RelationName]]:
    state = await read_state(ctx, at, NO_DEMAND)
    after = "" if bounds.boundary is None else str(bounds.boundary[0])
    names, pending = search.begin(ctx, state.model, NO_DEMAND, lambda name: name > after)
    allowed = _list_allowed(names, await pending.complete_at(state)) if names else []
    rows = tuple(allowed[: bounds.limit])
    is_later = bounds.boundary is not None
    follows = len(allowed) > len(rows)
    return Snapshot(state.revision, PageSlice(rows, precedes=is_later and bool(rows), follows=follows))


def _list_allowed(names: Sequence[RelationName], decided: Decisions) -> list[RelationName]:
    return [name for name, decision in zip(names, decided.value, strict=True) if decision.is_authorized]
