"""/v2/difference (docs/difference.md): the access that was gained and lost, and what a proposal would change."""

from collections.abc import Iterator
from pathlib import Path
from time import time_ns
from typing import Any

import httpx
import pytest

from magistrate.operations.history.times import render_time
from tests.conftest import new_database_url
from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body

MODEL: dict[str, Any] = {
    "user": {},
    "group": {"member": {}},
    "folder": {"viewer": {}},
    "document": {
        "parent": {},
        "blocked": {},
        "viewer": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"},
        "can-read": {
            "inheritIf": "allOf",
            "rules": [{"inheritIf": "viewer"}, {"inheritIf": "noneOf", "rules": [{"inheritIf": "blocked"}]}],
        },
    },
}
STORED = (
    "group:eng#member@user:ann",
    "folder:a#viewer@group:eng#member",
    "document:plan#parent@folder:a",
    "document:memo#parent@folder:a",
    "document:memo#blocked@user:kim",
)
READERS = "document#can-read@user"
Row = tuple[str, str]


@pytest.fixture
def known(client: Client) -> Client:
    client.define(MODEL)
    client.grant(*STORED)
    return client


def token_of(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    token: str = answer.headers["Warrant-Token"]
    return token


def newest(client: Client) -> str:
    return token_of(client.get("/v2/objects"))


def written(row: dict[str, Any]) -> str:
    subject = row["subject"]
    names = f"{row['objectType']}:{row['objectId']}#{row['relation']}"
    text = f"{names}@{subject['objectType']}:{subject['objectId']}"
    return f"{text}?" if row.get("conditional") else text


def rows(answer: httpx.Response) -> list[Row]:
    assert answer.status_code == 200, answer.text
    return [(row["change"], written(row)) for row in answer.json()["results"]]


def error(answer: httpx.Response) -> tuple[int, str, str | None]:
    return answer.status_code, answer.json()["code"], answer.json().get("parameter")


def between(client: Client, since: str, **parameters: str) -> httpx.Response:
    return client.get("/v2/difference", params={"from": since, **parameters})


def propose(client: Client, proposal: dict[str, Any], **members: Any) -> httpx.Response:
    return client.post("/v2/difference", json={"proposal": proposal, **members})


def create(*texts: str) -> dict[str, Any]:
    return {"create": [warrant_body(text) for text in texts]}


def delete(*texts: str) -> dict[str, Any]:
    return {"delete": [warrant_body(text) for text in texts]}


def test_the_difference_of_two_revisions_says_who_gained_and_lost_what_and_why(known: Client) -> None:
    first = newest(known)
    known.grant("group:eng#member@user:kim")
    known.delete_json("/v2/warrants", warrant_body("group:eng#member@user:ann")).raise_for_status()

    answer = between(known, first, of=READERS)

    assert rows(answer) == [
        ("lost", "document:memo#can-read@user:ann"),
        ("lost", "document:plan#can-read@user:ann"),
        ("gained", "document:plan#can-read@user:kim"),
    ]
    causes = [row["cause"] for row in answer.json()["results"]]
    kim = warrant_body("group:eng#member@user:kim")
    assert causes[2] == {"created": [kim | {"subject": kim["subject"]}], "deleted": [], "objectTypes": []}
    assert [one["subject"]["objectId"] for one in causes[0]["deleted"]] == ["ann"]
    assert token_of(answer) == newest(known)


def test_the_second_state_is_now_unless_it_is_said(known: Client) -> None:
    first = newest(known)
    known.grant("group:eng#member@user:kim")
    second = newest(known)
    known.grant("group:eng#member@user:eve")

    until, now = between(known, first, to=second, of=READERS), between(known, first, of=READERS)

    assert rows(until) == [("gained", "document:plan#can-read@user:kim")]
    assert token_of(until) == second
    assert len(rows(now)) == 3
    assert rows(between(known, second, to=second)) == []


def test_a_proposal_is_answered_without_being_written(known: Client) -> None:
    before, state = newest(known), known.get("/v2/warrants").json()

    answer = propose(known, create("group:eng#member@user:kim"), of=READERS)

    assert rows(answer) == [("gained", "document:plan#can-read@user:kim")]
    assert token_of(answer) == before == newest(known)
    assert known.get("/v2/warrants").json() == state


def test_what_is_predicted_is_what_happens(known: Client) -> None:
    proposal = create("group:eng#member@user:kim", "document:new#parent@folder:a") | delete(
        "document:memo#blocked@user:kim"
    )
    first, predicted = newest(known), propose(known, proposal)
    body = {name: {"warrants": proposal[name]} for name in ("create", "delete")}

    known.post("/v2/writes", json=body).raise_for_status()

    assert rows(predicted)
    assert rows(between(known, first)) == rows(predicted)


def test_object_types_are_proposed_as_they_are_put(known: Client) -> None:
    open_folder = {"type": "folder", "relations": {"viewer": {}, "editor": {"inheritIf": "viewer"}}}

    added = propose(known, {"objectTypes": [open_folder]})
    alone = propose(known, {"objectTypes": [open_folder], "replace": True}, of="document")

    assert rows(added) == [("gained", "folder:a#editor@user:ann")]
    assert added.json()["results"][0]["cause"] == {"created": [], "deleted": [], "objectTypes": ["folder"]}
    assert {change for change, _ in rows(alone)} == {"lost"}


def test_access_that_depends_on_the_context_is_conditional(known: Client) -> None:
    policy = "folder:a#viewer@user:eve[amount < 10]"

    conditional = propose(known, create(policy), of="folder#viewer@user")
    known.grant(policy)
    decided = propose(known, create("folder:a#viewer@user:eve"), of="folder#viewer@user")

    assert rows(conditional) == [("gained", "folder:a#viewer@user:eve?")]
    assert rows(decided) == [("gained", "folder:a#viewer@user:eve"), ("lost", "folder:a#viewer@user:eve?")]


@pytest.mark.parametrize(
    ("narrower", "expected"),
    [
        ({"of": "document#can-read@user"}, ["document:plan#can-read@user:kim"]),
        ({"of": "group"}, ["group:eng#member@user:kim"]),
        ({"of": "group,folder#viewer@user"}, ["folder:a#viewer@user:kim", "group:eng#member@user:kim"]),
        ({"object": "document:memo"}, ["document:memo#viewer@user:kim"]),
        ({"subject": "user:eve"}, []),
        ({"subject": "user:kim", "of": "folder"}, ["folder:a#viewer@user:kim"]),
        ({"q": "select can-read of type user for document:plan"}, ["document:plan#can-read@user:kim"]),
        ({"q": "select folder, group where user:kim is *"}, ["folder:a#viewer@user:kim", "group:eng#member@user:kim"]),
        ({"q": "select explicit * where user:kim is *"}, ["group:eng#member@user:kim", "folder:a#viewer@user:kim"]),
    ],
)
def test_a_difference_can_be_narrowed(known: Client, narrower: dict[str, str], expected: list[str]) -> None:
    first, proposal = newest(known), create("group:eng#member@user:kim")

    proposed = propose(known, proposal, **narrower)
    known.grant("group:eng#member@user:kim")
    made = between(known, first, **narrower)

    assert rows(proposed) == rows(made) == sorted(("gained", text) for text in expected)


def test_pages_stay_at_their_two_states_however_others_write(known: Client) -> None:
    first = newest(known)
    known.grant(*(f"folder:a#viewer@user:{name}" for name in "bcde"))
    parameters = {"of": "folder", "limit": "2"}

    page = between(known, first, **parameters)
    known.grant("folder:a#viewer@user:aaa")
    following = between(known, first, **parameters, nextCursor=page.json()["nextCursor"])
    back = between(known, first, **parameters, prevCursor=following.json()["prevCursor"])

    assert rows(page) + rows(following) == [("gained", f"folder:a#viewer@user:{name}") for name in "bcde"]
    assert "nextCursor" not in following.json()
    assert "prevCursor" not in page.json()
    assert rows(back) == rows(page)
    assert token_of(following) == token_of(page)


def test_a_cursor_is_of_one_proposal(known: Client) -> None:
    one, other = create("folder:a#viewer@user:b", "folder:a#viewer@user:c"), create("folder:a#viewer@user:b")
    cursor = propose(known, one, limit=1).json()["nextCursor"]

    refused = [
        propose(known, other, limit=1, nextCursor=cursor),
        propose(known, one, limit=1, of="folder", nextCursor=cursor),
        between(known, newest(known), nextCursor=cursor),
        propose(known, one, limit=1, nextCursor="x" + cursor),
    ]

    assert [error(answer) for answer in refused] == [(400, "invalid_parameter", "nextCursor")] * 4
    assert len(rows(propose(known, one, nextCursor=cursor))) == len(rows(propose(known, one))) - 1


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, (400, "missing_required_parameter", "from")),
        ({"from": "yesterday"}, (400, "invalid_parameter", "from")),
        ({"from": "2999-01-01T00:00:00Z"}, (400, "invalid_parameter", "from")),
        ({"from": "2001-01-01T00:00:00Z"}, (410, "gone", None)),
        ({"from": "latest"}, (400, "invalid_parameter", "from")),
        ({"from": "{first}", "to": "2999-01-01T00:00:00Z"}, (400, "invalid_parameter", "to")),
        ({"from": "{first}", "of": "documents#viewer@user"}, (400, "invalid_parameter", "of")),
        ({"from": "{first}", "of": "document#reader@user"}, (400, "invalid_parameter", "of")),
        ({"from": "{first}", "of": "document:plan"}, (400, "invalid_parameter", "of")),
        ({"from": "{first}", "of": ",".join(["document"] * 101)}, (400, "invalid_parameter", "of")),
        ({"from": "{first}", "subject": "ann"}, (400, "invalid_parameter", "subject")),
        ({"from": "{first}", "object": "document:*"}, (400, "invalid_parameter", "object")),
        ({"from": "{first}", "q": "select"}, (400, "invalid_parameter", "q")),
        ({"from": "{first}", "limit": "1001"}, (400, "invalid_parameter", "limit")),
        ({"from": "{first}", "nextCursor": "x"}, (400, "invalid_parameter", "nextCursor")),
    ],
)
def test_what_cannot_be_compared_is_refused(
    known: Client, parameters: dict[str, str], expected: tuple[int, str, str | None]
) -> None:
    given = {name: text.replace("{first}", newest(known)) for name, text in parameters.items()}

    assert error(known.get("/v2/difference", params=given)) == expected


