"""Lists what a proposal would change of the access there is now, without writing it (docs/difference.md).

A proposal is laid over the newest revision as an Overlay, with the object types it would leave. It is refused if the
same writes would be."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

import msgspec

from magistrate.engine.difference.comparison import Existence
from magistrate.engine.difference.origins import WarrantChange
from magistrate.engine.model.model import Model
from magistrate.engine.model.object_types import ObjectType
from magistrate.engine.model.stratification import find_negation_loop
from magistrate.engine.names import WILDCARD, ObjectId, PolicyName, Revision, TypeName
from magistrate.engine.policy.named_policies import NamedPolicy
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.overlay import Overlay, WarrantKey, warrant_key
from magistrate.engine.warrants.plain_warrants import FIRST_NUMBER
from magistrate.engine.warrants.reader import WarrantRead, WarrantReader, WarrantsByObject
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work
from magistrate.errors import InvalidParameter, NotFound
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.difference.filters import Narrowing
from magistrate.operations.difference.pages import DifferenceRow, difference_kind, list_page
from magistrate.operations.difference.states import ComparedState, ExistingNames, StateComparison
from magistrate.operations.history.points_in_time import AsOf, find_point
from magistrate.operations.models.object_types import BYTES_OF_A_RULE, loop_fault, new_object_types
from magistrate.operations.paging import ListKind, Page, PageRequest
from magistrate.operations.readers.contextual_warrants import build_warrant
from magistrate.operations.readers.store_readers import OverlaidReader
from magistrate.operations.scheduling import offload
from magistrate.operations.writes.warrants import find_warrant_fault
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import NewWarrant

PROPOSAL = "proposal"
"""Names the parameter that holds it."""
MAX_PROPOSED_WARRANTS = 1_000
MAX_PROPOSED_TYPES = 100
MAX_PROPOSED_POLICIES = 100
"""Limit the elements of a proposal, as those of writes are limited."""
REFS_AT_ONCE = 1_000
MAX_STORED = 1_000_000
"""Limits the stored warrants that have the names of proposed ones, with other policies perhaps."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Holds warrants to delete and to create, in this order, and object types and policies to create or replace before;
    with `is_whole_model` all other types are deleted, and all other policies unless `policies` is None."""

    create: Sequence[NewWarrant] = ()
    delete: Sequence[NewWarrant] = ()
    object_types: Sequence[ObjectType] = ()
    is_whole_model: bool = False
    policies: Sequence[NamedPolicy] | None = None


def proposal_kind(proposal: Proposal, narrowing: Narrowing) -> ListKind[DifferenceRow]:
    """Returns the list of what a proposal changes."""
    types = [
        (object_type.name, object_type.render_relations(), object_type.allowed_types)
        for object_type in proposal.object_types
    ]
    proposed = (proposal.create, proposal.delete, types, proposal.is_whole_model, proposal.policies)
    return difference_kind(narrowing, *proposed)


async def list_proposed_difference(
    ctx: Context, proposal: Proposal, narrowing: Narrowing, page_request: PageRequest, freshness: Freshness
) -> Snapshot[Page[DifferenceRow]]:
    """Returns a page of what a proposal would change.

    Raises InvalidParameter for what could not be written, and if the budget does not suffice; NotFound for a warrant
    that could not be deleted; and what `read_page` raises."""
    newest = await ctx.store.read_warrants((), None, 1)
    freshness.demand(newest.newest)
    at = newest.revision if page_request.at is None else page_request.at
    now = ctx.now() if page_request.now is None else page_request.now
    if page_request.at is not None:
        await find_point(ctx, AsOf(page_request.at, bits=page_request.bits), freshness)
    before = ComparedState(await ctx.caches.models.at(at, newest.model_revision), ctx.store, at, now)

    pinned = replace(page_request, at=at, now=now, is_snapshot=True)
    kind, compare = proposal_kind(proposal, narrowing), partial(_lay_over, ctx, before, proposal)
    return await list_page(ctx, kind, narrowing, pinned, freshness, compare=compare)


async def _lay_over(ctx: Context, before: ComparedState, proposal: Proposal, work: Work) -> StateComparison:
    """Returns the comparison of a state with that after the proposal. Raises InvalidParameter, NotFound."""
    work.spend(
        len(proposal.create) + len(proposal.delete) + sum(object_type.size for object_type in proposal.object_types)
    )
    types = await _merge_types(ctx, before.model, proposal)
    _require_valid(proposal.create, types, before.now)
    model, policies = before.model, _merge_policies(before.model, proposal)
    if types is not model.types or policies is not model.policies:
        patterns = model.patterns | model.orphaned
        model = Model(types, model.revision, patterns, policies=policies)
    return await compare_writes(ctx.store, before, model, proposal)


async def compare_writes(
    store: ExistingNames, before: ComparedState, model: Model, proposal: Proposal
) -> StateComparison:
    """Returns the comparison of a state with that after the warrants of a proposal, with this model. Raises
    NotFound."""
    stored = await _find_stored(before.reader, [*proposal.delete, *proposal.create], before.at)
    plan = _plan_writes(proposal, stored, before.now)
    overlay = Overlay(plan.created, plan.removed)
    created = await _find_new_objects(store, overlay, before.at)
    after = ComparedState(overlay.extend_model(model), OverlaidReader(before.reader, overlay), before.at, before.now)
    united = OverlaidReader(before.reader, Overlay(plan.created))
    return StateComparison(
        before=before, after=after, united=united, warrants=plan.changes, existence=Existence(created)
    )


async def _merge_types(ctx: Context, model: Model, proposal: Proposal) -> Mapping[TypeName, ObjectType]:
    """Returns the object types after the proposal. Raises InvalidParameter as writing them would."""
    proposed = proposal.object_types
    if not proposed and not proposal.is_whole_model:
        return model.types
    kept = {} if proposal.is_whole_model else dict(model.types)
    types = kept | {object_type.name: object_type for object_type in proposed}

    def validate() -> None:
        new_object_types(ctx, proposed)
        loop = find_negation_loop(types.get, [object_type.name for object_type in proposed])
        if loop is not None:
            raise loop_fault(loop)

    try:
        await offload(validate, sum(object_type.size for object_type in types.values()) * BYTES_OF_A_RULE)
    except InvalidParameter as fault:
        raise fault.within(f"{PROPOSAL}.objectTypes.") from None
    return types


def _merge_policies(model: Model, proposal: Proposal) -> Mapping[PolicyName, NamedPolicy]:
    if proposal.policies is None:
        return model.policies
    kept = {} if proposal.is_whole_model else dict(model.policies)
    return kept | {policy.name: policy for policy in proposal.policies}


def _require_valid(new: Sequence[NewWarrant], types: Mapping[TypeName, ObjectType], now: int) -> None:
    """Raises InvalidParameter for the first warrant that could not be written."""
    named = {warrant.object.type for warrant in new}
    defined = {name: types[name] for name in named if name in types}
    for place, warrant in enumerate(new):
        fault = find_warrant_fault(warrant, defined, now)
        if fault is not None:
            raise fault.within(f"{PROPOSAL}.create[{place}].")


async def _find_stored(
    reader: WarrantReader, named: Iterable[NewWarrant], at: Revision
) -> Mapping[WarrantKey, Warrant]:
    """Returns those of these warrants that are stored, by their key."""
    ids: dict[tuple[object, ...], dict[ObjectId, None]] = {}
    requests: dict[tuple[object, ...], WarrantsByObject] = {}
    for warrant in named:
        names = (warrant.object.type, warrant.relation, warrant.subject)
        if names not in requests:
            requests[names] = WarrantsByObject(
                type=warrant.object.type,
                relations=(warrant.relation,),
                subjects=warrant.subject,
                has_object_wildcard=False,
                has_subject_wildcard=False,
            )
        ids.setdefault(names, {})[warrant.object.id] = None
    if not requests:
        return {}
    reads = [WarrantRead(request, tuple(ids[names])) for names, request in requests.items()]
    result = await reader.read_warrants(reads, at, MAX_STORED)
    return {warrant_key(warrant): warrant for warrant in chain.from_iterable(result.warrants)}


@dataclass(slots=True)
class _PlannedWrites:
    """Holds what a proposal would write: warrants that it creates or replaces, what it deletes or replaces, and the
    changes in all."""

    created: list[Warrant] = field(default_factory=list)
    removed: list[WarrantKey] = field(default_factory=list)
    changes: list[WarrantChange] = field(default_factory=list)

    def delete(self, warrant: Warrant) -> None:
        self.removed.append(warrant_key(warrant))
        self.changes.append(WarrantChange(warrant, is_created=False))

    def create(self, warrant: Warrant) -> None:
        self.created.append(warrant)
        self.changes.append(WarrantChange(warrant, is_created=True))


def _plan_writes(proposal: Proposal, stored: Mapping[WarrantKey, Warrant], now: int) -> _PlannedWrites:
    """Returns what would be written; the rules are those of Store.put_warrants. Raises NotFound."""
    plan, remaining = _PlannedWrites(), dict(stored)
    for warrant in proposal.delete:
        named = build_warrant(warrant, now, 0)
        former = remaining.pop(warrant_key(named), None)
        if former is None or _has_expired(former, now):
            raise NotFound("Warrant", named.render())
        plan.delete(former)
    new_by_key = {warrant_key(build_warrant(warrant, now, 0)): warrant for warrant in proposal.create}
    for number, (key, warrant) in enumerate(new_by_key.items(), FIRST_NUMBER):
        new, former = build_warrant(warrant, now, number), remaining.get(key)
        if former is None:
            plan.create(new)
            continue
        is_over = warrant.lifetime is not None and former.created_at + warrant.lifetime <= now
        if not is_over and (former.starts_at, former.expires_at) == (warrant.starts_at, warrant.expires_at):
            continue
        plan.delete(former)
        is_renewed = is_over or _has_expired(former, now)
        plan.create(new if is_renewed else msgspec.structs.replace(new, created_at=former.created_at))
    return plan


def _has_expired(warrant: Warrant, now: int) -> bool:
    return warrant.expires_at is not None and warrant.expires_at <= now


async def _find_new_objects(store: ExistingNames, overlay: Overlay, at: Revision) -> set[ObjectRef]:
    """Returns the objects that the added warrants name and that do not exist yet."""
    named = [
        ObjectRef(of_type, object_id)
        for of_type, ids in overlay.objects.items()
        for object_id in ids
        if object_id != WILDCARD
    ]
    new = set(named)
    for start in range(0, len(named), REFS_AT_ONCE):
        existing = await store.find_objects(named[start : start + REFS_AT_ONCE], at)
        new.difference_update(ObjectRef(stored.type, stored.id) for stored in existing.value)
    return new
