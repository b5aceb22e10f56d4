"""Has what both kinds of connections share: the answers they read, and the trust of TLS."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from magistrate_client.answers import Answer
from magistrate_client.http_messages import AnswerReader
from magistrate_client.settings import Settings

if TYPE_CHECKING:
    import ssl

MAX_CONNECTIONS = 100
"""Limits the requests of a client that run at the same time; others wait for one to end, within their time."""
MAX_IDLE = 32
IDLE_SECONDS = 30.0
"""Limits how long a connection is kept that is not used: services and proxies close theirs after a while."""
READ_BYTES = 65_536


class Address:
    """Says where the service is, and which lines all requests have."""

    def __init__(self, settings: Settings) -> None:
        parts = urlsplit(settings.url)
        self.is_secure = parts.scheme == "https"
        self.host = parts.hostname or ""
        self.port = parts.port or (443 if self.is_secure else 80)
        self.path = parts.path
        self.fixed_headers = "".join(f"{name}: {value}\r\n" for name, value in settings.fixed_headers.items())


def build_answer(reader: AnswerReader) -> Answer:
    """Returns the answer that was read. Raises BrokenAnswer if its body is damaged."""
    return Answer(
        reader.status,
        reader.take_body(),
        (reader.header(b"content-type") or "").partition(";")[0],
        reader.header(b"service-token"),
        reader.header(b"retry-after"),
        reader.header(b"warrant-request-id"),
    )


def load_trust() -> ssl.SSLContext:
    """Returns what certificates are verified with: SSL_CERT_FILE and SSL_CERT_DIR, else the authorities of the system,
    else those that come with httpx."""
    import ssl  # takes as long to import as the rest of the package

    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if file or folder:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    context = ssl.create_default_context()
    if not context.get_ca_certs() and not os.path.isdir(ssl.get_default_verify_paths().capath or ""):
        import certifi

        context.load_verify_locations(certifi.where())
    return context
