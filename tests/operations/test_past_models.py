"""Models of the past: read once, kept for as long as they are used, never one with a pattern missing."""

import gc
from collections.abc import AsyncIterator
from dataclasses import replace
from weakref import ref

import pytest

from benchmarks.counting import counting_store
from magistrate.engine.model.model import Model
from magistrate.engine.names import Revision, TypeName
from magistrate.errors import NotFound, NotRetained
from magistrate.operations.checks.check import PendingChecks
from magistrate.operations.checks.check_batch import ALL_NEEDED
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.history.points_in_time import AsOf
from magistrate.operations.models import cache as models
from magistrate.operations.models.cache import Models
from magistrate.operations.models.object_types import delete_object_type
from magistrate.wiring.contexts import context_of
from tests.operations.node import Node
from tests.operations.stored_warrants import DRIVE, question
from tests.running import settings_for

pytestmark = pytest.mark.anyio

MAX_BYTES = 16_000_000
CHECK = "folder:1#viewer@user:ann"
VIEWED_BY_NOBODY = {"folder": {**DRIVE["folder"], "viewer": {}}}


@pytest.fixture
async def node(database_url: str) -> AsyncIterator[Node]:
    store, database = await counting_store(database_url)
    context = context_of(store, settings_for(database_url, cache_bytes=0))
    yield Node(replace(context, caches=replace(context.caches, models=Models(store, MAX_BYTES))), database)
    await store.close()


async def allowed_at(node: Node, revision: int, asked: str = CHECK) -> bool:
    as_of = AsOf(revision=Revision(revision))
    return (
        (await PendingChecks(node.ctx, [question(asked)], ALL_NEEDED, NO_DEMAND).decide_as_of(as_of))
        .value[0]
        .is_authorized
    )


async def model_at(node: Node, revision: int) -> Model:
    state = await node.ctx.store.find_revision(Revision(revision))
    return await node.ctx.caches.models.at(Revision(revision), state.model_revision)


async def reads_for(node: Node, revision: int) -> int:
    node.database.reads = 0
    await allowed_at(node, revision)
    return node.database.reads


async def test_a_model_of_the_past_is_read_once_for_all_revisions_that_it_holds_for(node: Node) -> None:
    await node.define(DRIVE)
    await node.grant("folder:1#viewer@user:ann")
    await node.grant("folder:2#viewer@user:ann")
    await node.define(VIEWED_BY_NOBODY)
    assert await allowed_at(node, 2)

    assert await reads_for(node, 2) == 2  # the revision, and the warrants
    assert await reads_for(node, 3) == 2
    assert await model_at(node, 2) is await model_at(node, 3)


async def test_a_check_as_of_a_revision_with_the_newest_model_reads_no_model(node: Node) -> None:
    await node.define(DRIVE)
    granted = await node.grant("folder:1#viewer@user:ann")
    await node.grant("folder:2#viewer@user:ann")
    assert await node.allowed(CHECK)

    assert await reads_for(node, granted.revision) == 2
    assert await model_at(node, granted.revision) is await node.ctx.caches.models.get_known()


async def test_a_pattern_that_is_new_since_then_leaves_the_model_as_it_is_known(node: Node) -> None:
    await node.define(DRIVE)
    granted = await node.grant("folder:1#viewer@user:ann")
    await node.grant("folder:1#viewer@team:eng#member")
    assert await node.allowed(CHECK)

    assert await allowed_at(node, granted.revision)
    assert await model_at(node, granted.revision) is await node.ctx.caches.models.get_known()


async def test_no_pattern_is_missing_from_a_model_that_was_kept_before_others_wrote(database_url: str) -> None:
    stores = [await counting_store(database_url) for _ in range(2)]
    settings = settings_for(database_url, cache_bytes=0)
    writer, reader = (Node(context_of(store, settings), database) for store, database in stores)
    await writer.define(DRIVE)
    await writer.grant("folder:1#viewer@user:ann")
    await reader.ctx.caches.models.get_known()  # what it knows from now on is not the newest
    by_group = await writer.grant("folder:1#viewer@team:eng#member", "team:eng#member@user:bob")
    by_all = await writer.grant("folder:1#viewer@team:*#member")
    await writer.grant("folder:1#viewer@user:*")

    assert await allowed_at(reader, 2)
    assert not await allowed_at(reader, 2, "folder:1#viewer@user:bob")
    assert await allowed_at(reader, by_group.revision, "folder:1#viewer@user:bob")
    assert await allowed_at(reader, by_all.revision, "folder:1#viewer@user:bob")
    assert not await allowed_at(reader, by_all.revision, "folder:1#viewer@user:eve")
    assert await allowed_at(reader, by_all.revision + 1, "folder:1#viewer@user:eve")
    for store, _ in stores:
        await store.close()


async def test_each_model_of_many_answers_for_its_own_revisions(node: Node) -> None:
    await node.define(DRIVE)
    await node.grant("folder:1#parent@folder:2", "folder:2#viewer@user:ann")
    for _ in range(3):
        await node.define(VIEWED_BY_NOBODY)
        await node.define(DRIVE)
    await delete_object_type(node.ctx, TypeName("folder"), node.ctx.stamp("ann"))

    for _ in range(2):
        assert [await allowed_at(node, revision) for revision in range(2, 9)] == [True, False] * 3 + [True]
    with pytest.raises(NotFound):
        await allowed_at(node, 9)


async def test_few_models_of_the_past_are_kept(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "MIN_BYTES", MAX_BYTES // 2 - 100_000)
    await node.define(DRIVE)
    for number in range(5):
        await node.define({"printer": {f"operator{number}": {}}})
    await node.ctx.caches.models.get_known()

    used = [ref(await model_at(node, revision)) for revision in range(1, 6)]

    gc.collect()
    assert [model() is not None for model in used] == [False, False, False, True, True]


async def test_a_model_that_is_larger_than_all_that_is_kept_is_used_and_not_kept(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "MIN_BYTES", MAX_BYTES + 1)
    await node.define(DRIVE)
    await node.define({"printer": {"operator": {}}})

    used = ref(await model_at(node, 1))
    gc.collect()
    assert used() is None
    assert [*(await model_at(node, 1)).types] == [*DRIVE]


async def test_a_model_that_is_kept_does_not_outlive_the_warrants_of_its_revision(node: Node) -> None:
    await node.define(DRIVE)
    await node.grant("folder:1#viewer@user:ann")
    await node.revoke("folder:1#viewer@user:ann")
    await node.define(VIEWED_BY_NOBODY)
    assert await allowed_at(node, 2)

    await node.ctx.store.collect(node.ctx.now(), 100)

    with pytest.raises(NotRetained, match="the oldest time that can be read is 20"):
        await allowed_at(node, 2)
    assert not await allowed_at(node, 4)
