"""Pages of other origins: preflights, and the headers without which browsers hide an answer from a page."""

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from magistrate.api.http.fast_path import FastPath, PendingRefusal
from magistrate.api.http.pipeline import BegunRequest
from tests.api.raw_requests import ALLOWED, DRIVEN, answers, request
from tests.api.sockets import connect, head, read_answer
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client, running_service, settings_for
from tests.scenario_files import warrant_body

PAGE, OTHER, STRANGE = "https://app.example", "http://localhost:3000", "https://evil.example"
EXPOSED = "Service-Token, Warrant-Token, Warrant-Request-Id, Warrant-Outcome, Warning, Retry-After"
BY_TOKEN = ("/v2/check", "/v2/authorize")
BY_KEY = ("/v2/objects", "/v2/objects/document/a", "/v2/warrants", "/v1/users", "/metrics", "/healthz")


@contextmanager
def serving(folder: Path, **given: str | int) -> Iterator[Client]:
    with running_service(settings_for(f"sqlite:///{folder}/m.db", **given)) as url, Client(url) as client:
        yield client


@pytest.fixture(scope="module", params=[1, 0], ids=["fast path", "no fast path"])
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("cors")
    with serving(folder, cors_origin=f"{PAGE},{OTHER}", fast_path=request.param) as client:
        client.define(DRIVEN)
        client.grant("folder:a#viewer@user:ann")
        client.post("/v2/check", content=ALLOWED).raise_for_status()
        yield client


def preflight(client: Client, path: str, origin: str = PAGE, method: str = "POST") -> httpx.Response:
    """As a browser sends it: without a key."""
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    with httpx.Client(base_url=client.base_url, trust_env=False, timeout=30) as browser:
        return browser.options(path, headers=headers)


def cors_of(answer: httpx.Response) -> Mapping[str, str]:
    return {
        name: value for name, value in answer.headers.items() if name == "vary" or name.startswith("access-control-")
    }


def allowed(origin: str) -> dict[str, str]:
    return {"vary": "Origin", "access-control-allow-origin": origin, "access-control-expose-headers": EXPOSED}


@pytest.mark.parametrize("path", BY_TOKEN)
@pytest.mark.parametrize("origin", [PAGE, OTHER])
def test_a_preflight_of_a_check_needs_no_key(client: Client, path: str, origin: str) -> None:
    answer = preflight(client, path, origin)

    assert (answer.status_code, answer.content) == (204, b"")
    assert cors_of(answer) == allowed(origin) | {
        "access-control-allow-methods": "POST",
        "access-control-allow-headers": "authorization,content-type",
        "access-control-max-age": "86400",
    }
    assert "warrant-request-id" in answer.headers


@pytest.mark.parametrize("path", BY_KEY)
def test_a_preflight_of_a_route_for_keys_is_404(client: Client, path: str) -> None:
    answer = preflight(client, path, method="GET")

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert "access-control-allow-methods" not in answer.headers


@pytest.mark.parametrize(
    "origin", [STRANGE, "null", "https://app.example.evil.example", "http://app.example", "https://app.example:444"]
)
def test_another_origin_is_allowed_nothing(client: Client, origin: str) -> None:
    checked = client.post("/v2/check", content=ALLOWED, headers={"Origin": origin})

    assert cors_of(preflight(client, "/v2/check", origin)) == {"vary": "Origin"}
    assert cors_of(checked) == {"vary": "Origin"}


def test_a_header_that_is_no_ascii_harms_no_preflight(client: Client) -> None:
    headers = [(b"Origin", PAGE.encode()), (b"Access-Control-Request-Method", b"POST")]

    answer = client.options("/v2/check", headers=[*headers, (b"Access-Control-Request-Headers", b"t\xe9st")])

    assert answer.status_code < 500


def test_a_page_may_check_with_a_session_token(client: Client) -> None:
    token = client.post("/v2/sessions", json={"type": "sess", "userId": "ann"}).json()["token"]
    body = {"warrants": [{"objectType": "folder", "objectId": "a", "relation": "viewer"}]}

    answer = client.post("/v2/check", json=body, headers={"Origin": PAGE, "Authorization": f"Bearer {token}"})

    assert answer.json()["result"] == "Authorized"
    assert cors_of(answer) == allowed(PAGE)


@pytest.mark.parametrize("scheme", ["ApiKey", "Bearer"])
@pytest.mark.parametrize("origin", [None, PAGE, STRANGE])
def test_an_answer_to_a_key_has_the_headers_of_its_origin(client: Client, scheme: str, origin: str | None) -> None:
    headers = {"Authorization": f"{scheme} {KEY}"} | ({"Origin": origin} if origin else {})

    answer = client.post("/v2/check", content=ALLOWED, headers=headers)

    assert answer.json()["result"] == "Authorized"
    assert cors_of(answer) == (allowed(PAGE) if origin == PAGE else {"vary": "Origin"})


