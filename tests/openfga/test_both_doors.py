"""One store, two doors (docs/openfga.md): what is written by OpenFGA's API is seen in /v2, and the reverse."""

import pytest

from tests.api.watching import watching
from tests.openfga.conversation import OpenFga, model
from tests.openfga.requests import delete, key, v2, write
from tests.openfga.team_files import TYPES
from tests.scenario_files import warrant_body


@pytest.fixture
def filled(openfga: OpenFga) -> OpenFga:
    openfga.write_model(TYPES)
    write(openfga, "team:core member user:ann", "folder:x viewer team:core#member").raise_for_status()
    return openfga


def ask(openfga: OpenFga, text: str) -> bool:
    return bool(openfga.post("check", {"tuple_key": key(text)}).json()["allowed"])


def check(openfga: OpenFga, written: str) -> bool:
    answer = v2(openfga, "POST", "check", json={"warrants": [warrant_body(written)]})
    return bool(answer.json()["result"] == "Authorized")


def test_a_tuple_is_seen_in_checks_lists_explanations_and_differences(filled: OpenFga) -> None:
    before = v2(filled, "GET", "warrants").headers["Warrant-Token"]
    write(filled, "file:a folder folder:x", "file:a viewer Robot:Ü*").raise_for_status()

    assert check(filled, "file:a#viewer@user:ann")
    assert not check(filled, "file:a#owner@user:ann")
    rows = v2(filled, "GET", "warrants", params={"objectType": "file"}).json()["results"]
    assert [(row["relation"], row["subject"]["objectId"]) for row in rows] == [
        ("direct_folder", "x"),
        ("direct_viewer", "Ü%2A"),
    ]
    selected = v2(filled, "GET", "query", params={"q": "select file where user:ann is viewer"}).json()["results"]
    assert [row["objectId"] for row in selected] == ["a"]
    explained = v2(filled, "POST", "explain", json=warrant_body("file:a#viewer@user:ann")).json()
    assert explained["decision"] == "allowed"
    rows = v2(filled, "GET", "difference", params={"from": before}).json()["results"]
    assert ("gained", "viewer", "ann") in [(row["change"], row["relation"], row["subject"]["objectId"]) for row in rows]


def test_a_tuple_is_an_event_of_the_store(filled: OpenFga) -> None:
    with watching(filled.client, path=f"/stores/{filled.store_id}/v2/watch") as stream:
        stream.next()  # where it begins
        write(filled, "file:a owner user:bob").raise_for_status()
        [created] = stream.next_of("revision")["warrants"]["created"]
        delete(filled, "file:a owner user:bob").raise_for_status()
        [deleted] = stream.next_of("revision")["warrants"]["deleted"]

    for event in (created, deleted):
        assert (event["relation"], event["objectId"], event["subject"]["objectId"]) == ("direct_owner", "a", "bob")


def test_a_warrant_is_a_tuple(filled: OpenFga) -> None:
    token = filled.get("changes").json()["continuation_token"]
    warrant = warrant_body("file:a#direct_owner@user:bob")

    v2(filled, "POST", "warrants", json=warrant)
    owned = ask(filled, "file:a viewer user:bob")
    read = filled.post("read", {"tuple_key": {"object": "file:a"}}).json()["tuples"]
    listed = filled.post("list-objects", {"type": "file", "relation": "viewer", "user": "user:bob"}).json()["objects"]
    v2(filled, "DELETE", "warrants", json=warrant)

    assert owned
    assert [row["key"] for row in read] == [{**key("file:a owner user:bob"), "condition": None}]
    assert listed == ["file:a"]
    assert not ask(filled, "file:a viewer user:bob")
    changes = filled.get("changes", continuation_token=token).json()["changes"]
    assert [(change["operation"], change["tuple_key"]["relation"]) for change in changes] == [
        ("TUPLE_OPERATION_WRITE", "owner"),
        ("TUPLE_OPERATION_DELETE", "owner"),
    ]


def test_a_warrant_of_the_relation_itself_is_no_tuple(filled: OpenFga) -> None:
    answer = filled.client.post(f"/stores/{filled.store_id}/v2/warrants", json=warrant_body("file:a#viewer@user:bob"))

    assert answer.status_code in (200, 400)
    assert filled.post("read", {"tuple_key": {"object": "file:a"}}).json()["tuples"] == []
    assert not ask(filled, "file:a viewer user:bob")


def test_a_model_of_v2_leaves_the_authorization_models_and_the_tuples(filled: OpenFga) -> None:
    definition = v2(filled, "GET", "model").json()
    v2(filled, "PUT", "model", json=definition, params={"keepExisting": "true"})

    assert ask(filled, "folder:x viewer user:ann")
    assert filled.get("authorization-models").json()["authorization_models"][0]["id"] == filled.model_id
    assert filled.write_model(model(*TYPES["type_definitions"])) > definition.get("id", "")
