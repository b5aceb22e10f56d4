"""Whatever bytes arrive, the service answers with a documented status or hangs up, and serves the next caller.

The nightly form goes on for FUZZ_SECONDS with each kind of request."""

import os
import random
import socket
import time
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.api.raw_requests import answers_another
from tests.api.sockets import connect
from tests.fuzzing.mutation import mutate
from tests.fuzzing.parsers import MODELS, OPENFGA_JSON, POLICIES, TYPES
from tests.running import KEY, Client, running_service, settings_for

FUZZ_SECONDS = float(os.environ.get("FUZZ_SECONDS", "3"))
SERVER_FAULTS = {500, 502, 504}
WARRANT = (
    b'{"objectType": "document", "objectId": "plan", "relation": "viewer", "subject": {"objectType": "user", '
    b'"objectId": "ann"}}'
)
ENTITIES = (
    b'"subject": {"type": "user", "id": "ann", "properties": {"a": 1}}, "resource": {"type": "document", "id": '
    b'"plan"}, '
    b'"action": {"name": "viewer"}, "context": {"a": [1]}'
)
STORE = b"01ARZ3NDEKTSV4RRFFQ69G5FAV"

SEEDS: dict[str, list[bytes]] = {
    "checks": [
        b'POST /v2/check\n{"op": "anyOf", "debug": true, "warrants": [%b, %b], "context": {"a": 1}}'
        % (WARRANT, WARRANT),
        b'POST /v2/check\n{"op": "batch", "warrants": [%b], "contextualWarrants": [%b], "asOf": "2026-01-01T00:00:00Z"}'
        % (WARRANT, WARRANT),
        b'POST /v1/check\n{"warrants": [%b]}' % WARRANT,
        b'POST /fga/v1/check\n{"checks": [{"resource_type": "document", "resource_id": "plan", "relation": "viewer", '
        b'"subject": {"resource_type": "user", "resource_id": "ann"}}]}',
    ],
    "writes": [
        b"POST /v2/warrants\n[%b]" % WARRANT,
        b'POST /v2/warrants\n%b, "policy": "a == 1", "expiresAt": "2027-01-01T00:00:00Z"}' % WARRANT[:-1],
        b'POST /v2/writes\n{"preconditions": [{"exists": %b}], "delete": {"warrants": [%b]}, "create": {"objects": '
        b'[{"objectType": "document", "objectId": "plan", "meta": {"a": 1}}]}}' % (WARRANT, WARRANT),
        b"DELETE /v2/warrants\n[%b]" % WARRANT,
        b'PUT /v2/objects/document/plan\n{"meta": {"a": [1, {"b": null}]}}',
    ],
    "models": [
        *(b"POST /v2/object-types\n" + text for text in TYPES[:1]),
        b"PUT /v2/object-types\n[%b]" % TYPES[0],
        *(b"PUT /v2/model\n" + text for text in MODELS[:3]),
        *(
            b'POST /v2/policies\n{"name": "p", "parameters": {"a": "int"}, "expression": "%b"}' % text
            for text in POLICIES[2:4]
        ),
        b'POST /v2/difference\n{"create": {"warrants": [%b]}}' % WARRANT,
    ],
    "reads": [
        b"GET /v2/query?q=select%20document%20where%20user:ann%20is%20viewer&limit=10&sortBy=id&sortOrder=ASC\n",
        b"GET /v2/warrants?objectType=document&subjectType=user&nextCursor=AQEjRWeJq83vAAAAAAAAAAcWm4zn\n",
        b"GET /v2/objects?objectType=document&q=pl&prevCursor=AQEjRWeJq83v&page=2&asOf=2026-01-01T00:00:00Z\n",
        b"GET /v2/objects/document/plan?x=%E2%82%AC\n",
        b"GET /v2/events?since=AQEjRWeJq83v&limit=3\n",
    ],
    "AuthZEN": [
        b"POST /access/v1/evaluation\n{%b}" % ENTITIES,
        b'POST /access/v1/evaluations\n{%b, "evaluations": [{"action": {"name": "viewer"}}, {"resource": '
        b'{"type": "a", "id": '
        b'"b"}}], "options": {"evaluations_semantic": "deny_on_first_deny"}}' % ENTITIES,
        b"POST /access/v1/search/resource\n{%b}" % ENTITIES,
        b'POST /access/v1/search/subject\n{%b, "page": {"limit": 2, "token": "AQEj"}}' % ENTITIES,
    ],
    "OpenFGA": [
        b'POST /stores\n{"name": "fuzzed"}',
        *(b"POST /stores/%b/authorization-models\n" % STORE + text for text in OPENFGA_JSON),
        b'POST /stores/%b/check\n{"tuple_key": {"user": "user:ann", "relation": "viewer", "object": '
        b'"doc:plan"}, "context": '
        b'{"x": 1}, "contextual_tuples": {"tuple_keys": []}}' % STORE,
        b'POST /stores/%b/write\n{"writes": {"tuple_keys": [{"user": "user:ann", "relation": "viewer", '
        b'"object": "doc:plan", '
        b'"condition": {"name": "c", "context": {"x": 1}}}]}}' % STORE,
        b'POST /stores/%b/read\n{"tuple_key": {"object": "doc:"}, "page_size": 2, "continuation_token": "AQEj"}'
        % STORE,
        b'POST /stores/%b/list-objects\n{"type": "doc", "relation": "viewer", "user": "user:ann"}' % STORE,
        b"GET /stores/%b/changes?type=doc&page_size=3&continuation_token=AQEj\n" % STORE,
    ],
}
RAW = [
    b"POST /v2/check HTTP/1.1\r\nHost: x\r\nAuthorization: ApiKey %b\r\nContent-Length: 137\r\n\r\n" % KEY.encode()
    + b'{"warrants": [%b]}' % WARRANT,
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\nGET /v2/objects?limit=1 "
    b"HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /v2/check HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n5\r\n{}   "
    b"\r\n0\r\n\r\n",
    b"GET /v2/watch HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nContent-Encoding: gzip\r\n\r\n",
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    url = f"sqlite:///{tmp_path_factory.mktemp('fuzzed')}/magistrate.db"
    with running_service(settings_for(url)) as served, Client(served) as client:
        client.define({"document": {"viewer": {}, "editor": {}}, "user": {}})
        client.grant("document:plan#viewer@user:ann")
        store = client.post("/stores", json={"name": "of the seeds"}).json()["id"].encode()
        for seeds in SEEDS.values():
            seeds[:] = [seed.replace(STORE, store) for seed in seeds]
        yield client


def send_request(client: Client, content: bytes) -> None:
    """Sends the first line as a method and a target, and the rest as a body of its length."""
    line, _, body = content.partition(b"\n")
    method, _, target = line.partition(b" ")
    named = method if method in (b"POST", b"PUT", b"GET", b"DELETE") else b"POST"
    target = b"/" + bytes(byte for byte in target if 0x20 < byte < 0x7F).lstrip(b"/")
    head = b"%b %b HTTP/1.1\r\nHost: x\r\nAuthorization: ApiKey %b\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
    exchange(client, head % (named, target, KEY.encode(), len(body)) + body)


def exchange(client: Client, content: bytes) -> None:
    """Sends bytes and nothing behind them. Fails unless what comes back is nothing, or an answer that is documented."""
    with connect(client) as connection:
        connection.settimeout(30)
        try:
            connection.sendall(content)
            connection.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: connection.recv(65_536), b""))
        except ConnectionError:
            return
    assert answer == b"" or (answer.startswith(b"HTTP/1.") and int(answer[9:12]) not in SERVER_FAULTS), (
        content,
        answer,
    )


@pytest.mark.parametrize("kind", SEEDS)
def test_requests_of_a_kind_are_answered(client: Client, kind: str) -> None:
    for seed in range(settings().max_examples):
        send_request(client, mutate(random.Random(seed), SEEDS[kind]))


def test_any_bytes_are_answered_or_refused(client: Client) -> None:
    for seed in range(settings().max_examples):
        exchange(client, mutate(random.Random(seed), RAW))

    with connect(client) as connection:
        assert answers_another(connection)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [*SEEDS, "any bytes"])
def test_requests_are_answered_for_a_long_time(client: Client, kind: str) -> None:
    source = random.Random()
    end = time.monotonic() + FUZZ_SECONDS
    while time.monotonic() < end:
        if kind == "any bytes":
            exchange(client, mutate(source, RAW))
        else:
            send_request(client, mutate(source, SEEDS[kind]))
