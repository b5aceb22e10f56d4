"""A service with a certificate: HTTPS with the fast path and without it, in one process and in several."""

import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from cryptography import x509

from magistrate.api.http.tls import TlsFiles, load_context
from magistrate.errors import InvalidSetting
from tests.api.raw_requests import ALLOWED, DRIVEN, request
from tests.api.sockets import read_answer, read_to_the_end
from tests.certificates import Authority, Issued
from tests.cli.cases import Magistrate
from tests.processes.service_process import ServiceProcess
from tests.running import KEY
from tests.waiting import wait_until


@contextmanager
def serving(
    folder: Path, authority: Authority, issued: Issued, client: Issued | None = None, **settings: str
) -> Iterator[ServiceProcess]:
    files = {"tls_cert": str(issued.certificate), "tls_key": str(issued.key), "api_key": KEY}
    service = ServiceProcess(folder, **files, **settings)
    service.trust = authority.trusted(client)
    with service:
        yield service


@contextmanager
def connected(service: ServiceProcess) -> Iterator[ssl.SSLSocket]:
    """A new connection."""
    assert isinstance(service.trust, ssl.SSLContext)
    url = urlsplit(service.url)
    with (
        socket.create_connection((str(url.hostname), url.port or 0), timeout=20) as plain,
        service.trust.wrap_socket(plain, server_hostname=url.hostname) as connection,
    ):
        yield connection


def serial_of(connection: ssl.SSLSocket) -> int:
    certificate = connection.getpeercert(binary_form=True)
    assert certificate is not None
    return x509.load_der_x509_certificate(certificate).serial_number


def serial_now(service: ServiceProcess) -> int:
    with connected(service) as connection:
        return serial_of(connection)


def is_healthy(connection: socket.socket) -> bool:
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    return read_answer(connection).startswith(b"HTTP/1.1 200 ")


def errors_of(service: ServiceProcess) -> list[dict[str, Any]]:
    assert service.stop() == 0
    return [json.loads(line) for line in service.errors().splitlines()]


@pytest.mark.parametrize("workers", [pytest.param("1", marks=pytest.mark.nightly), "2"])
def test_requests_are_answered_over_tls(tmp_path: Path, workers: str) -> None:
    authority = Authority(tmp_path)

    with serving(tmp_path, authority, authority.issue("service"), workers=workers) as service:
        with service.client() as client:
            client.define(DRIVEN)
            client.grant("folder:a#viewer@user:ann")
            checks = [client.post("/v2/check", content=ALLOWED).json()["result"] for _ in range(4)]
        with connected(service) as connection:
            protocol, version = connection.selected_alpn_protocol(), connection.version()
            connection.sendall(b"".join(request(ALLOWED, "Connection: close")))
            answers = read_to_the_end(connection)

        assert errors_of(service) == []
    assert service.url.startswith("https://127.0.0.1:")
    assert checks == ["Authorized"] * 4
    assert (protocol, version) == ("http/1.1", "TLSv1.3")
    assert answers.startswith(b"HTTP/1.1 200 OK")


def test_what_does_not_speak_tls_is_hung_up_on(tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    with serving(tmp_path, authority, authority.issue("service"), head_timeout_ms="300") as service:
        url = urlsplit(service.url)
        with socket.create_connection((str(url.hostname), url.port or 0), timeout=20) as plain:
            plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"HTTP/1.1" not in read_to_the_end(plain)
        with socket.create_connection((str(url.hostname), url.port or 0), timeout=20) as silent:
            assert read_to_the_end(silent) == b""
        with connected(service) as connection:
            assert is_healthy(connection)

        assert errors_of(service) == []


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.nightly)])
def test_a_replaced_certificate_is_used_for_new_connections(tmp_path: Path, workers: str) -> None:
    authority = Authority(tmp_path)
    first = authority.issue("service")

    with serving(tmp_path, authority, first, workers=workers) as service, connected(service) as connection:
        assert (serial_of(connection), is_healthy(connection)) == (first.serial, True)

        second = authority.issue("service")

        wait_until(lambda: {serial_now(service) for _ in range(4)} == {second.serial})
        assert is_healthy(connection)
        lines = errors_of(service)
    if workers == "1":  # the second worker may have started with the second certificate, and has all new connections
        assert "the TLS certificate was read again" in [line["event"] for line in lines]


