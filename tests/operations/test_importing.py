"""Imports: what a line may be, what a wrong one leaves behind, and where another import of the same file begins."""

import json
from functools import partial
from io import BufferedReader, BytesIO
from typing import Any

import pytest
from msgspec.structs import replace

from magistrate.api.endpoints.warrant_lines import WHAT_A_LINE_IS, read_line
from magistrate.engine.evaluation.check import Check
from magistrate.engine.lists.language import read_query
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import object_ref
from magistrate.errors import InvalidRequest
from magistrate.operations.checks.check import check
from magistrate.operations.checks.check_batch import ALL_NEEDED
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.importing import importer as line_file
from magistrate.operations.importing.importer import LineFile, Reached, import_lines
from magistrate.operations.lists.evaluators import QueryRequest
from magistrate.operations.lists.query import QUERY_LIST, list_page
from magistrate.operations.paging import read_page_request
from magistrate.store.contract.lists import ObjectFilter, Slice, WarrantFilter
from magistrate.store.contract.new_rows import Imported
from magistrate.store.contract.store import Store
from magistrate.wiring.contexts import context_of
from tests.change_log import list_changes
from tests.databases import dump
from tests.ids import STRANGE_IDS
from tests.running import settings_for

pytestmark = pytest.mark.anyio

MAX_DEPTH = 20
DOCUMENT = {"type": "document", "relations": {"viewer": {}}}
WEEKDAYS: dict[str, Any] = {"name": "weekdays", "parameters": {"day": "integer"}, "expression": "day < 6"}
FOUR_CHUNKS = [DOCUMENT, *({"objectType": "document", "objectId": f"d{number}"} for number in range(7))]
"""Of two lines each."""


def warrant(object_id: str = "plan", **members: Any) -> dict[str, Any]:
    subject = {"objectType": "user", "objectId": "ann"}
    return {"objectType": "document", "objectId": object_id, "relation": "viewer", "subject": subject} | members


def written(*lines: object) -> bytes:
    texts = (line if isinstance(line, str) else json.dumps(line, separators=(",", ":")) for line in lines)
    return "".join(f"{text}\n" for text in texts).encode()


@pytest.fixture
async def context(store: Store, database_url: str) -> Context:
    return context_of(store, settings_for(database_url, max_meta_bytes=100, max_definition_bytes=1_024))


async def imported(
    context: Context, content: bytes, chunk_lines: int = 100, source: str | None = None, max_line_bytes: int = 4_096
) -> list[Reached]:
    """All progress that is reported."""
    told: list[Reached] = []
    given = LineFile(BufferedReader(BytesIO(content)), source, chunk_lines, max_line_bytes)
    await import_lines(context, given, partial(read_line, context, MAX_DEPTH), told.append)
    return told


async def warrants(context: Context) -> list[str]:
    found = await context.store.list_warrants(Slice("createdAt", 100), WarrantFilter())
    return [row.render() for row in found.value.rows]


async def objects(context: Context) -> list[tuple[str, str | None]]:
    found = await context.store.list_objects(Slice("objectType", 100), ObjectFilter())
    return [(row.id, row.meta) for row in found.value.rows]


async def test_lines_of_all_kinds_are_stored_in_any_order(context: Context) -> None:
    policy = warrant("*", policy="amount < 10")
    group = warrant(subject={"objectType": "team", "objectId": "eng", "relation": "member"})
    plan = {"objectType": "document", "objectId": "plan", "meta": {"title": "Plan"}}

    told = await imported(context, written(group, policy, "", "  ", plan, DOCUMENT))

    assert told[-1].imported == Imported(1, 3, 2)
    assert (told[-1].first, told[-1].lines) == (1, 6)
    assert await warrants(context) == [
        "document:plan#viewer@team:eng#member",
        "document:*#viewer@user:ann[amount < 10]",
    ]
    assert await objects(context) == [("plan", '{"title":"Plan"}'), ("eng", None), ("ann", None)]


async def test_what_lists_answer_can_be_imported(context: Context) -> None:
    created = {"createdAt": "2026-11-21T12:20:45.160431Z"}

    told = await imported(context, written(DOCUMENT | created, warrant(**created)))

    assert told[-1].imported == Imported(1, 2, 1)


