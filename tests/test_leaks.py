"""A test that makes a service write a secret fails, wherever it is written."""

import re
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from magistrate.cli.commands import main
from tests.certificates import Authority
from tests.cli.runner import CommandRunner
from tests.generated_docs import ROOT
from tests.http_server import SilentHandler, serving
from tests.leaks import KEY, find_leaks, keep_secret
from tests.processes.forked_service import ForkedService
from tests.processes.service_process import ServiceProcess
from tests.running import Client
from tests.waiting import wait_until

LEAKING = f"""
import os
def test_that_leaks(): os.write(2, b"the key is {KEY}")
def test_that_does_not(): os.write(2, b"the key is hidden")
"""


def test_secrets_are_recognized_by_what_they_are_and_how_they_look() -> None:
    generated, token = "magistrate_" + "Vd3x_-" * 7 + "Z", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.signature-of-it"
    keep_secret(["a password that is long", "short"])

    for secret in (generated, token, KEY, "a password that is long"):
        assert find_leaks(f"before {secret} after") == [secret]
    assert find_leaks("magistrate_requests_total, magistrate_... and short are none") == []


def test_a_secret_in_the_log_of_this_process_fails_the_test(tmp_path: Path) -> None:
    (tmp_path / "test_leaking.py").write_text(LEAKING)
    options = ["-q", "-p", "tests.leaks", "-p", "no:cacheprovider", f"--rootdir={tmp_path}"]
    command = [sys.executable, "-m", "pytest", *options, str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert "1 failed, 1 passed" in ran.stdout
    assert f"the log has ['{KEY}']" in ran.stdout


def test_a_secret_in_the_log_of_a_service_fails_the_test(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import os; os.write(2, b'{KEY}')")

    with pytest.raises(AssertionError, match="the log has"), ServiceProcess(tmp_path, api_key=KEY):
        pass


def log_path_of_request(folder: Path, path: str) -> None:
    with ForkedService(folder, api_key=KEY, access_log="all") as service, service.client() as client:
        client.get(path)
        wait_until(lambda: path in (folder / "errors").read_text())


def test_a_secret_in_the_log_of_a_forked_service_fails_the_test(tmp_path: Path) -> None:
    keep_secret(["password-that-no-service-knows"])

    with pytest.raises(AssertionError, match="the log has"):
        log_path_of_request(tmp_path, "/v2/objects/document/password-that-no-service-knows")


def test_a_secret_that_a_command_writes_to_stderr_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="stderr has"):
        CommandRunner().invoke(main, ["check", KEY], env={})


def test_every_command_is_run_in_the_way_that_looks_for_secrets() -> None:
    other = re.compile(r"^from click\.testing import .*\bCliRunner", re.MULTILINE)

    assert [path.name for path in (ROOT / "tests").rglob("*.py") if other.search(path.read_text())] == ["runner.py"]


@pytest.fixture(params=["http", "https"])
def tls(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[ssl.SSLContext | None, ssl.SSLContext | None]:
    """What a server and its clients use."""
    if request.param == "http":
        return None, None
    authority = Authority(tmp_path)
    issued = authority.issue("server")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(issued.certificate, issued.key)
    return server, authority.trusted()


@pytest.mark.parametrize(("path", "status"), [("/v2/objects", 400), ("/metrics", 200)])
def test_a_secret_in_an_error_or_a_metric_fails_the_test(
    tls: tuple[ssl.SSLContext | None, ssl.SSLContext | None], path: str, status: int
) -> None:
    class Handler(SilentHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(KEY)))
            self.end_headers()
            self.wfile.write(KEY.encode())

    server, trust = tls
    with (
        serving(Handler, server) as url,
        Client(url, trust=trust) as client,
        pytest.raises(AssertionError, match=f"GET {path} has"),
    ):
        client.get(path)
