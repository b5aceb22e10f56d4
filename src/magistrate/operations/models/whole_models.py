"""Reads and replaces the model of a store as a whole, and plans that: finds what a write would change, without writing
it (docs/models.md, docs/models.md#plan-and-apply)."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeVar

from magistrate.engine.model.object_types import ObjectType
from magistrate.engine.names import TypeName
from magistrate.engine.policy.named_policies import NamedPolicy
from magistrate.engine.warrants.warrant import Warrant, WarrantPattern
from magistrate.operations.consistency import Freshness, require_stored
from magistrate.operations.context import Context
from magistrate.operations.history.points_in_time import AsOf, find_revision
from magistrate.operations.models.definitions import render_policy_definition
from magistrate.operations.models.object_types import find_forbidden, render_types, validate_and_warn
from magistrate.operations.scheduling import offload
from magistrate.operations.writes.warrants import MAX_ORPHANED_PATTERNS
from magistrate.store.contract.lists import PageSlice, Slice, Snapshot, WarrantFilter
from magistrate.store.contract.new_rows import NewModel, Stamp
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.stored_rows import StoredModel

N = TypeVar("N", bound=str)


class WrittenModel(NamedTuple):
    """Holds a model as it is stored, and at most MAX_WARNINGS sentences about names in its rules that it does not
    define."""

    stored: StoredModel
    warnings: Sequence[str]


async def read_whole_model(ctx: Context, freshness: Freshness, as_of: AsOf | None = None) -> Snapshot[StoredModel]:
    """Returns all object types and policies at one revision. Raises InvalidParameter if the token is from the future,
    and what `find_revision` raises."""
    stored = await ctx.store.read_model(await find_revision(ctx, as_of, freshness))
    if as_of is None:
        freshness.demand(stored.revision)
    return stored


async def put_whole_model(
    ctx: Context,
    types: Sequence[ObjectType],
    policies: Sequence[NamedPolicy],
    stamp: Stamp,
    expected: RevisionId | None = None,
    keeps_orphaned: bool = False,
) -> Snapshot[WrittenModel]:
    """Makes these the object types and policies of the store, in one revision; all others are deleted.

    Raises RevisionLost if the store does not hold the expected revision, ModelChanged if the model is not that of the
    expected revision any more, and what `put_object_types` raises."""
    if expected is not None:
        await require_stored(ctx.store, expected)
    warnings: list[str] = []
    validate = validate_and_warn(types, {policy.name for policy in policies}, warnings)
    definitions = [(policy.name, render_policy_definition(policy)) for policy in policies]
    new = NewModel(await render_types(ctx, types), definitions, expected)
    revision = await ctx.store.put_model(new, validate, stamp, None if keeps_orphaned else find_forbidden)
    return Snapshot(revision, WrittenModel((await ctx.store.read_model(revision)).value, tuple(warnings)))


MAX_ORPHANED = 100
"""Limits the warrants that a plan names."""


class NameChanges(NamedTuple):
    """Holds the names of what would be created, changed and deleted, each sorted."""

    created: Sequence[str]
    changed: Sequence[str]
    deleted: Sequence[str]


class ModelPlan(NamedTuple):
    """Holds what writing a model would change. `orphaned` are the first of the stored warrants that count now and would
    not be allowed any more, in the order of creation; `has_more` says whether there are others. `warnings` are those
    of the write."""

    object_types: NameChanges
    policies: NameChanges
    orphaned: Sequence[Warrant]
    has_more: bool
    warnings: Sequence[str]


async def plan_model(
    ctx: Context, types: Sequence[ObjectType], policies: Sequence[NamedPolicy], freshness: Freshness
) -> Snapshot[ModelPlan]:
    """Returns what `put_whole_model` would change now. Raises InvalidParameter like it."""
    read = await read_whole_model(ctx, freshness)
    before, revision = read.value, read.revision
    after = {row.name: row.definition for row in await render_types(ctx, types)}
    warnings: list[str] = []
    validate = validate_and_warn(types, {policy.name for policy in policies}, warnings)
    size = sum(map(len, after.values()))
    await offload(partial(validate, after), size)
    patterns = await offload(partial(_find_patterns, before.definitions, after, before.patterns), size)
    listed: PageSlice[Warrant] = PageSlice((), precedes=False, follows=False)
    if patterns:
        only = WarrantFilter(unexpired_at=ctx.now(), patterns=patterns)
        listed = (await ctx.store.list_warrants(Slice("createdAt", MAX_ORPHANED), only, revision)).value
    named = {policy.name: render_policy_definition(policy) for policy in policies}
    changes = _compare(before.definitions, after), _compare(before.policies, named)
    return Snapshot(revision, ModelPlan(*changes, listed.rows, listed.follows, tuple(warnings)))


def _find_patterns(
    before: Mapping[TypeName, str], after: Mapping[TypeName, str], patterns: Iterable[WarrantPattern]
) -> frozenset[WarrantPattern]:
    """Returns the patterns of warrants that would be orphaned, or some of them if one statement cannot have all."""
    return frozenset(islice(find_forbidden(before, after, patterns), MAX_ORPHANED_PATTERNS))


def _compare(before: Mapping[N, str], after: Mapping[N, str]) -> NameChanges:
    return NameChanges(
        sorted(after.keys() - before.keys()),
        sorted(name for name in after.keys() & before.keys() if after[name] != before[name]),
        sorted(before.keys() - after.keys()),
    )