async def test_named_policies_are_imported_and_those_that_differ_replaced(context: Context) -> None:
    open_type = {"type": "document", "relations": {"viewer": {"policy": "weekdays"}}}
    plan = Check(object_ref("document", "plan"), RelationName("viewer"), Subject(TypeName("user"), ObjectId("ann")))
    created = {"createdAt": "2026-11-21T12:20:45.160431Z"}

    first = await imported(context, written(open_type, WEEKDAYS | created))
    on_friday = await check(context, [replace(plan, context={"day": 5})], ALL_NEEDED, NO_DEMAND)
    again = await imported(context, written(WEEKDAYS))
    changed = await imported(context, written({**WEEKDAYS, "expression": "day < 5", "description": "Not on Fridays."}))
    no_longer = await check(context, [replace(plan, context={"day": 5})], ALL_NEEDED, NO_DEMAND)

    counts = [told[-1].imported for told in (first, again, changed)]
    assert counts == [Imported(1, 0, 0, 1), Imported(0, 0, 0, 0), Imported(0, 0, 0, 1)]
    assert (on_friday.value[0].is_authorized, no_longer.value[0].is_authorized) == (True, False)


async def test_a_warrant_is_as_old_as_its_line_says(context: Context) -> None:
    times = ["2024-02-29T08:00:00.1234567Z", "2024-02-29T10:00:00.123456+02:00", "1970-01-01T00:00:00Z"]
    lines = [warrant(f"d{place}", createdAt=time) for place, time in enumerate(times)]

    await imported(context, written(DOCUMENT, *lines))

    found = await context.store.list_warrants(Slice("createdAt", 100), WarrantFilter())
    assert [(row.object_id, row.created_at) for row in found.value.rows] == [
        ("d2", 0),
        ("d0", 1_709_193_600_123_456),
        ("d1", 1_709_193_600_123_456),
    ]


async def test_ids_of_lines_may_have_all_characters_of_ids(context: Context) -> None:
    lines = [warrant(object_id, subject={"objectType": "user", "objectId": object_id}) for object_id in STRANGE_IDS]

    await imported(context, written(DOCUMENT, *lines), max_line_bytes=16_384)

    assert await warrants(context) == [f"document:{object_id}#viewer@user:{object_id}" for object_id in STRANGE_IDS]


async def test_a_line_may_have_time_limits_even_if_they_are_over(context: Context) -> None:
    lines = [
        warrant(
            "d1", createdAt="2024-02-29T08:00:00Z", startsAt="2024-03-01T00:00:00Z", expiresAt="2024-04-01T00:00:00Z"
        ),
        warrant("d2", createdAt="2024-03-01T08:00:00Z", expiresAt="2999-01-01T00:00:00Z"),
    ]
    told = await imported(context, written(DOCUMENT, *lines))
    again = await imported(context, written(DOCUMENT, *lines))
    renewed = await imported(context, written(lines[0] | {"expiresAt": None}, lines[1]))

    found = await context.store.list_warrants(Slice("createdAt", 100), WarrantFilter())
    assert [one[-1].imported.warrants for one in (told, again, renewed)] == [2, 0, 1]
    assert [(row.object_id, row.starts_at, row.expires_at) for row in found.value.rows] == [
        ("d1", 1_709_251_200_000_000, None),
        ("d2", None, 32_472_144_000_000_000),
    ]


@pytest.mark.parametrize(
    "older",
    [
        pytest.param({"policy": "2 == 2"}, id="to the subject itself"),
        pytest.param({"policy": "2 == 2", "objectId": "*"}, id="on every object"),
        pytest.param({"subject": {"objectType": "team", "objectId": "eng", "relation": "member"}}, id="to a group"),
    ],
)
async def test_of_several_warrants_the_oldest_is_reported_though_it_was_written_last(
    context: Context, older: dict[str, Any]
) -> None:
    in_team = warrant("eng", objectType="team", relation="member")
    other_team = {"objectType": "team", "objectId": "hr", "relation": "member"}
    in_other_team = warrant("hr", objectType="team", relation="member")
    newer = {"subject": other_team} if "subject" in older else {"policy": "1 == 1"}
    types = [DOCUMENT, {"type": "user", "relations": {}}, {"type": "team", "relations": {"member": {}}}]
    await imported(context, written(*types, in_team, in_other_team))
    await imported(context, written(warrant(createdAt="2024-02-29T08:00:00Z", **newer)))

    await imported(context, written(warrant(**({"createdAt": "2023-02-28T08:00:00Z"} | older))))

    oldest = (await warrants(context))[0]
    ann = Subject(TypeName("user"), ObjectId("ann"))
    question = Check(object_ref("document", "plan"), RelationName("viewer"), ann)
    [decision] = (await check(context, [question], ALL_NEEDED, NO_DEMAND, with_path=True)).value
    assert decision.path[-1].render() == oldest
    for text in ("select document where user:ann is viewer", "select viewer of type user for document:plan"):
        wanted = read_page_request(QUERY_LIST, {}, context.store.identity)
        page = (await list_page(context, QueryRequest(read_query(text), {}), wanted, NO_DEMAND)).value
        assert [found.row.warrant.render() for found in page.rows if found.row.warrant] == [oldest]


