"""What users of warrant-python do. Which methods a scenario shows stands in warrant-python.yaml, under its name."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import warrant
from warrant import Authz, CheckOp, Object, QueryResult, Subject, Tenant, Warrant

from tests.running import Client

Scenario = Callable[[Client], None]
SCENARIOS: dict[str, Scenario] = {}


def scenario(told: Scenario) -> Scenario:
    SCENARIOS[told.__name__] = told
    return told


@contextmanager
def refused(status: int, code: str, **members: str) -> Iterator[None]:
    """The SDK raises its only error; the text has the status and the body that the service answered."""
    with pytest.raises(warrant.WarrantException) as raised:
        yield
    prefix, _, body = str(raised.value).partition("{")
    assert prefix == f"Warrant error: {status} "
    assert json.loads("{" + body).items() >= {"code": code, **members}.items()


def ids(listed: Any) -> list[str]:
    return [found.object_id for found in listed.results]


def told(found: Any) -> tuple[str, str, dict[str, Any]]:
    return (found.object_type, found.object_id, found.meta)


@scenario
def objects(service: Client) -> None:
    made = Object.create("atlas")
    named = Object.create("atlas", "zz-a.b|c@d:e_f", {"pages": 320})

    assert told(made) == ("atlas", made.object_id, {})
    assert len(made.object_id) == 36
    named.update({"pages": 321, "shelf": {"row": 2}})
    assert named.meta == {"pages": 321, "shelf": {"row": 2}}
    assert told(Object.get("atlas", "zz-a.b|c@d:e_f")) == told(named)
    first = Object.list({"objectType": "atlas", "limit": 1})
    second = Object.list({"objectType": "atlas", "limit": 1, "nextCursor": first.next_cursor})
    assert [ids(first), ids(second)] == [[made.object_id], ["zz-a.b|c@d:e_f"]]
    assert first.prev_cursor == second.next_cursor == ""
    assert ids(Object.list({"objectType": "atlas", "limit": 1, "prevCursor": second.prev_cursor})) == ids(first)
    token = Object.delete("atlas", named.object_id)
    assert ids(Object.list({"objectType": "atlas"}, opts={"Warrant-Token": token})) == [made.object_id]
    with refused(404, "not_found", type="atlas", key=named.object_id):
        Object.get("atlas", named.object_id)


@scenario
def object_batches(service: Client) -> None:
    wanted = [{"objectType": "map", "objectId": "m2", "meta": {"scale": 5}}, {"objectType": "map"}]

    first, second = Object.batch_create([*wanted, {"objectType": "map", "objectId": "m1"}])[:2]

    assert told(first) == ("map", "m2", {"scale": 5})
    assert len(second.object_id) == 36
    with refused(404, "not_found", key="m9"):
        Object.batch_delete([{"objectType": "map", "objectId": name} for name in ("m1", "m9")])
    assert ids(Object.list({"objectType": "map"})) == [second.object_id, "m1", "m2"]
    token = Object.batch_delete([{"objectType": "map", "objectId": name} for name in ("m1", "m2")])
    assert ids(Object.list({"objectType": "map"}, opts={"Warrant-Token": token})) == [second.object_id]


@scenario
def warrants(service: Client) -> None:
    group, ann = Subject("role", "w-staff", "member"), {"objectType": "user", "objectId": "w-ann"}

    granted = Warrant.create("permission", "w-print", "member", group)
    joined = Warrant.create("role", "w-staff", "member", ann)

    assert (granted.object_type, granted.object_id, granted.relation) == ("permission", "w-print", "member")
    assert (granted.subject.object_type, granted.subject.object_id, granted.subject.relation) == (
        "role",
        "w-staff",
        "member",
    )
    assert joined.subject.relation == ""
    assert Authz.check("permission", "w-print", "member", ann, opts={"Warrant-Token": joined.warrant_token})
    left = Warrant.delete("role", "w-staff", "member", ann)
    assert not Authz.check("permission", "w-print", "member", ann, opts={"Warrant-Token": left})
    with refused(404, "not_found", type="Warrant", key="role:w-staff#member@user:w-ann"):
        Warrant.delete("role", "w-staff", "member", ann)


@scenario
def policies(service: Client) -> None:
    where, ann = ("tenant", "p-acme", "member"), Subject("user", "p-ann")

    Warrant.create(*where, ann, policy='region == "eu" && amount < 10')

    assert Authz.check(*where, ann, context={"region": "eu", "amount": 9.5})
    assert not Authz.check(*where, ann, context={"region": "eu", "amount": 10})
    assert not Authz.check(*where, ann)
    with refused(404, "not_found", type="Warrant"):
        Warrant.delete(*where, ann)
    Warrant.delete(*where, ann, policy='region == "eu" && amount < 10')
    assert not Authz.check(*where, ann, context={"region": "eu", "amount": 9.5})
    with refused(400, "invalid_parameter", parameter="policy"):
        Warrant.create(*where, ann, policy='region = "eu"')


@scenario
def warrant_batches(service: Client) -> None:
    subject = {"objectType": "user", "objectId": "wb-u"}
    bodies = [
        {"objectType": "role", "objectId": name, "relation": "member", "subject": subject} for name in ("wb-2", "wb-1")
    ]

    made = Warrant.batch_create(bodies)

    assert [(one.object_id, one.subject.object_id) for one in made] == [("wb-2", "wb-u"), ("wb-1", "wb-u")]
    assert made[0].warrant_token == made[1].warrant_token
    assert Authz.check_many(CheckOp.ALL_OF, bodies)
    with refused(404, "not_found", type="Warrant"):
        Warrant.batch_delete([bodies[0], bodies[1] | {"relation": "owner"}])
    assert Authz.check_many(CheckOp.ALL_OF, made)
    assert Warrant.batch_delete(bodies)
    assert not Authz.check_many(CheckOp.ANY_OF, bodies)


@scenario
def checks(service: Client) -> None:
    ann, bob = Subject("user", "c-ann"), {"objectType": "user", "objectId": "c-bob"}
    held = Warrant.create("role", "c-desk", "member", ann)
    not_held = {"objectType": "role", "objectId": "c-desk", "relation": "member", "subject": bob}

    assert Authz.check("role", "c-desk", "member", ann)
    assert not Authz.check("role", "c-desk", "member", bob)
    assert Authz.check_many(CheckOp.ANY_OF, [not_held, held])
    assert not Authz.check_many(CheckOp.ALL_OF, [held, not_held])
    with refused(404, "not_found", type="ObjectType", key="nowhere"):
        Authz.check("nowhere", "x", "member", ann)
    Object.delete("user", "c-ann")
    Object.delete("role", "c-desk")
    assert not Authz.check("role", "c-desk", "member", ann)


@scenario
def queries(service: Client) -> None:
    Tenant.create("q-acme", {"city": "Oslo"})
    Warrant.create("tenant", "q-acme", "admin", Subject("user", "q-ann"))
    asked = "select tenant where user:q-ann is *"

    rows = Warrant.query(asked).results
    first = Warrant.query(asked, {"limit": 2})
    second = Warrant.query(asked, {"limit": 2, "nextCursor": first.next_cursor})

    assert [(row.object_type, row.object_id, row.meta) for row in rows] == [("tenant", "q-acme", {"city": "Oslo"})] * 3
    assert [row.is_implicit for row in rows] == [False, True, True]
    assert {(row.warrant.relation, row.warrant.subject.object_id) for row in rows} == {("admin", "q-ann")}
    assert [len(first.results), len(second.results), first.prev_cursor, second.next_cursor] == [2, 1, "", ""]
    assert len(Warrant.query(asked, {"limit": 2, "prevCursor": second.prev_cursor}).results) == 2
    assert ids(Warrant.query("select explicit tenant where user:q-ann is *")) == ["q-acme"]
    with refused(400, "invalid_parameter", parameter="q"):
        Warrant.query("select tenant")


@scenario
def sessions(service: Client) -> None:
    Warrant.create("permission", "s-read", "member", Subject("user", "s-ann"))
    read, write = (
        {"warrants": [{"objectType": "permission", "objectId": name, "relation": "member"}]}
        for name in ("s-read", "s-write")
    )

    token = Authz.create_authorization_session("s-ann")
    url = Authz.create_self_service_url("s-acme", "s-ann", "rbac", "https://app.example/back")

    bearer = {"Authorization": f"Bearer {token}"}
    assert service.post("/v2/check", json=read, headers=bearer).json()["code"] == 200
    assert service.post("/v2/check", json=write, headers=bearer).json()["code"] == 403
    shape = re.escape(warrant.self_service_dashboard_base_url) + r"/([\w.-]+)\?redirectUrl=https://app\.example/back"
    found = re.fullmatch(shape, url)
    assert found is not None, url
    assert found[1] != token


@scenario
def rows_read_by_hand(service: Client) -> None:
    Warrant.create("permission", "by-hand", "member", Subject("role", "by-hand", "member"))
    Warrant.create("role", "by-hand", "member", Subject("user", "by-hand"))
    [sent] = service.get("/v2/warrants", params={"objectType": "permission", "objectId": "by-hand"}).json()["results"]
    asked = {"q": "select member of type user for permission:by-hand"}
    [row] = service.get("/v2/query", params=asked).json()["results"]

    read, subject, found = Warrant.from_json(sent), Subject.from_json(sent["subject"]), QueryResult.from_json(row)

    assert (read.object_type, read.object_id, read.relation) == ("permission", "by-hand", "member")
    assert (subject.object_type, subject.object_id, subject.relation) == ("role", "by-hand", "member")
    assert (found.object_type, found.object_id, found.meta) == ("user", "by-hand", {})
    assert found.warrant["subject"] == sent["subject"]
