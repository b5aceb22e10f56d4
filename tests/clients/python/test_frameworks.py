"""Requests to an application in each framework are let through for those only whom the service allows, and for no
object but that which the endpoint reads."""

import asyncio
import http.client
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from magistrate_client import AsyncClient
from tests.clients.python.fastapi_site import build_sockets
from tests.generated_docs import ROOT
from tests.processes.starting import start_process
from tests.running import KEY, Client

FRAMEWORKS = ("starlette", "fastapi", "flask", "django", "django-async")
GRANTED = (
    "document:plan#viewer@user:ann",
    "document:plan#editor@user:ann",
    "document:7#viewer@user:ann",
    "document:a:b#viewer@user:ann",
    "document:josé#viewer@user:ann",
    "document:plan#viewer@robot:r2",
    "document:public#viewer@user:*",
    "file:acme/plan#viewer@user:ann",
    "document:*#viewer@user:everywhere",
    "file:*#viewer@user:everywhere",
    "group:eng#member@user:kim",
    "document:plan#viewer@group:eng#member",
)


@pytest.fixture(scope="module")
def magistrate(shared_client: Client) -> str:
    """The URL of a service with documents."""
    shared_client.define(
        {
            "user": {},
            "robot": {},
            "group": {"member": {}},
            "document": {"viewer": {}, "editor": {}},
            "file": {"viewer": {}},
        }
    )
    shared_client.grant(*GRANTED)
    return str(shared_client.base_url).rstrip("/")


