"""Contextual warrants of checks and queries (docs/api.md#contextual-warrants), and POST /v2/query."""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.api.endpoints.warrant_bodies import read_contextual_warrants, read_plain_bodies, read_plain_warrants
from magistrate.api.endpoints.warrants import SubjectBody, WarrantBody, read_named_warrant
from magistrate.engine.cache.closures import MAX_ANCESTORS
from magistrate.engine.warrants.overlay import Overlay
from magistrate.engine.warrants.plain_warrants import PlainWarrants, WarrantKind
from magistrate.errors import InvalidRequest
from magistrate.operations.readers.contextual_warrants import ContextualWarrants, build_contextual_warrants
from tests.running import Client
from tests.scenario_files import warrant_body

TYPES: dict[str, Any] = {
    "user": {},
    "team": {"member": {}},
    "folder": {"viewer": {}},
    "document": {
        "parent": {},
        "banned": {},
        "owner": {},
        "viewer": {
            "inheritIf": "anyOf",
            "rules": [{"inheritIf": "owner"}, {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}],
        },
        "reader": {
            "inheritIf": "allOf",
            "rules": [{"inheritIf": "viewer"}, {"inheritIf": "noneOf", "rules": [{"inheritIf": "banned"}]}],
        },
    },
}
STORED = ("document:a#viewer@team:eng#member", "document:b#parent@folder:x", "document:c#viewer@user:ann")
SEES = "select document where user:ann is viewer"


@pytest.fixture(scope="module")
def filled(shared_client: Client) -> Client:
    shared_client.define(TYPES)
    shared_client.grant(*STORED)
    return shared_client


def with_warrants(*written: str) -> dict[str, Any]:
    return {"contextualWarrants": [warrant_body(text) for text in written]}


def is_allowed(client: Client, check: str, *written: str, **members: Any) -> bool:
    answer = client.ask(check, **with_warrants(*written), **members)
    assert answer.status_code == 200, answer.text
    return bool(answer.json()["code"] == 200)


@pytest.mark.parametrize(
    ("check", "written"),
    [
        ("document:a#viewer@user:ann", "document:a#viewer@user:ann"),
        ("document:a#viewer@user:ann", "document:a#owner@user:ann"),
        ("document:a#viewer@user:ann", "team:eng#member@user:ann"),
        ("document:a#viewer@user:ann", "team:eng#member@team:all#member"),
        ("document:b#viewer@user:ann", "folder:x#viewer@user:ann"),
        ("document:new#viewer@user:ann", "document:*#viewer@user:ann"),
        ("document:new#viewer@user:ann", "document:new#viewer@user:*"),
        ("document:new#viewer@robot:r2", "document:new#viewer@robot:r2"),
    ],
)
def test_a_contextual_warrant_counts_for_its_request_alone(filled: Client, check: str, written: str) -> None:
    besides = ["team:all#member@user:ann"] if "team:all" in written else []
    assert not is_allowed(filled, check)

    for _ in range(3):  # the graph is filled in between
        assert is_allowed(filled, check, written, *besides)
        assert not is_allowed(filled, check, *besides)
        assert not is_allowed(filled, check)


def test_a_contextual_warrant_can_take_access_away(filled: Client) -> None:
    for _ in range(3):
        assert is_allowed(filled, "document:c#reader@user:ann")
        assert not is_allowed(filled, "document:c#reader@user:ann", "document:c#banned@user:ann")


def test_they_count_for_every_check_of_a_batch_and_with_operators(filled: Client) -> None:
    asked = [warrant_body(f"document:{object_id}#viewer@user:{user}") for object_id in "abc" for user in ("ann", "bob")]
    body = {"warrants": asked, **with_warrants("team:eng#member@user:bob", "folder:x#viewer@user:ann")}

    for _ in range(2):
        batch = filled.post("/v2/check", json={**body, "op": "batch"}).json()
        assert [one["code"] for one in batch] == [403, 200, 200, 403, 200, 403]
        assert filled.post("/v2/check", json={**body, "op": "anyOf"}).json()["code"] == 200
        assert filled.post("/v2/authorize", json={**body, "op": "allOf"}).json()["code"] == 403


