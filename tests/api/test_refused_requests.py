"""Requests without a valid key are limited for each source and second, and those with one never are."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from magistrate.api.audit.chain import ChainVerifier
from magistrate.api.http.rate_limits import (
    MAX_COUNTED,
    OTHER_SOURCES,
    SECOND_NS,
    RefusedRequests,
    TokenBuckets,
    name_source,
    open_slots,
)
from tests.issuing import issue_key
from tests.running import KEY, Client, running_service, settings_for, wait_for_stopped_services

pytestmark = pytest.mark.anyio
LIMIT = 5
REFUSED = {"code": "too_many_requests", "message": "Too many requests without a valid key come from this address."}
STRANGERS: dict[str, dict[str, str]] = {
    "no key": {},
    "an unknown key": {"Authorization": "ApiKey 0123456789abcdef-unknown"},
    "another scheme": {"Authorization": "Basic dXNlcjpzZWNyZXQ="},
    "no valid token": {"Authorization": "Bearer a.b.c"},
}
"""The headers of callers that are not known, each of a kind."""


@pytest.mark.parametrize(
    ("host", "source"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("testclient", "unknown"),
        (None, "unknown"),
    ],
)
def test_a_source_is_an_address_or_a_network(host: str | None, source: str) -> None:
    assert name_source(host) == source


def test_all_fingerprints_together_are_admitted_no_more_often_than_the_slots_allow() -> None:
    buckets = TokenBuckets(2, open_slots(None, 16), lambda: 5 * SECOND_NS)

    admitted = [buckets.admit(fingerprint) for fingerprint in range(1, 500) for _ in range(3)]

    assert sum(admitted) <= 2 * 16
    assert admitted[:6] == [True, True, False] * 2


def refusing(clock: list[int]) -> RefusedRequests:
    slots = open_slots(None, 64)
    return RefusedRequests(
        TokenBuckets(LIMIT, slots, lambda: clock[0]), TokenBuckets(3 * LIMIT, open_slots(None, 1), lambda: clock[0])
    )


def test_each_source_has_its_limit_and_all_together_have_one() -> None:
    clock = [5 * SECOND_NS]
    refused = refusing(clock)

    by_source = [sum(refused.admit_source(source) for _ in range(2 * LIMIT)) for source in ("a", "b", "c", "d")]
    clock[0] += SECOND_NS
    later = sum(refused.admit_source("d") for _ in range(2 * LIMIT))

    assert by_source == [LIMIT, LIMIT, LIMIT, 0]
    assert later == LIMIT


async def test_the_sources_that_are_counted_are_bounded() -> None:
    refused = refusing([5 * SECOND_NS])

    for number in range(3 * MAX_COUNTED):
        refused.count_source(name_source(f"2001:db8:{number:x}::1"))

    assert len(refused._by_source) == MAX_COUNTED + 1
    assert refused._by_source[OTHER_SOURCES].times == 2 * MAX_COUNTED
    refused.report()
    assert not refused._by_source


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


@pytest.fixture(params=["fast", "framework"])
def service(request: pytest.FixtureRequest, tmp_path: Path, path: Path) -> Iterator[str]:
    settings = settings_for(
        f"sqlite:///{tmp_path}/m.db",
        audit_log=str(path),
        rate_limit_unauthenticated=LIMIT,
        fast_path=int(request.param == "fast"),
    )
    with running_service(settings) as url:
        yield url


def make_stranger(url: str, headers: dict[str, str]) -> Client:
    client = Client(url)
    del client.headers["Authorization"]
    client.headers.update(headers)
    return client


def read_lines(path: Path) -> list[dict[str, Any]]:
    """All lines once the service has stopped; their chain is intact."""
    wait_for_stopped_services()
    assert list(ChainVerifier().verify(path.read_bytes().splitlines(keepends=True))) == []
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("kind", STRANGERS)
@pytest.mark.parametrize("request_", [("POST", "/v2/check"), ("GET", "/v2/objects"), ("GET", "/metrics")])
def test_a_flood_is_answered_with_429_and_is_one_line(
    tmp_path: Path, path: Path, kind: str, request_: tuple[str, str]
) -> None:
    number, began = 60, time.monotonic()
    settings = settings_for(f"sqlite:///{tmp_path}/m.db", audit_log=str(path), rate_limit_unauthenticated=LIMIT)
    with running_service(settings) as url, make_stranger(url, STRANGERS[kind]) as stranger, Client(url) as client:
        answers = [stranger.request(*request_) for _ in range(number)]
        assert client.get("/v2/objects").status_code == 200
        page = client.get("/metrics").text
    most = LIMIT * (2 + int(time.monotonic() - began))

    limited = [answer for answer in answers if answer.status_code != 401]
    assert number - most <= len(limited) <= number - LIMIT
    for answer in limited:
        assert (answer.status_code, answer.json(), answer.headers["Retry-After"]) == (429, REFUSED, "1")
        assert answer.headers["Warrant-Request-Id"]
    assert f"magistrate_unauthenticated_limited_total {len(limited)}.0" in page
    single = [line for line in read_lines(path) if line["status"] == 401]
    [counted] = [line for line in read_lines(path) if line["status"] == 429]
    assert len(single) == number - len(limited)
    assert (counted["kind"], counted["source"], counted["times"]) == ("refused", "127.0.0.1", len(limited))
    assert counted["since"] <= counted["time"]
    assert "actor" not in counted


def test_a_valid_key_is_never_refused_because_of_others_at_its_address(service: str) -> None:
    with make_stranger(service, {}) as stranger, Client(service) as client:
        client.define({"document": {"viewer": {}}})
        while stranger.get("/v2/objects").status_code == 401:
            pass
        fresh = issue_key(client, "fresh", "read", "check")
        with Client(service, fresh) as newcomer:
            for _ in range(3 * LIMIT):
                assert stranger.get("/v2/objects").status_code in (401, 429)
                assert client.get("/v2/objects").status_code == 200
                assert newcomer.get("/v2/objects").status_code == 200
                assert newcomer.ask("document:a#viewer@user:b").status_code == 200
        statuses = [stranger.get(path).status_code for path in ("/healthz", "/readyz", "/openapi.json", "/none")]

    assert statuses == [200, 200, 200, 404]


def test_another_key_of_the_same_connection_is_found(service: str) -> None:
    with Client(service) as client:
        for _ in range(4 * LIMIT):
            assert client.get("/v2/objects", headers={"Authorization": "ApiKey wrong"}).status_code in (401, 429)
            assert client.get("/v2/objects", headers={"Authorization": f"ApiKey {KEY}"}).status_code == 200


def test_a_known_caller_that_is_refused_often_is_one_line_as_well(tmp_path: Path, path: Path) -> None:
    number, began = 60, time.monotonic()
    settings = settings_for(f"sqlite:///{tmp_path}/m.db", audit_log=str(path), rate_limit_unauthenticated=LIMIT)
    with (
        running_service(settings) as url,
        Client(url) as client,
        Client(url, issue_key(client, "reader", "read")) as reader,  # which sends one that is refused
    ):
        statuses = {reader.delete("/v2/objects/document/x").status_code for _ in range(number - 1)}
    most = LIMIT * (2 + int(time.monotonic() - began))

    lines = [line for line in read_lines(path) if line.get("actor") == "reader"]
    single, counted = ([line for line in lines if ("times" in line) is several] for several in (False, True))
    assert statuses == {403}
    assert LIMIT <= len(single) <= most
    assert [(line["actor"], line["status"], line["times"]) for line in counted] == [
        ("reader", 403, number - len(single))
    ]
    assert "source" not in counted[0]


def test_any_number_is_answered_with_401_without_a_limit(tmp_path: Path) -> None:
    settings = settings_for(f"sqlite:///{tmp_path}/m.db", rate_limit_unauthenticated=0)
    with running_service(settings) as url, make_stranger(url, {}) as stranger:
        assert {stranger.get("/v2/objects").status_code for _ in range(200)} == {401}
