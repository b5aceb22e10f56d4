"""The recipes of docs/gateways.md in the real nginx and HAProxy: requests reach an application only if they may."""

import base64
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.api.gateways import RULES, serving
from tests.debian_packages import HAPROXY, Program
from tests.generated_docs import ROOT
from tests.processes.served_processes import free_port
from tests.processes.starting import start_process
from tests.waiting import wait_until

PROGRAMS = {"nginx": Program("nginx", ("nginx",)), "haproxy": HAPROXY}
NGINX = """daemon off; master_process off; pid {folder}/pid; error_log stderr;
events {{}}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    upstream magistrate {{ server {service}; }}
    upstream application {{ server {application}; }}
    server {{
        listen 127.0.0.1:{port};
        {shown}
    }}
}}
"""
HAPROXY_SETTINGS = """global
    lua-load {folder}/magistrate.lua
defaults
    mode http
    timeout connect 5s
    timeout client 10s
    timeout server 10s
userlist readers
    user ann insecure-password secret
    user bob insecure-password secret
{shown}
backend application
    server one {application}
"""
"""What is around the settings that the document shows."""
WITHIN_SECONDS = 30.0


class Application(BaseHTTPRequestHandler):
    """Answers with the subject and the path that it gets."""

    def do_GET(self) -> None:
        content = f"{self.headers.get('X-Magistrate-Subject')} {self.path}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name that the base class has
        pass


@contextmanager
def running_application() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Application) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def read_recipe(language: str) -> str:
    [recipe] = re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "docs/gateways.md").read_text(), re.M | re.S)
    return str(recipe)


def write_settings(proxy: str, folder: Path, places: Mapping[str, str], key: str) -> list[str]:
    """Writes the settings, and returns the arguments with them."""
    shown = read_recipe(proxy).replace("KEY", key).replace("FRONT", f"127.0.0.1:{places['port']}")
    settings = folder / f"{proxy}.conf"
    around = NGINX if proxy == "nginx" else HAPROXY_SETTINGS
    settings.write_text(around.format(folder=folder, shown=shown, **places))
    if proxy == "nginx":
        (folder / "users").write_text("ann:{PLAIN}secret\nbob:{PLAIN}secret\n")
        return ["-c", str(settings), "-p", str(folder)]
    action = read_recipe("lua").replace("KEY", key).replace("MAGISTRATE", places["service"])
    (folder / "magistrate.lua").write_text(action)
    return ["-f", str(settings), "-db"]


class Front:
    """What clients reach, by paths that are sent as they are written."""

    def __init__(self, port: int) -> None:
        self._port = port

    def get(self, path: str, user: str | None = "ann", **headers: str) -> tuple[int, str]:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=10)
        try:
            connection.putrequest("GET", path, skip_host=True)
            connection.putheader("Host", "docs.example")
            if user is not None:
                connection.putheader("Authorization", "Basic " + base64.b64encode(f"{user}:secret".encode()).decode())
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()


@pytest.fixture(params=PROGRAMS)
def front(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Front]:
    proxy: str = request.param
    program = PROGRAMS[proxy].find()
    if program is None:
        pytest.skip(f"{proxy} is not installed, and its packages of Debian cannot be downloaded")
    with running_application() as application, serving(tmp_path, RULES) as (_, gateway):
        port = free_port()
        places = {"application": application, "service": urlsplit(gateway.url).netloc, "port": str(port)}
        flags = write_settings(proxy, tmp_path, places, gateway.key)
        process = start_process(
            [program, *flags], folder=tmp_path, environment=PROGRAMS[proxy].environment, errors=subprocess.STDOUT
        )

        def is_ready() -> bool:
            assert process.poll() is None, process.communicate()[0]
            with suppress(OSError):
                return Front(port).get("/public/x")[0] == 200
            return False

        try:
            wait_until(is_ready, WITHIN_SECONDS)
            yield Front(port)
        finally:
            process.kill()
            process.communicate()


def test_requests_reach_the_application_only_if_they_may(front: Front) -> None:
    spoofed = {"X_Auth_User": "ann", "X_Magistrate_Subject": "user:ann", "X_Original_URI": "/public/x"}

    assert front.get("/documents/plan?x=1") == (200, "user:ann /documents/plan?x=1")
    assert front.get("/documents/pl%61n", **spoofed) == (200, "user:ann /documents/pl%61n")
    assert front.get("/documents/plan", "bob")[0] == 403
    assert front.get("/documents/plan", "bob", **spoofed)[0] == 403
    assert front.get("/documents/plan", None, **spoofed)[0] == 401
    assert front.get("/nothing", **spoofed)[0] == 403
    assert front.get("/public/x", "bob", X_Magistrate_Subject="user:ann") == (200, "user:bob /public/x")


@pytest.mark.parametrize(
    "path",
    [
        "//documents/plan", "/public/../documents/plan", "/public/%2e%2e/documents/plan", "/public/..%2fdocuments/plan",
        "/documents/plan;x", "/DOCUMENTS/plan", "/documents/%2570lan", "/documents/plan%00", "/public/x%5c..%5cy",
        "http://docs.example/documents/%2e%2e/x", "/authz/../documents/plan", "/public/" + "x/" * 3_000 + "..",
    ],
)  # fmt: skip
def test_tricks_with_paths_never_reach_the_application(path: str, front: Front) -> None:
    assert front.get(path)[0] in (400, 403, 404, 414)
    assert front.get(path, "bob")[0] in (400, 403, 404, 414)
