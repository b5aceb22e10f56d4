"""The lists of a Warrant server as a source of lines: what stands in a chunk, and where it goes on."""

import json
from collections.abc import AsyncIterator, Mapping
from itertools import count
from urllib.parse import parse_qsl, urlsplit

import pytest

from magistrate.errors import ServiceUnreachable
from magistrate.operations.importing import source_lists
from magistrate.operations.importing.source_lists import MAX_EMPTY_PAGES, SourceLists
from magistrate.operations.importing.warrant_server import HttpWarrantServer
from magistrate.store.contract import ImportProgress
from tests.reference_server import KEY, MOST, Reference, reference_server
from tests.stub_server import Sent, stub_server

pytestmark = pytest.mark.anyio


@pytest.fixture
async def server() -> AsyncIterator[HttpWarrantServer]:
    reference = Reference()
    for number in range(MOST + 1):
        reference.define(f"type-{number}", "viewer")
    reference.grant(*(f"type-{number}:a#viewer@user:ann" for number in range(MOST + 1)))
    with reference_server(reference) as stub:
        async with HttpWarrantServer(stub.url, KEY) as opened:
            yield opened


async def chunks(lists: SourceLists) -> list[list[str]]:
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


async def test_object_types_are_one_chunk_and_others_whole_pages(server: HttpWarrantServer) -> None:
    assert await chunks(SourceLists(server, 2)) == ALL
    assert [len(chunk) - 1 for chunk in await chunks(SourceLists(server, 4))] == [4, 5, 4]


async def test_a_chunk_ends_when_it_has_many_bytes(server: HttpWarrantServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_lists, "MAX_CHUNK_BYTES", 10)

    assert [len(chunk) - 1 for chunk in await chunks(SourceLists(server, 100))] == [3, 1, 3, 2, 3, 1]


async def test_after_each_chunk_it_is_known_where_to_go_on(server: HttpWarrantServer) -> None:
    lists, places = SourceLists(server, 2), list[ImportProgress]()
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
        resumed = SourceLists(server, 2)
        resumed.resume(place)
        assert await chunks(resumed) == ALL[number:]
        assert (resumed.lines, resumed.size_bytes) == (13, places[-1].size_bytes)


async def test_a_mark_that_is_not_understood_begins_anew(server: HttpWarrantServer) -> None:
    lists = SourceLists(server, 2)

    lists.resume(ImportProgress(server.url, 7, 70, "9f86d0"))

    assert await chunks(lists) == ALL
    assert lists.lines == 13


def page(rows: int, cursor: str | None) -> bytes:
    return json.dumps({"results": [{}] * rows, "nextCursor": cursor}).encode()


@pytest.mark.parametrize("answers", [{"": "a", "a": "a"}, {"": "a", "a": "b", "b": "a"}])
async def test_a_list_that_comes_to_a_page_again_is_given_up(answers: Mapping[str, str]) -> None:
    def answer(sent: Sent) -> bytes:
        asked = dict(parse_qsl(urlsplit(sent.path).query))
        return page(1, answers[asked.get("nextCursor", "")])

    with stub_server(answer) as stub:
        async with HttpWarrantServer(stub.url, None) as server:
            with pytest.raises(
                ServiceUnreachable, match="/v2/object-types goes on for ever: it answered the same cursor"
            ):
                await SourceLists(server, 1).next_lines()

        assert len(stub.sent) == len(answers)


async def test_each_list_may_have_the_same_cursors() -> None:
    with stub_server(lambda sent: page(1, None if "nextCursor" in sent.path else "a")) as stub:
        async with HttpWarrantServer(stub.url, None) as server:
            lists = SourceLists(server, 2)
            sizes = [len(await lists.next_lines()) for _ in range(4)]

    assert sizes == [2, 2, 2, 0]


@pytest.mark.parametrize("empty_pages", [MAX_EMPTY_PAGES - 1, MAX_EMPTY_PAGES])
async def test_so_many_empty_pages_in_a_row_are_too_many(empty_pages: int) -> None:
    numbers = count(1)
    with stub_server(lambda sent: page(next(numbers) % (empty_pages + 1) == 0, str(len(stub.sent)))) as stub:
        async with HttpWarrantServer(stub.url, None) as server:
            lists = SourceLists(server, 2)
            lists.resume(ImportProgress(stub.url, 0, 0, '{"list":1}'))
            if empty_pages < MAX_EMPTY_PAGES:
                assert len(await lists.next_lines()) == 2
            else:
                with pytest.raises(ServiceUnreachable, match="goes on for ever: 100 pages in a row are empty"):
                    await lists.next_lines()
