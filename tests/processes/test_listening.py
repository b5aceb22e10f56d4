"""Where a service listens."""

import socket
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from magistrate.errors import InvalidSetting
from magistrate.wiring.server import listen
from tests.conftest import list_by_day
from tests.processes.served_processes import free_port
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, settings_for


def addresses_of(*hosts: str) -> list[str]:
    sockets = listen(settings_for("sqlite:///x.db", host=",".join(hosts)))
    try:
        assert len({one.getsockname()[1] for one in sockets}) == 1
        return [one.getsockname()[0] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def test_each_address_is_listened_on_once() -> None:
    assert addresses_of("127.0.0.1", "::1", "127.0.0.2", "127.0.0.1") == ["127.0.0.1", "::1", "127.0.0.2"]
    assert addresses_of("127.0.0.1", " ::1") == ["127.0.0.1", "::1"]
    assert addresses_of("127.0.0.1", "::", "0.0.0.0", "::1") == ["::"]
    assert addresses_of("127.0.0.1", "0.0.0.0", "::1") == ["0.0.0.0", "::1"]


@pytest.mark.parametrize("hosts", [",", "127.0.0.1,", "127.0.0.1,192.0.2.1"])
def test_an_address_that_cannot_be_listened_on_stops_all(hosts: str) -> None:
    port = free_port()
    with pytest.raises(InvalidSetting):
        listen(settings_for("sqlite:///x.db", host=hosts, port=port))

    socket.create_server(("127.0.0.1", port)).close()  # nothing holds it


@pytest.mark.parametrize("workers", list_by_day(["2", "1"], 1))
def test_all_addresses_answer_and_the_admin_port_on_each(tmp_path: Path, workers: str) -> None:
    admin_port = free_port()
    flags = ("--host", "127.0.0.1", "--host", "::1", "--workers", workers, "--admin-port", str(admin_port))
    with ServiceProcess(tmp_path, *flags, api_key=KEY) as service:
        port = urlsplit(service.url).port
        assert f"http://127.0.0.1:{port} and http://[::1]:{port} and keeps" in service.printed
        for host in ("127.0.0.1", "[::1]"):
            expected = {(port, "/openapi.json"): 200, (admin_port, "/readyz"): 200, (admin_port, "/docs"): 404}
            for (at, path), status in expected.items():
                assert httpx.get(f"http://{host}:{at}{path}", trust_env=False).status_code == status


def test_the_address_for_all_listens_on_both_families(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, "--host", "::", api_key=KEY) as service:
        port = urlsplit(service.url).port
        for host in ("127.0.0.1", "[::1]"):
            assert httpx.get(f"http://{host}:{port}/readyz", trust_env=False).status_code == 200
