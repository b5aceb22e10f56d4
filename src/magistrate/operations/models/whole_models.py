"""Reads and replaces the model of a store as a whole (docs/models.md)."""

from collections.abc import Sequence
from typing import NamedTuple

from magistrate.engine.model.object_types import ObjectType
from magistrate.engine.policy.named_policies import NamedPolicy
from magistrate.operations.consistency import Freshness, require_stored
from magistrate.operations.context import Context
from magistrate.operations.history.points_in_time import AsOf, find_revision
from magistrate.operations.models.definitions import render_policy_definition
from magistrate.operations.models.object_types import find_forbidden, render_types, validate_and_warn
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import NewModel, Stamp
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.stored_rows import StoredModel


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
    expected revision any more, and what `create_object_types` raises."""
    if expected is not None:
        await require_stored(ctx.store, expected)
    warnings: list[str] = []
    validate = validate_and_warn(types, {policy.name for policy in policies}, warnings)
    definitions = [(policy.name, render_policy_definition(policy)) for policy in policies]
    new = NewModel(await render_types(ctx, types), definitions, expected)
    revision = await ctx.store.put_model(new, validate, stamp, None if keeps_orphaned else find_forbidden)
    return Snapshot(revision, WrittenModel((await ctx.store.read_model(revision)).value, tuple(warnings)))
