"""Certificates for tests: an authority of their own, and what it issues."""

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

DAYS = 30


@dataclass(frozen=True, slots=True)
class Issued:
    """The files of a certificate and its key, and the serial number."""

    certificate: Path
    key: Path
    serial: int


class Authority:
    """Issues certificates for 127.0.0.1 into a folder, where its own is in `file`."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name_of(name)
        self.file = folder / f"{name}.pem"
        certificate = _builder(self._name, self._name, self._key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        self.file.write_bytes(certificate.sign(self._key, SHA256()).public_bytes(Encoding.PEM))

    def issue(self, name: str, password: str = "", days: int = DAYS, names: Sequence[str] = ()) -> Issued:
        """Replaces earlier files of this name."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name_of(name), self._name, key.public_key(), days)
        hosts = [x509.DNSName(each) for each in names]
        address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1")), *hosts])
        certificate = builder.add_extension(address, critical=False).sign(self._key, SHA256())
        issued = Issued(self._folder / f"{name}.crt", self._folder / f"{name}.key", certificate.serial_number)
        encryption: KeySerializationEncryption = NoEncryption()
        if password:
            encryption = BestAvailableEncryption(password.encode())
        issued.certificate.write_bytes(certificate.public_bytes(Encoding.PEM))
        issued.key.touch(mode=0o600)
        issued.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
        return issued

    def serve(self, issued: Issued) -> ssl.SSLContext:
        """What a server with this certificate uses."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(issued.certificate, issued.key)
        return context

    def trusted(self, client: Issued | None = None) -> ssl.SSLContext:
        """What a client that trusts this authority uses; `client` is its own certificate."""
        context = ssl.create_default_context(cafile=str(self.file))
        context.set_alpn_protocols(["http/1.1"])
        if client is not None:
            context.load_cert_chain(client.certificate, client.key)
        return context


def _name_of(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int = DAYS
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return x509.CertificateBuilder(
        issuer_name=issuer,
        subject_name=subject,
        public_key=key,
        serial_number=x509.random_serial_number(),
        not_valid_before=now - timedelta(days=2),
        not_valid_after=now + timedelta(days=days),
    )