def test_the_second_state_may_have_the_earlier_time(known: Client) -> None:
    now = time_ns() // 1_000
    ends_at = render_time(now + 2_000_000)
    expiring = warrant_body("document:plan#viewer@user:kim") | {"expiresAt": ends_at}
    token = token_of(known.post("/v2/warrants", json=expiring))
    time = f"{token}.{now + 3_000_000}"  # it is within what the clocks of nodes may differ

    assert rows(between(known, time, to=token, of=READERS)) == [("gained", "document:plan#can-read@user:kim")]
    assert rows(between(known, token, to=time, of=READERS)) == [("lost", "document:plan#can-read@user:kim")]


def test_the_first_state_must_not_follow_the_second(known: Client) -> None:
    first = newest(known)
    known.grant("group:eng#member@user:kim")

    assert error(between(known, newest(known), to=first)) == (400, "invalid_parameter", "from")


def test_an_unknown_name_comes_with_a_suggestion(known: Client) -> None:
    refused = propose(known, {}, of="document#can-raed@user")

    assert refused.json()["message"].endswith("did you mean can-read?")


TYPES = "proposal.objectTypes"
LOOP = {"a": {"inheritIf": "noneOf", "rules": [{"inheritIf": "a"}]}}


@pytest.mark.parametrize(
    ("proposal", "expected"),
    [
        (None, (400, "missing_required_parameter", "proposal")),
        ([], (400, "invalid_parameter", "proposal")),
        ({"creat": []}, (400, "invalid_parameter", "proposal.creat")),
        (create("memo:a#viewer@user:kim"), (400, "invalid_parameter", "proposal.create[0].objectType")),
        (create("folder:a#owner@user:kim"), (400, "invalid_parameter", "proposal.create[0].relation")),
        (create("folder:a#viewer@user:kim[1 +]"), (400, "invalid_parameter", "proposal.create[0].policy")),
        (
            {"create": [warrant_body("folder:a#viewer@user:kim") | {"expiresAt": "2001-01-01T00:00:00Z"}]},
            (400, "invalid_parameter", "proposal.create[0].expiresAt"),
        ),
        (delete("folder:a#viewer@user:kim"), (404, "not_found", None)),
        (delete(STORED[0], STORED[0]), (404, "not_found", None)),
        ({"objectTypes": [{"type": "x"}]}, (400, "missing_required_parameter", f"{TYPES}[0].relations")),
        (
            {"objectTypes": [{"type": "x", "relations": LOOP}]},
            (400, "invalid_parameter", "proposal.objectTypes.relations"),
        ),
        (create(*["folder:a#viewer@user:kim"] * 1_001), (400, "invalid_parameter", "proposal")),
    ],
)
def test_a_proposal_that_could_not_be_written_is_refused(
    known: Client, proposal: Any, expected: tuple[int, str, str | None]
) -> None:
    assert error(known.post("/v2/difference", json={"proposal": proposal})) == expected


