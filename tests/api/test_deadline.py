"""A request has a deadline, whatever it waits for. Nothing here measures time: other time limits are so long that a
client would give up before them."""

import asyncio
import json
import math
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import httpx
import pytest

from magistrate.api.http.deadlines import Deadlines
from magistrate.errors import UNKNOWN_WRITE, BodyTooSlow, DeadlineExceeded
from tests.api.sockets import connect, head
from tests.databases import PostgresServer
from tests.running import Client, running_service, settings_for

LIMIT_MS = 2_000
UNANSWERED = f"the request was not answered within {LIMIT_MS} milliseconds"
LONG_MS = 60_000
"""Of the other limits: a client has given up by then."""

CHECK = {
    "warrants": [
        {"objectType": "d", "objectId": "x", "relation": "r", "subject": {"objectType": "user", "objectId": "a"}}
    ]
}
READS = {
    "list": ("GET", "/v2/objects", None),
    "get": ("GET", "/v2/objects/d/x", None),
    "check": ("POST", "/v2/check", CHECK),
    "query": ("GET", "/v2/query?q=select%20d%20where%20user:a%20is%20r", None),
    "session": ("POST", "/v2/sessions", {"type": "sess", "userId": "ann"}),
}
WRITES = {
    "create": ("POST", "/v2/objects", {"objectType": "d", "objectId": "new"}),
    "replace": ("PUT", "/v2/objects/d/x", {"meta": {"a": 1}}),
    "delete": ("DELETE", "/v2/objects/d/x", None),
    "warrant": ("POST", "/v2/warrants", {**CHECK["warrants"][0], "objectId": "new"}),
}


@contextmanager
def serving(url: str, **settings: int) -> Iterator[Client]:
    """Has a client of a service whose cache is empty, so that every read has to wait for the store."""
    given = settings_for(url, request_timeout_ms=LIMIT_MS, store_timeout_ms=LONG_MS, graph_filling=False, **settings)
    with running_service(given) as service, Client(service) as client:
        client.timeout = httpx.Timeout(8.0)  # psycopg would wait for ten seconds more
        yield client


def in_time(client: Client, method: str, path: str, body: Any = None) -> httpx.Response:
    """Its answer, on however busy a machine."""
    for _ in range(30):
        answer = client.request(method, path, json=body)
        if answer.status_code != 503:
            break
    return answer


def define(client: Client) -> None:
    in_time(client, "POST", "/v2/object-types", {"type": "d", "relations": {"r": {}}})
    in_time(client, "POST", "/v2/objects", {"objectType": "d", "objectId": "x"})


def send(client: Client, requests: Mapping[str, tuple[str, str, Any]]) -> dict[str, httpx.Response]:
    """All at once."""
    with ThreadPoolExecutor(len(requests)) as threads:
        sent = [threads.submit(client.request, method, path, json=body) for method, path, body in requests.values()]
        return dict(zip(requests, [one.result() for one in sent], strict=True))


def test_requests_end_at_their_deadline_while_the_database_is_frozen(postgres: PostgresServer) -> None:
    with serving(postgres.new_url()) as client:
        define(client)
        with postgres.frozen():
            answers = send(client, READS | WRITES | {"ready": ("GET", "/readyz", None)})
            healthy = client.get("/healthz")

        for answer in answers.values():
            assert answer.status_code == 503
            assert answer.headers["Retry-After"] == "1"
        told = {name: answer.json() for name, answer in answers.items()}
        expected = dict.fromkeys(READS, UNANSWERED) | dict.fromkeys(WRITES, f"{UNANSWERED}; {UNKNOWN_WRITE}")
        expected["ready"] = "the store did not answer within 1.5 seconds"
        assert told == {name: {"code": "unavailable", "message": message} for name, message in expected.items()}
        assert healthy.status_code == 200
        # Of the writes, none had come as far as its commit.
        assert in_time(client, "GET", "/v2/objects/d/x").json().get("meta") is None
        assert in_time(client, "GET", "/v2/objects/d/new").status_code == 404


