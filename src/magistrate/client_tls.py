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

Trust = ssl.SSLContext | bool
"""Is what a client of httpx is given to verify servers with; False stands for nothing to verify."""


def demand_service_url(url: str) -> None:
    """Raises InvalidSetting if the URL cannot be that of a service."""
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and parts.port != 0  # reading a port above 65535 raises ValueError
        is_url = parts.scheme in ("http", "https") and has_host and not set(url) & set("?#@")
        httpx.URL(url)
    except (ValueError, httpx.InvalidURL):
        is_url = False
    if not is_url:
        raise InvalidSetting(f"{url!r} is not the URL of a service; write it as in http://127.0.0.1:8000")


def load_trust(files: ClientTlsFiles = NO_FILES, variable: str = "", authorities: str = "") -> ssl.SSLContext:
    """Returns what a client trusts and presents with TLS: the authorities of the files, otherwise those of another
    file, which a variable names, otherwise those of the system. Raises InvalidSetting if a file cannot be used.

    It takes 20 ms, and is not needed without TLS."""
    origin = "ca_cert" if files.authorities else variable
    path = files.authorities or authorities
    try:
        context = ssl.create_default_context(cafile=path) if path else _trust_system()
    except OSError as error:
        reason = _describe_error(error)
        raise InvalidSetting(f"{origin}: {path} must hold certificates in PEM format: {reason}") from error
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


def _trust_system() -> ssl.SSLContext:
    """Returns what trusts the authorities of the system, or those that come with httpx if it has none."""
    paths = ssl.get_default_verify_paths()
    if paths.cafile or paths.capath:
        return ssl.create_default_context()
    return httpx.create_ssl_context(trust_env=False)


def _describe_error(error: Exception) -> str:
    """Returns OpenSSL's name of an error, or what the system says about a file."""
    return getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
