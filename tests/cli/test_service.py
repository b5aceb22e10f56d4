"""What all commands that call a service share: which one, with which key, and what they report when it fails."""

import re
import ssl
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from magistrate.api.http.tls import TlsFiles, load_context
from magistrate.cli.commands import main
from magistrate.client import Client
from magistrate.config.settings import STORE_SETTINGS
from magistrate.config.settings_table import CLIENT_SETTINGS, SETTINGS, Setting
from magistrate.errors import RequestRefused
from tests.certificates import Authority
from tests.cli.cases import Magistrate
from tests.cli.runner import CommandRunner
from tests.http_server import SilentHandler, serving
from tests.running import KEY, running_service, settings_for

COMMANDS = [
    ["check", "page:home#reader@user:ann"],
    ["warrants", "create", "page:home#reader@user:ann"],
    ["warrants", "delete", "page:home#reader@user:ann"],
    ["warrants", "list"],
    ["types", "list"],
    ["types", "show", "user"],
    ["types", "delete", "user"],
    ["types", "apply", "-"],
    ["objects", "create", "page:home"],
    ["objects", "get", "page:home"],
    ["objects", "update", "page:home", "--meta", "{}"],
    ["objects", "delete", "page:home"],
    ["objects", "list"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_where_nobody_answers_every_command_says_so_and_what_to_do(command: list[str]) -> None:
    told = Magistrate("http://127.0.0.1:1").failed(*command, typed="{}")

    assert told.startswith("no service at http://127.0.0.1:1: ")
    assert told.endswith("start one with `magistrate serve`, or name another with --server URL or MAGISTRATE_SERVER")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_without_a_good_key_every_command_says_so_and_what_to_do(magistrate: Magistrate, command: list[str]) -> None:
    missing = magistrate.failed(*command, typed="{}", MAGISTRATE_API_KEY=None)
    wrong = magistrate.failed(*command, "--api-key", "wrong", typed="{}")

    assert "requires an API key; give one that it knows with --api-key KEY or MAGISTRATE_API_KEY" in missing
    assert "does not know this API key; give one" in wrong
    assert "Traceback" not in missing + wrong


def test_of_several_keys_the_first_is_used(magistrate: Magistrate) -> None:
    assert magistrate("types", "list", MAGISTRATE_API_KEY=f"{KEY},other").exit_code == 0
    assert magistrate("types", "list", MAGISTRATE_API_KEY=f"other,{KEY}").exit_code == 2


def test_options_win_over_the_environment(magistrate: Magistrate) -> None:
    good = {"server": magistrate.url, "key": KEY}

    ran = magistrate(
        *["types", "list", "--server", good["server"], "--api-key", good["key"]],
        MAGISTRATE_SERVER="http://127.0.0.1:1",
        MAGISTRATE_API_KEY="wrong",
    )

    assert ran.exit_code == 0


@pytest.mark.parametrize(
    ("environment", "fault"),
    [
        ({"MAGISTRATE_SERVER": ""}, "MAGISTRATE_SERVER is empty"),
        ({"MAGISTRATE_API_KEY": ""}, "MAGISTRATE_API_KEY is empty"),
        ({"MAGISTRATE_API_KEY": "a b"}, "an API key must be one word of printable ASCII characters"),
        ({"MAGISTRATE_SEVER": "http://x"}, "MAGISTRATE_SEVER is not a setting"),
        ({"MAGISTRATE_SERVER": "localhost:8000"}, "'localhost:8000' is not the URL of a service"),
    ],
)
def test_settings_that_cannot_stand_are_reported(
    magistrate: Magistrate, environment: dict[str, str], fault: str
) -> None:
    assert fault in magistrate.failed("types", "list", **environment)


def test_variables_of_the_service_do_not_disturb(magistrate: Magistrate) -> None:
    assert magistrate("types", "list", MAGISTRATE_PORT="9", MAGISTRATE_DATABASE_URL="sqlite:///x.db").exit_code == 0


@pytest.mark.parametrize("name", ["CA_CERT", "CLIENT_CERT", "CLIENT_KEY", "DATABASE_URL", "PORT", "WARRANT_API_KEY"])
def test_an_empty_variable_that_a_command_does_not_need_does_not_stop_it(magistrate: Magistrate, name: str) -> None:
    assert magistrate("types", "list", **{f"MAGISTRATE_{name}": ""}).exit_code == 0


@pytest.mark.parametrize(
    "setting", [one for one in SETTINGS if one.name not in STORE_SETTINGS], ids=lambda one: one.name
)
@pytest.mark.parametrize("command", [["import", "lines.jsonl"], ["sessions", "revoke"], ["keys", "reset"]])
def test_an_empty_variable_that_only_the_service_needs_stops_no_command_of_the_store(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], setting: Setting
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines.jsonl").write_text('{"type": "note", "relations": {}}\n')
    magistrate = Magistrate("http://127.0.0.1:9")
    magistrate.done("import", "lines.jsonl", "--database-url", sqlite_url)

    ran = magistrate(*command, "--database-url", sqlite_url, **{setting.variable: ""})

    assert ran.exit_code == 0, ran.output


@pytest.mark.parametrize("name", sorted(STORE_SETTINGS - {"database_url"}))
def test_an_empty_variable_that_the_store_needs_is_reported(sqlite_url: str, name: str) -> None:
    variable = f"MAGISTRATE_{name.upper()}"

    refused = Magistrate("http://127.0.0.1:9")("sessions", "revoke", "--database-url", sqlite_url, **{variable: ""})

    assert (refused.exit_code, refused.stderr) == (2, f"Error: {variable} is empty\n")


def test_a_store_that_is_away_is_reported_with_what_to_do(tmp_path: Path) -> None:
    with running_service(settings_for(f"sqlite:///{tmp_path}/magistrate.db")) as url:
        (tmp_path / "magistrate.db").rename(tmp_path / "moved.db")

        told = Magistrate(url).failed("objects", "create", "page:home")

        (tmp_path / "moved.db").rename(tmp_path / "magistrate.db")
    assert re.match(rf"{url} answered 503 to request [0-9a-f-]{{36}}: .*; try again in a moment$", told)


def test_a_fault_of_the_service_is_reported_with_where_to_look(
    magistrate: Magistrate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise RequestRefused(500, "internal_error", "Internal Server Error", None, "some-id")

    monkeypatch.setattr(Client, "check", refused)

    told = magistrate.failed("check", "page:home#reader@user:ann")

    assert told == (
        f"{magistrate.url} answered 500 to request some-id: Internal Server Error; see the log of the service"
    )


class EmptyList(SilentHandler):
    """Answers every list with no results."""

    def do_GET(self) -> None:
        body = b'{"results": []}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def write_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that is signed with its own key, and that key."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(days=1), now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(certificate.public_bytes(Encoding.PEM))
    files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return files


def test_a_service_whose_certificate_is_not_trusted_is_told_from_none(tmp_path: Path) -> None:
    certificate, key = write_certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    with serving(EmptyList, tls) as url:
        distrusted = Magistrate(url).failed("types", "list")
        by_variable = Magistrate(url)("types", "list", SSL_CERT_FILE=str(certificate))
        by_option = Magistrate(url)("types", "list", "--ca-cert", str(certificate))

    assert distrusted.startswith(f"{url} has a certificate that this machine does not trust (")
    assert distrusted.endswith("; name the file of its certificate authority with --ca-cert FILE or MAGISTRATE_CA_CERT")
    for trusted in (by_variable, by_option):
        assert (trusted.exit_code, trusted.stderr) == (0, "There are none\n")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_command_presents_its_certificate_to_a_service_that_wants_one(
    tmp_path: Path, version: ssl.TLSVersion
) -> None:
    authority = Authority(tmp_path)
    service, client = authority.issue("service"), authority.issue("client")
    tls = load_context(TlsFiles(str(service.certificate), str(service.key), str(authority.file)))
    tls.maximum_version = version
    trusting = ("types", "list", "--ca-cert", str(authority.file))
    with serving(EmptyList, tls) as url:
        refused = Magistrate(url).failed(*trusting)
        answered = Magistrate(url)(*trusting, "--client-cert", str(client.certificate), "--client-key", str(client.key))

    assert refused.startswith(f"{url} wants a certificate of this client (")
    assert (answered.exit_code, answered.stderr) == (0, "There are none\n")


def test_certificates_that_cannot_be_presented_are_reported(tmp_path: Path) -> None:
    one, other = Authority(tmp_path).issue("one"), Authority(tmp_path, "stranger").issue("other")
    (tmp_path / "empty").touch()
    magistrate = Magistrate("https://127.0.0.1:1")

    half = magistrate.failed("types", "list", "--client-cert", str(one.certificate))
    unequal = magistrate.failed("types", "list", "--client-cert", str(one.certificate), "--client-key", str(other.key))
    absent = magistrate.failed("types", "list", "--ca-cert", f"{tmp_path}/none")
    empty = magistrate.failed("types", "list", "--ca-cert", f"{tmp_path}/empty")

    assert half == "client_cert and client_key must be given together"
    assert unequal.endswith("a certificate and its key, without a password, in PEM format: KEY_VALUES_MISMATCH")
    assert absent == f"ca_cert: {tmp_path}/none must hold certificates in PEM format: No such file or directory"
    assert empty.startswith(f"ca_cert: {tmp_path}/empty must hold certificates in PEM format: ")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_helps_with_the_same_options(magistrate: Magistrate, command: list[str]) -> None:
    words = [word for word in command if word.isalpha()]

    helped = " ".join(magistrate.done(*words, "--help").split())

    for setting in CLIENT_SETTINGS:
        assert f"{setting.flag} " in helped
        assert f"[env: {setting.variable}" in helped
        assert setting.meaning in helped
    assert "--json" in helped


def test_a_client_command_does_not_import_the_server() -> None:
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "magistrate", "types", "list", "--server", "http://127.0.0.1:1"],
        capture_output=True,
        text=True,
    )

    imported = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines() if line.startswith("import time:")}
    assert "magistrate.client" in imported
    assert not imported & {"magistrate.wiring", "falcon", "uvicorn", "msgspec", "apsw", "psycopg", "lark", "structlog"}


@pytest.mark.parametrize(("arguments", "code"), [(["--nope"], 2), (["extra"], 2), (["--port", "x"], 1)])
def test_serve_ends_with_2_if_it_is_called_wrongly_and_with_1_if_it_cannot_start(
    arguments: list[str], code: int
) -> None:
    assert CommandRunner().invoke(main, ["serve", *arguments], env={}).exit_code == code