def test_policies_of_contextual_warrants_are_given_the_context(filled: Client) -> None:
    written = "document:p#viewer@user:ann[amount < 10]"

    assert is_allowed(filled, "document:p#viewer@user:ann", written, context={"amount": 5})
    assert not is_allowed(filled, "document:p#viewer@user:ann", written, context={"amount": 50})
    assert not is_allowed(filled, "document:p#viewer@user:ann", written)


def test_the_path_of_a_check_shows_contextual_warrants(filled: Client) -> None:
    answer = filled.ask("document:a#viewer@user:ann", debug=True, **with_warrants("team:eng#member@user:ann")).json()

    [path] = answer["decisionPath"].values()
    assert [(one["objectType"], one["objectId"]) for one in path] == [("team", "eng"), ("document", "a")]
    assert path[0]["createdAt"] > path[1]["createdAt"]


def refusal(answer: httpx.Response) -> tuple[int, str, str | None]:
    return answer.status_code, answer.json()["code"], answer.json().get("parameter")


GOOD = warrant_body("document:a#viewer@user:ann")
HOSTILE: list[tuple[str, Any, str]] = [
    ("no array", {}, "contextualWarrants"),
    ("a text", "document:a#viewer@user:ann", "contextualWarrants"),
    ("a number as element", [1], "contextualWarrants"),
    ("null as element", [None], "contextualWarrants"),
    ("101 warrants", [GOOD] * 101, "contextualWarrants"),
    ("an undefined type", [GOOD, {**GOOD, "objectType": "ghost"}], "contextualWarrants[1].objectType"),
    ("an undefined relation", [GOOD, GOOD, {**GOOD, "relation": "gone"}], "contextualWarrants[2].relation"),
    ("no relation", [{**GOOD, "relation": None}], "contextualWarrants[0].relation"),
    ("a keyword as relation", [{**GOOD, "relation": "anyOf"}], "contextualWarrants[0].relation"),
    ("no object id", [{**GOOD, "objectId": ""}], "contextualWarrants[0].objectId"),
    ("a bad object id", [{**GOOD, "objectId": "a b"}], "contextualWarrants[0].objectId"),
    ("a long object id", [{**GOOD, "objectId": "a" * 1_025}], "contextualWarrants[0].objectId"),
    ("a type in upper case", [{**GOOD, "objectType": "Document"}], "contextualWarrants[0].objectType"),
    ("no subject", [{**GOOD, "subject": None}], "contextualWarrants[0].subject"),
    ("a bad subject", [{**GOOD, "subject": {"objectType": "user", "objectId": "#"}}], "contextualWarrants[0].objectId"),
    ("an invalid policy", [{**GOOD, "policy": "amount <"}], "contextualWarrants[0].policy"),
    ("a policy of a wrong type", [{**GOOD, "policy": "1 + 1"}], "contextualWarrants[0].policy"),
    ("a long policy", [{**GOOD, "policy": "a == 1 || " * 2_000 + "b"}], "contextualWarrants[0].policy"),
    ("a policy that is no text", [{**GOOD, "policy": 1}], "contextualWarrants.policy"),
]


@pytest.mark.parametrize(("given", "parameter"), [pytest.param(*rest, id=name) for name, *rest in HOSTILE])
def test_warrants_that_could_not_be_written_are_refused_alike(filled: Client, given: Any, parameter: str) -> None:
    code = "missing_required_parameter" if parameter.endswith((".subject",)) else None
    checked = filled.ask("document:a#viewer@user:ann", contextualWarrants=given)
    posted = filled.post("/v2/query", json={"q": SEES, "contextualWarrants": given})
    got = filled.get("/v2/query", params={"q": SEES, "contextualWarrants": json.dumps(given)})

    assert refusal(checked)[0::2] == refusal(posted)[0::2] == (400, parameter)
    assert code in (None, refusal(checked)[1])
    assert checked.json()["message"] == posted.json()["message"]
    is_no_json_of_warrants = (
        parameter == "contextualWarrants.policy" or not isinstance(given, list) or given[0] in (1, None)
    )
    assert refusal(got)[0::2] == (400, "contextualWarrants" if is_no_json_of_warrants else parameter)


def test_the_errors_are_those_of_a_write(filled: Client) -> None:
    for wrong in (
        {**GOOD, "objectType": "ghost"},
        {**GOOD, "relation": "gone"},
        {**GOOD, "objectId": "a b"},
        {**GOOD, "policy": "amount <"},
    ):
        written = filled.post("/v2/warrants", json=[wrong]).json()
        checked = filled.ask("document:a#viewer@user:ann", contextualWarrants=[wrong]).json()
        assert checked == {**written, "parameter": f"contextualWarrants{written['parameter']}"}


