"""The query of the first clients (docs/compatibility.md#v1): `select`, `for` and `where` on /v1/query."""

from typing import Any

import pytest

from tests.running import Client

ADMIN = "role:admin#member@user:ann"
EDIT = "permission:edit#member@role:admin"
IMPLIED = "permission:edit#member@user:ann"
OTHERS = ("role:admin#member@user:bob", "permission:view#member@team:eng#member", "team:eng#member@user:ann")
WITH_POLICY = 'feature:beta#member@user:ann[plan == "pro"]'


@pytest.fixture(scope="module")
def filled(shared_client: Client) -> Client:
    shared_client.clear()
    shared_client.define(
        {
            "user": {}, "team": {"member": {}}, "role": {"member": {}}, "feature": {"member": {}},
            "permission": {"member": {"inheritIf": "member", "ofType": "role", "withRelation": "member"}, "owner": {}},
        }
    )  # fmt: skip
    shared_client.grant(ADMIN, EDIT, *OTHERS, WITH_POLICY)
    return shared_client


def found(client: Client, select: str, **parameters: Any) -> list[str]:
    """Written, without policies."""
    answer = client.get("/v1/query", params={"select": select, **parameters})
    assert answer.status_code == 200, answer.text
    return [written(row) for row in answer.json()]


def written(row: dict[str, Any]) -> str:
    subject = row["subject"]
    group = f"#{subject['relation']}" if "relation" in subject else ""
    claim = f"{row['objectType']}:{row['objectId']}#{row['relation']}"
    return f"{claim}@{subject['objectType']}:{subject['objectId']}{group}"


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("subject=user:ann", [ADMIN, "team:eng#member@user:ann", "feature:beta#member@user:ann"]),
        ("object=role:admin", [ADMIN, "role:admin#member@user:bob"]),
        ("object=role:*,subject=user:*", [ADMIN, "role:admin#member@user:bob"]),
        ("relation=member,subject=role:admin", [EDIT]),
        ("subject=team:eng#member", ["permission:view#member@team:eng#member"]),
        ("subject=team:eng", []),
        ("context=plan=pro", ["feature:beta#member@user:ann"]),
        ("context=plan=free", []),
        ("relation=owner", []),
        ("object=unknown:x", []),
        ("", [ADMIN, EDIT, *OTHERS, "feature:beta#member@user:ann"]),
        ("relation=*,context=", [ADMIN, EDIT, *OTHERS]),
    ],
)
def test_explicit_warrants_are_those_that_are_stored(filled: Client, clause: str, expected: list[str]) -> None:
    assert found(filled, "explicit warrants", **{"for": clause}) == expected
    assert found(filled, "explicit warrants", where=clause) == expected


def test_stored_warrants_have_all_members_and_implied_ones_what_follows(filled: Client) -> None:
    [stored] = filled.get("/v1/query?select=explicit warrants&for=object=feature:beta").json()
    [listed] = filled.get("/v1/warrants?objectId=beta").json()
    assert stored == {**listed, "isImplicit": False}

    [implied] = filled.get("/v1/query?select=warrants&for=object=permission:edit,subject=user:ann").json()
    assert implied == {
        "objectType": "permission", "objectId": "edit", "relation": "member",
        "subject": {"objectType": "user", "objectId": "ann"}, "isImplicit": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("subject=user:ann", [IMPLIED, "permission:view#member@user:ann", ADMIN, "team:eng#member@user:ann"]),
        (
            "subject=user:ann,context=plan=pro",
            [
                "feature:beta#member@user:ann",
                IMPLIED,
                "permission:view#member@user:ann",
                ADMIN,
                "team:eng#member@user:ann",
            ],
        ),
        ("subject=user:ann,object=permission:*", [IMPLIED, "permission:view#member@user:ann"]),
        ("subject=user:ann,object=permission:edit", [IMPLIED]),
        ("relation=member,object=permission:edit,subject=user:ann", [IMPLIED]),
        ("relation=owner,object=permission:edit,subject=user:ann", []),
        ("object=permission:edit", [EDIT, IMPLIED, "permission:edit#member@user:bob"]),
        ("object=permission:edit,subject=user:*", [IMPLIED, "permission:edit#member@user:bob"]),
        ("subject=team:eng#member", ["permission:view#member@team:eng#member"]),
        ("object=permission:view,subject=team:*#member", ["permission:view#member@team:eng#member"]),
        ("object=feature:beta,subject=user:ann,context=plan=pro", ["feature:beta#member@user:ann"]),
        ("object=feature:beta,subject=user:ann,context=plan=pro,relation=member", ["feature:beta#member@user:ann"]),
        ("object=feature:beta,subject=user:ann,context=plan=two words a=b", []),
    ],
)
def test_warrants_are_what_is_stored_or_follows(filled: Client, clause: str, expected: list[str]) -> None:
    assert found(filled, "warrants", **{"for": clause}) == expected


