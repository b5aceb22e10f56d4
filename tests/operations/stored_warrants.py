"""-"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from magistrate.engine.evaluation.check import Check
from magistrate.engine.names import Revision
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.models.object_types import put_object_types
from magistrate.operations.writes.warrants import create_warrants
from magistrate.store.contract.lists import Slice, WarrantFilter
from magistrate.store.contract.new_rows import NewWarrant
from tests.memory_source import model_of
from tests.scenario_files import claim, stored_warrant

Types = dict[str, dict[str, dict[str, Any]]]

DRIVE: Types = {
    "folder": {"parent": {}, "viewer": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}},
    "team": {"member": {}},
}


def question(asked: str) -> Check:
    object_type, object_id, relation, subject = claim(asked)
    return Check(ObjectRef(object_type, object_id), relation, subject)


def new(written: str) -> NewWarrant:
    object_type, object_id, relation, subject = claim(written)
    return NewWarrant(ObjectRef(object_type, object_id), relation, subject, stored_warrant(written, 0, 0).policy)


async def define(ctx: Context, types: Types) -> None:
    await put_object_types(ctx, list(model_of(types).types.values()), ctx.stamp("ann"))


async def grant(ctx: Context, *written: str) -> None:
    for start in range(0, len(written), 1_000):
        batch = [new(text) for text in written[start : start + 1_000]]
        await create_warrants(ctx, batch, ctx.stamp("ann"), str)


STORM: Types = {
    "folder": {
        "parent": {},
        "blocked": {},
        "reader": {
            "inheritIf": "anyOf",
            "rules": [{"inheritIf": "reader", "ofType": "folder", "withRelation": "parent"}],
        },
        "viewer": {
            "inheritIf": "allOf",
            "rules": [{"inheritIf": "reader"}, {"inheritIf": "noneOf", "rules": [{"inheritIf": "blocked"}]}],
        },
    },
    "team": {"member": {}},
}

OTHER_FOLDER: Types = {"folder": STORM["folder"] | {"viewer": {"inheritIf": "reader"}}}


def stormy_warrants() -> list[str]:
    """All that is written and deleted: together they tie folders, groups and exclusions into each other."""
    folders = [f"folder:{low}#parent@folder:{high}" for low in range(4) for high in range(low + 1, 5)]
    readers = [f"folder:{number}#reader@team:{number % 3}#member" for number in range(5)]
    blocked = [f"folder:{number}#blocked@user:{name}" for number in (0, 1) for name in ("ann", "bob")]
    teams = ["team:0#member@team:1#member", "team:1#member@team:2#member", "team:2#member@team:0#member"]
    return [*folders, *readers, *blocked, *teams, "team:1#member@user:ann", "team:2#member@user:bob"]


async def read_state(ctx: Context, revision: int) -> tuple[Mapping[str, Any], Sequence[Warrant]]:
    """Returns the rules of each relation of each type, and all warrants, at a revision."""
    definitions = (await ctx.store.read_model(Revision(revision))).value.definitions
    model: dict[str, Any] = {name: json.loads(definition)["relations"] for name, definition in definitions.items()}
    listed = await ctx.store.list_warrants(Slice("createdAt", 1_000), WarrantFilter(), Revision(revision))
    return model, listed.value.rows


LATEST = Freshness("Warrant-Token", Revision(0), newest=True)