def test_a_writer_that_waits_for_the_lock_is_refused_at_its_deadline(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/m.db") as client:
        define(client)
        with closing(apsw.Connection(f"{tmp_path}/m.db")) as holder:
            holder.execute("BEGIN IMMEDIATE")
            late = send(client, {name: WRITES[name] for name in ("create", "warrant")})
            read = in_time(client, "GET", "/v2/objects/d/x")
            holder.execute("ROLLBACK")

        assert {answer.status_code for answer in late.values()} == {503}
        assert {answer.json()["message"] for answer in late.values()} == {f"{UNANSWERED}; {UNKNOWN_WRITE}"}
        assert read.status_code == 200
        # Behind them in the queue: by the time it is answered, they have had their turn.
        assert in_time(client, "POST", "/v2/objects", {"objectType": "d", "objectId": "y"}).status_code == 200
        assert in_time(client, "GET", "/v2/objects/d/new").status_code == 404


def test_a_client_that_has_gone_leaves_nothing_behind_that_waits(postgres: PostgresServer) -> None:
    with serving(postgres.new_url()) as client:
        define(client)
        before = late_reads(client)
        with postgres.frozen():
            with connect(client) as gone:
                gone.sendall(head(client, "GET", "/v2/objects/d/x"))
            while late_reads(client) == before:
                time.sleep(0.05)


def late_reads(client: Client) -> list[str]:
    """How many have been answered 503, as the metrics of the process say it, which outlive a service."""
    counted = 'magistrate_requests_total{method="GET",route="/v2/objects/{objectType}/{objectId}",status="503"}'
    return [line for line in client.get("/metrics").text.splitlines() if line.startswith(counted)]


def test_the_time_that_a_body_takes_to_arrive_does_not_count(tmp_path: Path) -> None:
    body = json.dumps({"objectType": "d", "objectId": "x"}).encode()
    with serving(f"sqlite:///{tmp_path}/m.db") as client, connect(client) as slow:
        slow.sendall(head(client, "POST", "/v2/objects", f"Content-Length: {len(body)}") + body[:5])
        time.sleep(LIMIT_MS / 1000 + 0.5)
        slow.sendall(body[5:])

        assert slow.recv(12) == b"HTTP/1.1 200"


@pytest.mark.anyio
async def test_the_wait_for_the_body_moves_the_deadline_by_its_length() -> None:
    with Deadlines().begin(60_000, writes=False) as deadline:
        before = deadline.ends_at
        deadline.begin_body(600_000)
        during = deadline.ends_at
        await asyncio.sleep(0.01)
        deadline.end_body()
        after = deadline.ends_at

    assert before < after < during < math.inf


@pytest.mark.anyio
@pytest.mark.parametrize("is_late", [False, True])
async def test_the_body_has_a_limit_of_its_own(is_late: bool) -> None:
    """Late: all of the body arrives just as its time ends, and the request runs on until it waits again."""

    async def request() -> None:
        with Deadlines().begin(60_000, writes=True) as deadline:
            deadline.begin_body(1)
            if is_late:
                deadline.expire()
                deadline.end_body()
                assert deadline.ends_at == math.inf
            await asyncio.sleep(3_600)

    task = asyncio.current_task()
    assert task is not None
    with pytest.raises(BodyTooSlow) as caught:
        await request()
    assert caught.value.limit_ms == 1
    assert task.cancelling() == 0


@pytest.mark.anyio
async def test_the_deadline_says_whether_something_may_have_been_written() -> None:
    told = []
    for writes in (False, True):
        with pytest.raises(DeadlineExceeded) as caught, Deadlines().begin(1, writes):
            await asyncio.sleep(3_600)
        told.append(UNKNOWN_WRITE in caught.value.message)

    assert told == [False, True]
    assert asyncio.current_task() is not None


@pytest.mark.anyio
async def test_the_task_goes_on_after_its_deadline() -> None:
    task = asyncio.current_task()
    assert task is not None
    with pytest.raises(DeadlineExceeded), Deadlines().begin(1, writes=False):
        await asyncio.sleep(3_600)

    await asyncio.sleep(0)

    assert task.cancelling() == 0


@pytest.mark.anyio
async def test_one_timer_looks_after_all_requests_and_rests_without_any() -> None:
    deadlines, limits = Deadlines(), (1, 1, 60_000)
    left: list[int] = []

    async def request(limit_ms: int) -> None:
        try:
            with deadlines.begin(limit_ms, writes=False):
                await asyncio.sleep(3_600)
        except DeadlineExceeded:
            left.append(limit_ms)

    tasks = [asyncio.create_task(request(limit_ms)) for limit_ms in limits]
    await asyncio.wait(tasks[:2])
    assert left == [1, 1]
    assert not tasks[2].done()
    assert deadlines.is_looking
    tasks[2].cancel()
    await asyncio.wait(tasks)
    assert tasks[2].cancelled()
    while deadlines.is_looking:
        await asyncio.sleep(0.01)


@pytest.mark.anyio
async def test_a_stop_of_the_server_is_not_taken_for_the_deadline() -> None:
    entered = asyncio.Event()

    async def request() -> None:
        with Deadlines().begin(60_000, writes=True):
            entered.set()
            await asyncio.sleep(3_600)

    task = asyncio.create_task(request())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
