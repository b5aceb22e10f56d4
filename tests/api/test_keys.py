"""/v2/keys: keys are made, listed, rotated and revoked (docs/api.md#keys)."""

import asyncio
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from magistrate.api.auth.callers import KeyRing, list_secrets
from magistrate.errors import StoreUnavailable, Unauthenticated
from magistrate.operations.keys.caller_keys import MAX_GRACE_SECONDS, MAX_KEYS, key_digest
from magistrate.operations.keys.callers import OPERATOR_SCOPES, Scope
from magistrate.operations.scheduling import running_beside
from magistrate.operations.stores.contexts import StoreContexts
from magistrate.store.contract.keys import StoredKey
from magistrate.store.contract.stores import DEFAULT_STORE
from magistrate.store.sql_store import SqlStore
from magistrate.store.sql_stores import SqlStores
from magistrate.wiring import api_keys
from magistrate.wiring.contexts import context_of
from magistrate.wiring.stores import migrate_store, open_stores
from tests.databases import dump
from tests.issuing import issue_key, wait_for_key
from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body

ID = "0197a0b0-0000-7000-8000-000000000000"


def rows(client: Client, **parameters: Any) -> list[dict[str, Any]]:
    return [row for page in client.pages("/v2/keys", **parameters) for row in page]


def in_seconds(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def test_a_key_is_shown_once_and_listed_without_its_secret(client: Client) -> None:
    issued = client.post("/v2/keys", json={"name": "billing", "scopes": ["query", "check", "check"]})

    key = issued.json()
    assert issued.headers["Service-Token"]
    assert re.fullmatch(r"magistrate_[A-Za-z0-9_-]{43}", key["key"])
    assert key["prefix"] == key["key"][:17]
    secret = key.pop("key")
    assert set(key) == {"id", "name", "prefix", "scopes", "createdAt", "createdBy"}
    assert (key["name"], key["scopes"]) == ("billing", ["check", "query"])
    assert key["createdBy"].startswith("key-")
    assert rows(client) == [key]
    assert client.get(f"/v2/keys/{key['id']}").json() == key
    assert secret not in client.get("/v2/keys").text


def test_all_members_are_kept(client: Client) -> None:
    body = {
        "name": "a.b-c_d@e",
        "scopes": ["admin"],
        "objectTypes": ["b", "a", "a"],
        "expiresAt": "2999-01-02T03:04:05Z",
    }

    key = client.post("/v2/keys", json=body).json()

    assert {name: key[name] for name in body} == {**body, "objectTypes": ["a", "b"]}


@pytest.mark.parametrize(
    ("body", "status", "parameter"),
    [
        ({"scopes": ["check"]}, 400, "name"),
        ({"name": "", "scopes": ["check"]}, 400, "name"),
        ({"name": "a b", "scopes": ["check"]}, 400, "name"),
        ({"name": "user:ann", "scopes": ["check"]}, 400, "name"),
        ({"name": "key-12345678", "scopes": ["check"]}, 400, "name"),
        ({"name": "magistrate", "scopes": ["check"]}, 400, "name"),
        ({"name": "x" * 65, "scopes": ["check"]}, 400, "name"),
        ({"name": "a"}, 400, "scopes"),
        ({"name": "a", "scopes": []}, 400, "scopes"),
        ({"name": "a", "scopes": ["check", "Read"]}, 400, "scopes"),
        ({"name": "a", "scopes": "check"}, 400, "scopes"),
        ({"name": "a", "scopes": ["check"], "objectTypes": []}, 400, "objectTypes"),
        ({"name": "a", "scopes": ["check"], "objectTypes": ["A"]}, 400, "objectTypes"),
        ({"name": "a", "scopes": ["check"], "objectTypes": [f"t{n}" for n in range(101)]}, 400, "objectTypes"),
        ({"name": "a", "scopes": ["check"], "expiresAt": "tomorrow"}, 400, "expiresAt"),
        ({"name": "a", "scopes": ["check"], "expiresAt": "2020-01-01T00:00:00Z"}, 400, "expiresAt"),
        ({"name": "a", "scopes": ["check"], "object_types": ["a"]}, 400, "object_types"),
    ],
)
def test_what_is_no_key_is_refused(shared_client: Client, body: object, status: int, parameter: str) -> None:
    before = rows(shared_client)

    refused = shared_client.post("/v2/keys", json=body)

    assert (refused.status_code, refused.json().get("parameter")) == (status, parameter)
    assert rows(shared_client) == before


def test_a_name_of_64_characters_and_100_object_types_are_taken(client: Client) -> None:
    body = {"name": "x" * 64, "scopes": ["check"], "objectTypes": [f"t{n}" for n in range(100)]}

    assert client.post("/v2/keys", json=body).status_code == 200


def test_a_second_key_of_a_name_is_a_conflict(client: Client) -> None:
    first = client.post("/v2/keys", json={"name": "a", "scopes": ["check"]})
    second = client.post("/v2/keys", json={"name": "a", "scopes": ["read"]})

    assert first.status_code == 200
    assert (second.status_code, second.json()["code"]) == (409, "conflict")
    assert "a already" in second.json()["message"]


def test_keys_are_paged_and_sorted(client: Client) -> None:
    names = [f"k{number}" for number in (3, 1, 4, 2, 0)]
    for name in names:
        client.post("/v2/keys", json={"name": name, "scopes": ["check"]}).raise_for_status()

    assert [row["name"] for row in rows(client, limit=2)] == names
    assert [row["name"] for row in rows(client, limit=2, sortOrder="DESC")] == names[::-1]
    assert [row["name"] for row in rows(client, limit=2, sortBy="name")] == sorted(names)
    second = client.get("/v2/keys", params={"limit": 2}).json()["nextCursor"]
    page = client.get("/v2/keys", params={"limit": 2, "nextCursor": second}).json()
    first = client.get("/v2/keys", params={"limit": 2, "prevCursor": page["prevCursor"]}).json()
    assert [row["name"] for row in page["results"]] == names[2:4]
    assert [row["name"] for row in first["results"]] == names[:2]
    assert "prevCursor" not in first
    assert client.get("/v2/keys", params={"snapshot": "true", "strict": "true"}).status_code == 400


@pytest.mark.parametrize("key_id", [ID, "a\0"])
def test_a_key_that_is_not_there_is_404(client: Client, key_id: str) -> None:
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/rotate")):
        answer = client.request(method, f"/v2/keys/{quote(key_id)}{path}")

        assert (answer.status_code, answer.json()["message"]) == (404, f"Key {key_id} not found")


def test_a_revoked_key_is_refused_by_a_running_service(client: Client) -> None:
    secret = issue_key(client, "a", "read")
    with Client(str(client.base_url), secret) as other:
        assert other.get("/v2/objects").status_code == 200
        [row] = rows(client)

        client.delete(f"/v2/keys/{row['id']}").raise_for_status()

        wait_for_key(client, secret, is_good=False)
        assert other.get("/v2/objects").status_code == 401


def test_after_a_rotation_the_old_secret_is_good_for_the_grace_period(client: Client) -> None:
    first = issue_key(client, "a", "read")
    [row] = rows(client)

    second = client.post(f"/v2/keys/{row['id']}/rotate", json={"graceSeconds": 3_600}).json()

    assert second["previousUntil"] > in_seconds(3_500)
    assert second["prefix"] == second["key"][:17] != row["prefix"]
    wait_for_key(client, second["key"])
    wait_for_key(client, first)
    third = client.post(f"/v2/keys/{row['id']}/rotate").json()
    wait_for_key(client, third["key"])
    for secret in (first, second["key"]):
        wait_for_key(client, secret, is_good=False)


@pytest.mark.parametrize("grace", [-1, MAX_GRACE_SECONDS + 1, "1"])
def test_a_grace_period_out_of_bounds_is_refused(shared_client: Client, grace: object) -> None:
    refused = shared_client.post(f"/v2/keys/{ID}/rotate", json={"graceSeconds": grace})

    assert (refused.status_code, refused.json()["parameter"]) == (400, "graceSeconds")


def test_an_expired_key_is_refused_and_still_listed(client: Client) -> None:
    secret = issue_key(client, "a", "read", expiresAt=in_seconds(4))
    with Client(str(client.base_url), secret) as other:
        while other.get("/v2/objects").status_code == 200:  # the same header all the time
            time.sleep(0.05)

        assert other.get("/v2/objects").json()["message"] == "Invalid API key"
    assert [row["name"] for row in rows(client)] == ["a"]


def test_the_change_log_names_the_key(database_url: str) -> None:
    with (
        running_service(settings_for(database_url)) as url,
        Client(url) as admin,
        Client(url, issue_key(admin, "writer", "write")) as client,
    ):
        client.post("/v2/objects", json={"objectType": "d"}).raise_for_status()

    assert dump(database_url)["revision"][-1][5] == "writer"


def test_the_last_use_is_recorded_at_most_once_a_minute(
    client: Client, monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    secret = issue_key(client, "a", "read")
    deadline = time.monotonic() + 30
    while "lastUsedAt" not in rows(client)[0]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    used = rows(client)[0]["lastUsedAt"]
    with Client(str(client.base_url), secret) as other:
        for _ in range(20):
            other.get("/v2/objects").raise_for_status()
            time.sleep(0.05)

    assert api_keys.NOTE_EVERY_SECONDS == 60
    assert rows(client)[0]["lastUsedAt"] == used


class Busy(SqlStore):
    """Notes the uses of keys only when it may, or not at all."""

    def __init__(self, store: SqlStore) -> None:
        super().__init__(store.database, store.identity)
        self.fails = False
        self.noted: list[str] = []

    async def note_key_uses(self, uses: Mapping[str, int], pause: int) -> None:
        if self.fails:
            self.fails = False
            raise StoreUnavailable("busy")
        self.noted += uses
        await asyncio.Event().wait()


def is_accepted(ring: KeyRing, secret: str) -> bool:
    try:
        ring.identify(f"ApiKey {secret}")
    except Unauthenticated:
        return False
    return True


def test_a_key_ends_while_its_use_waits_to_be_written_and_no_use_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_keys, "FOLLOW_EVERY_SECONDS", 0.01)
    settings = settings_for(f"sqlite:///{tmp_path}/m.db")

    async def run() -> None:
        migrate_store(settings)
        stores = await open_stores(settings)
        assert isinstance(stores, SqlStores)
        store = stores.default = Busy(stores.default)
        await store.create_key(StoredKey("id-1", "one", "p", key_digest("secret"), ("check",), None, 1, "x"), 10)
        keys = api_keys.ServiceKeys(settings, StoreContexts(stores, lambda store: context_of(store, settings)))
        ring = await keys.open()
        assert ring.identify("ApiKey secret").actor == "one"
        store.fails = True
        async with asyncio.timeout(30), running_beside(keys.follow_changes(), keys.end_expired(), keys.note_uses()):
            while not store.noted:
                await asyncio.sleep(0.01)
            await store.delete_key("id-1")
            while is_accepted(ring, "secret"):
                await asyncio.sleep(0.01)
        assert store.noted == ["id-1"]
        await store.close()

    asyncio.run(run())


def test_nobody_gives_or_takes_over_more_than_they_have(client: Client) -> None:
    url = str(client.base_url)
    admin_id = client.post("/v2/keys", json={"name": "boss", "scopes": ["admin"]}).json()["id"]
    with (
        Client(url, issue_key(client, "clerk", "keys", "read")) as clerk,
        Client(url, issue_key(client, "narrow", "keys", "read", objectTypes=["d", "e"])) as narrow,
    ):
        for other, body in (
            (clerk, {"scopes": ["write"]}),
            (clerk, {"scopes": ["admin"]}),
            (clerk, {"scopes": ["read", "check"]}),
            (narrow, {"scopes": ["read"]}),
            (narrow, {"scopes": ["read"], "objectTypes": ["d", "f"]}),
        ):
            refused = other.post("/v2/keys", json={"name": "new", **body})
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), body
            assert other.post(f"/v2/keys/{admin_id}/rotate").status_code == 403
        assert clerk.post("/v2/keys", json={"name": "new", "scopes": ["read", "keys"]}).status_code == 200
        given = {"name": "newer", "scopes": ["read"], "objectTypes": ["d"]}
        assert narrow.post("/v2/keys", json=given).status_code == 200
        assert clerk.delete(f"/v2/keys/{admin_id}").status_code == 200


