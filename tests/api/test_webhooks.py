"""/v2/webhooks: making, changing and rotating them."""

import re

import pytest

from magistrate.operations.webhooks.webhooks import MAX_WEBHOOKS
from tests.issuing import issue_key
from tests.running import Client, running_service, settings_for

URL = "https://8.8.8.8/hook"
SECRET = "whsec_" + "c2VjcmV0" * 5 + "c2Vj"


def make(client: Client, **members: object) -> dict[str, object]:
    answer = client.post("/v2/webhooks", json={"url": URL, **members})
    assert answer.status_code == 200, answer.text
    made: dict[str, object] = answer.json()
    return made


def test_a_webhook_has_a_secret_that_is_shown_once(client: Client) -> None:
    made = make(client, objectType=["document", "document"], relation=["viewer"], description="to the index")

    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", str(made.pop("secret")))
    assert made["objectType"] == ["document"]
    assert (made["enabled"], made["state"]) == (True, "enabled")
    assert client.get(f"/v2/webhooks/{made['id']}").json() == made
    assert client.get("/v2/webhooks").json()["results"] == [made]


def test_a_caller_can_choose_the_secret(client: Client) -> None:
    assert make(client, secret=SECRET)["secret"] == SECRET


@pytest.mark.parametrize("secret", ["", "whsec_", "secret", "whsec_c2VjcmV0", f"{SECRET}!", "whsec_" + "c2VjcmV0" * 11])
def test_a_secret_that_is_none_is_refused_and_not_shown(client: Client, secret: str) -> None:
    answer = client.post("/v2/webhooks", json={"url": URL, "secret": secret})

    assert (answer.status_code, answer.json()["parameter"]) == (400, "secret")
    assert not secret or secret == "secret" or secret == "whsec_" or secret not in answer.text


@pytest.mark.parametrize(
    "url",
    [
        "",
        "8.8.8.8",
        "ftp://8.8.8.8/",
        "https://",
        "https:///path",
        "https://8.8.8.8:0/",
        "https://8.8.8.8:99999/",
        "https://ann:secret@8.8.8.8/",
        "https://8.8.8.8/#part",
        "https://8.8.8.8/a b",
        "https://8.8.8.8/\n",
        "https://ä.example/",
        "https://8.8.8.8\\@10.0.0.1/",
        "https://[fe80::1%25eth0]/",
        f"https://8.8.8.8/{'a' * 2_048}",
    ],
)
def test_what_is_no_url_is_refused(client: Client, url: str) -> None:
    answer = client.post("/v2/webhooks", json={"url": url})

    assert (answer.status_code, answer.json()["parameter"]) == (400, "url"), answer.text


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "10.1.2.3", "169.254.169.254", "[::1]", "[::ffff:10.0.0.1]", "0.0.0.0", "2130706433"],
)
def test_a_private_address_is_refused(client: Client, host: str) -> None:
    for method, path in (("POST", "/v2/webhooks"), ("PATCH", f"/v2/webhooks/{make(client)['id']}")):
        answer = client.request(method, path, json={"url": f"http://{host}/hook"})

        assert answer.status_code == 400, answer.text
        assert answer.json()["parameter"] == "url"
        assert "no public address" in answer.json()["message"]


def test_the_operator_allows_networks(database_url: str) -> None:
    settings = settings_for(database_url, webhook_allow_networks="127.0.0.0/8,10.1.0.0/16")
    with running_service(settings) as service, Client(service) as client:
        for url, status in (("http://127.0.0.1:1/", 200), ("http://10.1.9.9/", 200), ("http://10.2.0.1/", 400)):
            assert client.post("/v2/webhooks", json={"url": url}).status_code == status


def test_filters_are_names_and_are_bounded(client: Client) -> None:
    for body in ({"objectType": ["a b"]}, {"relation": ["#"]}, {"subjectType": ["x"] * 101}, {"of": ["nonsense"]}):
        answer = client.post("/v2/webhooks", json={"url": URL, **body})

        assert (answer.status_code, answer.json()["parameter"]) == (400, next(iter(body)))


