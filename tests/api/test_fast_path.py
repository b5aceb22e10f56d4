"""Answers of the fast path cannot be distinguished from those of the framework."""

import contextlib
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from magistrate.api.auth.callers import KeyRing
from magistrate.api.http.fast_path import MAX_HEAD_BYTES, FastPath, PendingRefusal
from magistrate.api.http.ledger import Ledger
from magistrate.api.http.pipeline import BegunRequest, FastHead, Pipeline
from magistrate.api.route_table import ROUTES
from magistrate.config.settings import read_settings
from magistrate.operations.checks.check import PendingChecks
from tests.api.raw_requests import (
    ALLOWED,
    BATCH,
    DENIED,
    DRIVEN,
    EXPLICIT,
    answers,
    head,
    request,
)
from tests.api.sockets import connect, is_established, is_hung_up, read_answer
from tests.issuing import issue_key, wait_for_key
from tests.running import KEY, Client, running_service, settings_for, wait_for_stopped_services
from tests.scenario_files import warrant_body

Services = tuple[Client, Client]


AS_JSON = "Content-Type: application/json"
GROUPS = b'"contextualWarrants":' + msgspec.json.encode(
    [warrant_body(f"group:g{number or ''}#member@user:bob") for number in range(10)]
)
GROUPED = DENIED[:-1] + b"," + GROUPS + b"}"
EVALUATION, UNEVALUATED = (
    msgspec.json.encode(
        {
            "subject": {"type": "user", "id": object_id},
            "action": {"name": "viewer"},
            "resource": {"type": "folder", "id": "a"},
        }
    )
    for object_id in ("ann", "bob")
)


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """With and without the fast path, on one database; each has answered every check before, and has read only what
    they needed."""
    url = f"sqlite:///{tmp_path_factory.mktemp('fast_path')}/m.db"
    with (
        running_service(settings_for(url, graph_filling=False)) as quick_url,
        running_service(settings_for(url, fast_path=0, graph_filling=False)) as slow_url,
        Client(quick_url) as quick,
        Client(slow_url) as slow,
    ):
        quick.define(DRIVEN)
        quick.grant("folder:a#parent@folder:b", "folder:b#viewer@group:g#member", "group:g#member@user:ann")
        quick.grant("folder:b#viewer@user:ann")
        for body in (ALLOWED, DENIED, EXPLICIT, BATCH):
            for client in (quick, slow):
                client.post("/v2/check", content=body).raise_for_status()
        yield quick, slow


def list_request(parameters: str, *headers: str, key: str = KEY) -> list[bytes]:
    lines = [f"GET /v2/query?{parameters} HTTP/1.1", "Host: localhost", *headers, f"Authorization: ApiKey {key}"]
    return ["\r\n".join([*lines, "", ""]).encode()]


SEEN = "q=select%20folder%20where%20user:ann%20is%20viewer"

CHUNKED = b"\r\n".join(
    [
        head(ALLOWED, "Transfer-Encoding: chunked").replace(b"Content-Length", b"X-Length")[:-2],
        f"{len(ALLOWED):x}".encode(),
        ALLOWED,
        b"0\r\n\r\n",
    ]
)