def test_a_group_has_what_follows_on_an_object_that_is_named(client: Client) -> None:
    client.define({"document": {"owner": {}, "editor": {"inheritIf": "owner"}, "viewer": {"inheritIf": "editor"}}})
    client.grant("document:plan#editor@team:eng#member")
    group = "subject=team:eng#member"

    assert found(client, "warrants", **{"for": f"{group},object=document:plan"}) == [
        "document:plan#editor@team:eng#member", "document:plan#viewer@team:eng#member",
    ]  # fmt: skip
    assert len(found(client, "warrants", limit=1, **{"for": f"{group},object=document:plan"})) == 1
    assert found(client, "warrants", where=f"{group},object=document:plan,relation=owner") == []
    assert found(client, "warrants", where=group) == ["document:plan#editor@team:eng#member"]


def test_both_clauses_must_hold(filled: Client) -> None:
    for one, other in (("for", "where"), ("where", "for")):
        both = {one: "object=permission:edit,relation=member", other: "subject=user:ann"}
        assert found(filled, "warrants", **both) == [IMPLIED]
        assert found(filled, "warrants", **{one: "subject=user:ann", other: "subject=user:bob"}) == []
        assert found(filled, "warrants", **{one: "subject=user:ann", other: "subject=user:ann,object=role:*"}) == [
            ADMIN
        ]


def test_limits(filled: Client) -> None:
    assert found(filled, "explicit warrants", limit=1) == [ADMIN]
    assert len(found(filled, "warrants", limit=2, **{"for": "subject=user:ann"})) == 2
    for clause in ("subject=user:ann", "object=permission:edit,subject=user:ann", "relation=owner"):
        for select in ("warrants", "explicit warrants"):
            for wrong in ({"limit": 0}, {"lastId": "x"}, {"afterId": "x"}, {"nextCursor": "x"}):
                answer = filled.get("/v1/query", params={"select": select, "for": clause, **wrong})
                expected = {*wrong, "for"} if select == "warrants" and clause == "relation=owner" else {*wrong}
                assert answer.json()["parameter"] in expected, (clause, select, wrong)


@pytest.mark.parametrize(
    ("parameters", "parameter"),
    [
        ({"select": "everything"}, "select"),
        ({"select": ""}, "select"),
        ({"select": "warrants"}, "for"),
        ({"select": "warrants", "for": "relation=member"}, "for"),
        ({"select": "warrants", "for": "object=role"}, "for"),
        ({"select": "warrants", "for": "object=role:a#b"}, "for"),
        ({"select": "warrants", "for": "object=Role:a"}, "for"),
        ({"select": "warrants", "where": "subject=user:a b"}, "where"),
        ({"select": "warrants", "where": "nonsense"}, "where"),
        ({"select": "warrants", "where": "relation=a,relation=b"}, "where"),
        ({"select": "warrants", "where": "relation=anyOf"}, "where"),
        ({"select": "warrants", "for": "subject=user:ann,context=plan"}, "for"),
        ({"select": "explicit warrants", "for": "context=a-b=1"}, "context"),
    ],
)
def test_what_cannot_be_read_is_refused(filled: Client, parameters: dict[str, str], parameter: str) -> None:
    answer = filled.get("/v1/query", params=parameters)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_parameter")
    assert answer.json()["parameter"] == parameter


def test_an_unknown_type_is_not_found_where_something_could_follow(filled: Client) -> None:
    answer = filled.get("/v1/query?select=warrants&for=object=unknown:x,subject=user:ann")

    assert (answer.status_code, answer.json()["type"]) == (404, "ObjectType")


def test_an_id_may_contain_what_separates_conditions_if_it_is_quoted(client: Client) -> None:
    client.define({"user": {}, "route": {"reader": {}}})
    client.grant("route:/a,relation=b#reader@user:x=y,z")
    named = {"for": 'object=route:"/a,relation=b"', "where": "subject=user:x=y,z"}

    answers = [client.get("/v1/query", params={"select": "explicit warrants", **clauses}) for clauses in (
        named, {"for": 'object=route:"/a,relation=b",subject=user:"x=y,z"'}, {"for": "object=route:/a,relation=b"},
    )]  # fmt: skip

    assert [len(answer.json()) for answer in answers] == [1, 1, 0]
