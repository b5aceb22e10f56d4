"""Decides which services a client trusts, and which certificate it presents to them."""

import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx

from magistrate.errors import InvalidSetting


@dataclass(frozen=True, slots=True)
class ClientTlsFiles:
    """Names PEM files: the authorities to trust instead of those of the system, and the certificate to present
    (followed by those of its issuers) with its key. They are empty if there are none."""

    authorities: str = ""
    certificate: str = ""
    key: str = ""


NO_FILES = ClientTlsFiles()


def trust_for(url: str, files: ClientTlsFiles = NO_FILES) -> ssl.SSLContext | bool:
    """Returns what a client of this URL trusts and presents with TLS. Without TLS, nothing is loaded, because that
    would take 20 ms.

    Raises InvalidSetting if the URL cannot be that of a service, or a file cannot be used."""
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and parts.port != 0  # reading a port above 65535 raises ValueError
        is_url = parts.scheme in ("http", "https") and has_host and not set(url) & set("?#@")
        httpx.URL(url)
    except (ValueError, httpx.InvalidURL):
        is_url = False
    if not is_url:
        raise InvalidSetting(f"{url!r} is not the URL of a service; write it as in http://127.0.0.1:8000")
    return _load_context(files) if parts.scheme == "https" else False


def _load_context(files: ClientTlsFiles) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=files.authorities or None)
    except OSError as error:
        reason = _describe_error(error)
        raise InvalidSetting(f"ca_cert: {files.authorities} must hold certificates in PEM format: {reason}") from error
    if files.certificate:
        try:
            # Without a password, OpenSSL would ask for one in the terminal.
            context.load_cert_chain(files.certificate, files.key, password=bytes)
        except (OSError, ValueError) as error:
            raise InvalidSetting(
                f"client_cert and client_key: {files.certificate} and {files.key} must hold a certificate and its key, "
                f"without a password, in PEM format: {_describe_error(error)}"
            ) from error
    return context


def _describe_error(error: Exception) -> str:
    """Returns OpenSSL's name of an error, or what the system says about a file."""
    return getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