REQUESTS = {
    "allowed": request(ALLOWED),
    "denied": request(DENIED),
    "explicit": request(EXPLICIT),
    "batch": request(BATCH),
    "the other name": request(ALLOWED, path="/v2/authorize"),
    "with a query string": request(ALLOWED, path="/v2/check?x=1"),
    "latest": request(ALLOWED, "Warrant-Token: latest"),
    "a token of someone else": request(ALLOWED, "Service-Token: whatever"),
    "two different tokens": request(ALLOWED, "Service-Token: whatever", "Warrant-Token: latest"),
    "no key": request(ALLOWED, key=""),
    "a wrong key": request(ALLOWED, key="wrong"),
    "a bearer token that is none": request(ALLOWED, "Authorization: Bearer a.b.c", key=""),
    "a bearer key": request(ALLOWED, f"Authorization: Bearer {KEY}", key=""),
    "a wrong bearer key": request(ALLOWED, "Authorization: Bearer wrong", key=""),
    "a bearer key and a key": request(ALLOWED, f"Authorization: Bearer {KEY}"),
    "two keys": request(ALLOWED, f"Authorization: ApiKey {KEY}"),
    "no body": request(b""),
    "no JSON": request(b"{"),
    "a member twice": request(ALLOWED[:-1] + b',"op":"","op":""}'),
    "a wrong type": request(b'{"warrants":1}'),
    "no object type": request(ALLOWED.replace(b'"folder"', b'""')),
    "an unknown object type": request(ALLOWED.replace(b'"folder"', b'"nothing"')),
    **{
        f"an evaluation {name}": request(EVALUATION, *headers, path="/access/v1/evaluation")
        for name, headers in {
            "of JSON": ("Content-Type: application/json", "X-Request-ID: a"),
            "of JSON with a parameter": ("Content-Type: application/json; charset=utf-8",),
            "of text": ("Content-Type: text/plain", "X-Request-ID: a"),
            "of nothing": (),
            "with two types": ("Content-Type: application/json", "Content-Type: text/plain"),
            "with a strange id": ("Content-Type: application/json", "X-Request-ID:   a\tb; c "),
        }.items()
    },
    "a denied evaluation": request(UNEVALUATED, AS_JSON, path="/access/v1/evaluation"),
    "two evaluations": request(b'{"evaluations":[' + EVALUATION + b",{}]}", AS_JSON, path="/access/v1/evaluations"),
    "an evaluation that is none": request(
        b'{"evaluations":[' + EVALUATION + b",1]}", AS_JSON, path="/access/v1/evaluations"
    ),
    "evaluations with a member twice": request(
        b'{"evaluations":[' + EVALUATION[:-1] + b',"subject":null}]}', AS_JSON, path="/access/v1/evaluations"
    ),
    **{
        f"contextual warrants {name}": request(body)
        for name, body in {
            "of a group": GROUPED,
            "first": b"{" + GROUPS + b"," + DENIED[1:],
            "twice": GROUPED[:-1] + b"," + GROUPS + b"}",
            "with a wildcard": GROUPED.replace(b'"g9"', b'"*"'),
            "of a relation that there is not": GROUPED.replace(b'"member"', b'"owner"'),
            "behind no warrants": b'{"op":"anyOf",' + GROUPS + b"}",
        }.items()
    },
    "actions": request(EVALUATION, AS_JSON, path="/access/v1/search/action"),
    **{
        f"a list {name}": list_request(parameters, *headers)
        for name, parameters, *headers in (
            ("of all", SEEN),
            ("of one row", f"{SEEN}&limit=1"),
            ("with the count", f"{SEEN}&total=true"),
            ("of nothing", SEEN.replace("ann", "bob")),
            ("of nothing, strictly", f"{SEEN.replace('viewer', 'owner')}&strict=true"),
            ("with a parameter that there is not", f"{SEEN}&nothing=1&strict=true"),
            ("with a wrong limit", f"{SEEN}&limit=x"),
            ("that cannot be parsed", "q=select"),
            ("without a query", ""),
            ("with a token", SEEN, "Warrant-Token: latest"),
            ("as of the past", f"{SEEN}&asOf=2006-01-02T15:04:05Z"),
            ("with a body", SEEN, "Content-Length: 0"),
        )
    },
    "lists in one segment": [list_request(SEEN)[0] + list_request(f"{SEEN}&limit=1")[0] + request(DENIED)[0]],
    "a known head behind a body that is cut": [request(ALLOWED)[0], head(ALLOWED) + ALLOWED[:-1], ALLOWED[-1:]],
    "a known head behind an empty line": [b"\r\n", request(ALLOWED)[0]],
    "lines without carriage returns": [head(ALLOWED).replace(b"\r\n", b"\n") + ALLOWED],
    "head and body apart": [head(ALLOWED), ALLOWED],
    "body in two segments": [head(ALLOWED) + ALLOWED[:20], ALLOWED[20:]],
    "head in two segments": [head(ALLOWED)[:30], head(ALLOWED)[30:] + ALLOWED],
    "pipelined": [request(ALLOWED)[0] + request(DENIED)[0] + request(EXPLICIT)[0]],
    "pipelined behind one that takes the ordinary way": [request(b"{")[0] + request(DENIED)[0]],
    "pipelined and cut": [request(ALLOWED)[0] + request(DENIED)[0][:50], request(DENIED)[0][50:]],
    "chunked": [CHUNKED],
    "connection to be closed": request(ALLOWED, "Connection: close"),
    "of an older version": request(ALLOWED, version="1.0"),
    "expecting to be asked for the body": [head(ALLOWED, "Expect: 100-continue") + ALLOWED],
    "offering another protocol": request(ALLOWED, "Connection: Upgrade", "Upgrade: h2c"),
}