async def test_a_chunk_is_one_revision_of_the_actor_import(context: Context) -> None:
    await imported(context, written(*FOUR_CHUNKS), chunk_lines=2)

    changes = await list_changes(context.store)
    assert [change.revision for change in changes] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert {change.actor for change in changes} == {"import"}


async def test_importing_a_file_again_changes_nothing(context: Context) -> None:
    content = written(DOCUMENT, warrant(), {"objectType": "document", "objectId": "b", "meta": {"v": 1}})
    await imported(context, content)
    head = await context.store.check()

    told = await imported(context, content)

    assert told[-1].imported == Imported(0, 0, 0)
    assert await list_changes(context.store, head) == []


LOOPING = {
    "a": {},
    "b": {"inheritIf": "allOf", "rules": [{"inheritIf": "a"}, {"inheritIf": "noneOf", "rules": [{"inheritIf": "b"}]}]},
}
REFUSED = [
    ("{]", "Request contains malformed JSON (at position 2)"),
    ("[]", "line 5: must be an object"),
    ("{}", WHAT_A_LINE_IS),
    ({**DOCUMENT, "objectType": "document"}, WHAT_A_LINE_IS),
    (warrant(meta={"a": 1}), WHAT_A_LINE_IS),
    (warrant(**WEEKDAYS), WHAT_A_LINE_IS),
    ({**DOCUMENT, **WEEKDAYS}, WHAT_A_LINE_IS),
    ({"name": "weekdays", "parameters": {}}, WHAT_A_LINE_IS),
    ({**WEEKDAYS, "name": None}, "name: Missing required parameter name"),
    ({**WEEKDAYS, "expression": "hour < 6"}, "expression: "),
    ({**WEEKDAYS, "parameters": {"day": "date"}}, "parameters: the type of 'day' is none of"),
    (warrant(type="document"), WHAT_A_LINE_IS),
    ('{"objectType":"document","objectType":"folder","objectId":"a"}', 'the member "objectType" more than once'),
    (warrant(subject={"objectType": "user", "objectId": "ann", "relation": 5}), "subject.relation: must be a string"),
    ({"objectType": "document", "objectId": "a", "meta": {"a": json.loads("[" * 30 + "]" * 30)}}, "nested deeper"),
    ({"objectType": "document"}, "objectId: Missing required parameter objectId"),
    ({"objectType": "document", "objectId": "*"}, "objectId: can only contain letters, marks"),
    ({"objectType": "document", "objectId": "a", "meta": {"a": "x" * 100}}, "meta: must be at most 100 bytes of JSON"),
    ({"type": "document"}, "relations: Missing required parameter relations"),
    ({"type": "Document", "relations": {}}, "type: can only contain lower-case"),
    ({"type": "t", "relations": {f"relation-{n}": {} for n in range(99)}}, "relations: must be at most 1024 bytes"),
    ({"type": "t", "relations": {"a": {"inheritIf": "allOf"}}}, "rules: Missing required parameter rules"),
    ({"type": "t", "relations": LOOPING}, "relations: a relation depends on its own negation: "),
    (warrant("a b"), "objectId: can only contain letters, marks"),
    (warrant("x" * 1025), "objectId: must be at most 1024 characters long"),
    (warrant(relation="anyOf"), "relation: 'anyOf' is a keyword"),
    (warrant(subject=None), "subject: Missing required parameter subject"),
    (warrant(policy="amount <"), "policy: "),
    (warrant(createdAt="yesterday"), "createdAt: must be a valid time"),
    (warrant(createdAt="2024-02-29T08:00:00"), "createdAt: must be a valid time"),
    (warrant(createdAt="1969-12-31T23:59:59.999999Z"), "createdAt: must be a valid time"),
    (warrant(startsAt="yesterday"), "startsAt: must be a valid time"),
    (warrant(expiresAt="1969-12-31T23:59:59Z"), "expiresAt: must be a valid time"),
    (warrant(startsAt="2024-02-29T08:00:00Z", expiresAt="2024-02-29T08:00:00Z"), "expiresAt: must be after startsAt"),
    ({"objectType": "document", "objectId": "plan", "expiresAt": "2999-01-01T00:00:00Z"}, "relation: Missing required"),
    (warrant(relation="editor"), "relation: the relation does not exist on the specified object type."),
    (warrant(objectType="folder"), "objectType: the object type does not exist."),
]