def test_there_is_a_limit_of_keys() -> None:
    assert MAX_KEYS == 1_000  # tests/store/test_keys.py shows that it is kept


def test_a_ring_knows_stored_keys_until_they_expire_and_notes_their_first_use() -> None:
    now = [100]
    one = StoredKey("id-1", "one", "p", key_digest("secret-1"), ("check",), None, 5, "x", expires_at=200)
    two = StoredKey(
        "id-2", "two", "p", key_digest("secret-2"), ("admin",), ("d",), 5, "x", None, None, key_digest("old"), 150
    )
    ring = KeyRing(lambda: now[0], [key_digest("operator")], list_secrets([one, two], DEFAULT_STORE))

    assert [ring.identify(f"ApiKey {secret}").actor for secret in ("secret-1", "secret-2", "old")] == [
        "one",
        "two",
        "two",
    ]
    assert ring.identify("ApiKey operator").key_id is None
    assert ring.identify("ApiKey secret-1") is ring.identify("Bearer secret-1")
    assert ring.take_uses() == {(DEFAULT_STORE, "id-1"): 100, (DEFAULT_STORE, "id-2"): 100}
    assert ring.take_uses() == {}
    ring.identify("ApiKey secret-1")
    now[0] = 200
    ring.end_expired()
    for secret in ("secret-1", "old"):
        with pytest.raises(Unauthenticated):
            ring.identify(f"ApiKey {secret}")
    assert ring.identify("ApiKey secret-2").actor == "two"