@pytest.mark.parametrize("segments", [pytest.param(segments, id=name) for name, segments in REQUESTS.items()])
def test_both_ways_answer_the_same(services: Services, segments: list[bytes]) -> None:
    quick, slow = services

    found = answers(quick, segments)
    again = answers(quick, segments)  # now the heads are known

    assert found == again == answers(slow, segments)
    assert len(found[0]) == b"".join(segments).count(b" HTTP/1.")


def test_a_check_with_a_token_is_answered_alike(services: Services) -> None:
    begun = services[0].post("/v2/sessions", json={"type": "sess", "userId": "ann"})
    segments = request(ALLOWED, f"Authorization: Bearer {begun.json()['token']}", key="")

    found = answers(services[0], segments)

    assert found == answers(services[1], segments)
    assert b'"Authorized"' in found[0][0]


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each request that the fast path receives, whether it answers it."""
    taken: list[bool] = []
    answer = FastPath.answer

    def observed(self: FastPath, *given: object) -> bytes | None:
        found = answer(self, *given)  # type: ignore[arg-type]  # handed on as they are
        taken.append(found is not None)
        return found

    monkeypatch.setattr(FastPath, "answer", observed)
    return taken


def test_a_repeated_check_takes_the_fast_path(services: Services, taken: list[bool]) -> None:
    for body in (ALLOWED, DENIED, EXPLICIT, BATCH, b"{"):
        services[0].post("/v2/check", content=body)
        services[1].post("/v2/check", content=body)

    assert taken == [True, True, True, True, False]


def test_a_check_with_the_groups_of_a_user_takes_the_fast_path(services: Services, taken: list[bool]) -> None:
    quick, _ = services
    denied = quick.post("/v2/check", content=DENIED).json()
    quick.post("/v2/check", content=GROUPED)  # now the groups are cached
    taken.clear()

    found = [quick.post("/v2/check", content=GROUPED).json()["result"] for _ in range(2)]

    assert (denied["result"], *found) == ("Not Authorized", "Authorized", "Authorized")
    assert quick.post("/v2/check", content=DENIED).json() == denied
    assert taken == [True, True, True]


def test_a_check_that_has_to_read_goes_on_from_where_it_is(
    services: Services, taken: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its key is looked up, its body decoded and its decision begun once, and its answer is that of the framework."""
    steps: list[str] = []
    observe(monkeypatch, steps, KeyRing, "identify", "authenticate")
    observe(monkeypatch, steps, Pipeline, "decode", "require_allowed")
    observe(monkeypatch, steps, PendingChecks, "decide_at_once", "decide")
    quick, slow = services
    segments = request(ALLOWED.replace(b'"ann"', b'"never-checked"'))

    answered = answers(quick, segments)

    assert (taken, steps) == ([False], ["identify", "decode", "require_allowed", "decide_at_once", "decide"])
    assert answered == answers(slow, segments)