@pytest.mark.parametrize(("line", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
async def test_a_wrong_line_is_named_with_the_reason_and_its_chunk_is_not_stored(
    context: Context, line: object, reason: str
) -> None:
    lines = [DOCUMENT, warrant("stored"), "", warrant("not-stored"), line, warrant("not-reached")]

    with pytest.raises(InvalidRequest) as raised:
        await imported(context, written(*lines), chunk_lines=3)

    assert raised.value.message.startswith("line 5: ")
    assert reason in raised.value.message
    assert await warrants(context) == ["document:stored#viewer@user:ann"]


async def test_a_line_that_is_no_utf_8_is_refused(context: Context) -> None:
    with pytest.raises(InvalidRequest, match="line 1: Request contains malformed JSON"):
        await imported(context, b'{"objectType":"document","objectId":"\xff"}\n')


async def test_a_line_may_have_so_many_bytes_and_no_more(context: Context) -> None:
    line = written({"objectType": "document", "objectId": "a"})

    await imported(context, line, max_line_bytes=len(line))
    with pytest.raises(InvalidRequest, match=f"line 1: is longer than {len(line) - 1} bytes"):
        await imported(context, line, max_line_bytes=len(line) - 1)


async def test_a_chunk_ends_when_it_has_many_bytes(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_file, "MAX_CHUNK_BYTES", 50)

    told = await imported(context, written(*FOUR_CHUNKS))

    assert [reached.lines for reached in told] == [0, 2, 4, 6, 8]
    assert told[-1].imported == Imported(1, 7, 0)


async def test_an_import_goes_on_behind_the_last_chunk_that_was_stored(context: Context) -> None:
    broken = written(*FOUR_CHUNKS[:5], "oops", *FOUR_CHUNKS[6:])
    with pytest.raises(InvalidRequest, match="line 6: "):
        await imported(context, broken, 2, "file")
    head = await context.store.check()

    # The line is fixed; what stands before its chunk is as it was.
    told = await imported(context, written(*FOUR_CHUNKS), 2, "file")

    assert (told[0].first, told[0].lines, told[-1].first, told[-1].lines) == (5, 4, 5, 8)
    assert told[-1].imported == Imported(0, 4, 0)
    assert len(await list_changes(context.store, head)) == 4
    assert len(await objects(context)) == 7


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(written(*reversed(FOUR_CHUNKS)), id="other lines"),
        pytest.param(written(DOCUMENT, {"objectType": "document", "objectId": "dX"}, *FOUR_CHUNKS[2:]), id="a letter"),
        pytest.param(written(DOCUMENT), id="shorter"),
    ],
)
async def test_a_file_that_begins_otherwise_than_before_is_imported_from_its_first_line(
    context: Context, changed: bytes
) -> None:
    with pytest.raises(InvalidRequest):
        await imported(context, written(*FOUR_CHUNKS[:5], "oops"), 2, "file")

    told = await imported(context, changed, 2, "file")

    assert told[0].first == 1
    assert told[-1].lines == changed.count(b"\n")


async def test_another_file_is_not_taken_for_the_one_that_was_begun(context: Context) -> None:
    with pytest.raises(InvalidRequest):
        await imported(context, written(*FOUR_CHUNKS[:5], "oops"), 2, "file")

    told = await imported(context, written(*FOUR_CHUNKS), 2, "other")

    assert told[0].first == 1


async def test_nothing_is_kept_of_an_import_that_is_done(context: Context, database_url: str) -> None:
    for chunk_lines in (2, 3, 8, 100):
        told = await imported(context, written(*FOUR_CHUNKS), chunk_lines, "file")

        assert told[0].first == 1
        assert dump(database_url)["import"] == []


async def test_what_is_not_a_file_is_never_resumed(context: Context, database_url: str) -> None:
    with pytest.raises(InvalidRequest):
        await imported(context, written(*FOUR_CHUNKS[:5], "oops"), 2)

    assert dump(database_url)["import"] == []
    assert (await imported(context, written(*FOUR_CHUNKS), 2))[0].first == 1