def test_a_proposal_without_a_change_changes_nothing(known: Client) -> None:
    assert rows(propose(known, {})) == []
    assert rows(propose(known, create(STORED[0]))) == []
    assert rows(propose(known, delete(STORED[0]) | create(STORED[0]))) == []


@pytest.fixture
def small(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Client]:
    """A client of a service with a small budget, which the test states."""
    settings = settings_for(new_database_url("sqlite", tmp_path, request), max_query_work=request.param)
    with running_service(settings) as url, Client(url) as client:
        yield client


@pytest.mark.parametrize("small", [40_000], indirect=True)
def test_a_difference_above_the_budget_says_what_to_narrow(small: Client) -> None:
    small.define(MODEL)
    for start in range(0, 9_000, 90):
        small.grant(*(f"document:{number}#parent@folder:a" for number in range(start, start + 90)))
    proposal = create("folder:a#viewer@user:kim")

    refused = propose(small, proposal)

    assert error(refused) == (400, "invalid_parameter", "of")
    assert "narrow it with of, subject, object or q" in refused.json()["message"]
    assert rows(propose(small, proposal, of="folder")) == [("gained", "folder:a#viewer@user:kim")]


@pytest.mark.parametrize("small", [250_000], indirect=True)
def test_a_proposal_of_a_thousand_warrants_with_loops_and_exclusions_stays_within_the_budget(small: Client) -> None:
    member = {"inheritIf": "anyOf", "rules": [{"inheritIf": "lead"}, {"inheritIf": "up"}]}
    up = {"inheritIf": "member", "ofType": "group", "withRelation": "parent"}
    allowed = {"inheritIf": "noneOf", "rules": [{"inheritIf": "banned"}]}
    both = {"inheritIf": "allOf", "rules": [{"inheritIf": "member"}, allowed]}
    relations = {"lead": {}, "parent": {}, "banned": {}, "up": up, "member": member, "active": both}
    small.define({"user": {}, "group": relations})
    ring = [f"group:{number}#parent@group:{(number + 1) % 300}" for number in range(300)]
    nested = [f"group:{number}#member@group:{(number * 7 + 1) % 300}#member" for number in range(300)]
    banned = [f"group:{number}#banned@group:{(number * 3) % 300}#active" for number in range(300)]
    people = [f"group:{number}#lead@user:{number}" for number in range(100)]
    small.grant("group:0#lead@user:root")

    whole = propose(small, create(*ring, *nested, *banned, *people))
    one = propose(small, create(*ring, *nested, *people), of="group#active@user", object="group:0", limit=3)

    assert error(whole) == (400, "invalid_parameter", "of")
    assert len(rows(one)) == 3


