"""Sending a request again (issue of lost answers): the Idempotency-Key header."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.running import Client, running_service, settings_for

BATCH = [{"objectType": "d"}, {"objectType": "d", "meta": {"a": 1}}]


def test_a_request_sent_again_gets_the_same_answer_and_has_no_second_effect(client: Client) -> None:
    headers = {"Idempotency-Key": "k-1"}

    first = client.post("/v2/objects", json=BATCH, headers=headers)
    client.post("/v2/objects", json={"objectType": "e"})
    again = client.post("/v2/objects", json=BATCH, headers=headers)

    assert again.status_code == first.status_code == 200
    assert again.json() == first.json()
    assert again.headers["service-token"] == first.headers["service-token"]
    assert len(client.get("/v2/objects").json()["results"]) == 3


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v2/objects", BATCH[:1]),
        ("/v2/objects", [*BATCH, {"objectType": "d"}]),
        ("/v2/object-types", {"type": "t", "relations": {}}),
        ("/v2/objects/d/x", {}),
    ],
)
def test_the_same_key_with_another_request_is_422_and_writes_nothing(client: Client, path: str, body: object) -> None:
    headers = {"Idempotency-Key": "k-1"}
    token = client.post("/v2/objects", json=BATCH, headers=headers).headers["service-token"]

    refused = client.post(path, json=body, headers=headers)

    assert refused.status_code == 422
    assert refused.json() == {
        "code": "invalid_parameter",
        "message": "was used before with another request",
        "parameter": "Idempotency-Key",
    }
    assert client.get("/v2/objects").headers["service-token"] == token


def test_a_request_that_failed_can_be_mended_under_the_same_key(client: Client) -> None:
    headers = {"Idempotency-Key": "k-1"}

    assert client.post("/v2/objects", json=[{"objectType": "UPPER"}], headers=headers).status_code == 400
    assert client.post("/v2/objects", json=[{"objectType": "lower"}], headers=headers).status_code == 200


def test_object_types_can_be_sent_again_too(client: Client) -> None:
    headers = {"Idempotency-Key": "k-1"}
    body = {"type": "t", "relations": {"a": {}}}

    first = client.post("/v2/object-types", json=body, headers=headers)
    client.put("/v2/object-types/t", json={"relations": {"b": {}}})
    again = client.post("/v2/object-types", json=body, headers=headers)

    assert again.json() == first.json()
    assert client.get("/v2/object-types/t").json()["relations"] == {"b": {}}


def test_many_at_once_with_one_key_write_once(client: Client) -> None:
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(
            lambda _: client.post("/v2/objects", json=BATCH, headers={"Idempotency-Key": "k"}), range(16)
        ))  # fmt: skip

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1
    assert len(client.get("/v2/objects").json()["results"]) == 2


def test_two_callers_do_not_see_each_others_answers(database_url: str) -> None:
    headers = {"Idempotency-Key": "k"}
    keys = "key-of-ann-" * 2, "key-of-bob-" * 2
    settings = settings_for(database_url, api_key=",".join(keys))
    with running_service(settings) as url, Client(url, keys[0]) as ann, Client(url, keys[1]) as bob:
        first = ann.post("/v2/objects", json=BATCH, headers=headers)
        second = bob.post("/v2/objects", json=BATCH, headers=headers)

    assert first.status_code == second.status_code == 200
    assert first.json() != second.json()


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "ä", "a\x7f"])
def test_a_key_that_is_no_printable_word_is_refused(shared_client: Client, key: str) -> None:
    refused = shared_client.post("/v2/objects", json=BATCH, headers={b"Idempotency-Key": key.encode("latin-1")})

    assert refused.status_code == 400
    assert refused.json().get("parameter", "Idempotency-Key") == "Idempotency-Key"


def test_puts_and_deletes_take_no_key(client: Client) -> None:
    client.post("/v2/objects", json={"objectType": "d", "objectId": "x"})
    headers = {"Idempotency-Key": "k"}

    assert client.put("/v2/objects/d/x", json={"meta": {"a": 1}}, headers=headers).status_code == 200
    assert client.put("/v2/objects/d/x", json={"meta": {"a": 2}}, headers=headers).json()["meta"] == {"a": 2}
    assert client.delete("/v2/objects/d/x", headers=headers).status_code == 200
    assert client.delete("/v2/objects/d/x", headers=headers).status_code == 404


def test_the_query_string_is_a_part_of_the_request(client: Client) -> None:
    headers = {"Idempotency-Key": "k"}
    body = {"type": "t", "relations": {}}
    client.post("/v2/object-types", json=body, headers=headers).raise_for_status()

    refused = client.post("/v2/object-types?keepExisting=true", json=body, headers=headers)

    assert (refused.status_code, refused.json()["parameter"]) == (422, "Idempotency-Key")


def test_a_key_that_is_made_again_under_its_name_gets_no_answer_of_the_former(client: Client) -> None:
    headers, url = {"Idempotency-Key": "k"}, str(client.base_url)
    former = client.post("/v2/keys", json={"name": "billing", "scopes": ["write"]}).json()
    with Client(url, former["key"]) as caller:
        first = caller.post("/v2/objects", json=BATCH, headers=headers)
    client.delete(f"/v2/keys/{former['id']}").raise_for_status()
    later = client.post("/v2/keys", json={"name": "billing", "scopes": ["write"]}).json()

    with Client(url, later["key"]) as caller:
        second = caller.post("/v2/objects", json=BATCH, headers=headers)
        other = caller.post("/v2/objects", json=BATCH[:1], headers={"Idempotency-Key": "l"})

    assert (first.status_code, second.status_code, other.status_code) == (200, 200, 200)
    assert {row["objectId"] for row in first.json()}.isdisjoint(row["objectId"] for row in second.json())


def test_a_key_that_is_rotated_keeps_its_answers(client: Client) -> None:
    headers, url = {"Idempotency-Key": "k"}, str(client.base_url)
    issued = client.post("/v2/keys", json={"name": "billing", "scopes": ["write"]}).json()
    with Client(url, issued["key"]) as caller:
        first = caller.post("/v2/objects", json=BATCH, headers=headers)
    rotated = client.post(f"/v2/keys/{issued['id']}/rotate").json()

    with Client(url, rotated["key"]) as caller:
        again = caller.post("/v2/objects", json=BATCH, headers=headers)

    assert again.json() == first.json()
