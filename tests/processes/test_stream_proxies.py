"""The settings of docs/watch.md for proxies, in the real nginx and HAProxy: an event passes at once, and a stream
without writes lives longer than the time-out of the proxy."""

import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from magistrate.operations.watch import revision_feed, watch_reader
from tests.api.watching import list_granted, watching
from tests.debian_packages import HAPROXY, Program
from tests.generated_docs import ROOT
from tests.processes.served_processes import free_port
from tests.processes.starting import start_process
from tests.running import Client, running_service, settings_for
from tests.waiting import wait_until

PROGRAMS = {
    "nginx": Program("nginx", ("nginx",)),
    "haproxy": HAPROXY,
}
AROUND: Mapping[str, str] = {
    "nginx": """daemon off; master_process off; pid {folder}/pid; error_log stderr;
events {{}}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    upstream magistrate {{ server {service}; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{ proxy_pass http://magistrate; }}
        {shown}
    }}
}}
""",
    "haproxy": """{shown}
frontend front
    bind 127.0.0.1:{port}
    default_backend magistrate
backend magistrate
    server one {service}
""",
}
"""What is around the settings that the document shows."""
SHOWN_SECONDS, HEARTBEATS_A_TIMEOUT = 60, 4
WITHIN_SECONDS = 30.0


def read_settings(proxy: str) -> str:
    [settings] = re.findall(rf"^```{proxy}\n(.*?)^```$", (ROOT / "docs/watch.md").read_text(), re.MULTILINE | re.DOTALL)
    assert f"{SHOWN_SECONDS}s" in settings
    return str(settings)


@contextmanager
def proxying(proxy: str, folder: Path, service: str, shown: str) -> Iterator[str]:
    """The URL of a proxy in front of a service."""
    program = PROGRAMS[proxy].find()
    if program is None:
        pytest.skip(f"{proxy} is not installed, and its packages of Debian cannot be downloaded")
    port, settings = free_port(), folder / f"{proxy}.conf"
    settings.write_text(AROUND[proxy].format(folder=folder, port=port, service=urlsplit(service).netloc, shown=shown))
    flags = ["-c", str(settings), "-p", str(folder)] if proxy == "nginx" else ["-f", str(settings), "-db"]
    process = start_process(
        [program, *flags], folder=folder, environment=PROGRAMS[proxy].environment, errors=subprocess.STDOUT
    )
    url = f"http://127.0.0.1:{port}"

    def is_ready() -> bool:
        assert process.poll() is None, process.communicate()[0]
        with suppress(httpx.TransportError):
            return httpx.get(f"{url}/readyz", trust_env=False).status_code == 200
        return False

    try:
        wait_until(is_ready, WITHIN_SECONDS)
        yield url
    finally:
        process.kill()
        process.communicate()


def require_stream(url: str, service: Client, silent_seconds: float) -> None:
    """Fails unless events pass at once, before and after so long without a write."""
    with Client(url) as through, watching(through) as stream:
        assert stream.next()["event"] == "checkpoint"
        service.grant("document:1#viewer@user:ann")
        assert list_granted(stream.take(1)) == ["1"]
        time.sleep(silent_seconds)
        service.grant("document:2#viewer@user:ann")
        assert list_granted(stream.take(1)) == ["2"]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Client]:
    with running_service(settings_for(f"sqlite:///{tmp_path}/m.db")) as url, Client(url) as client:
        client.define({"document": {"viewer": {}}})
        yield client


@pytest.mark.parametrize("path", ["", "/stores/default"])
@pytest.mark.parametrize("proxy", PROGRAMS)
def test_streams_pass_a_proxy_for_longer_than_its_timeout(
    proxy: str, path: str, service: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time-out is 60 times shorter here, and so is the time between two events."""
    for module in (revision_feed, watch_reader):
        monkeypatch.setattr(module, "HEARTBEAT_SECONDS", module.HEARTBEAT_SECONDS / SHOWN_SECONDS)
    shown = read_settings(proxy).replace(f"{SHOWN_SECONDS}s", "1s")

    with proxying(proxy, tmp_path, str(service.base_url), shown) as url:
        require_stream(url + path, service, silent_seconds=3)


@pytest.mark.nightly
@pytest.mark.parametrize("proxy", PROGRAMS)
def test_streams_pass_a_proxy_for_longer_than_a_minute(proxy: str, service: Client, tmp_path: Path) -> None:
    with proxying(proxy, tmp_path, str(service.base_url), read_settings(proxy)) as url:
        require_stream(url, service, silent_seconds=SHOWN_SECONDS + 15)


@pytest.mark.parametrize("proxy", PROGRAMS)
def test_a_stream_without_events_is_cut_by_a_proxy(proxy: str, service: Client, tmp_path: Path) -> None:
    """What the events between are for. The service has one only after 15 seconds."""
    shown = read_settings(proxy).replace(f"{SHOWN_SECONDS}s", "1s")

    with (
        proxying(proxy, tmp_path, str(service.base_url), shown) as url,
        Client(url) as through,
        watching(through) as stream,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        stream.read_all()


def test_nginx_has_to_speak_http_1_1(service: Client, tmp_path: Path) -> None:
    shown = read_settings("nginx").replace("proxy_http_version 1.1;", "proxy_http_version 1.0;")

    with proxying("nginx", tmp_path, str(service.base_url), shown) as url, Client(url) as through:
        refused = through.get("/v2/watch")

    assert (refused.status_code, "HTTP/1.1" in refused.json()["message"]) == (400, True)
