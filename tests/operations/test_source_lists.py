"""The lists of a Warrant server as a source of lines: what stands in a chunk, and where it goes on."""

import json
from collections.abc import AsyncIterator, Mapping
from itertools import count
from typing import Literal
from urllib.parse import parse_qsl, urlsplit

import pytest

from magistrate.errors import ServiceUnreachable
from magistrate.operations.importing import warrant_server as source_lists
from magistrate.operations.importing.warrant_server import MAX_EMPTY_PAGES, SourceLists, WarrantServer
from magistrate.store.contract.new_rows import ImportProgress
from tests.reference_server import KEY, MOST, Reference, reference_server
from tests.stub_server import Answered, Sent, stub_server

pytestmark = pytest.mark.anyio


@pytest.fixture
async def server() -> AsyncIterator[WarrantServer]:
    reference = Reference()
    for number in range(MOST + 1):
        reference.define(f"type-{number}", "viewer")
    reference.grant(*(f"type-{number}:a{number}#viewer@user:ann" for number in range(MOST + 1)))
    with reference_server(reference) as stub:
        async with WarrantServer(stub.url, KEY) as opened:
            yield opened


async def chunks(lists: SourceLists) -> list[list[str]]:
    """Until there are no more: which kind, and what stands in each."""
    found = []
    while lines := await lists.next_lines():
        rows = [json.loads(line) for line in lines]
        found.append([lists.kind, *map(name_of, rows)])
    return found


def name_of(row: Mapping[str, str]) -> str:
    return row.get("name") or row.get("type") or f"{row['objectType']}:{row['objectId']}"


ALL = [
    ["object type", "type-0", "type-1", "type-2", "type-3"],
    ["object", "type-0:a0", "type-1:a1"],
    ["object", "type-2:a2", "type-3:a3", "user:ann"],
    ["warrant", "type-0:a0", "type-1:a1", "type-2:a2"],
    ["warrant", "type-3:a3"],
]


async def test_object_types_are_one_chunk_and_others_whole_pages(server: WarrantServer) -> None:
    assert await chunks(SourceLists(server, 2)) == ALL
    assert [len(chunk) - 1 for chunk in await chunks(SourceLists(server, 4))] == [4, 5, 4]


async def test_a_chunk_ends_when_it_has_many_bytes(server: WarrantServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_lists, "MAX_CHUNK_BYTES", 10)

    assert [len(chunk) - 1 for chunk in await chunks(SourceLists(server, 100))] == [3, 1, 2, 3, 3, 1]


async def test_after_each_chunk_it_is_known_where_to_go_on(server: WarrantServer) -> None:
    lists, places = SourceLists(server, 2), list[ImportProgress]()
    while await lists.next_lines():
        places.append(lists.progress())

    assert [(place.lines, place.is_done) for place in places] == [
        (4, False),
        (6, False),
        (9, False),
        (12, False),
        (13, True),
    ]
    for number, place in enumerate(places, 1):
        resumed = SourceLists(server, 2)
        resumed.resume(place)
        assert await chunks(resumed) == ALL[number:]
        assert (resumed.lines, resumed.size_bytes) == (13, places[-1].size_bytes)


async def test_a_mark_that_is_not_understood_begins_anew(server: WarrantServer) -> None:
    lists = SourceLists(server, 2)

    lists.resume(ImportProgress(server.url, 7, 70, "9f86d0"))

    assert await chunks(lists) == ALL
    assert lists.lines == 13


NO_LIST = Answered(404, b"404 page not found\n")


def is_of_policies(sent: Sent) -> bool:
    return urlsplit(sent.path).path == "/v2/policies"


def page(rows: int, cursor: str | None) -> bytes:
    return json.dumps(
        {"results": [{"objectId": f"o{number}"} for number in range(rows)], "nextCursor": cursor}
    ).encode()


@pytest.mark.parametrize("answers", [{"": "a", "a": "a"}, {"": "a", "a": "b", "b": "a"}])
async def test_a_list_that_comes_to_a_page_again_is_given_up(answers: Mapping[str, str]) -> None:
    def answer(sent: Sent) -> bytes | Answered:
        asked = dict(parse_qsl(urlsplit(sent.path).query))
        return NO_LIST if is_of_policies(sent) else page(1, answers[asked.get("nextCursor", "")])

    with stub_server(answer) as stub:
        async with WarrantServer(stub.url, None) as server:
            with pytest.raises(
                ServiceUnreachable, match="/v2/object-types goes on for ever: it answered the same cursor"
            ):
                await SourceLists(server, 1).next_lines()

        assert len(stub.sent) == 1 + len(answers)


async def test_each_list_may_have_the_same_cursors() -> None:
    def answer(sent: Sent) -> bytes:
        asked = dict(parse_qsl(urlsplit(sent.path).query))
        return page(min(2, int(asked["limit"])), None if "nextCursor" in asked else "a")

    with stub_server(answer) as stub:
        async with WarrantServer(stub.url, None) as server:
            lists = SourceLists(server, 2)
            sizes = [len(await lists.next_lines()) for _ in range(6)]

    assert sizes == [2, 2, 4, 3, 2, 2]


