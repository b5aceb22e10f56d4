"""The second port, for health and metrics only."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.certificates import Authority
from tests.processes.served_processes import free_port
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client


@contextmanager
def serving(folder: Path, **settings: str) -> Iterator[tuple[ServiceProcess, Client]]:
    """A service, and a client of its admin port."""
    port = free_port()
    with (
        ServiceProcess(folder, api_key=KEY, admin_port=str(port), **settings) as service,
        Client(f"http://127.0.0.1:{port}") as client,
    ):
        yield service, client


@pytest.mark.parametrize("workers", [pytest.param("1", marks=pytest.mark.nightly), "2"])
def test_the_admin_port_has_health_and_metrics_only(tmp_path: Path, workers: str) -> None:
    with serving(tmp_path, workers=workers) as (service, admin):
        statuses = {path: admin.get(path).status_code for path in ("/healthz", "/readyz", "/metrics", "/docs")}
        not_found = admin.get("/v2/objects")
        with Client(str(admin.base_url), "a-wrong-key-of-nobody") as stranger:
            without_key = stranger.get("/metrics").status_code
        with service.client() as client:
            public = {path: client.get(path).status_code for path in ("/healthz", "/metrics", "/v2/objects")}
        stopped = service.stop()

    assert statuses == {"/healthz": 200, "/readyz": 200, "/metrics": 200, "/docs": 404}
    assert not_found.json() == {
        "code": "not_found",
        "message": "Endpoint /v2/objects not found",
        "type": "Endpoint",
        "key": "/v2/objects",
    }
    assert without_key == 401
    assert public == {"/healthz": 200, "/metrics": 200, "/v2/objects": 200}
    assert stopped == 0


def test_the_admin_port_answers_head_and_reads_the_scheme_in_any_case(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, admin):
        for path in ("/healthz", "/readyz", "/healthz/", "/readyz/"):
            of_head, of_get = admin.head(path), admin.get(path)
            assert (of_head.status_code, of_head.content) == (200, b"")
            assert of_head.headers["content-length"] == of_get.headers["content-length"] == str(len(of_get.content))
        metrics = admin.head("/metrics", headers={"Authorization": f"bearer  {KEY}"})
        missing = admin.build_request("GET", "/metrics")
        del missing.headers["Authorization"]

        assert (metrics.status_code, metrics.content) == (200, b"")
        assert admin.send(missing).json()["message"].startswith("Missing header Authorization")
        assert admin.head("/console/").status_code == admin.head("/v2/objects").status_code == 404


def test_the_admin_port_is_not_encrypted(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    issued, own = authority.issue("service"), authority.issue("client")
    files = {"tls_cert": str(issued.certificate), "tls_key": str(issued.key), "tls_client_ca": str(authority.file)}
    port = free_port()

    service = ServiceProcess(tmp_path, api_key=KEY, admin_port=str(port), **files)
    service.trust = authority.trusted(own)
    with service, Client(f"http://127.0.0.1:{port}") as admin:
        assert [admin.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]


def test_health_is_reported_while_clients_use_all_connections(tmp_path: Path) -> None:
    with serving(tmp_path, max_connections="1") as (service, admin):
        url = urlsplit(service.url)
        with socket.create_connection((str(url.hostname), url.port or 0), timeout=20) as held:
            held.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert held.recv(65_536).startswith(b"HTTP/1.1 200")
            with service.client() as client:
                surplus = client.get("/healthz").status_code
            assert (surplus, admin.get("/healthz").status_code) == (503, 200)


def test_an_admin_port_that_is_taken_stops_the_start(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        service = ServiceProcess(tmp_path, admin_port=str(port))
        errors = service.errors()

    assert service.process.returncode == 1
    assert f"cannot listen on '127.0.0.1' port {port}: Address already in use" in errors