@pytest.fixture(scope="module")
def troubles() -> Iterator[dict[str, str]]:
    """Where nobody listens, and where nobody answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield {
            "TEST_SILENT_URL": f"http://127.0.0.1:{silent.getsockname()[1]}",
            "TEST_DOWN_URL": f"http://127.0.0.1:{bound.getsockname()[1]}",
        }


class Application:
    """An application that runs, and its answers."""

    def __init__(self, url: str) -> None:
        self._address = urlsplit(url).netloc

    def get(self, path: str, **headers: str) -> tuple[int, str, http.client.HTTPMessage]:
        """Sends the path as it is written; no library makes it any better."""
        connection = http.client.HTTPConnection(self._address, timeout=30)
        try:
            connection.putrequest("GET", path, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), answer.headers
        finally:
            connection.close()

    def status(self, path: str, user: str | None = None) -> int:
        return self.get(path, **({} if user is None else {"x_user": user}))[0]


def run_application(name: str, magistrate: str, troubles: dict[str, str]) -> Iterator[Application]:
    own = {"MAGISTRATE_URL": magistrate, "MAGISTRATE_API_KEY": KEY, **troubles}
    command = [sys.executable, "-m", "tests.clients.python.protected_apps", name]
    process = start_process(command, folder=ROOT, environment=os.environ | own, errors=subprocess.DEVNULL)
    assert process.stdout is not None
    try:
        yield Application(process.stdout.readline().strip())
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module", params=FRAMEWORKS)
def application(request: pytest.FixtureRequest, magistrate: str, troubles: dict[str, str]) -> Iterator[Application]:
    yield from run_application(request.param, magistrate, troubles)


@pytest.fixture(scope="module", params=["django", "django-async"])
def site(request: pytest.FixtureRequest, magistrate: str, troubles: dict[str, str]) -> Iterator[Application]:
    yield from run_application(request.param, magistrate, troubles)


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("/documents/plan", "document:plan"),
        ("/documents/a:b", "document:a:b"),
        ("/documents/a%3Ab", "document:a:b"),
        ("/documents/jos%C3%A9", "document:josé"),
        ("/files/acme/plan", "file:acme/plan"),
        ("/numbers/7", "document:7"),
    ],
)
def test_who_has_the_relation_is_let_through(application: Application, path: str, read: str) -> None:
    status, text, _ = application.get(path, x_user="ann")

    assert (status, text) == (200, read)


def test_others_are_forbidden_and_nobody_is_unauthorized(application: Application) -> None:
    status, _, headers = application.get("/documents/plan")

    assert (status, headers["WWW-Authenticate"].lower().strip()) == (401, "bearer")
    assert application.status("/documents/plan", "bob") == 403
    assert application.status("/files/other/plan", "ann") == 403
    assert application.status("/documents/absent", "ann") == 403


IDS_THAT_CANNOT_BE = (
    "a%23b",
    "plan%23viewer",
    "%2A",
    "plan%2A",
    "%00",
    "plan%00",
    "%20plan",
    "plan%20",
    "plan%0A",
    "plan%0D%0Ax",
    "%2e",
    "%2e%2e",
    "a%5Bb%5D",
    "%3Cscript%3E",
    "a%5Cb",
    "jose%CC%81",
    "plan%E2%80%8B",
    "%E2%80%AEnalp",
    "%FF",
    "%C0%AEplan",
    "%ED%A0%80",
    "x" * 1_025,
    quote("é" * 513),
)


@pytest.mark.parametrize("written", IDS_THAT_CANNOT_BE)
def test_an_id_that_no_object_has_is_not_found_even_for_who_may_see_all(application: Application, written: str) -> None:
    assert application.status("/documents/somewhere", "everywhere") == 200
    assert application.status(f"/documents/{written}", "everywhere") in (400, 404)


@pytest.mark.parametrize(
    "path", ["/documents/", "/documents/..%2Fplan", "/documents/../plan", "/numbers/+7", "/numbers/7x"]
)
def test_a_path_that_is_no_id_is_not_found(application: Application, path: str) -> None:
    assert application.status(path, "everywhere") in (400, 404)


def test_no_value_reaches_into_the_next_part_of_an_id(application: Application) -> None:
    assert application.status("/files/acme%2Fplan/x", "everywhere") == 404
    assert application.status("/files/acme/plan%2Fx", "everywhere") == 404


@pytest.mark.parametrize("user", ["*", "ann#member", "eng#member", "..", "a b", "a" * 1_025])
def test_no_name_of_a_user_is_a_group_or_everyone(application: Application, user: str) -> None:
    assert application.status("/documents/public", "bob") == 200

    assert application.status("/documents/public", user) == 403


@pytest.mark.parametrize("trouble", ["down", "silent"])
def test_nobody_is_let_through_while_the_service_does_not_answer(application: Application, trouble: str) -> None:
    status, text, headers = application.get(f"/{trouble}/plan", x_user="ann")

    assert (status, headers["Retry-After"]) == (503, "1")
    assert "http" not in text


def test_faults_of_the_application_are_errors_and_allow_nothing(application: Application) -> None:
    assert application.status("/wrong_key/plan", "ann") == 500
    assert application.status("/unknown/plan", "ann") == 500


@pytest.mark.parametrize(
    ("path", "user", "sent"),
    [
        ("/sockets/plan", "ann", ("websocket.accept", None)),
        ("/sockets/plan", "bob", ("websocket.close", 1008)),
        ("/sockets/plan", None, ("websocket.close", 1008)),
        ("/sockets/a#b", "everywhere", ("websocket.close", 1008)),
        ("/sockets-down/plan", "ann", ("websocket.close", 1013)),
    ],
)
def test_a_websocket_is_opened_only_for_who_has_the_relation(
    magistrate: str, path: str, user: str | None, sent: tuple[str, int | None]
) -> None:
    messages: list[Any] = []
    scope = {
        "type": "websocket",
        "path": path,
        "query_string": b"",
        "headers": [] if user is None else [(b"x-user", user.encode())],
        "subprotocols": [],
    }

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        messages.append(message)

    async def open_socket() -> None:
        async with AsyncClient(magistrate, KEY) as client, AsyncClient("http://127.0.0.1:1", KEY, retries=0) as down:
            await build_sockets(client, down)(scope, receive, send)

    asyncio.run(open_socket())

    assert (messages[0]["type"], messages[0].get("code")) == sent


def test_a_view_that_is_a_class_is_protected(site: Application) -> None:
    assert site.get("/classes/plan", x_user="ann")[:2] == (200, "plan")
    assert [site.status("/classes/plan", user) for user in ("bob", None)] == [403, 401]
    assert site.status("/classes/a%23b", "everywhere") == 404


def test_a_view_that_is_a_class_names_its_own_subject(site: Application) -> None:
    assert site.get("/later/plan", x_robot="r2")[:2] == (200, "plan")
    assert site.get("/later/plan", x_robot="c3")[0] == 403
    assert site.get("/later/plan", x_user="ann")[0] == 302


def test_nobody_is_sent_to_the_login(site: Application) -> None:
    status, _, headers = site.get("/login/plan?page=2")

    assert (status, headers["Location"]) == (302, "/login?next=/login/plan%3Fpage%3D2")
    assert site.status("/login/plan", "ann") == 200


@pytest.mark.parametrize(
    ("permission", "user", "has"),
    [
        ("viewer", "ann", True),
        ("viewer", "bob", False),
        ("documents.change_document", "ann", True),
        ("documents.change_document", "kim", False),
        ("documents.delete_document", "ann", False),
        ("documents.viewer", "ann", False),
        ("viewer", "superuser", True),
    ],
)
@pytest.mark.parametrize("route", ["permissions", "permissions-later"])
def test_a_permission_on_an_object_is_a_relation(
    site: Application, route: str, permission: str, user: str, has: bool
) -> None:
    assert site.get(f"/{route}/{permission}/plan", x_user=user)[:2] == (200, str(has))


def test_a_permission_without_an_object_or_a_user_is_not_had(site: Application) -> None:
    assert site.get("/permissions/viewer", x_user="everywhere")[1] == "False"
    assert site.get("/permissions/viewer/plan")[1] == "False"
    assert site.get("/permissions/viewer/a%23b", x_user="everywhere")[1] == "False"


@pytest.mark.parametrize(
    ("user", "shown"), [("ann", "True True True"), ("kim", "True False True"), (None, "False False True")]
)
def test_the_tag_asks_for_the_user_of_the_request(site: Application, user: str | None, shown: str) -> None:
    _, text, _ = site.get("/pages/plan", **({"x_user": user} if user else {}))

    assert text.strip() == shown
