"""Loads worked examples: a model, objects, warrants, and checks with their expected answers, from the files of
magistrate/examples."""

from importlib.resources import files
from typing import Any

import msgspec

from magistrate.engine.model import read_object_type
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.terms import (
    ObjectRef,
    Subject,
    object_id,
    object_id_or_wildcard,
    relation_name,
    type_name,
)
from magistrate.engine.written import read_written
from magistrate.operations.context import Context
from magistrate.operations.object_types import create_object_types
from magistrate.operations.objects import ObjectDraft, create_objects, render_meta
from magistrate.operations.warrants import create_warrants
from magistrate.store.contract import NewWarrant

ACTOR = "magistrate"
"""Names the actor in the change log."""


class Try(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Represents a check in written form, its expected answer, and the reason in one line."""

    check: str
    answer: bool
    why: str
    context: dict[str, Any] = {}


class ExampleObject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Represents an object with its meta."""

    type: str
    id: str
    meta: dict[str, Any]


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Represents one example. `about` completes a sentence; `types` holds relations by type, `warrants` their written
    form, `objects` those that have meta. The first of the `tries` are for a newcomer."""

    about: str
    types: dict[str, dict[str, RuleDefinition | None]]
    warrants: tuple[str, ...]
    tries: tuple[Try, ...]
    objects: tuple[ExampleObject, ...] = ()


def read_example(name: str) -> Example:
    content = files("magistrate").joinpath("examples", f"{name}.json").read_bytes()
    return msgspec.json.decode(content, type=Example)


async def load_example(ctx: Context, example: Example) -> None:
    """Creates the types, objects and warrants of the example, each in one write. Existing data stays; types that are
    defined otherwise are changed."""
    types = [read_object_type(name, None, relations) for name, relations in example.types.items()]
    await create_object_types(ctx, types, ctx.stamp(ACTOR))
    drafts = [_read_object(ctx, one) for one in example.objects]
    if drafts:
        await create_objects(ctx, drafts, ctx.stamp(ACTOR))
    warrants = [_read_warrant(text) for text in example.warrants]
    await create_warrants(ctx, warrants, ctx.stamp(ACTOR), lambda place: f"warrants[{place}].")


def _read_object(ctx: Context, one: ExampleObject) -> ObjectDraft:
    return ObjectDraft(type_name(one.type, "objectType"), object_id(one.id, "objectId"), render_meta(ctx, one.meta))


def _read_warrant(text: str) -> NewWarrant:
    said, policy = read_written(text)
    group = relation_name(said.subject_relation, "relation") if said.subject_relation else None
    return NewWarrant(
        ObjectRef(type_name(said.object_type, "objectType"), object_id_or_wildcard(said.object_id, "objectId")),
        relation_name(said.relation, "relation"),
        Subject(type_name(said.subject_type, "objectType"), object_id_or_wildcard(said.subject_id, "objectId"), group),
        policy,
    )