def test_what_a_key_writes_once_is_its_own(client: Client) -> None:
    """Idempotency keys are distinguished by the caller."""
    headers = {"Idempotency-Key": "same"}
    client.define({"d": {"viewer": {}}})
    url = str(client.base_url)
    with Client(url, issue_key(client, "a", "write")) as first, Client(url, issue_key(client, "b", "write")) as second:
        bodies = [warrant_body("d:1#viewer@user:ann"), warrant_body("d:2#viewer@user:ann")]
        answers = [
            one.post("/v2/warrants", json=body, headers=headers).status_code
            for one, body in zip((first, second), bodies, strict=True)
        ]

    assert answers == [200, 200]


def test_callers_read_what_they_may_do_themselves(client: Client) -> None:
    secret = issue_key(client, "reader", "read", "query", objectTypes=["folder", "document"])
    with Client(str(client.base_url), secret) as limited:
        assert limited.get("/v2/keys/self").json() == {
            "name": "reader",
            "scopes": ["query", "read"],
            "objectTypes": ["document", "folder"],
        }

    own = client.get("/v2/keys/self").json()

    assert own["name"].startswith("key-")
    assert {"write", "model", "admin"} <= {*own["scopes"]}
    assert "objectTypes" not in own


def test_keys_of_another_store_cannot_get_the_scopes_of_operators(client: Client) -> None:
    client.post("/v2/stores", json={"name": "acme"}).raise_for_status()
    for scope in ("stores", "metrics"):
        for path in ("/stores/acme/v2/keys", "/stores/default/v2/keys"):
            answer = client.post(path, json={"name": f"with-{scope}", "scopes": ["check", scope]})

            if "default" in path:
                assert answer.status_code == 200, answer.text
            else:
                assert (answer.status_code, answer.json()) == (
                    400,
                    {
                        "code": "invalid_parameter",
                        "message": f"cannot contain {scope}, which is for operators of the service",
                        "parameter": "scopes",
                    },
                )


