"""Loads worked examples into a store: a model, objects, warrants, and checks with their expected answers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from magistrate.engine.model.object_types import ObjectType
from magistrate.engine.policy.named_policies import NamedPolicy
from magistrate.engine.terms import object_id, type_name
from magistrate.engine.testing.suites import ModelSuite
from magistrate.engine.warrants.warrant import Warrant
from magistrate.operations.context import Context
from magistrate.operations.models.object_types import put_object_types
from magistrate.operations.models.policies import put_policies
from magistrate.operations.models.whole_models import put_whole_model
from magistrate.operations.writes.objects import ObjectDraft, create_objects, render_meta
from magistrate.operations.writes.warrants import create_warrants
from magistrate.store.contract.new_rows import NewWarrant, build_new_warrant

ACTOR = "magistrate"
"""Names the actor in the change log."""


class Try(NamedTuple):
    """Represents a check in written form, its expected answer, and the reason in one line."""

    check: str
    answer: bool
    why: str
    context: Mapping[str, Any]


class ExampleObject(NamedTuple):
    """Represents an object with its meta."""

    type: str
    id: str
    meta: dict[str, Any]


class Example(NamedTuple):
    """Represents one example. `about` completes a sentence; `objects` are those that have meta. The first of the
    `tries` are for a newcomer."""

    about: str
    types: Sequence[ObjectType]
    policies: Sequence[NamedPolicy]
    warrants: Sequence[Warrant]
    tries: Sequence[Try]
    objects: Sequence[ExampleObject] = ()


async def load_example(ctx: Context, example: Example) -> None:
    """Creates the policies, types, objects and warrants of the example, each in one write. Existing data stays; types
    and policies that are defined otherwise are changed, and warrants that they do not allow have no effect."""
    if example.policies:
        await put_policies(ctx, example.policies, ctx.stamp(ACTOR))
    await put_object_types(ctx, example.types, ctx.stamp(ACTOR), keeps_orphaned=True)
    drafts = [_read_object(ctx, row) for row in example.objects]
    if drafts:
        await create_objects(ctx, drafts, ctx.stamp(ACTOR))
    warrants = [_copy_warrant(row) for row in example.warrants]
    await create_warrants(ctx, warrants, ctx.stamp(ACTOR), lambda place: f"warrants[{place}].")


def _read_object(ctx: Context, row: ExampleObject) -> ObjectDraft:
    return ObjectDraft(type_name(row.type, "objectType"), object_id(row.id, "objectId"), render_meta(ctx, row.meta))


def _copy_warrant(warrant: Warrant) -> NewWarrant:
    return build_new_warrant(warrant.names, warrant.policy, starts_at=warrant.starts_at, expires_at=warrant.expires_at)


WARRANTS_AT_ONCE = 1_000
"""Limits the warrants of one write."""


async def load_suite(ctx: Context, suite: ModelSuite) -> int:
    """Makes the model of the suite that of the store, creates its warrants, and returns how many were left out because
    they have expired. Raises InvalidParameter for what could not be written over HTTP either."""
    await put_whole_model(ctx, suite.types, suite.policies, ctx.stamp(ACTOR))
    now = ctx.now()
    current = [warrant for warrant in suite.warrants if warrant.expires_at is None or warrant.expires_at > now]
    for chunk in _divide([_copy_warrant(warrant) for warrant in current]):
        await create_warrants(ctx, chunk, ctx.stamp(ACTOR), lambda place: f"setup.warrants[{place}].")
    return len(suite.warrants) - len(current)


def _divide(new: list[NewWarrant]) -> Iterator[list[NewWarrant]]:
    for start in range(0, len(new), WARRANTS_AT_ONCE):
        yield new[start : start + WARRANTS_AT_ONCE]
