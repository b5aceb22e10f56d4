"""Deletions by filter of several requests and processes at once (docs/api.md#deleting-by-filter)."""

import asyncio
from functools import partial

import pytest

from magistrate.operations.writes import warrants as chunk_size
from magistrate.operations.writes.warrants import DeletedMatches, delete_matching
from tests.operations.node import Node

pytestmark = pytest.mark.anyio

ON_FOLDERS = {"object_type": "folder", "relation": "viewer"}


async def delete(node: Node, most: int) -> DeletedMatches:
    return (await delete_matching(node.ctx, ON_FOLDERS, most, partial(node.ctx.stamp, "ann"))).value


async def count_left(node: Node) -> int:
    return len((await node.ctx.store.match_warrants(ON_FOLDERS, 10_000, node.ctx.now())).value)


async def test_together_they_delete_as_much_as_each_may(
    nodes: tuple[Node, Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FIRST_CHUNK", "MIN_CHUNK", "MAX_CHUNK"):
        monkeypatch.setattr(chunk_size, name, 7)
    await nodes[0].grant(*(f"folder:{number}#viewer@user:ann" for number in range(400)))

    first = await asyncio.gather(*(delete(node, 50) for node in nodes * 3))
    left = await count_left(nodes[0])
    last = await asyncio.gather(*(delete(node, 50) for node in nodes))

    assert [answer.deleted for answer in first] == [50] * 6
    assert left == 100
    assert [answer.deleted for answer in last] == [50, 50]
    assert await count_left(nodes[0]) == 0


async def test_what_another_has_deleted_makes_no_revision(nodes: tuple[Node, Node]) -> None:
    await nodes[0].grant(*(f"folder:{number}#viewer@user:ann" for number in range(60)))
    before = await nodes[0].ctx.store.check()

    answers = await asyncio.gather(*(delete(node, 20) for node in nodes * 3))

    assert sorted(answer.deleted for answer in answers) == [0, 0, 0, 20, 20, 20]
    assert await nodes[0].ctx.store.check() == before + 3
