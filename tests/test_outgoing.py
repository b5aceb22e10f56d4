"""How requests to other servers leave: through which proxy, trusting whom, and what happens if that cannot be."""

import ast
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from opentelemetry.sdk.trace.export import SpanExportResult

from magistrate.api.auth.key_url import KeyUrl
from magistrate.api.http.tls import TlsFiles, load_context
from magistrate.errors import InvalidSetting
from magistrate.outgoing_requests import choose_http_options, choose_session_options
from magistrate.wiring.trace_export import open_exporter
from tests.certificates import Authority
from tests.cli.every_command import ARGUMENTS, Words, write_files
from tests.generated_docs import ROOT
from tests.http_server import SilentHandler, serving
from tests.jwks_server import ec_key, jwk
from tests.processes.service_process import read_failed_start
from tests.processes.starting import start_process
from tests.proxy import proxying
from tests.trace_receiver import receiving_traces

SITE = "https://site.invalid:8443"
PROVIDER = ("--jwt-issuer", "https://login.example/", "--jwt-audience", "magistrate")
DATABASE = ("--database-url", "sqlite:///x.db")
ALL_USERS: dict[str, Words] = {
    "client.py": ("types", "list", "--server", SITE),
    "openfga_server.py": ("import", "--from-openfga-url", f"{SITE}/stores/1", *DATABASE),
    "warrant_server.py": ("import", "--from-warrant", SITE, *DATABASE),
    "key_url.py": ("serve", "--port", "0", "--jwt-keys", f"{SITE}/keys", *PROVIDER),
}
"""Each file with a client of HTTP, or that uses the one that retries, and a command that comes to it."""
OF_WEBHOOKS = "receiver_client.py"
"""Has the client of webhooks, which no command comes to by itself (tests/processes/test_webhooks.py)."""
USERS_AT_START: dict[str, Words] = {
    **ALL_USERS,
    "trace_export.py": ("serve", "--port", "0", "--trace-endpoint", SITE),
}
"""The same with the file that has a session of requests, which sends nothing before the service is used."""


def test_every_client_of_http_takes_its_options_from_one_place() -> None:
    found, retrying, sessions = {}, set(), set()
    for path in (ROOT / "src/magistrate").rglob("*.py"):
        text = path.read_text()
        if re.search(r"^\s*(?:import|from) requests\b", text, re.MULTILINE):
            assert "choose_session_options(" in text
            sessions.add(path.name)
        if re.search(r"import .*\bRetryingClient\b", text):
            retrying.add(path.name)
        assert "urllib.request" not in text
        assert not re.search(r"\bhttp\.client\b(?!_)", text)
        for node in ast.walk(ast.parse(text)) if "httpx." in text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("httpx."):
                called = ast.unparse(node.func).removeprefix("httpx.")
                assert called in ("Client", "AsyncClient", "URL", "Proxy", "Timeout", "create_ssl_context"), (
                    path,
                    called,
                )
                if called.endswith("Client"):
                    found[path.name] = [ast.unparse(one.value) for one in node.keywords if one.arg is None]
    assert found.keys() - {"retrying_client.py", OF_WEBHOOKS} | retrying == ALL_USERS.keys()
    assert all(len(options) == 1 for options in found.values())
    assert sessions == USERS_AT_START.keys() - ALL_USERS.keys()


NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE")


