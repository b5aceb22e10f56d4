"""Running services for tests: the whole service in a thread, on a real socket, and a client for it."""

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import httpx

from magistrate.api.processes.server import GracefulServer
from magistrate.config.settings import read_settings
from magistrate.config.settings_table import Settings
from magistrate.outgoing_requests import load_trust
from magistrate.wiring.maintenance import prepare_store
from magistrate.wiring.server import server_config
from magistrate.wiring.stores import migrate_store
from tests.leaks import KEY as KEY
from tests.leaks import keep_secret, require_no_leak
from tests.plain_requests import OPTIONS, render_plain
from tests.scenario_files import warrant_body
from tests.socket_transport import SocketTransport

STARTED_WITHIN_SECONDS = 20.0
STOPPED_WITHIN_SECONDS = 60.0


def settings_for(database_url: str, **given: str | int) -> Settings:
    """Settings as the command line would read them; a free port and one key unless given."""
    flags = {"database_url": database_url, "port": "0", "api_key": KEY} | {
        name: str(value) for name, value in given.items()
    }
    return read_settings(flags, {})


def require_no_secret(method: str, path: str, response: httpx.Response) -> None:
    """Fails if an error or a metric has a secret."""
    if response.status_code >= 400 or path == "/metrics":
        require_no_leak(response.read().decode(), f"{method} {path}", known=path)


class Client(httpx.Client):
    """An HTTP client with the key, for paths of one service."""

    def __init__(self, url: str, key: str = KEY, trust: ssl.SSLContext | None = None) -> None:
        headers = {"Authorization": f"ApiKey {key}"}
        parts = urlsplit(url)
        transport = SocketTransport(parts.hostname or "", parts.port or 80) if parts.scheme == "http" else None
        super().__init__(
            base_url=url,
            headers=headers,
            timeout=30,
            trust_env=False,
            verify=trust or (load_trust() if parts.scheme == "https" else False),
            transport=transport,
        )
        self._sockets = transport

    def request(self, method: str, url: httpx.URL | str, **options: Any) -> httpx.Response:
        message = render_plain(self, method, url, options) if self._sockets is not None else None
        if self._sockets is None or message is None:
            return super().request(method, url, **options)
        response = self._sockets.exchange(message, self.timeout)
        given = {name: options[name] for name in OPTIONS & options.keys()}
        response.build_request = partial(self.build_request, method, url, **given)
        response.read()
        require_no_secret(method, str(url), response)
        return response

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        response = super().send(request, **options)
        require_no_secret(request.method, request.url.path, response)
        return response

    def delete_json(self, path: str, body: Any) -> httpx.Response:
        return self.request("DELETE", path, json=body)

    def pages(self, path: str, **parameters: Any) -> Iterator[list[dict[str, Any]]]:
        """Every page of a list, from the first to the last."""
        cursor: dict[str, str] = {}
        while True:
            page = self.get(path, params={**parameters, **cursor})
            assert page.status_code == 200, page.text
            yield page.json()["results"]
            if "nextCursor" not in page.json():
                return
            cursor = {"nextCursor": page.json()["nextCursor"]}

    def define(self, types: dict[str, Any]) -> None:
        """Object types: relations by name."""
        for name, relations in types.items():
            self.post("/v2/object-types", json={"type": name, "relations": relations}).raise_for_status()

    def grant(self, *written: str) -> None:
        self.write([warrant_body(text) for text in written])

    def write(self, bodies: list[dict[str, Any]]) -> None:
        """Warrants by their bodies."""
        for start in range(0, len(bodies), 100):
            self.post("/v2/warrants", json=bodies[start : start + 100]).raise_for_status()

    def ask(self, written: str, **members: Any) -> httpx.Response:
        """A check of one warrant; members are those of the body, but `context` is the warrant's own."""
        own = {"context": members.pop("context")} if "context" in members else {}
        return self.post("/v2/check", json={"warrants": [warrant_body(written) | own], **members})

    def clear(self) -> None:
        """Deletes every warrant, object, object type and named policy."""
        self.clear_rows()
        for row in self.get("/v2/object-types", params={"limit": 1000}).json()["results"]:
            self.delete(f"/v2/object-types/{row['type']}").raise_for_status()
        for row in self.get("/v2/policies", params={"limit": 1000}).json()["results"]:
            self.delete(f"/v2/policies/{row['name']}").raise_for_status()

    def begin_with(self, types: dict[str, Any], policies: list[dict[str, Any]]) -> None:
        """Leaves nothing but these object types and policies, with as few writes as possible."""
        if not types or self.get("/v2/policies", params={"limit": 1}).json()["results"]:
            self.clear()
        else:
            self.clear_rows()
        if policies:
            self.put("/v2/policies", json=policies).raise_for_status()
        if types:
            bodies = [{"type": name, "relations": relations} for name, relations in types.items()]
            self.put("/v2/object-types", json=bodies, params={"replace": "true"}).raise_for_status()

    def clear_rows(self) -> None:
        """Deletes every warrant and object."""
        for path, keys in {
            "/v2/warrants": ("objectType", "objectId", "relation", "subject", "policy"),
            "/v2/objects": ("objectType", "objectId"),
        }.items():
            while found := self.get(path, params={"limit": 100}).json()["results"]:
                named = [{key: row[key] for key in keys if key in row} for row in found]
                self.delete_json(path, named).raise_for_status()


@contextmanager
def running_service(settings: Settings) -> Iterator[str]:
    """The URL of the service, which runs in a thread until the context ends."""
    with running_server(settings) as (url, _):
        yield url


@contextmanager
def running_server(settings: Settings) -> Iterator[tuple[str, GracefulServer]]:
    """The same with the server, which a test may stop."""
    keep_secret(settings.secrets)
    migrate_store(settings)
    asyncio.run(prepare_store(settings))
    listening = socket.create_server((settings.host, settings.port), backlog=2048)  # the server closes it
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    server = GracefulServer(server_config(settings))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    deadline = time.monotonic() + STARTED_WITHIN_SECONDS
    while not server.started:
        assert thread.is_alive(), "the service did not start"
        assert time.monotonic() < deadline, "the service did not start in time"
        time.sleep(0.005)
    try:
        yield url, server
    finally:
        server.should_exit = True
        _stopping.append(thread)


_stopping: list[threading.Thread] = []
"""Threads of services that are stopping: a stop takes a moment, in which the next test can run."""


def wait_for_stopped_services() -> None:
    while _stopping:
        thread = _stopping.pop()
        thread.join(STOPPED_WITHIN_SECONDS)
        assert not thread.is_alive(), "a service did not stop in time"
