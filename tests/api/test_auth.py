"""Keys (docs/compatibility.md#sessions)."""

import hashlib
from pathlib import Path

import pytest

from magistrate.api.auth.callers import KeyRing
from magistrate.errors import Unauthenticated
from magistrate.operations.keys.caller_keys import key_digest
from magistrate.wiring.maintenance import prepare_store
from magistrate.wiring.stores import migrate_store
from tests.databases import dump
from tests.fga.requests import fga_warrant
from tests.running import KEY, Client, running_service, settings_for

FORMAT = "Invalid authorization header: invalid format"
MISSING = "Missing header Authorization: send `Authorization: ApiKey <key>`"
PREFIX = "Invalid authorization header: authorization header prefix must be one of: ApiKey"
WRONG = "Invalid API key"


@pytest.mark.parametrize("path", ["/v2/objects", "/v2/object-types", "/v2/objects/a/b", "/metrics"])
@pytest.mark.parametrize(
    ("header", "message"),
    [
        (None, MISSING),
        ("", FORMAT),
        (" ", FORMAT),
        ("ApiKey", FORMAT),
        (KEY, FORMAT),
        (f"ApiKey {KEY} more", FORMAT),
        (f"ApiKey\xa0{KEY}", FORMAT),
        (f"ApiKey{KEY}", FORMAT),
        (f"ApiKeys {KEY}", PREFIX),
        ("Bearer", FORMAT),
        ("Bearer a.b.c", PREFIX),
        ("bearer  a.b.c ", PREFIX),
        (f"Bearer {KEY} more", FORMAT),
        (f"Bearer {KEY}2", WRONG),
        (f"Bearer {KEY}.a", WRONG),
        ("Bearer a.b.c.d", WRONG),
        ("Basic dGVzdA==", PREFIX),
        ("ApiKey wrong", WRONG),
        ("ApiKey test-ke", WRONG),
        (f"ApiKey {KEY}2", WRONG),
        ("ApiKey tést", WRONG),
    ],
)
def test_without_a_good_key_nothing_is_answered(
    shared_client: Client, path: str, header: str | None, message: str
) -> None:
    headers = {b"Authorization": (header or "").encode("latin-1")}
    request = shared_client.build_request("GET", path, headers=headers)
    if header is None:
        del request.headers["Authorization"]

    refused = shared_client.send(request)

    assert refused.status_code == 401
    assert refused.json() == {"code": "unauthorized", "message": message}


@pytest.mark.parametrize("path", ["/v2/objects", "/v1/users", "/metrics"])
def test_a_key_may_be_sent_as_a_bearer(shared_client: Client, path: str) -> None:
    answers = [shared_client.get(path, headers={"Authorization": f"{scheme} {KEY}"}) for scheme in ("ApiKey", "Bearer")]

    assert [answer.status_code for answer in answers] == [200, 200]


WRITTEN = (
    "apikey {}",
    "APIKEY {}",
    "ApiKey  {}",
    "ApiKey\t{}",
    "ApiKey \t {} ",
    "bearer {}",
    "BEARER  {}\t",
    " Bearer {}",
)


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(
            ("GET", path)
            for path in ("/v2/objects", "/v2/query?q=select+folder+where+user:ann+is+viewer", "/v1/users", "/metrics")
        ),
        *(("POST", path) for path in ("/v2/check", "/fga/v1/check", "/access/v1/evaluation")),
    ],
)
def test_the_scheme_may_be_written_in_any_case_and_with_any_blanks(
    shared_client: Client, method: str, path: str, written: str
) -> None:
    shared_client.define({"user": {}, "folder": {"viewer": {}}})
    ann = {"objectType": "user", "objectId": "ann"}
    body = {
        "/v2/check": {"warrants": [{"objectType": "folder", "objectId": "a", "relation": "viewer", "subject": ann}]},
        "/fga/v1/check": {"checks": [fga_warrant("folder:a#viewer@user:ann")]},
        "/access/v1/evaluation": {
            "subject": {"type": "user", "id": "ann"},
            "action": {"name": "viewer"},
            "resource": {"type": "folder", "id": "a"},
        },
    }.get(path)
    for _ in range(3):  # the fast path remembers the heads that it has read
        headers = {"Authorization": written.format(KEY)}
        answer = shared_client.request(method, path, json=body, headers=headers)

        assert answer.status_code == 200, answer.text


