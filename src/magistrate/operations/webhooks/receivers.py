"""Reads the URLs of webhooks."""

import asyncio
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from magistrate.errors import InvalidParameter
from magistrate.operations.webhooks.addresses import AddressGuard, RefusedAddress

URL = "url"
"""Names the parameter."""
MAX_URL_LENGTH = 2_048
RESOLVE_SECONDS = 3.0
"""Limits how long the creation of a webhook waits for the addresses of its host."""
DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class ReceiverUrl:
    """Holds the parts of the URL of a webhook. `host` is in lower case, without brackets."""

    text: str
    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """Returns the value of the header Host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    def address(self, address: str) -> str:
        """Returns the URL with an address in the place of the host."""
        parts = urlsplit(self.text)
        bracketed = f"[{address}]" if ":" in address else address
        return urlunsplit((self.scheme, f"{bracketed}:{self.port}", parts.path or "/", parts.query, ""))


def read_url(text: str) -> ReceiverUrl:
    """Returns the URL of a webhook. Raises InvalidParameter."""
    if len(text) > MAX_URL_LENGTH:
        raise InvalidParameter(URL, f"must have at most {MAX_URL_LENGTH} characters")
    if not text.isascii() or not text.isprintable() or " " in text or "\\" in text:
        raise InvalidParameter(URL, "must be a URL in ASCII, without blanks: encode other characters")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise InvalidParameter(URL, "is no URL; write it as in https://receiver.example/path") from None
    if parts.scheme not in DEFAULT_PORTS or not host or "%" in host or port == 0:
        raise InvalidParameter(URL, "must be a URL as in https://receiver.example/path")
    if "@" in parts.netloc or "#" in text:
        raise InvalidParameter(URL, "cannot have a user, a password or a fragment")
    return ReceiverUrl(text, parts.scheme, host, port or DEFAULT_PORTS[parts.scheme])


async def require_public(guard: AddressGuard, url: ReceiverUrl) -> None:
    """Raises InvalidParameter if the host of a URL has an address that must not be reached. A host whose addresses are
    not known now is let pass: each delivery looks at them again."""
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            await guard.find_address(url.host, url.port)
    except RefusedAddress as refusal:
        raise InvalidParameter(
            URL, f"{refusal}, so nothing is sent there; the operator can allow networks with --webhook-allow-networks"
        ) from None
    except (OSError, TimeoutError, UnicodeError):
        pass


@dataclass(frozen=True, slots=True)
class WebhookOptions:
    """Says how the messages of all stores are sent: to which addresses, with which header User-Agent, and with which
    URL by which receivers reach the service, which is empty if that is not known."""

    guard: AddressGuard = field(default_factory=AddressGuard)
    agent: str = "Magistrate"
    public_url: str = ""