def test_a_difference_writes_nothing(known: Client) -> None:
    first = newest(known)
    events = known.get("/v2/access-events").json()

    between(known, first).raise_for_status()
    propose(known, create("group:eng#member@user:kim"), limit=1).raise_for_status()

    assert known.get("/v2/access-events").json() == events
    assert newest(known) == first


def test_a_difference_needs_a_key(client: Client) -> None:
    assert client.get("/v2/difference", headers={"Authorization": "ApiKey other"}).status_code == 401
    assert client.post("/v2/difference", json={}, headers={"Authorization": "ApiKey other"}).status_code == 401


ROLES = ("object", "subject")


def test_an_object_that_exists_nowhere_counts_in_the_role_in_which_it_is_named(known: Client) -> None:
    """With the rule `self`, an object is the subject as well."""
    proposal = {"objectTypes": [{"type": "user", "relations": {"profile": {"inheritIf": "self"}}}]}

    nobody = [rows(propose(known, proposal, of="user#profile@user", **{role: "user:zoe"})) for role in ROLES]
    both = propose(known, proposal, of="user#profile@user", **dict.fromkeys(ROLES, "user:zoe"))
    existing = propose(known, proposal, of="user#profile@user", subject="user:kim")

    assert nobody == [[], []]
    assert rows(both) == [("gained", "user:zoe#profile@user:zoe")]
    assert rows(existing) == [("gained", "user:kim#profile@user:kim")]
