"""The lists of a Warrant server as a source of lines: what stands in a chunk, and where it goes on."""

import json
from collections.abc import AsyncIterator

import pytest

from magistrate.old_server import OldServer
from magistrate.operations import old_lists
from magistrate.operations.old_lists import OldLists
from magistrate.store.contract import ImportProgress
from tests.reference_server import KEY, MOST, Reference, reference_server

pytestmark = pytest.mark.anyio


@pytest.fixture
async def server() -> AsyncIterator[OldServer]:
    reference = Reference()
    for number in range(MOST + 1):
        reference.define(f"type-{number}", "viewer")
    reference.grant(*(f"type-{number}:a#viewer@user:ann" for number in range(MOST + 1)))
    with reference_server(reference) as stub:
        async with OldServer(stub.url, KEY) as opened:
            yield opened


async def chunks(lists: OldLists) -> list[list[str]]:
    """Until there are no more: which kind, and what stands in each."""
    found = []
    while lines := await lists.next_lines():
        rows = [json.loads(line) for line in lines]
        found.append([lists.kind, *(row.get("type") or f"{row['objectType']}:{row['objectId']}" for row in rows)])
    return found


ALL = [
    ["object type", "type-0", "type-1", "type-2", "type-3"],
    ["object", "type-0:a", "type-1:a", "type-2:a"],
    ["object", "type-3:a", "user:ann"],
    ["warrant", "type-0:a", "type-1:a", "type-2:a"],
    ["warrant", "type-3:a"],
]


async def test_object_types_are_one_chunk_and_others_whole_pages(server: OldServer) -> None:
    assert await chunks(OldLists(server, 2)) == ALL
    assert [len(chunk) - 1 for chunk in await chunks(OldLists(server, 4))] == [4, 5, 4]


async def test_a_chunk_ends_when_it_has_many_bytes(server: OldServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(old_lists, "MAX_CHUNK_BYTES", 10)

    assert [len(chunk) - 1 for chunk in await chunks(OldLists(server, 100))] == [3, 1, 3, 2, 3, 1]


async def test_after_each_chunk_it_is_known_where_to_go_on(server: OldServer) -> None:
    lists, places = OldLists(server, 2), list[ImportProgress]()
    while await lists.next_lines():
        places.append(lists.progress())

    assert [(place.lines, place.is_done) for place in places] == [
        (4, False),
        (7, False),
        (9, False),
        (12, False),
        (13, True),
    ]
    for number, place in enumerate(places, 1):
        resumed = OldLists(server, 2)
        resumed.resume(place)
        assert await chunks(resumed) == ALL[number:]
        assert (resumed.lines, resumed.size_bytes) == (13, places[-1].size_bytes)


async def test_a_mark_that_is_not_understood_begins_anew(server: OldServer) -> None:
    lists = OldLists(server, 2)

    lists.resume(ImportProgress(server.url, 7, 70, "9f86d0"))

    assert await chunks(lists) == ALL
    assert lists.lines == 13