def run(
    folder: Path, command: Words, environment: dict[str, str], until: Callable[[], object] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, or until something is so."""
    dropped = {*NAMES, *map(str.lower, NAMES)}
    inherited = {
        name: text for name, text in os.environ.items() if name not in dropped and not name.startswith("MAGISTRATE_")
    }
    process = start_process(
        [sys.executable, "-m", "magistrate", *command],
        folder=folder,
        environment=inherited | {"PYTHONPATH": str(ROOT), "MAGISTRATE_API_KEYS": "k" * 16} | environment,
        errors=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while until is not None and process.poll() is None and not until() and time.monotonic() < deadline:
        time.sleep(0.05)
    if until is not None:
        process.terminate()
    output, errors = process.communicate(timeout=60)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


UNUSABLE = {
    "HTTPS_PROXY": "ftp://proxy.example:21",
    "https_proxy": "http://user:sesame@proxy.example:99999",
    "ALL_PROXY": "socks5://127.0.0.1:1080",
    "all_proxy": "socks4://127.0.0.1:1080",
    "SSL_CERT_FILE": "/no/such/file.pem",
    "ssl_cert_file": "/dev/null",
}


EACH_NAME = [("client.py", name) for name in UNUSABLE]
SOME_NAMES = [
    (user, [*UNUSABLE][(2 * place + more) % len(UNUSABLE)])
    for place, user in enumerate(("openfga_server.py", "warrant_server.py", "key_url.py", "doctor", "trace_export.py"))
    for more in (0, 1)
]
OTHER_NAMES = [
    pytest.param("trace_export.py", name, marks=pytest.mark.nightly)
    for name in UNUSABLE
    if ("trace_export.py", name) not in SOME_NAMES
]
"""The client of requests takes its options from another function than those of httpx, and imports the service."""


@pytest.mark.parametrize(("user", "name"), [*EACH_NAME, *SOME_NAMES, *OTHER_NAMES])
def test_a_variable_that_cannot_be_used_is_one_line_before_anything_begins(
    tmp_path: Path, user: str, name: str
) -> None:
    is_doctor = user == "doctor"
    command = ("doctor", *ALL_USERS["key_url.py"][1:]) if is_doctor else USERS_AT_START[user]

    ran = run(tmp_path, command, {name: UNUSABLE[name], "HTTP_PROXY": "nonsense://x", "NO_PROXY": "fe80::/10,other"})

    assert "Traceback" not in ran.stderr
    assert "sesame" not in ran.stdout + ran.stderr
    if is_doctor:
        assert f"error: provider: {name}" in ran.stdout
        return
    assert ran.returncode in (1, 2)
    assert ran.stdout == ""
    [line] = ran.stderr.splitlines()
    told = read_failed_start(line) if command[0] == "serve" else line.removeprefix("Error: ")
    assert told.startswith(name)


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "ssl_cert_file"])
def test_doctor_warns_of_a_variable_that_the_service_itself_does_not_need(tmp_path: Path, name: str) -> None:
    ran = run(tmp_path, ("doctor",), {name: UNUSABLE[name]})

    assert f"warning: outgoing: no request to another server can leave: {name}" in ran.stdout
    assert "sesame" not in ran.stdout + ran.stderr


@pytest.mark.parametrize("user", ALL_USERS)
def test_every_user_goes_through_the_proxy(tmp_path: Path, user: str) -> None:
    command = ALL_USERS[user]
    with proxying() as proxy, proxying() as other:
        environment = {"https_proxy": proxy.address, "HTTPS_PROXY": other.address, "NO_PROXY": "fe80::/10, ,[::1]:1,x"}
        ran = run(tmp_path, command, environment, (lambda: proxy.asked) if command[0] == "serve" else None)

    assert "CONNECT site.invalid:8443 HTTP/1.1" in proxy.asked
    assert other.asked == []
    assert "Traceback" not in ran.stderr.replace("\\nTraceback", "")


@pytest.mark.anyio
async def test_keys_are_fetched_through_the_proxy_from_a_server_of_the_named_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Keys(SilentHandler):
        def do_GET(self) -> None:
            body = json.dumps({"keys": [jwk(ec_key(), kid="a")]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    authority = Authority(tmp_path)
    issued = authority.issue("service")
    for name in (*NAMES, *map(str.lower, NAMES)):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    with (
        serving(Keys, load_context(TlsFiles(str(issued.certificate), str(issued.key), ""))) as url,
        proxying(int(url.rpartition(":")[2])) as proxy,
    ):
        for environment, goes_through in (({"ALL_PROXY": f"http://{proxy.address}"}, True), ({"NO_PROXY": "*"}, False)):
            proxy.asked.clear()
            for name, text in environment.items():
                monkeypatch.setenv(name, text)
            origin = KeyUrl(url)
            content = await origin.content()
            await origin.close()
            assert json.loads(content)["keys"][0]["kid"] == "a"
            assert bool(proxy.asked) == goes_through


def test_spans_are_exported_through_the_proxy_to_a_receiver_of_the_named_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    issued = authority.issue("service")
    for name in (*NAMES, *map(str.lower, NAMES)):
        monkeypatch.delenv(name, raising=False)
    tls = load_context(TlsFiles(str(issued.certificate), str(issued.key), ""))
    with receiving_traces(tls) as receiver, proxying(int(receiver.url.rpartition(":")[2])) as proxy:
        monkeypatch.setenv("NO_PROXY", "other.example")
        for trust, status in (("", SpanExportResult.FAILURE), (str(authority.file), SpanExportResult.SUCCESS)):
            monkeypatch.setenv("SSL_CERT_FILE", trust)
            for variable in ({"ALL_PROXY": f"http://{proxy.address}"}, {"ALL_PROXY": ""}):
                proxy.asked.clear()
                monkeypatch.setenv(*next(iter(variable.items())))
                exporter = open_exporter(f"{receiver.url}/v1/traces")
                exported = exporter.export([])
                exporter.shutdown()  # type: ignore[no-untyped-call]  # it says nothing of its types
                assert exported is status
                assert bool(proxy.asked) == bool(variable["ALL_PROXY"])

    assert len(receiver.requests) == 2


def test_a_receiver_that_redirects_has_received_nothing() -> None:
    with receiving_traces() as receiver:
        receiver.answer = lambda: 302

        exporter = open_exporter(f"{receiver.url}/v1/traces")
        assert exporter.export([]) is SpanExportResult.FAILURE
        exporter.shutdown()  # type: ignore[no-untyped-call]  # as above


@pytest.mark.parametrize(
    ("url", "environment", "proxy"),
    [
        ("https://a.example", {}, None),
        ("https://a.example", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://a.example", {"HTTPS_PROXY": "p:1"}, "http://p:1"),
        ("https://a.example", {"HTTPS_PROXY": "http://p:1", "https_proxy": ""}, None),
        ("https://a.example", {"HTTPS_PROXY": "http://p:1", "https_proxy": "http://q:1"}, "http://q:1"),
        ("https://a.example", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://a.example", {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
        ("http://a.example", {"all_proxy": "http://p:1", "ALL_PROXY": "http://q:1"}, "http://p:1"),
        ("http://127.0.0.1:8000", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://localhost:8000", {"ALL_PROXY": "http://p:1"}, None),
        ("http://[::1]:8000", {"ALL_PROXY": "ftp://p:1"}, None),
        *[
            ("https://a.b.example:8443", {"HTTPS_PROXY": "http://p:1", "no_proxy": entry, "NO_PROXY": other}, proxy)
            for entry, other, proxy in [
                ("*", "", None),
                ("b.example", "", None),
                (".example", "", None),
                ("*.b.example", "", None),
                ("x, A.B.Example ", "", None),
                ("b.example:8443", "", None),
                ("b.example:443", "", "http://p:1"),
                ("ab.example", "", "http://p:1"),
                ("fe80::/10,10.0.0.0/8,[::1],,:,/,.,%,::", "", "http://p:1"),
                ("other", "b.example", "http://p:1"),
            ]
        ],
        ("https://10.1.2.3", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, None),
        ("https://11.1.2.3", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, "http://p:1"),
        ("https://[fe80::1]", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "fe80::/10"}, None),
        ("https://[2001:db8::1]:9", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "[2001:DB8:0::1]:9"}, None),
        ("https://[2001:db8::1]:9", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "2001:db8::1"}, None),
    ],
)
def test_the_variables_choose_the_proxy(url: str, environment: dict[str, str], proxy: str | None) -> None:
    options = choose_http_options(url, environment=environment)

    assert choose_session_options(url, environment).proxy == (proxy or "")
    assert (options["proxy"] and str(options["proxy"].url)) == proxy
    assert options["trust_env"] is False


@pytest.mark.parametrize("text", ["http://", "http://p:0", "http://p:x", "http://[p", "gopher://p", "socks5h://p:1"])
def test_other_texts_are_no_proxies(text: str) -> None:
    with pytest.raises(InvalidSetting, match=r"^ALL_PROXY"):
        choose_http_options("https://a.example", environment={"ALL_PROXY": text})


@pytest.mark.parametrize("command", [("check",), ("types", "list"), ("model", "show")], ids=" ".join)
def test_a_service_on_this_machine_needs_no_proxy(tmp_path: Path, command: Words) -> None:
    write_files(tmp_path)
    with proxying() as proxy:
        environment = {name: f"http://{proxy.address}" for name in ("HTTP_PROXY", "ALL_PROXY")}
        ran = run(tmp_path, (*command, *ARGUMENTS[command], "--server", "http://127.0.0.1:1"), environment)

    assert "no service at http://127.0.0.1:1" in ran.stderr
    assert proxy.asked == []