@pytest.mark.parametrize("text", ["{", "1", "null", "[1]", '[{"a":1,"a":2}]', "[" * 2_000, "\x00", "[" + "{}," * 200])
def test_a_parameter_that_is_no_json_array_of_warrants_is_refused(filled: Client, text: str) -> None:
    answer = filled.get("/v2/query", params={"q": SEES, "contextualWarrants": text})

    assert refusal(answer) == (400, "invalid_parameter", "contextualWarrants")


def test_none_at_all_is_the_same_as_not_to_pass_any(filled: Client) -> None:
    nothing: tuple[None, list[Any]] = (None, [])
    for none in nothing:
        assert filled.ask("document:a#viewer@user:ann", contextualWarrants=none).json()["code"] == 403
        rows = filled.post("/v2/query", json={"q": SEES, "contextualWarrants": none}).json()["results"]
        assert [row["objectId"] for row in rows] == ["c"]
    rows = filled.get("/v2/query", params={"q": SEES, "contextualWarrants": ""}).json()["results"]
    assert [row["objectId"] for row in rows] == ["c"]


def test_a_hundred_count(filled: Client) -> None:
    written = [f"document:n{number:02}#viewer@user:ann" for number in range(100)]

    assert is_allowed(filled, "document:n99#viewer@user:ann", *written)
    found = filled.post("/v2/query", json={"q": SEES, "limit": 1_000, **with_warrants(*written)}).json()["results"]
    assert [row["objectId"] for row in found] == ["c", *(f"n{number:02}" for number in range(100))]


def test_a_bearer_token_cannot_pass_any(filled: Client) -> None:
    token = filled.post("/v2/sessions", json={"type": "sess", "userId": "ann"}).json()["token"]
    body = {"warrants": [warrant_body("document:c#viewer@user:ann")]}
    headers = {"Authorization": f"Bearer {token}"}

    allowed = filled.post("/v2/check", json={**body, "contextualWarrants": []}, headers=headers)
    refused = filled.post("/v2/check", json={**body, **with_warrants("team:eng#member@user:ann")}, headers=headers)

    assert allowed.json()["code"] == 200
    assert refusal(refused) == (403, "forbidden", None)
    assert refused.json()["message"] == "a bearer token cannot pass contextualWarrants"


def test_strict_reads_know_the_subjects_that_contextual_warrants_name(filled: Client) -> None:
    name = "document:a#viewer@robot:r3"

    assert refusal(filled.ask(name, strict=True)) == (400, "invalid_parameter", "objectType")
    assert filled.ask(name, strict=True, **with_warrants("document:c#viewer@robot:r3")).json()["code"] == 403


def pages(client: Client, size: int, by_get: bool, **members: Any) -> Iterator[list[dict[str, Any]]]:
    cursor: dict[str, str] = {}
    while True:
        given = {"q": SEES, "limit": size, **members, **cursor}
        if by_get:
            texts = {key: json.dumps(value) if isinstance(value, list) else value for key, value in given.items()}
            answer = client.get("/v2/query", params=texts)
        else:
            answer = client.post("/v2/query", json=given)
        assert answer.status_code == 200, answer.text
        yield answer.json()["results"]
        if "nextCursor" not in answer.json():
            return
        cursor = {"nextCursor": answer.json()["nextCursor"]}


@pytest.mark.parametrize("sort", ["id", "createdAt"])
@pytest.mark.parametrize("by_get", [True, False], ids=["GET", "POST"])
def test_pages_with_the_same_contextual_warrants_neither_skip_nor_repeat_a_row(
    filled: Client, sort: str, by_get: bool
) -> None:
    given = with_warrants(*(f"document:m{number}#viewer@user:ann" for number in range(5)), "team:eng#member@user:ann")

    [whole] = pages(filled, 100, by_get, sortBy=sort, **given)
    singles = [row for page in pages(filled, 1, by_get, sortBy=sort, **given) for row in page]

    assert [row["objectId"] for row in singles] == [row["objectId"] for row in whole]
    assert len(whole) == 7


