"""Steps of the effective feed: what a change cannot concern costs nothing; too large a change has no rows at all."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from magistrate.engine.policy.named_policies import read_named_policy
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.difference.filters import read_narrowing
from magistrate.operations.difference.revisions import RevisionsRequest, list_difference, revisions_kind
from magistrate.operations.history.times import render_time
from magistrate.operations.models.policies import put_policies
from magistrate.operations.paging import read_page_request
from magistrate.operations.watch import access_steps
from magistrate.operations.watch.access_snapshot import list_access
from magistrate.operations.watch.access_steps import AccessCursor, AccessEvent, AccessPosition, begin_cursor
from magistrate.operations.watch.revision_log import RevisionLog, WrittenRevision
from tests.operations.node import Node
from tests.operations.stored_warrants import Types

pytestmark = pytest.mark.anyio

SHARED: Types = {
    "user": {},
    "team": {"member": {}},
    "folder": {"parent": {}, "viewer": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}},
    "document": {
        "parent": {},
        "note": {},
        "blocked": {},
        "reader": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"},
        "viewer": {
            "inheritIf": "allOf",
            "rules": [{"inheritIf": "reader"}, {"inheritIf": "noneOf", "rules": [{"inheritIf": "blocked"}]}],
        },
    },
}


async def begin(node: Node, of: str = "document#viewer@user", object_: str | None = None) -> AccessCursor:
    newest, at = await RevisionLog(node.ctx.store).read_newest()
    cursor = await begin_cursor(node.ctx, read_narrowing(of, None, object_, None), AccessPosition(newest, at, at))
    async for _ in cursor.follow_time(at + 1):  # looks ahead for the first time
        pass
    return cursor


async def read_written(node: Node, cursor: AccessCursor) -> Sequence[WrittenRevision]:
    return (await RevisionLog(node.ctx.store).read_page(cursor.position.id)).batch.revisions


async def follow(node: Node, cursor: AccessCursor) -> list[AccessEvent]:
    events: list[AccessEvent] = []
    for written in await read_written(node, cursor):
        events += [event async for event in cursor.follow_revision(written)]
    return events


def shown(event: AccessEvent) -> list[tuple[str, str, bool]]:
    return [(row.change.id, row.change.subject_id, row.change.is_gained) for row in event.rows or ()]


@pytest.fixture
async def cursor(node: Node) -> AccessCursor:
    await node.define(SHARED)
    await node.grant("folder:top#viewer@team:all#member", "document:1#parent@folder:top", "team:all#member@user:ann")
    await node.grant("document:1#note@user:ann", "document:2#blocked@user:bob", "team:other#member@user:bob")
    return await begin(node)


async def test_a_change_that_reaches_nothing_selected_runs_no_statement(node: Node, cursor: AccessCursor) -> None:
    await node.grant(*[f"document:new-{number}#note@user:new-{number}" for number in range(50)])
    written = await read_written(node, cursor)
    node.database.reads = 0

    events = [event for each in written async for event in cursor.follow_revision(each)]

    assert events == []
    assert node.database.reads == 0
    assert cursor.position.id == written[-1].id


async def test_a_change_like_one_that_reached_nothing_is_skipped_without_a_step(
    node: Node, cursor: AccessCursor
) -> None:
    await node.grant("document:new#note@user:new")
    await node.grant("document:newer#note@user:newer")
    first, second = await read_written(node, cursor)

    assert not cursor.skip_revision(first), "it is not known yet whether documents and users that exist can matter"
    await follow(node, cursor)
    cursor.position = AccessPosition(first.id, first.written_at, first.written_at)
    assert cursor.skip_revision(second)
    assert cursor.position == AccessPosition(second.id, second.written_at, second.written_at)


@pytest.mark.parametrize("relevant", ["team:all#member@user:kim", "document:1#blocked@user:ann"])
async def test_a_change_that_may_reach_what_is_selected_is_not_skipped(
    node: Node, cursor: AccessCursor, relevant: str
) -> None:
    await node.grant("document:1#note@user:kim", "document:1#note@user:new")
    await follow(node, cursor)
    await node.grant(relevant)
    [written] = await read_written(node, cursor)

    assert not cursor.skip_revision(written)


async def test_what_is_named_and_moments_are_not_skipped(node: Node, cursor: AccessCursor) -> None:
    named = await begin(node, object_="document:new")
    await node.grant("document:newest#note@user:newest")
    await follow(node, named)
    await node.grant("document:new#note@user:new")
    [written] = await read_written(node, named)
    assert not named.skip_revision(written)
    assert cursor.wakes_at is not None

    assert not cursor.skip_revision(replace(written, written_at=cursor.wakes_at))


async def test_a_change_that_reaches_what_is_selected_is_an_event(node: Node, cursor: AccessCursor) -> None:
    await node.grant("team:all#member@user:kim")
    await node.grant("document:1#blocked@user:ann")

    gained, lost = await follow(node, cursor)

    assert shown(gained) == [("1", "kim", True)]
    assert shown(lost) == [("1", "ann", False)]


async def test_an_event_with_too_many_rows_has_none(
    node: Node, cursor: AccessCursor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_steps, "MAX_ROWS", 2)
    await node.grant("team:all#member@user:1", "team:all#member@user:2")
    await node.grant("team:all#member@user:3", "team:all#member@user:4", "team:all#member@user:5")
    await node.grant("team:all#member@user:6")

    exact, large, following = await follow(node, cursor)

    assert len(shown(exact)) == 2
    assert large.rows is None
    assert shown(following) == [("1", "6", True)]


async def test_an_event_that_takes_too_many_bytes_has_none(
    node: Node, cursor: AccessCursor, monkeypatch: pytest.MonkeyPatch
) -> None:
    await node.grant("team:all#member@user:1")
    [measured] = await follow(node, cursor)
    monkeypatch.setattr(access_steps, "MAX_BYTES", measured.size - 1)
    await node.grant("team:all#member@user:2")

    [large] = await follow(node, cursor)

    assert large.rows is None


async def test_a_change_that_exceeds_the_budget_is_not_compared(node: Node, cursor: AccessCursor) -> None:
    node.ctx.max_query_work = 5
    await node.grant(*[f"team:all#member@user:{number}" for number in range(10)])
    [large] = await follow(node, cursor)
    node.ctx.max_query_work = 100_000
    await node.grant("team:all#member@user:kim")

    [following] = await follow(node, cursor)

    assert large.rows is None
    assert shown(following) == [("1", "kim", True)]


async def test_the_clock_of_a_named_policy_changes_access(node: Node) -> None:
    since = node.ctx.now()
    by_noon = {"inheritIf": "allOf", "rules": [{"inheritIf": "reader"}, {"policy": "morning"}]}
    noon = since + 3_600_000_000
    policy = read_named_policy("morning", None, f'now < date("{render_time(noon)}")')
    await put_policies(node.ctx, [policy], node.ctx.stamp("ann"))
    await node.define(SHARED | {"document": SHARED["document"] | {"viewer": by_noon}})
    await node.grant("folder:top#viewer@user:ann", "document:1#parent@folder:top")
    cursor = await begin(node)

    [lost] = [event async for event in cursor.follow_time(noon + 10_000_000)]

    assert shown(lost) == [("1", "ann", False)]
    assert lost.position.time >= noon


async def test_a_difference_over_time_has_what_a_named_policy_changes(node: Node) -> None:
    start = node.ctx.now()
    noon = start + 3_600_000_000
    by_noon = {"inheritIf": "allOf", "rules": [{"inheritIf": "reader"}, {"policy": "morning"}]}
    policy = read_named_policy("morning", None, f'now < date("{render_time(noon)}")')
    await put_policies(node.ctx, [policy], node.ctx.stamp("ann"))
    await node.define(SHARED | {"document": SHARED["document"] | {"viewer": by_noon}})
    await node.grant("folder:top#viewer@user:ann", "document:1#parent@folder:top")
    since = render_time(node.ctx.now())
    ctx = replace(node.ctx, now=lambda: noon + 1)
    request = RevisionsRequest(since, render_time(noon), read_narrowing("document#viewer@user", None, None, None))
    wanted = read_page_request(revisions_kind(request), {}, ctx.store.identity)

    page = (await list_difference(ctx, request, wanted, NO_DEMAND)).value

    assert [(row.change.id, row.change.is_gained) for row in page.rows] == [("1", False)]


async def test_a_snapshot_for_one_subject_tells_objects_apart(node: Node) -> None:
    await node.define(SHARED)
    await node.grant("folder:top#viewer@user:ann", "folder:other#viewer@user:bob")
    await node.grant(*[f"document:{number}#parent@folder:{('top', 'other')[number % 2]}" for number in range(40)])
    await node.grant("document:4#blocked@user:ann")
    cursor = await begin(node)

    narrowing = read_narrowing("document#viewer@user", "user:ann", None, None)
    rows = [row.id async for rows in list_access(node.ctx, narrowing, cursor.position) for row in rows]

    assert rows == sorted(str(number) for number in range(0, 40, 2) if number != 4)