def test_a_key_sent_as_a_bearer_may_check_every_user_and_is_recorded_as_the_key(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    with running_service(settings_for(url)) as service, Client(service) as client:
        client.headers["Authorization"] = f"Bearer {KEY}"
        client.define({"folder": {"viewer": {}}})
        client.grant("folder:a#viewer@user:ann")

        assert client.ask("folder:a#viewer@user:ann").json()["result"] == "Authorized"

    assert dump(url)["revision"][-1][5] == f"key-{key_digest(KEY)[:8]}"


def test_a_key_with_two_dots_is_no_key_behind_bearer(tmp_path: Path) -> None:
    key = "a-key.with.two-dots"
    with running_service(settings_for(f"sqlite:///{tmp_path}/m.db", api_key=key)) as url, Client(url, key) as client:
        assert client.get("/v2/objects").status_code == 200
        assert client.get("/v2/objects", headers={"Authorization": f"Bearer {key}"}).status_code == 401


def test_the_key_comes_before_the_body_and_the_parameters(shared_client: Client) -> None:
    headers = {"Authorization": "ApiKey wrong"}

    assert shared_client.post("/v2/objects", content=b"{not json", headers=headers).status_code == 401
    assert shared_client.get("/v2/objects?limit=0", headers=headers).status_code == 401


def test_any_of_several_keys_is_good(tmp_path: Path) -> None:
    keys = [name * 16 for name in "abc"]
    settings = settings_for(f"sqlite:///{tmp_path}/m.db", api_key=", ".join(keys[:2]) + "," + keys[2])
    with running_service(settings) as url:
        for key in keys:
            with Client(url, key) as client:
                assert client.get("/v2/objects").status_code == 200
        with Client(url, f"{keys[0]},") as client:
            assert client.get("/v2/objects").status_code == 401


def test_the_change_log_names_the_holder_of_the_key_but_not_the_key(tmp_path: Path) -> None:
    url, key = f"sqlite:///{tmp_path}/m.db", "secret-key-of-ann"
    with running_service(settings_for(url, api_key=key)) as service, Client(service, key) as client:
        client.post("/v2/objects", json={"objectType": "d"})

    tables = dump(url)
    assert tables["revision"][-1][5] == f"key-{hashlib.sha256(key.encode()).hexdigest()[:8]}"
    assert key not in repr(tables)


@pytest.mark.anyio
async def test_a_generated_key_is_made_once_and_only_its_hash_is_stored(database_url: str) -> None:
    settings = settings_for(database_url)
    without_key = type(settings)(**{name: getattr(settings, name) for name in settings.__slots__} | {"api_keys": ()})
    migrate_store(without_key)

    key = await prepare_store(without_key)
    again = await prepare_store(without_key)

    assert key is not None
    assert len(key) > 40
    assert again is None
    assert [row[0] for row in dump(database_url)["api_key"]] == [key_digest(key)]
    assert key not in repr(dump(database_url))


@pytest.mark.anyio
async def test_no_key_is_made_when_one_is_configured(database_url: str) -> None:
    settings = settings_for(database_url)
    migrate_store(settings)

    assert await prepare_store(settings) is None
    assert dump(database_url)["api_key"] == []


def test_every_known_key_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[str, str]] = []

    def compare(given: str, known: str) -> bool:
        compared.append((given, known))
        return given == known

    monkeypatch.setattr("hmac.compare_digest", compare)
    ring = KeyRing(lambda: 0, [key_digest("one"), key_digest("two"), key_digest("three")])

    assert ring.identify("ApiKey one").actor.startswith("key-")
    assert ring.identify("Bearer one").actor == ring.identify("ApiKey one").actor
    for scheme in ("ApiKey", "Bearer"):
        with pytest.raises(Unauthenticated):
            ring.identify(f"{scheme} four")

    digests = [(given, known) for given, known in compared if len(known) == 64]
    assert [known for _, known in digests] == [key_digest(key) for key in ("one", "two", "three")] * 5
    assert {len(given) for given, _ in digests} == {64}
    accepted_last = [known for _, known in compared if len(known) != 64]
    assert accepted_last == ["ApiKey one", "Bearer one", "ApiKey one", "ApiKey one"]


def test_the_header_that_was_accepted_last_is_refused_once_its_key_is_not_valid() -> None:
    ring = KeyRing(lambda: 0, [key_digest("one")])
    assert ring.identify("ApiKey one").actor == ring.identify("ApiKey one").actor == f"key-{key_digest('one')[:8]}"

    ring.replace([key_digest("two")])

    for header in ("ApiKey one", "ApiKey one", "", None, "ApiKey öne"):
        with pytest.raises(Unauthenticated):
            ring.identify(header)
    assert ring.identify("ApiKey two").actor == f"key-{key_digest('two')[:8]}"