def test_a_check_with_an_unknown_token_is_decoded_once(
    services: Services, taken: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the store holds the write of the token has to be read before the check is begun."""
    steps: list[str] = []
    token = services[1].post("/v2/objects", json={"objectType": "folder", "objectId": "new"}).headers["Warrant-Token"]
    observe(monkeypatch, steps, KeyRing, "identify", "authenticate")
    observe(monkeypatch, steps, Pipeline, "decode", "require_allowed")
    observe(monkeypatch, steps, PendingChecks, "decide_at_once")

    answer = services[0].post("/v2/check", content=ALLOWED, headers={"Warrant-Token": token})

    assert answer.json()["code"] == 200
    assert (taken, steps) == ([False], ["identify", "decode", "require_allowed", "decide_at_once"])


def observe(monkeypatch: pytest.MonkeyPatch, steps: list[str], observed: type, *names: str) -> None:
    """Notes the calls of these methods, in their order."""
    for name in names:
        do = getattr(observed, name)

        def do_and_note(*arguments: Any, name: str = name, do: Any = do, **keywords: Any) -> Any:
            steps.append(name)
            return do(*arguments, **keywords)

        monkeypatch.setattr(observed, name, do_and_note)


def test_a_repeated_list_takes_the_fast_path(services: Services, taken: list[bool]) -> None:
    quick, url = services[0], f"/v2/query?{SEEN}&context=%7B%22a%22:7%7D"
    pages = [quick.get(url) for _ in range(3)]
    quick.grant("folder:n#viewer@user:ann")
    pages += [quick.get(url) for _ in range(2)]

    assert taken == [False, True, True, False, True]  # the one behind the write is computed in the framework
    assert [len(page.json()["results"]) for page in pages] == [2, 2, 2, 3, 3]
    quick.delete_json("/v2/warrants", warrant_body("folder:n#viewer@user:ann")).raise_for_status()


def test_a_key_sent_as_a_bearer_takes_the_fast_path(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[bool] = []
    begin = FastPath.begin_request

    def observed(self: FastPath, *given: object) -> BegunRequest | PendingRefusal | None:
        pending = begin(self, *given)  # type: ignore[arg-type]  # handed on as they are
        begun.append(pending is not None)
        return pending

    monkeypatch.setattr(FastPath, "begin_request", observed)
    for credential in (f"Bearer {KEY}", "Bearer wrong", "Bearer a.b.c"):
        services[0].post("/v2/check", content=ALLOWED, headers={"Authorization": credential})

    assert begun == [True, False, False]


@pytest.mark.parametrize(
    ("name", "scopes", "object_types", "statuses"),
    [
        ("checker", ["check"], None, [200, 200]),
        ("limited", ["check", "read"], ["folder"], [200, 403]),
        ("reader", ["read"], None, [403, 403]),
        ("other", ["check"], ["group"], [403, 200]),
    ],
)
def test_a_stored_key_is_answered_alike(
    services: Services, name: str, scopes: list[str], object_types: list[str] | None, statuses: list[int]
) -> None:
    quick, slow = services
    secret = issue_key(quick, name, *scopes, **({"objectTypes": object_types} if object_types else {}))
    wait_for_key(slow, secret)
    of_group = msgspec.json.encode({"warrants": [warrant_body("group:g#member@user:ann")]})
    for body, status in zip((ALLOWED, of_group), statuses, strict=True):
        for client in services:
            client.post("/v2/check", content=body).raise_for_status()

        found = answers(quick, request(body, key=secret))

        assert found == answers(slow, request(body, key=secret))
        assert found[0][0].startswith(f"HTTP/1.1 {status} ".encode())


def test_a_list_is_rendered_for_what_the_key_may_see(services: Services) -> None:
    quick, slow = services
    limited = issue_key(quick, "lists", "query", objectTypes=["folder"])
    wait_for_key(slow, limited)
    for parameters in (SEEN, "q=select%20group%20where%20user:ann%20is%20member", SEEN.replace("user:ann", "group:g")):
        for key in (KEY, limited, KEY, limited, limited):
            found = answers(quick, list_request(parameters, key=key))
            assert found == answers(slow, list_request(parameters, key=key))


def test_a_check_with_a_stored_key_takes_the_fast_path(services: Services, taken: list[bool]) -> None:
    plain = issue_key(services[0], "plain", "check")
    limited = issue_key(services[0], "limited", "check", objectTypes=["folder", "group"])
    taken.clear()
    for secret in (plain, limited):
        with Client(str(services[0].base_url), secret) as client:
            client.post("/v2/check", content=ALLOWED).raise_for_status()

    assert taken == [True, True]


def test_repeated_evaluations_take_the_fast_path(services: Services, taken: list[bool]) -> None:
    headers = {"Content-Type": "application/json", "X-Request-ID": "a"}
    paths = ("evaluation", "evaluations", "search/action")
    for _ in range(2):
        taken.clear()
        for path in paths:
            for body in (EVALUATION, UNEVALUATED):
                services[0].post(f"/access/v1/{path}", content=body, headers=headers).raise_for_status()
        several = b'{"evaluations":[' + EVALUATION + b"," + UNEVALUATED + b"]}"
        services[0].post("/access/v1/evaluations", content=several, headers=headers).raise_for_status()

    assert taken == [True] * 7


def test_a_known_head_is_not_parsed_again(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[bytes] = []
    begin = FastPath.begin_request

    def observed(self: FastPath, method: bytes, url: bytes, *given: object) -> BegunRequest | PendingRefusal | None:
        begun.append(url)
        return begin(self, method, url, *given)  # type: ignore[arg-type]  # handed on as they are

    services[0].get(f"/v2/query?{SEEN}").raise_for_status()  # now the list is computed
    monkeypatch.setattr(FastPath, "begin_request", observed)
    for segments in (request(ALLOWED, "X-Seen: a"), request(DENIED, "X-Seen: a"), list_request(SEEN, "X-Seen: a")):
        found = [answers(services[0], segments) for _ in range(3)]
        assert found[0] == found[1] == found[2]

    # The bodies of the first two are of one length, so their heads are the same.
    assert [url for url in begun if url != b"/healthz"] == [b"/v2/check", f"/v2/query?{SEEN}".encode()]


def test_a_known_head_in_a_body_is_no_request(services: Services) -> None:
    quick, _ = services
    [known] = request(ALLOWED)
    for _ in range(2):
        answers(quick, [known])

    with connect(quick) as connection:
        connection.sendall(head(known))
        time.sleep(0.02)
        connection.sendall(known)
        answer = read_answer(connection)

    assert b"malformed JSON" in answer


def test_a_known_head_is_refused_once_its_key_is_revoked(services: Services) -> None:
    quick, _ = services
    created = quick.post("/v2/keys", json={"name": "revoked", "scopes": ["check"]}).json()
    segments = request(ALLOWED, key=created["key"])
    for client in services:
        wait_for_key(client, created["key"])
    assert b" 200 " in answers(quick, segments)[0][0]
    assert b" 200 " in answers(quick, segments)[0][0]

    quick.delete(f"/v2/keys/{created['id']}").raise_for_status()
    wait_for_key(quick, created["key"], is_good=False)

    refused = answers(quick, segments)
    assert b" 401 " in refused[0][0]
    assert refused == answers(quick, segments)


KNOWN = b"POST / HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    ("received", "length", "is_kept"),
    [
        (KNOWN + b"body", 4, True),
        (KNOWN + b"body and the next", 4, False),
        (KNOWN, 4, False),
        (b"\r\n" + KNOWN + b"body", 4, True),
        (b"\r\n\r\n" + KNOWN + b"body", 4, False),
        (KNOWN.replace(b"\r\n", b"\n") + b"body", 4, False),
        (b"POST / HTTP/1.1\n\nGET / HTTP/1.1\r\n\r\n", 0, False),
        (b"POST / HTTP/1.1\r\rGET / HTTP/1.1\r\n\r\n", 0, False),
        (KNOWN.replace(b"x", b"x" * MAX_HEAD_BYTES), 0, False),
    ],
)
def test_a_head_is_kept_only_if_it_is_certain_where_it_ends(received: bytes, length: int, is_kept: bool) -> None:
    fast_path = FastPath(lambda: pytest.fail("not asked"), ROUTES, Ledger())
    begun = FastHead(next(iter(fast_path.routes.values())).pipeline, b"", None, length)

    fast_path.remember(received, begun)

    assert [*fast_path.known_heads] == ([received[: len(received) - length]] if is_kept else [])


def test_a_client_that_does_not_read_the_answers_to_a_known_head_is_left(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = settings_for(f"sqlite:///{tmp_path}/m.db", body_timeout_ms=500)
    segments = list_request(f"{SEEN}&limit=1000")
    with running_service(settings) as url, Client(url) as client:
        client.define(DRIVEN)
        client.grant(*(f"folder:{number}#viewer@user:ann" for number in range(500)))
        for _ in range(3):
            assert len(answers(client, segments)[0][0]) > 50_000
        with connect(client, receive_buffer=4_096) as connection:
            connection.setblocking(False)
            deadline = time.monotonic() + 60
            with contextlib.suppress(OSError):  # as soon as it is closed
                while is_established(connection):
                    assert time.monotonic() < deadline
                    with contextlib.suppress(BlockingIOError):
                        connection.sendall(segments[0])
                    time.sleep(0.02)

    wait_for_stopped_services()
    assert "Exception" not in capfd.readouterr().err


def test_a_write_is_seen_on_the_same_connection(services: Services) -> None:
    quick, _ = services
    asked = {
        "warrants": [
            {
                "objectType": "folder",
                "objectId": "c",
                "relation": "viewer",
                "subject": {"objectType": "user", "objectId": "ann"},
            }
        ]
    }
    seen = []
    for _ in range(3):
        seen.append(quick.post("/v2/check", json=asked).json()["code"])
        quick.grant("folder:c#viewer@user:ann")
        seen.append(quick.post("/v2/check", json=asked).json()["code"])
        quick.delete_json("/v2/warrants", {**asked["warrants"][0]}).raise_for_status()

    assert seen == [403, 200] * 3


def test_a_client_that_hangs_up_in_the_middle_harms_nobody(services: Services) -> None:
    quick, _ = services
    for cut in (10, len(head(ALLOWED)), len(head(ALLOWED)) + 10):
        with connect(quick) as connection:
            connection.sendall(request(ALLOWED)[0][:cut])
            connection.shutdown(socket.SHUT_RDWR)

    assert quick.post("/v2/check", content=ALLOWED).status_code == 200


def test_requests_are_counted_on_the_fast_path_and_without_it(tmp_path: Path) -> None:
    with running_service(settings_for(f"sqlite:///{tmp_path}/m.db")) as url, Client(url) as client:
        client.define(DRIVEN)
        before = counted(client)
        for _ in range(5):
            client.post("/v2/check", content=DENIED).raise_for_status()

        assert counted(client) == before + 5


def counted(client: Client) -> float:
    line = r'^magistrate_requests_total\{method="POST",route="/v2/check",status="200"\} (\S+)$'
    found = re.search(line, client.get("/metrics").text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_the_fast_path_is_taken_unless_it_is_switched_off() -> None:
    assert read_settings({}, {}).fast_path


def test_what_is_no_http_behind_an_answer_ends_the_connection(services: Services) -> None:
    quick, _ = services
    with connect(quick) as connection:
        connection.sendall(request(ALLOWED)[0] + b"\x00\x01\r\n\r\n")

        assert read_answer(connection).startswith(b"HTTP/1.1 200 ")
        assert is_hung_up(connection)


def test_a_body_that_never_comes_is_refused_in_time(tmp_path: Path) -> None:
    settings = settings_for(f"sqlite:///{tmp_path}/m.db", head_timeout_ms=200, body_timeout_ms=200)
    with running_service(settings) as url, Client(url) as client, connect(client) as connection:
        connection.sendall(head(ALLOWED) + ALLOWED[:10])

        assert read_answer(connection).startswith(b"HTTP/1.1 408 ")
        assert is_hung_up(connection)


def test_a_large_body_does_not_take_the_fast_path(services: Services) -> None:
    body = BATCH[:-1] + b'," ":"' + b"x" * 1_000_000 + b'"}'

    found = [client.post("/v2/check", content=body) for client in services]

    assert found[0].status_code == 200
    assert found[0].json() == found[1].json()


def test_nothing_is_held_for_whoever_has_no_key(services: Services) -> None:
    """The answer comes before its body, as it does without the fast path."""
    for client in services:
        with connect(client) as connection:
            connection.sendall(head(ALLOWED, key="wrong"))

            assert read_answer(connection).startswith(b"HTTP/1.1 401 ")


def test_a_body_in_very_many_pieces_does_not_take_the_fast_path(services: Services) -> None:
    with connect(services[0]) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(head(ALLOWED))
        for place in range(len(ALLOWED)):
            connection.sendall(ALLOWED[place : place + 1])
            time.sleep(0.0005)

        assert b'"Authorized"' in read_answer(connection)


def test_the_end_of_a_head_is_not_taken_for_a_request(services: Services) -> None:
    """A head that begins behind another request in one segment, goes on in the next, and offers another protocol."""
    smuggled = f"DELETE /v2/object-types/nothing HTTP/1.1\r\nAuthorization: ApiKey {KEY}\r\n"
    for client in services:
        with connect(client) as connection:
            connection.sendall(request(ALLOWED)[0] + b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Header: ")
            assert read_answer(connection).startswith(b"HTTP/1.1 200 ")
            connection.sendall(f"{smuggled}Connection: upgrade\r\nUpgrade: h2c\r\n\r\n".encode())

            assert read_answer(connection).startswith(b"HTTP/1.1 400 ")
            assert is_hung_up(connection)