def test_a_cursor_is_refused_with_other_contextual_warrants(filled: Client) -> None:
    given = with_warrants("team:eng#member@user:ann")
    cursor = filled.post("/v2/query", json={"q": SEES, "limit": 1, **given}).json()["nextCursor"]

    for other in ({}, with_warrants("folder:x#viewer@user:ann")):
        answer = filled.post("/v2/query", json={"q": SEES, "limit": 1, "nextCursor": cursor, **other})
        assert refusal(answer) == (400, "invalid_parameter", "nextCursor")


def test_a_posted_query_answers_like_one_in_the_url(filled: Client) -> None:
    parameters: dict[str, Any] = {
        "q": "select document where user:ann is *",
        "sortBy": "createdAt",
        "sortOrder": "DESC",
        "limit": 1,
    }
    context = {"amount": 5}

    got = filled.get("/v2/query", params={**parameters, "context": json.dumps(context)})
    posted = filled.post("/v2/query", json={**parameters, "context": context})

    assert posted.json() == got.json()
    assert posted.headers["service-token"] == got.headers["service-token"]


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ({}, "q"),
        ({"q": 1}, "q"),
        ({"q": SEES, "limit": 0}, "limit"),
        ({"q": SEES, "limit": 1_001}, "limit"),
        ({"q": SEES, "limit": "ten"}, "limit"),
        ({"q": SEES, "limit": 1.5}, "limit"),
        ({"q": SEES, "limit": 10**30}, "limit"),
        ({"q": SEES, "sortBy": "name"}, "sortBy"),
        ({"q": SEES, "sortOrder": "up"}, "sortOrder"),
        ({"q": SEES, "nextCursor": "x"}, "nextCursor"),
        ({"q": SEES, "prevCursor": ""}, "prevCursor"),
        ({"q": SEES, "context": []}, "context"),
        ({"q": SEES, "context": {"text": "a" * 100_000}}, "context"),
        ({"q": SEES, "strict": "yes"}, "strict"),
        ({"q": "select document where user:ann is gone", "strict": True}, "q"),
    ],
)
def test_each_member_of_a_posted_query_is_checked(filled: Client, body: Any, parameter: str) -> None:
    answer = filled.post("/v2/query", json=body)

    assert (answer.status_code, answer.json().get("parameter")) == (400, parameter), answer.text


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"{", b'{"q":1,"q":2}', b'{"q":' + b"[" * 5_000])
def test_a_posted_query_that_is_no_json_object_is_refused(filled: Client, content: bytes) -> None:
    answer = filled.post("/v2/query", content=content)

    assert answer.status_code == 400
    assert answer.json()["code"] in ("invalid_request", "invalid_parameter")


def test_v1_knows_neither(filled: Client) -> None:
    given = json.dumps([warrant_body("document:v#viewer@user:ann")])

    rows = filled.get("/v1/query", params={"q": SEES, "contextualWarrants": given}).json()["results"]

    assert [row["objectId"] for row in rows] == ["c"]
    assert filled.post("/v1/query", json={"q": SEES}).status_code == 404


def test_rows_of_objects_that_only_a_contextual_warrant_names_have_no_meta(filled: Client) -> None:
    body = {"q": SEES, **with_warrants("document:nowhere#viewer@user:ann")}

    [_, row] = filled.post("/v2/query", json=body).json()["results"]

    assert row == {
        "objectType": "document",
        "objectId": "nowhere",
        "relation": "viewer",
        "warrant": {**warrant_body("document:nowhere#viewer@user:ann"), "createdAt": row["warrant"]["createdAt"]},
        "isImplicit": False,
    }
    assert filled.get("/v2/objects/document/nowhere").status_code == 404


def test_objects_that_only_a_contextual_warrant_names_count_as_existing(filled: Client) -> None:
    everyone = with_warrants("document:open#viewer@user:*", "document:other#banned@user:zoe")
    q = "select reader of type user for document:open"

    found = filled.post("/v2/query", json={"q": q, **everyone}).json()["results"]

    assert [row["objectId"] for row in found] == ["*", "ann", "zoe"]


