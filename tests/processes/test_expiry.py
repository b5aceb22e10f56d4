"""A warrant that expires, with several workers on one store: all of them agree, and one of them records it."""

import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from msgspec import structs

from tests import oracle
from tests.conftest import STORES, new_database_url
from tests.operations.limited_warrants import CHECKS, TYPES, WRITTEN, Limits
from tests.operations.stored_warrants import question
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client
from tests.scenario_files import stored_warrant, warrant_body

CLAIM = "document:plan#viewer@user:ann"
CLIENTS = 6
LIFETIME_SECONDS = 3.0
LEEWAY_SECONDS = 1.0
"""Covers half a round trip to the database, within which its clock is known, on a busy machine."""
RECORDED_WITHIN_SECONDS = 30


def is_allowed(client: Client) -> bool:
    return bool(client.ask(CLAIM).json()["result"] == "Authorized")


@pytest.mark.parametrize("kind", STORES)
def test_every_worker_denies_from_the_moment_of_expiry_on_and_one_records_it(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = new_database_url(kind, tmp_path, request)
    with ServiceProcess(tmp_path, "--workers", "2", database_url=url, api_key=KEY) as service, ExitStack() as stack:
        clients = [stack.enter_context(service.client()) for _ in range(CLIENTS)]
        clients[0].define({"document": {"viewer": {}}})
        expires_at = datetime.now(UTC) + timedelta(seconds=LIFETIME_SECONDS)
        limits = {"expiresAt": expires_at.isoformat().replace("+00:00", "Z")}
        created = clients[0].post("/v2/warrants", json=warrant_body(CLAIM) | limits)
        created.raise_for_status()
        token = {"Warrant-Token": created.headers["Warrant-Token"]}

        for client in clients:  # fills the caches of both workers
            client.post("/v2/check", json={"warrants": [warrant_body(CLAIM)]}, headers=token).raise_for_status()
        wrong = []
        while (left := (expires_at - datetime.now(UTC)).total_seconds()) > -2 * LEEWAY_SECONDS:
            for client in clients:
                asked = datetime.now(UTC)
                allowed = is_allowed(client)
                answered = datetime.now(UTC)
                if allowed and (asked - expires_at).total_seconds() > LEEWAY_SECONDS:
                    wrong.append(f"allowed {asked - expires_at} after the expiry")
                if not allowed and (expires_at - answered).total_seconds() > LEEWAY_SECONDS:
                    wrong.append(f"denied {expires_at - answered} before the expiry")
            assert left < LIFETIME_SECONDS
        assert wrong == []

        deadline = time.monotonic() + RECORDED_WITHIN_SECONDS
        revoked = {"type": "access_revoked", "objectType": "document"}
        while not (events := clients[0].get("/v2/access-events", params=revoked).json()["results"]):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        time.sleep(1.5)  # the other worker looks as well
        events = clients[0].get("/v2/access-events", params=revoked).json()["results"]
        assert len(events) == 1


STEPS = 25
SECOND = 1_000_000
"""In microseconds, as all times of warrants."""


@pytest.mark.nightly
@pytest.mark.parametrize("kind", STORES)
def test_random_histories_agree_with_the_oracle_at_random_times_in_both_workers(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url, random = new_database_url(kind, tmp_path, request), Random(kind)
    stored: dict[str, Limits] = {}
    with ServiceProcess(tmp_path, "--workers", "2", database_url=url, api_key=KEY) as service, ExitStack() as stack:
        clients = [stack.enter_context(service.client()) for _ in range(CLIENTS)]
        clients[0].define(TYPES)
        compared = 0
        for _ in range(STEPS):
            token = change_something(random.choice(clients), random, stored)
            time.sleep(random.random() / 10)
            for asked in random.sample(CHECKS, 3):
                for client in random.sample(clients, 3):
                    sent = time.time_ns() // 1_000
                    body = {"warrants": [warrant_body(asked)]}
                    answer = client.post("/v2/check", json=body, headers=token).json()
                    expected = values_between(stored, asked, sent, time.time_ns() // 1_000)
                    assert (answer["result"] == "Authorized") in expected, (asked, stored)
                    compared += len(expected) == 1
    assert compared > 0


def change_something(client: Client, random: Random, stored: dict[str, Limits]) -> dict[str, str]:
    """Creates, renews or deletes a warrant; returns the header with which all workers see it."""
    now, text = time.time_ns() // 1_000, random.choice(WRITTEN)
    endless = [one for one, (_, stop) in stored.items() if stop is None]
    if endless and random.random() < 0.2:
        text = random.choice(endless)
        changed = client.delete_json("/v2/warrants", warrant_body(text))
        del stored[text]
    else:
        start = random.choice((None, None, now + SECOND // 2, now + 2 * SECOND))
        stop = random.choice((None, now + 4 * SECOND, now + 6 * SECOND, now + 9 * SECOND))
        limits = {"startsAt": start, "expiresAt": stop}
        members = {name: render_microseconds(at) for name, at in limits.items() if at is not None}
        changed = client.post("/v2/warrants", json=warrant_body(text) | members)
        stored[text] = (start, stop)
    changed.raise_for_status()
    return {"Warrant-Token": changed.headers["Warrant-Token"]}


def render_microseconds(at: int) -> str:
    return datetime.fromtimestamp(at // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{at % SECOND:06}Z"


def values_between(stored: dict[str, Limits], asked: str, sent: int, answered: int) -> set[bool]:
    """The values that the check has, by the oracle, at some time while it was under way, give or take the leeway."""
    warrants = [
        structs.replace(stored_warrant(text, number, 0), starts_at=start, expires_at=stop)
        for number, (text, (start, stop)) in enumerate(stored.items())
    ]
    leeway = int(LEEWAY_SECONDS * SECOND)
    begin, end = sent - leeway, answered + leeway
    times = [begin, *(at for pair in stored.values() for at in pair if at is not None and begin < at <= end)]
    parts = question(asked)
    names = (parts.object.type, parts.object.id, parts.relation)
    return {
        oracle.check(TYPES, oracle.in_force(warrants, at), *names, parts.subject, lambda warrant: None)
        == oracle.Truth.TRUE
        for at in times
    }
