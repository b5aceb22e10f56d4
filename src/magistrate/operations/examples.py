"""Loads worked examples into a store: a model, objects, warrants, and checks with their expected answers."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from magistrate.engine.model import ObjectType
from magistrate.engine.named_policy import NamedPolicy
from magistrate.engine.terms import ObjectRef, RelationName, Subject, object_id, type_name
from magistrate.engine.warrants import Warrant
from magistrate.operations.context import Context
from magistrate.operations.object_types import create_object_types
from magistrate.operations.objects import ObjectDraft, create_objects, render_meta
from magistrate.operations.policies import put_policies
from magistrate.operations.warrants import create_warrants
from magistrate.store.contract import NewWarrant

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
    await create_object_types(ctx, example.types, ctx.stamp(ACTOR), keeps_stranded=True)
    drafts = [_read_object(ctx, one) for one in example.objects]
    if drafts:
        await create_objects(ctx, drafts, ctx.stamp(ACTOR))
    warrants = [build_new_warrant(one) for one in example.warrants]
    await create_warrants(ctx, warrants, ctx.stamp(ACTOR), lambda place: f"warrants[{place}].")


def _read_object(ctx: Context, one: ExampleObject) -> ObjectDraft:
    return ObjectDraft(type_name(one.type, "objectType"), object_id(one.id, "objectId"), render_meta(ctx, one.meta))


def build_new_warrant(one: Warrant) -> NewWarrant:
    """Returns what creates a warrant of a test file."""
    userset = RelationName(one.subject_relation) if one.subject_relation else None
    subject = Subject(one.subject_type, one.subject_id, userset)
    object = ObjectRef(one.object_type, one.object_id)
    return NewWarrant(object, one.relation, subject, one.policy, None, one.starts_at, one.expires_at)