TEXTS = st.sampled_from(["document", "viewer", "a", "a", "*", "", None, "A b", "anyOf", "."])
BODIES = st.fixed_dictionaries(
    {
        "objectType": st.one_of(st.just("team"), TEXTS),
        "objectId": st.one_of(st.sampled_from(["a", "b", "c"]), TEXTS),
        "relation": st.one_of(st.just("member"), TEXTS),
        "subject": st.one_of(
            st.none(),
            st.builds(
                lambda object_id, group: {"objectType": "user", "objectId": object_id, "relation": group}, TEXTS, TEXTS
            ),
            st.just({"objectType": "user", "objectId": "ann"}),
        ),
    },
    optional={
        "policy": st.sampled_from(["", "a == 1", "a =="]),
        "context": st.sampled_from([{}, {"a": "1"}]),
        "expiresAt": st.sampled_from(["2030-01-01T00:00:00Z", "soon"]),
    },
)


def pairs_by_kind(overlay: Overlay) -> dict[WarrantKind, set[tuple[str, str]]]:
    """The ids of the object and the subject of each warrant; one that is repeated counts once."""
    return {kind: set(zip(ids.object_ids, ids.subject_ids, strict=True)) for kind, ids in overlay.ids_by_kind.items()}


@given(st.lists(BODIES, max_size=4))
def test_elements_of_writes_that_are_read_together_are_those_that_are_read_one_by_one(
    given_bodies: list[dict[str, Any]],
) -> None:
    bodies = msgspec.convert(given_bodies, list[WarrantBody])

    together = read_plain_bodies(bodies)

    if together is not None:
        assert together == [read_named_warrant(body) for body in bodies]


def test_elements_of_different_kinds_are_read_together_in_order() -> None:
    bodies = [
        WarrantBody(of_type, object_id, relation, SubjectBody("user", "*", group))
        for of_type, object_id, relation, group in product(
            ("team", "club"), ("a", "*"), ("member", "owner"), (None, "member")
        )
    ]

    assert read_plain_bodies(bodies) == [read_named_warrant(body) for body in bodies]


@given(st.lists(BODIES, max_size=4))
def test_warrants_that_are_read_together_are_those_that_are_read_one_by_one(given_bodies: list[dict[str, Any]]) -> None:
    bodies = msgspec.convert(given_bodies, list[WarrantBody])

    runs = read_plain_warrants(bodies)

    if runs is None:
        return
    together = ContextualWarrants(PlainWarrants(runs, 7), 7)
    one_by_one = build_contextual_warrants(read_contextual_warrants(bodies), 7)
    assert (together.warrants, together.now) == (one_by_one.warrants, one_by_one.now)
    plain, made = together.overlay, one_by_one.overlay
    assert (plain.size, plain.warrants, plain.patterns) == (made.size, made.warrants, made.patterns)
    assert pairs_by_kind(plain) == pairs_by_kind(made)


@pytest.mark.parametrize("group", [None, "member"])
def test_warrants_without_anything_special_are_read_together(group: str | None) -> None:
    subject = SubjectBody("user", "ann", group)
    bodies = [WarrantBody("team", f"team-{number}", "member", subject) for number in range(100)]

    assert read_plain_warrants(bodies) is not None
    assert read_plain_warrants([*bodies, bodies[0]]) is None
    with pytest.raises(InvalidRequest, match="at most 100"):
        read_contextual_warrants([*bodies, bodies[0]])


@pytest.mark.parametrize("parents", [1, MAX_ANCESTORS + 1])
def test_the_groups_of_contextual_groups_count_however_many_they_are(filled: Client, parents: int) -> None:
    size = f"of-{parents}"
    nested = [
        f"team:{size}-{number}-{parent}#member@team:{size}-{number}#member"
        for number in range(10)
        for parent in range(parents)
    ]
    top = f"team:{size}-top#member@team:{size}-9-{parents - 1}#member"
    written = [*nested, top, f"document:{size}#viewer@team:{size}-top#member"]
    created = {"create": {"warrants": [warrant_body(text) for text in written]}}
    assert filled.post("/v2/writes", json=created).status_code == 200
    groups = [f"team:{size}-{number}#member@user:ann" for number in range(10)]

    for _ in range(3):  # cached by then, as the groups of a check are
        assert is_allowed(filled, f"document:{size}#viewer@user:ann", *groups)
        assert not is_allowed(filled, f"document:{size}#viewer@user:ann", *groups[:-1])
        assert not is_allowed(filled, f"document:{size}#viewer@user:ann")