@pytest.mark.parametrize(
    ("method", "path", "body", "key", "status"),
    [
        ("POST", "/v2/check", b"{", KEY, 400),
        ("POST", "/v2/check", ALLOWED, "wrong-key", 401),
        ("GET", "/v2/objects/none/none", b"", KEY, 404),
        ("GET", "/v2/no-such-path", b"", KEY, 404),
        ("GET", "/v2/objects/", b"", KEY, 404),
    ],
)
def test_an_error_has_them_too(client: Client, method: str, path: str, body: bytes, key: str, status: int) -> None:
    headers = {"Origin": PAGE, "Authorization": f"ApiKey {key}"}

    answer = client.request(method, path, content=body, headers=headers)

    assert answer.status_code == status
    assert cors_of(answer) == allowed(PAGE)


def test_a_refused_token_and_another_user_have_them_too(client: Client) -> None:
    token = client.post("/v2/sessions", json={"type": "sess", "userId": "bob"}).json()["token"]
    for bearer, status in {"a.b.c": 401, token: 403}.items():
        headers = {"Origin": PAGE, "Authorization": f"Bearer {bearer}"}

        answer = client.post("/v2/check", content=ALLOWED, headers=headers)

        assert answer.status_code == status
        assert cors_of(answer) == allowed(PAGE)


def test_a_spent_budget_has_them_too(tmp_path: Path) -> None:
    with serving(tmp_path, cors_origin=PAGE, max_check_work=1_000) as client:
        client.define({"team": {"member": {}}})
        client.grant("team:other#member@user:bob")
        client.grant(*[f"team:all#member@team:{number}#member" for number in range(1_000)])
        body = {"warrants": [warrant_body("team:all#member@user:ann")]}

        answer = client.post("/v2/check", json=body, headers={"Origin": PAGE})

    assert answer.status_code == 503
    assert cors_of(answer) == allowed(PAGE)


def test_both_ways_answer_the_same(tmp_path: Path) -> None:
    with serving(tmp_path, cors_origin=PAGE) as quick, serving(tmp_path, cors_origin=PAGE, fast_path=0) as slow:
        quick.define(DRIVEN)
        quick.grant("folder:a#viewer@user:ann")
        for client in (quick, slow):
            client.post("/v2/check", content=ALLOWED).raise_for_status()
        for lines in ([], [f"Origin: {PAGE}"], [f"Origin: {STRANGE}"], [f"Origin: {PAGE}", f"Origin: {STRANGE}"]):
            assert answers(quick, request(ALLOWED, *lines)) == answers(slow, request(ALLOWED, *lines))


def test_the_answer_of_a_service_that_stops_has_them_too(tmp_path: Path) -> None:
    headers = (f"Origin: {PAGE}", "Content-Length: 100", "Expect: 100-continue")
    with (
        ServiceProcess(tmp_path, "--cors-origin", PAGE, api_key=KEY, stop_timeout_ms="1000") as service,
        service.client() as client,
        connect(client) as connection,
    ):
        connection.sendall(head(client, "POST", "/v2/check", *headers))
        assert connection.recv(100).startswith(b"HTTP/1.1 100")
        service.process.send_signal(signal.SIGTERM)

        answer = read_answer(connection)

    assert answer.startswith(b"HTTP/1.1 503 ")
    assert f"access-control-allow-origin: {PAGE}\r\n".encode() in answer
    assert b"vary: Origin\r\n" in answer


def test_all_routes_may_be_opened_to_all_origins(tmp_path: Path) -> None:
    with serving(tmp_path, cors_origin="*", cors_all_routes=1) as client:
        methods = {
            "/v2/check": "POST",
            "/v2/objects": "DELETE, GET, POST",
            "/v2/objects/document/a": "DELETE, GET, POST, PUT",
            "/metrics": "GET",
        }
        for path, expected in methods.items():
            answer = preflight(client, path, STRANGE, method="GET")
            assert (answer.status_code, answer.content) == (204, b"")
            assert answer.headers["access-control-allow-methods"] == expected
            assert answer.headers["access-control-allow-origin"] == "*"
        assert preflight(client, "/v2/no-such-path").status_code == 404
        listed = client.get("/v2/objects", headers={"Origin": STRANGE})

    assert cors_of(listed) == allowed("*")
    assert "access-control-allow-credentials" not in listed.headers


def test_without_the_setting_nothing_changes(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        answers = [preflight(client, path) for path in (*BY_TOKEN, *BY_KEY)]
        answers.append(client.get("/v2/objects", headers={"Origin": PAGE}))

    assert [answer.status_code for answer in answers] == [404] * (len(answers) - 1) + [200]
    assert [cors_of(answer) for answer in answers] == [{}] * len(answers)


def test_only_requests_of_pages_leave_the_fast_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[bool] = []
    begin = FastPath.begin_request

    def observed(self: FastPath, *given: object) -> BegunRequest | PendingRefusal | None:
        pending = begin(self, *given)  # type: ignore[arg-type]  # handed on as they are
        begun.append(pending is not None)
        return pending

    monkeypatch.setattr(FastPath, "begin_request", observed)
    for given in ({"cors_origin": PAGE}, {}):
        with serving(tmp_path, **given) as client:
            for headers in ({}, {"Origin": PAGE}):
                client.post("/v2/check", content=ALLOWED, headers=headers)

    assert begun == [True, False, True, True]
