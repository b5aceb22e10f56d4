"""startsAt and expiresAt of warrants over HTTP (docs/api.md#time-limits)."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from magistrate.store.postgres.database import PostgresServer
from magistrate.store.sqlite.database import SqliteFile
from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body
from tests.waiting import wait_until

ANN = "document:plan#viewer@user:ann"
BOB = "document:plan#viewer@user:bob"
FAR = "2999-01-01T00:00:00Z"
TIME = "must be a valid time in the format 2006-01-02T15:04:05Z07:00"
OUTCOME = "warrant-outcome"
WITHIN_SECONDS = 30
HOUR = 3_600_000_000


@pytest.fixture
def defined(client: Client) -> Client:
    client.define({"document": {"viewer": {}}})
    return client


def body(written: str, **limits: Any) -> dict[str, Any]:
    return warrant_body(written) | limits


def create(client: Client, written: str, **limits: Any) -> Any:
    return client.post("/v2/warrants", json=body(written, **limits))


def written_time(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC).isoformat().replace("+00:00", "Z")


def allowed(client: Client, written: str = ANN) -> bool:
    return bool(client.ask(written).json()["result"] == "Authorized")


def test_limits_are_answered_listed_and_left_out_where_there_are_none(defined: Client) -> None:
    created = create(defined, ANN, startsAt="2020-01-01T02:00:00+02:00", expiresAt="2999-01-01T00:00:00.1234567Z")
    other = create(defined, BOB, startsAt=None, expiresAt=None)

    assert created.status_code == 200
    assert list(created.json())[-3:] == ["createdAt", "startsAt", "expiresAt"]
    assert created.json()["startsAt"] == "2020-01-01T00:00:00Z"
    assert created.json()["expiresAt"] == "2999-01-01T00:00:00.123456Z"  # finer fractions are cut off
    assert list(other.json()) == ["objectType", "objectId", "relation", "subject", "createdAt"]
    assert defined.get("/v2/warrants").json()["results"] == [created.json(), other.json()]


def test_the_outcome_is_created_updated_or_unchanged(defined: Client) -> None:
    assert create(defined, ANN, expiresAt=FAR).headers[OUTCOME] == "created"
    assert create(defined, ANN, expiresAt=FAR).headers[OUTCOME] == "unchanged"
    batch = defined.post("/v2/warrants", json=[body(ANN), body(BOB, startsAt=FAR), body(BOB, startsAt=FAR)])

    assert batch.headers[OUTCOME] == "updated, created, created"
    assert "expiresAt" not in batch.json()[0]
    assert defined.get("/v2/warrants").json()["results"] == batch.json()[:2]


def test_a_repeated_request_with_its_key_has_the_same_outcome(defined: Client) -> None:
    headers = {"Idempotency-Key": "once"}
    answers = [defined.post("/v2/warrants", json=body(ANN, expiresAt=FAR), headers=headers) for _ in range(2)]

    assert [answer.headers[OUTCOME] for answer in answers] == ["created", "created"]
    assert answers[0].json() == answers[1].json()


def test_a_cursor_of_one_list_is_not_taken_by_the_other(defined: Client) -> None:
    create(defined, ANN)
    create(defined, BOB)
    cursor = defined.get("/v2/warrants?limit=1").json()["nextCursor"]

    refused = defined.get("/v2/warrants", params={"expired": "true", "nextCursor": cursor})

    assert (refused.status_code, refused.json()["parameter"]) == (400, "nextCursor")


def test_limits_have_no_effect_when_a_warrant_is_deleted(defined: Client) -> None:
    create(defined, ANN, expiresAt=FAR)

    assert defined.delete_json("/v2/warrants", body(ANN, expiresAt="2020-01-01T00:00:00Z")).status_code == 200


@pytest.mark.parametrize("member", ["startsAt", "expiresAt"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", TIME),
        ("tomorrow", TIME),
        ("2026-13-01T00:00:00Z", TIME),
        ("2026-12-01", TIME),
        ("2026-12-01T10:00:00", TIME),  # without a zone
        ("2026-12-01T10:00:00Z\0", TIME),
        ("2026-12-01T10:00:00+99:00", TIME),
        ("10000-01-01T00:00:00Z", TIME),
        ("0001-01-01T00:00:00+01:00", f"{TIME}, after 1970-01-01T00:00:00Z"),
        ("1970-01-01T00:00:00Z", f"{TIME}, after 1970-01-01T00:00:00Z"),
        ("٢٠٢٦-12-01T10:00:00Z", TIME),
        ("2" * 60_000, TIME),
    ],
)
def test_what_is_no_time_is_refused(shared_client: Client, member: str, value: str, message: str) -> None:
    refused = shared_client.post("/v2/warrants", json=[body(ANN), body(ANN, **{member: value})])

    assert refused.status_code == 400, value
    assert refused.json()["parameter"] == f"[1].{member}"
    assert refused.json()["message"] in (message, TIME)


@pytest.mark.parametrize("member", ["startsAt", "expiresAt"])
@pytest.mark.parametrize("value", [0, 1_763_683_200, 1.5, True, [], {}, ["2026-12-01T10:00:00Z"]])
def test_what_is_no_text_is_refused(shared_client: Client, member: str, value: object) -> None:
    refused = shared_client.post("/v2/warrants", json=body(ANN, **{member: value}))

    assert (refused.status_code, refused.json()["parameter"]) == (400, member)


def test_an_expiry_in_the_past_or_before_the_start_is_refused(defined: Client) -> None:
    past = create(defined, ANN, expiresAt="2020-01-01T00:00:00Z")
    empty = create(defined, ANN, startsAt=FAR, expiresAt=FAR)

    assert (past.status_code, past.json()["parameter"], past.json()["message"]) == (
        400,
        "expiresAt",
        "must be in the future",
    )
    assert (empty.status_code, empty.json()["parameter"], empty.json()["message"]) == (
        400,
        "expiresAt",
        "must be after startsAt",
    )
    assert defined.get("/v2/warrants").json()["results"] == []


def test_expired_is_true_or_false(shared_client: Client) -> None:
    refused = shared_client.get("/v2/warrants?expired=1")

    assert (refused.status_code, refused.json()["parameter"]) == (400, "expired")


@pytest.fixture
def told(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Client, list[int]]]:
    """A service whose database has the time in the list, in microseconds since 1970."""
    now = [time.time_ns() // 1_000]
    for database in (SqliteFile, PostgresServer):
        monkeypatch.setattr(database, "now", lambda _: now[0])
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        client.define({"document": {"viewer": {}}})
        yield client, now


def test_access_begins_ends_and_is_renewed(told: tuple[Client, list[int]]) -> None:
    client, now = told
    create(client, ANN, startsAt=written_time(now[0] + HOUR))
    assert not allowed(client)
    assert create(client, ANN, expiresAt=written_time(now[0] + HOUR)).headers[OUTCOME] == "updated"
    assert allowed(client)

    now[0] += HOUR + 1
    assert not allowed(client)
    assert client.get("/v2/query?q=select document where user:ann is viewer").json()["results"] == []
    assert client.get("/v2/warrants").json()["results"] == []
    assert create(client, ANN).headers[OUTCOME] == "created"
    assert allowed(client)


def test_the_end_is_an_event_and_the_warrant_is_listed_as_expired(told: tuple[Client, list[int]]) -> None:
    client, now = told
    create(client, f"{ANN}[true]", expiresAt=FAR)
    ended = create(client, f"{ANN}[true]", expiresAt=written_time(now[0] + HOUR)).json()
    create(client, BOB)
    assert client.get("/v2/warrants?expired=true").json()["results"] == []

    now[0] += HOUR + 1
    wait_until(lambda: client.get("/v2/warrants?expired=true").json()["results"] != [])
    expired = client.get("/v2/warrants", params={"expired": "true", "objectId": "plan"}).json()["results"]
    events = client.get("/v2/access-events?subjectId=ann&sortOrder=ASC").json()["results"]
    revoked = client.get("/v2/access-events?type=access_revoked").json()["results"]

    assert expired == [ended]
    assert [(event["type"], event["meta"]) for event in events] == [
        ("access_granted", {"policy": "true", "expiresAt": FAR}),
        ("access_granted", {"policy": "true", "expiresAt": ended["expiresAt"]}),
        ("access_revoked", {"policy": "true", "expiresAt": ended["expiresAt"]}),
    ]
    assert revoked == events[2:]
    assert client.get("/v2/warrants?expired=true&relation=editor&strict=false").json()["results"] == []
    assert client.delete_json("/v2/warrants", body(f"{ANN}[true]")).status_code == 404


def test_checks_of_the_fast_path_flip_at_exactly_the_moment(told: tuple[Client, list[int]]) -> None:
    client, now = told
    second = now[0] // 1_000_000 * 1_000_000 + 5_000_000
    written = datetime.fromtimestamp(second // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    create(client, ANN, startsAt=f"{written}.000100Z", expiresAt=f"{written}.000200Z").raise_for_status()
    allowed(client)

    flips = {}
    for moment in (99, 100, 199, 200):
        now[0] = second + moment
        flips[moment] = [allowed(client) for _ in range(3)]

    assert flips == {99: [False] * 3, 100: [True] * 3, 199: [True] * 3, 200: [False] * 3}


def test_a_policy_that_has_run_out_is_renewed_by_creating_it_again(told: tuple[Client, list[int]]) -> None:
    client, now = told
    policy = 'expiresIn("1h") && (vip || staff)'
    first = create(client, ANN, policy=policy)
    now[0] += 3_599_999_999
    assert create(client, ANN, policy=policy).headers[OUTCOME] == "unchanged"
    now[0] += 1
    assert client.ask(ANN, context={"vip": True}).json()["result"] == "Not Authorized"

    again = create(client, ANN, policy=policy)

    assert again.headers[OUTCOME] == "updated"
    assert again.json()["createdAt"] > first.json()["createdAt"]
    assert client.ask(ANN, context={"vip": True}).json()["result"] == "Authorized"
    types = [event["type"] for event in client.get("/v2/access-events").json()["results"]]
    assert types == ["access_granted", "access_granted"]