@pytest.mark.parametrize("empty_pages", [MAX_EMPTY_PAGES - 1, MAX_EMPTY_PAGES])
async def test_so_many_empty_pages_in_a_row_are_too_many(empty_pages: int) -> None:
    numbers = count(1)
    with stub_server(lambda sent: page(next(numbers) % (empty_pages + 1) == 0, str(len(stub.sent)))) as stub:
        async with WarrantServer(stub.url, None) as server:
            lists = SourceLists(server, 2)
            lists.resume(ImportProgress(stub.url, 0, 0, '{"list":3}'))
            if empty_pages < MAX_EMPTY_PAGES:
                assert len(await lists.next_lines()) == 2
            else:
                with pytest.raises(ServiceUnreachable, match="goes on for ever: 100 pages in a row are empty"):
                    await lists.next_lines()


DATABASES: list[Literal["sqlite", "postgresql"]] = ["sqlite", "postgresql"]


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("most", [4, 5, 7, 100])
async def test_objects_with_one_id_and_several_types_are_not_lost_between_pages(
    database: Literal["sqlite", "postgresql"], most: int
) -> None:
    reference = Reference(database=database, most=most)
    for number, object_id in enumerate("abcdefghijklmnopqrstuvwxyz_ABC"):
        types = ["document", "folder", "nobody-defined-this"][: 1 + number % 3]
        reference.add(*(f"{of_type}:{object_id}" for of_type in types))

    with reference_server(reference) as stub:
        async with WarrantServer(stub.url, KEY) as server:
            objects = [row for _, *rows in await chunks(SourceLists(server, 10)) for row in rows]

    expected = [f"{row['objectType']}:{row['objectId']}" for row in reference.objects]
    assert sorted(objects) == sorted(expected)


async def test_more_objects_with_one_id_than_a_page_holds_are_an_error() -> None:
    reference = Reference(most=3)
    reference.add(*(f"type-{number}:same" for number in range(4)))

    with reference_server(reference) as stub:
        async with WarrantServer(stub.url, KEY) as server:
            with pytest.raises(ServiceUnreachable, match="/v2/objects: a page has 3 objects with the same id"):
                await SourceLists(server, 10).next_lines()


@pytest.mark.parametrize(("changes", "is_read"), [(1, True), (source_lists.MAX_TRIES, False)])
async def test_a_page_of_objects_that_changed_in_between_is_read_again(changes: int, is_read: bool) -> None:
    reference = Reference(most=4)
    reference.add(*(f"user:u{number}" for number in range(6)))
    numbers = iter(range(changes))

    def change(sent: Sent, number: int) -> Answered | None:
        if "limit=3" in sent.path and next(numbers, None) is not None:
            reference.add(f"user:{99 - len(reference.objects)}")
        return None

    reference.fails = change
    with reference_server(reference) as stub:
        async with WarrantServer(stub.url, KEY) as server:
            if is_read:
                [[_, *objects]] = await chunks(SourceLists(server, 100))
                assert sorted(objects) == sorted(f"user:{row['objectId']}" for row in reference.objects)
            else:
                with pytest.raises(ServiceUnreachable, match="changes while it is read; stop writes to it"):
                    await SourceLists(server, 100).next_lines()


async def test_a_cursor_for_another_order_begins_its_list_again(server: WarrantServer) -> None:
    """Earlier versions read objects by their type, and the list of object types first: their list 1 is our list 2."""
    for mark in ('{"list":1,"cursor":"eyJpZCI6ImEzIn0="}', '{"list":1,"cursor":"eyJpZCI6ImEzIn0=","sort":"objectId"}'):
        lists = SourceLists(server, 100)

        lists.resume(ImportProgress(server.url, 6, 60, mark))

        assert [kind for kind, *_ in await chunks(lists)] == ["object type", "object", "warrant"]
        assert lists.lines == 6 + 4 + 5 + 4


@pytest.mark.parametrize("has_policies", [True, False])
async def test_policies_come_first_from_a_server_that_lists_them(has_policies: bool) -> None:
    reference = Reference(policies=[] if has_policies else None)
    reference.define("document", "viewer")
    for name in ("hours", "days", "weeks", "months"):
        if reference.policies is not None:
            reference.policies.append({"name": name, "parameters": {}, "expression": "true"})

    with reference_server(reference) as stub:
        async with WarrantServer(stub.url, KEY) as server:
            lists = SourceLists(server, 3)
            found = await chunks(lists)

    policies = [["named policy", "days", "hours", "months"], ["named policy", "weeks"]] if has_policies else []
    assert found == [*policies, ["object type", "document"]]
    assert lists.has_policies is has_policies
