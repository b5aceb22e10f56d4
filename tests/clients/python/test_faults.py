"""What the Python client does that the corpus cannot say: deadlines against answers that trickle, sessions of threads,
secrets, sockets of a process that was forked, and a service that is started again under load."""

import asyncio
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import httpx
import pytest

from magistrate_client import (
    AsyncClient,
    CallTimeout,
    Client,
    InvalidUse,
    MagistrateError,
    Refused,
    Unreachable,
)
from magistrate_client.attempts import choose_backoff
from magistrate_client.settings import is_proxied, read_settings
from magistrate_client.tokens import Session, rank_token
from tests.clients.conformance.driver import conformance_service
from tests.clients.conformance.fault_proxy import making_faults
from tests.proxy import proxying
from tests.running import KEY

CHECK = ("user:ann", "viewer", "document:plan")
MODEL = "version 1.0\n\ntype user\n\ntype document\n    relation viewer [user]\n"
ALLOWED = b'{"code":200,"result":"Authorized","isImplicit":false}'
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
TOKENS = {
    "first": "AtskeoriBuzHAAAAAAAAAAXMRcz2gU6mfw",
    "next": "AtskeoriBuzHAAAAAAAAAAZZk3ARr1Jq0g",
}


@contextmanager
def answering(*pieces: bytes, pause: float = 0.0) -> Iterator[str]:
    """The URL of a server that answers each request with these pieces, with a pause before each, and then waits."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve(client: socket.socket) -> None:
        with client, suppress(OSError):
            while client.recv(65_536):
                for piece in pieces:
                    time.sleep(pause)
                    client.sendall(piece)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def check_in_task(url: str, timeout: float) -> bool:
    """A check through the client for asyncio."""

    async def check() -> bool:
        async with AsyncClient(url, KEY, timeout=timeout) as client:
            return await client.check(*CHECK)

    return asyncio.run(check())


def check_in_thread(url: str, timeout: float) -> bool:
    """A check through the client for threads."""
    with Client(url, KEY, timeout=timeout) as client:
        return client.check(*CHECK)


Check = Callable[[str, float], bool]
CHECKS = pytest.mark.parametrize("check", [check_in_thread, check_in_task])


@CHECKS
def test_an_answer_that_trickles_ends_with_the_call(check: Check) -> None:
    answer = HEAD + b"content-length: %d\r\n\r\n" % len(ALLOWED) + ALLOWED
    pieces = (answer[place : place + 1] for place in range(len(answer)))
    with answering(*pieces, pause=0.1) as url, pytest.raises(CallTimeout):
        check(url, 0.5)  # with a time-out for each wait, the answer would be complete after some seconds


@CHECKS
@pytest.mark.parametrize(
    "body",
    [
        b'{"code":200}',
        b'{"code":200,"result":"Not Authorized"}',
        b'{"result":"Authorized"}',
        b"true",
        b"200",
        b"[]",
        b'[{"code":200,"result":"Authorized"}]',
        b'{"allowed":true}',
        b"",
        ALLOWED[:-1],
    ],
)
def test_nothing_but_the_answer_of_a_check_is_allowed(body: bytes, check: Check) -> None:
    with (
        answering(HEAD + b"content-length: %d\r\n\r\n" % len(body) + body) as url,
        pytest.raises(Unreachable, match="no Magistrate"),
    ):
        check(url, 5)


@CHECKS
def test_no_secret_is_in_what_is_shown(check: Check, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    shown = [repr(Client("http://127.0.0.1:1", KEY)), repr(AsyncClient("http://127.0.0.1:1", KEY))]
    shown.append(repr(read_settings("http://127.0.0.1:1", KEY, None, 1.0, 0, "session")))
    with pytest.raises(Unreachable) as unreachable:
        check("http://127.0.0.1:1", 5)
    shown += [repr(unreachable.value), str(unreachable.value.__dict__)]

    assert not [text for text in (*shown, caplog.text) if KEY in text]
    with pytest.raises(InvalidUse) as invalid:
        Client("http://127.0.0.1:1", "two\nlines")
    assert "two" not in str(invalid.value)
    with pytest.raises(InvalidUse) as invalid:
        Client("http://user:sesame@127.0.0.1:1", KEY)
    assert "sesame" not in str(invalid.value)


def test_the_newest_token_is_kept_whatever_comes_last() -> None:
    session = Session()

    session.remember(TOKENS["next"])
    session.remember(TOKENS["first"])
    assert session.token == TOKENS["next"]
    session.remember("another-form-of-token")
    assert session.token == "another-form-of-token"
    session.remember(TOKENS["first"])
    assert session.token == TOKENS["first"]


@pytest.mark.parametrize("text", ["", "x", "é", "latest", "A" * 34, "!" * 34])
def test_a_text_that_is_no_token_has_no_rank(text: str) -> None:
    assert rank_token(text) is None


def test_threads_see_what_each_has_written(database_url: str) -> None:
    with conformance_service(database_url) as service, Client(service.url, KEY) as client:
        client.write_model(MODEL)

        def write_and_check(number: int) -> bool:
            client.write(create=[f"document:plan#viewer@user:u{number}"])
            return client.check(f"user:u{number}", "viewer", "document:plan")

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(write_and_check, range(80)))


def test_a_block_at_a_token_is_of_its_thread(database_url: str) -> None:
    with conformance_service(database_url) as service, Client(service.url, KEY) as client:
        client.write_model(MODEL)
        before = client.token
        assert before is not None
        client.write(create=["document:plan#viewer@user:ann"])
        newest = client.token

        with client.at(before) as same, ThreadPoolExecutor(1) as pool:
            assert same is client
            assert client.token == before
            assert pool.submit(lambda: client.token).result() == newest
        assert client.token == newest


def test_no_write_is_made_twice_or_lost_while_the_service_is_started_again(database_url: str) -> None:
    with conformance_service(database_url) as service, making_faults(service.find_address) as proxy:
        with Client(service.url, KEY) as client:
            client.write_model(MODEL)
        made: list[int] = []
        stopping = threading.Event()

        def write() -> None:
            with Client(proxy.url, KEY, timeout=30, retries=50) as client:
                while not stopping.is_set():
                    number = len(made)
                    written = client.write(create=[f"document:plan#viewer@user:u{number}"])
                    assert (written.created, written.unchanged) == (1, 0)
                    assert client.check(f"user:u{number}", "viewer", "document:plan")
                    made.append(number)

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            try:
                for _ in range(2):
                    count = len(made)
                    while len(made) < count + 20 and not writing.done():
                        time.sleep(0.01)
                    service.restart()
                    proxy.cut()
            finally:
                stopping.set()
            writing.result(60)
        with Client(service.url, KEY) as client:
            assert len(list(client.warrants())) == len(made)


def test_a_connection_is_not_shared_with_a_forked_process() -> None:
    with (
        answering(HEAD + b"content-length: %d\r\n\r\n" % len(ALLOWED) + ALLOWED) as url,
        Client(url, KEY) as client,
    ):
        assert client.check(*CHECK)
        connections = client._sender._connections
        kept = [*connections._idle]  # type: ignore[attr-defined]  # of this kind of connections
        assert len(kept) == 1

        connections._process = os.getpid() - 1  # type: ignore[attr-defined]  # as in a process that was forked
        assert client.check(*CHECK)

        assert connections._idle[0] is not kept[0]  # type: ignore[attr-defined]


def test_requests_go_through_a_client_of_the_caller(database_url: str) -> None:
    with conformance_service(database_url) as service, httpx.Client(trust_env=False) as http:
        client = Client(service.url, KEY, http=http)
        client.write_model(MODEL)
        client.write(create=["document:plan#viewer@user:ann"])

        assert client.check(*CHECK)
        assert list(client.objects("user:ann", "viewer", "document")) == ["document:plan"]
        feed = client.watch(snapshot=True)
        assert next(feed)
        feed.close()
        with pytest.raises(Refused):
            client.check("user:ann", "viewer", "folder:plan")
        client.close()
        assert not http.is_closed


def test_requests_go_through_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with proxying() as proxy:
        monkeypatch.setenv("https_proxy", f"http://{proxy.address}")
        with Client("https://magistrate.example", KEY, retries=0) as client, pytest.raises(Unreachable):
            client.check(*CHECK)

        assert proxy.asked == ["CONNECT magistrate.example:443 HTTP/1.1"]
        assert not is_proxied("http://127.0.0.1:8000")


def test_waits_grow_and_differ() -> None:
    waits = [choose_backoff(number) for number in (0, 3, 10, 1_000_000)]

    assert 0.025 <= waits[0] <= 0.05
    assert 0.2 <= waits[1] <= 0.4
    assert all(1.0 <= wait <= 2.0 for wait in waits[2:])
    assert len({choose_backoff(5) for _ in range(10)}) > 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"url": None},
        {"url": "ftp://x"},
        {"url": "http://"},
        {"url": "http://x:port"},
        {"url": "http://x", "timeout": 0},
        {"url": "http://x", "retries": -1},
        {"url": "http://x", "consistency": "newest"},
    ],
)
def test_a_client_that_could_call_nothing_is_not_made(
    arguments: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MAGISTRATE_URL", raising=False)

    with pytest.raises(InvalidUse):
        Client(**arguments)  # type: ignore[arg-type]  # wrong ones, too


def test_the_environment_says_where_the_service_is(monkeypatch: pytest.MonkeyPatch, database_url: str) -> None:
    with conformance_service(database_url) as service, service.client() as operator:
        operator.post("/v2/stores", json={"name": "acme"}).raise_for_status()
        for name, value in {"URL": service.url, "API_KEY": KEY, "STORE": "acme"}.items():
            monkeypatch.setenv(f"MAGISTRATE_{name}", value)

        with Client() as client:
            client.write_model(MODEL)
            assert "type document" in client.model()
        assert operator.get("/v2/object-types/document").status_code == 404


@pytest.mark.parametrize(
    "create",
    ["document:plan#viewer@user:ann", ["plan"], ["document:plan#viewer@"], ["document:"], [":plan"], [None]],
)
def test_what_cannot_be_written_is_not_sent(create: list[str]) -> None:
    with Client("http://127.0.0.1:1", KEY) as client, pytest.raises(InvalidUse):
        client.write(create=create)


@pytest.mark.parametrize("token", ["a\r\nX-Forwarded-For: ::1", "a\n", "a b", "ä"])
def test_a_token_from_elsewhere_adds_no_header(token: str) -> None:
    with Client("http://127.0.0.1:1", KEY) as client:
        with pytest.raises(InvalidUse), client.at(token):
            client.check(*CHECK)
        with pytest.raises(InvalidUse):
            client.check(*CHECK, token=token)


def test_a_query_is_about_nothing_but_its_arguments() -> None:
    with Client("http://127.0.0.1:1", KEY) as client:
        for relation, kind in (("viewer or owner", "document"), ("viewer", "document where user:x is y"), ("", "a")):
            with pytest.raises(InvalidUse):
                client.objects("user:ann", relation, kind)
        with pytest.raises(InvalidUse):
            client.objects('user:a" is owner', "viewer", "document")


def test_every_error_is_a_magistrate_error() -> None:
    with Client("http://127.0.0.1:1", KEY, retries=0) as client, pytest.raises(MagistrateError):
        client.check(*CHECK, context={"level": object()})