def test_an_administrator_of_another_store_administers_it_and_nothing_else(client: Client) -> None:
    client.post("/v2/stores", json={"name": "acme"}).raise_for_status()
    issued = client.post("/stores/acme/v2/keys", json={"name": "acme-admin", "scopes": ["admin"]}).json()
    with Client(str(client.base_url), issued["key"]) as acme:
        scopes = acme.get("/v2/keys/self").json()["scopes"]
        second = acme.post("/v2/keys", json={"name": "acme-second", "scopes": ["admin"]})
        rotated = acme.post(f"/v2/keys/{second.json()['id']}/rotate")
        refused = [acme.post("/v2/keys", json={"name": "x", "scopes": [scope]}) for scope in ("stores", "metrics")]
        operated = [acme.get("/v2/stores"), acme.get("/metrics"), acme.get("/stores/acme/v2/stores")]

    assert set(scopes) == {*Scope} - OPERATOR_SCOPES
    assert (second.status_code, rotated.status_code) == (200, 200)
    assert [answer.status_code for answer in refused] == [400, 400]
    assert [answer.status_code for answer in operated] == [403, 403, 404]
    with Client(str(client.base_url), rotated.json()["key"]) as second_client:
        assert second_client.get("/v2/stores").status_code == 403
        assert second_client.get("/stores/default/v2/keys/self").status_code == 404
        assert second_client.get("/stores/acme/v2/keys/self").json()["name"] == "acme-second"
