"""Stores warrants that have time limits, beside a clock that a test sets."""

from dataclasses import replace

import pytest
from msgspec import structs

from magistrate.engine.names import Revision
from magistrate.operations.consistency import Freshness
from magistrate.operations.lists.listings import Listings
from magistrate.operations.live_graph import LiveGraph
from magistrate.operations.writes.warrants import create_warrants
from magistrate.store.contract.new_rows import NewWarrant
from tests.memory_source import Relations
from tests.operations.node import Node
from tests.operations.stored_warrants import new

NEWEST = Freshness("Warrant-Token", Revision(0), newest=True)

TYPES: dict[str, Relations] = {
    "user": {},
    "team": {"member": {}},
    "folder": {"viewer": {}},
    "document": {
        "parent": {},
        "blocked": {},
        "viewer": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"},
        "reader": {"inheritIf": "allOf", "rules": [{"inheritIf": "viewer"}, {"inheritIf": "unblocked"}]},
        "unblocked": {"inheritIf": "noneOf", "rules": [{"inheritIf": "blocked"}]},
    },
}


class Clock:
    """Shows the time that a test sets."""

    def __init__(self) -> None:
        self.time = 1_000

    def __call__(self) -> int:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def pair(nodes: tuple[Node, Node], clock: Clock) -> tuple[Node, Node]:
    """Two processes with one clock, and graphs and listings of their own."""
    for node in nodes:
        graph = LiveGraph(node.ctx.store, node.ctx.caches.models, 1_000_000, clock)
        node.ctx = replace(
            node.ctx, now=clock, caches=replace(node.ctx.caches, graph=graph, listings=Listings(10_000_000))
        )
    await nodes[0].define(TYPES)
    return nodes


def limited(written: str, starts_at: int | None = None, expires_at: int | None = None) -> NewWarrant:
    return structs.replace(new(written), starts_at=starts_at, expires_at=expires_at)


async def grant(node: Node, *warrants: NewWarrant) -> None:
    await create_warrants(node.ctx, warrants, node.ctx.stamp("ann"), lambda place: f"[{place}].")


Limits = tuple[int | None, int | None]
"""Holds the start and the expiry of a warrant."""

WRITTEN = [
    f"{object_name}@{subject}"
    for object_name in (
        "document:a#viewer",
        "document:b#viewer",
        "document:a#blocked",
        "team:x#member",
        "folder:f#viewer",
    )
    for subject in ("user:ann", "user:bob", "team:x#member", "team:y#member")
] + ["team:y#member@user:ann", "document:b#parent@folder:f", "team:y#member@team:x#member"]

CHECKS = [
    f"document:{object_id}#{relation}@user:{user}"
    for object_id in "ab"
    for relation in ("viewer", "reader")
    for user in ("ann", "bob")
]
