"""Callers that make more requests than they may are answered with 429, with the fast path and without it."""

import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magistrate.api.http.rate_limits import PROBES, SECOND_NS, RateLimit, open_slots
from magistrate.operations.keys.callers import ALL_SCOPES, Caller
from tests.api.raw_requests import ALLOWED, DRIVEN
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client, running_service, settings_for

ANN, BOB = (Caller(name, ALL_SCOPES) for name in ("ann", "bob"))
REFUSED = {"code": "too_many_requests", "message": "Too many requests."}
MAX_TRIES = 200


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 5 * SECOND_NS

    def __call__(self) -> int:
        return self.now


def limit_of(per_second: int, clock: Clock, count: int = 64) -> RateLimit:
    return RateLimit(per_second, open_slots(None, count), clock)


def test_a_caller_may_make_the_requests_of_one_second_at_once() -> None:
    clock = Clock()
    limit = limit_of(10, clock)

    at_once = [limit.admit_caller(ANN) for _ in range(12)]
    clock.now += SECOND_NS // 10
    after_a_tenth = [limit.admit_caller(ANN) for _ in range(2)]
    clock.now += 3600 * SECOND_NS
    after_an_hour = [limit.admit_caller(ANN) for _ in range(11)]

    assert at_once == [True] * 10 + [False] * 2
    assert after_a_tenth == [True, False]
    assert after_an_hour == [True] * 10 + [False]


def test_callers_do_not_share_a_bucket() -> None:
    limit = limit_of(2, Clock())

    assert [limit.admit_caller(caller) for caller in (ANN, ANN, BOB, ANN, BOB, BOB)] == [
        True,
        True,
        True,
        False,
        True,
        False,
    ]


def test_a_stored_key_keeps_its_bucket_under_another_name() -> None:
    limit = limit_of(1, Clock())

    assert limit.admit_caller(Caller("billing", ALL_SCOPES, key_id="1"))
    assert not limit.admit_caller(Caller("invoices", ALL_SCOPES, key_id="1"))
    assert limit.admit_caller(Caller("billing", ALL_SCOPES, key_id="2"))


def test_workers_count_together(tmp_path: Path) -> None:
    clock = Clock()
    first, second = (RateLimit(4, open_slots(tmp_path), clock) for _ in range(2))

    admitted = [limit.admit_caller(ANN) for limit in (first, second, first, second, first, second)]

    assert admitted == [True] * 4 + [False] * 2


@settings(max_examples=50)
@given(
    st.integers(1, 1_000),
    st.lists(st.tuples(st.integers(0, SECOND_NS), st.sampled_from((ANN, BOB))), max_size=60),
)
def test_a_rate_limit_is_a_token_bucket(per_second: int, requests: list[tuple[int, Caller]]) -> None:
    clock = Clock()
    limit = limit_of(per_second, clock)
    interval = SECOND_NS // per_second
    tokens = dict.fromkeys((ANN, BOB), Fraction(SECOND_NS, interval))
    seen = dict.fromkeys((ANN, BOB), clock.now)

    for pause, caller in requests:
        clock.now += pause // per_second
        refilled = tokens[caller] + Fraction(clock.now - seen[caller], interval)
        tokens[caller], seen[caller] = min(refilled, Fraction(SECOND_NS, interval)), clock.now
        is_expected = tokens[caller] >= 1

        assert limit.admit_caller(caller) is is_expected
        tokens[caller] -= is_expected


def test_callers_beyond_the_slots_are_admitted_in_bounded_memory() -> None:
    clock = Clock()
    slots = open_slots(None, PROBES)
    limit = RateLimit(1, slots, clock)
    callers = [Caller(f"user:{number}", ALL_SCOPES) for number in range(PROBES)]

    assert all(limit.admit_caller(caller) for caller in callers)
    assert not any(limit.admit_caller(caller) for caller in callers)
    assert all(limit.admit_caller(Caller(f"other:{number}", ALL_SCOPES)) for number in range(100))
    assert len(slots) == 2 * PROBES


@pytest.fixture(params=[1, 0], ids=["fast path", "no fast path"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Client]:
    """A client whose service has a rate of one request a second, and has cached a check."""
    url = f"sqlite:///{tmp_path}/m.db"
    with running_service(settings_for(url)) as service, Client(service) as client:
        client.define(DRIVEN)
        client.grant("folder:a#viewer@user:ann")
    limited = settings_for(url, rate_limit=1, fast_path=request.param)
    with running_service(limited) as service, Client(service) as client:
        yield client


def exhaust(client: Client) -> httpx.Response:
    """Sends checks until one is refused: two of them need to come within a second."""
    for _ in range(MAX_TRIES):
        answer = client.post("/v2/check", content=ALLOWED)
        if answer.status_code != 200:
            return answer
    raise AssertionError("no request was refused")


def test_a_refused_request_says_when_to_try_again(client: Client) -> None:
    answer = exhaust(client)

    assert (answer.status_code, answer.json()) == (429, REFUSED)
    assert answer.headers["Retry-After"] == "1"
    assert answer.headers["Warrant-Request-Id"]
    time.sleep(1)
    assert client.post("/v2/check", content=ALLOWED).status_code == 200


@pytest.mark.parametrize("path", ["/v2/check", "/v2/objects", "/v1/users", "/metrics", "/v2/keys"])
def test_every_route_with_a_key_is_limited(client: Client, path: str) -> None:
    statuses = set()
    for _ in range(MAX_TRIES):
        exhaust(client)
        statuses.add(client.get(path).status_code if path != "/v2/check" else exhaust(client).status_code)
        if 429 in statuses:
            return
    raise AssertionError(statuses)


def test_requests_without_a_valid_key_are_not_counted(client: Client) -> None:
    with Client(str(client.base_url), "a-wrong-key-of-nobody") as stranger:
        for _ in range(3):
            assert stranger.get("/v2/objects").status_code == 401
    assert {client.get(path).status_code for path in ("/healthz", "/readyz", "/docs") for _ in range(3)} == {200}


def test_a_check_that_leaves_the_fast_path_counts_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    with running_service(settings_for(url)) as service, Client(service) as client:
        client.define(DRIVEN)
        client.grant("folder:a#viewer@user:ann")

    with running_service(settings_for(url, rate_limit=2)) as service, Client(service) as client:
        statuses = [client.post("/v2/check", content=ALLOWED).status_code for _ in range(2)]

    assert statuses == [200, 200]


def test_keys_of_all_workers_are_limited_together(tmp_path: Path) -> None:
    rate, workers, requests = 5, 3, 60
    settings = {"workers": str(workers), "rate_limit": str(rate), "api_key": KEY}
    with ServiceProcess(tmp_path, **settings) as service:
        clients = [service.client() for _ in range(2 * workers)]
        started = time.monotonic()
        statuses = [clients[number % len(clients)].get("/v2/objects").status_code for number in range(requests)]
        seconds = time.monotonic() - started
        for client in clients:
            client.close()

    assert {*statuses} <= {200, 429}
    assert rate <= statuses.count(200) <= rate + rate * seconds + workers