def test_a_certificate_that_cannot_be_used_changes_nothing(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    issued = authority.issue("service")
    certificate = issued.certificate.read_bytes()

    with serving(tmp_path, authority, issued) as service:
        other = authority.issue("service")
        good_key = other.key.read_bytes()
        issued.key.write_text("no key")
        issued.certificate.write_bytes(certificate)
        wait_until(lambda: serial_now(service) == issued.serial)
        issued.key.write_bytes(good_key)
        issued.certificate.write_bytes(certificate)
        assert serial_now(service) in (issued.serial, other.serial)
        last = authority.issue("service")
        wait_until(lambda: serial_now(service) == last.serial)

        assert service.stop() == 0


def test_clients_need_a_certificate_of_the_authority(tmp_path: Path) -> None:
    authority, stranger = Authority(tmp_path), Authority(tmp_path, "stranger")
    ours, theirs = authority.issue("client"), stranger.issue("other")

    with serving(tmp_path, authority, authority.issue("service"), ours, tls_client_ca=str(authority.file)) as service:
        with service.client() as client:
            assert client.get("/v2/objects").status_code == 200
        files = ("--ca-cert", str(authority.file), "--client-cert", str(ours.certificate), "--client-key")
        assert Magistrate(service.url).json("objects", "list", *files, str(ours.key)) == {"results": []}
        for context in (authority.trusted(), authority.trusted(theirs)):
            with (
                httpx.Client(base_url=service.url, trust_env=False, verify=context) as client,
                pytest.raises(httpx.TransportError),
            ):
                client.get("/healthz")


def test_a_refused_request_is_answered_over_tls(tmp_path: Path) -> None:
    """A connection that is encrypted cannot be closed on one side only."""
    authority = Authority(tmp_path)

    with serving(tmp_path, authority, authority.issue("service"), max_body_bytes="1024") as service:
        with service.client() as client:
            large = client.post("/v2/objects", content=b"x" * 1_000_000)
        with connected(service) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 100_000)
            refused = read_answer(connection)

        assert (large.status_code, refused[:13]) == (413, b"HTTP/1.1 431 ")
        assert service.stop() == 0


def test_a_service_that_stops_ends_encrypted_connections(tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    with serving(tmp_path, authority, authority.issue("service")) as service, connected(service) as connection:
        assert is_healthy(connection)
        assert service.stop() == 0
        assert read_to_the_end(connection) == b""


def test_clients_are_told_the_public_url(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, public_url="https://authz.example.com/base/") as service:
        with httpx.Client(base_url=service.url, trust_env=False) as client:
            document = client.get("/openapi.json").json()
        service.stop()
        assert service.process.stdout is not None
        printed = service.process.stdout.read()

    assert document["servers"] == [{"url": "https://authz.example.com/base"}]
    assert "curl -s 'https://authz.example.com/base/v2/object-types" in printed


def test_files_that_cannot_be_used_are_reported(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    good, other, locked = (
        authority.issue("good"),
        authority.issue("other"),
        authority.issue("locked", password="secret"),
    )
    (tmp_path / "empty").touch()
    cases = {
        "tls_cert: .*none cannot be read: No such file": TlsFiles(f"{tmp_path}/none", str(good.key)),
        "tls_key: .*none cannot be read: No such file": TlsFiles(str(good.certificate), f"{tmp_path}/none"),
        "must hold a certificate and its key.*KEY_VALUES_MISMATCH": TlsFiles(str(good.certificate), str(other.key)),
        "must hold a certificate and its key, without a password": TlsFiles(str(locked.certificate), str(locked.key)),
        "tls_client_ca: .*empty must hold certificates": TlsFiles(
            str(good.certificate), str(good.key), f"{tmp_path}/empty"
        ),
    }

    for message, files in cases.items():
        with pytest.raises(InvalidSetting, match=message):
            load_context(files)