def test_access_must_be_defined_and_is_not_combined(client: Client) -> None:
    client.define({"report": {"viewer": {}}, "user": {}})
    path = f"/v2/webhooks/{make(client, of=['report#viewer@user'])['id']}"

    for body in ({"of": ["report#editor@user"]}, {"of": ["report#viewer@user"], "relation": ["viewer"]}):
        answer = client.post("/v2/webhooks", json={"url": URL, **body})
        assert (answer.status_code, answer.json()["parameter"]) == (400, "of")
    for change in ({"of": ["nothing#viewer@user"]}, {"of": None}, {"objectType": ["report"]}):
        answer = client.patch(path, json=change)
        assert (answer.status_code, answer.json()["parameter"]) == (400, "of")
    assert client.patch(path, json={"of": ["report"]}).json()["of"] == ["report"]
    assert client.patch(f"/v2/webhooks/{make(client)['id']}", json={"of": ["report"]}).status_code == 400


def test_a_change_replaces_a_whole_member(client: Client) -> None:
    path = f"/v2/webhooks/{make(client, objectType=['a'], relation=['b'], description='c')['id']}"

    changed = client.patch(path, json={"objectType": ["d", "e"], "relation": None, "description": None}).json()
    disabled = client.patch(path, json={"enabled": False}).json()
    enabled = client.patch(path, json={"enabled": True, "url": "https://1.1.1.1/"}).json()

    assert changed["objectType"] == ["d", "e"]
    assert "relation" not in changed
    assert "description" not in changed
    assert (disabled["enabled"], disabled["state"]) == (False, "disabled")
    assert (enabled["enabled"], enabled["state"], enabled["url"]) == (True, "enabled", "https://1.1.1.1/")


def test_a_store_has_so_many_webhooks_at_most(client: Client) -> None:
    for _ in range(MAX_WEBHOOKS):
        make(client)

    assert client.post("/v2/webhooks", json={"url": URL}).status_code == 409


def test_a_rotation_gives_another_secret(client: Client) -> None:
    made = make(client)

    rotated = client.post(f"/v2/webhooks/{made['id']}/rotate").json()
    chosen = client.post(f"/v2/webhooks/{made['id']}/rotate", json={"secret": SECRET}).json()

    assert rotated["secret"] != made["secret"]
    assert rotated["previousUntil"] > rotated["createdAt"]
    assert chosen["secret"] == SECRET


def test_a_deleted_webhook_is_gone(client: Client) -> None:
    path = f"/v2/webhooks/{make(client)['id']}"

    assert client.delete(path).status_code == 200
    for method, suffix in (("GET", ""), ("DELETE", ""), ("PATCH", ""), ("POST", "/rotate"), ("GET", "/deliveries")):
        assert client.request(method, path + suffix, json={}).status_code == 404
    assert client.get("/v2/webhooks").json()["results"] == []


def test_a_replay_goes_back_and_not_ahead(client: Client) -> None:
    tokens = [
        client.post("/v2/objects", json={"objectType": "user", "objectId": name}).headers["Warrant-Token"]
        for name in "ab"
    ]
    made = make(client, enabled=False)
    later = client.post("/v2/objects", json={"objectType": "user", "objectId": "c"}).headers["Warrant-Token"]
    path = f"/v2/webhooks/{made['id']}/replay"

    assert made["token"] == tokens[1]
    assert client.post(path, json={"since": tokens[0]}).json()["token"] == tokens[0]
    assert client.post(path, json={"since": later}).status_code == 400
    assert client.post(path, json={"since": "nonsense"}).status_code == 400
    assert client.post(path, json={}).status_code == 400
    assert client.post("/v2/webhooks/unknown/replay", json={"since": tokens[0]}).status_code == 404


def test_webhooks_need_their_scope_and_a_key_for_all_types(client: Client) -> None:
    keys = (
        (issue_key(client, "a", "webhooks"), 200),
        (issue_key(client, "b", "admin"), 200),
        (issue_key(client, "c", "events", "read", "write", "model", "keys"), 403),
        (issue_key(client, "d", "webhooks", objectTypes=["document"]), 403),
    )
    for key, status in keys:
        with Client(str(client.base_url), key) as caller:
            assert caller.get("/v2/webhooks").status_code == status
            assert caller.post("/v2/webhooks", json={"url": URL}).status_code == status


def test_no_answer_but_the_first_has_the_secret(client: Client) -> None:
    made = make(client, secret=SECRET)
    rotated = client.post(f"/v2/webhooks/{made['id']}/rotate").json()["secret"]

    path = f"/v2/webhooks/{made['id']}"
    texts = [client.get(path).text, client.get("/v2/webhooks").text, client.patch(path, json={"enabled": False}).text]
    assert not [text for text in texts if SECRET in text or rotated in text]
