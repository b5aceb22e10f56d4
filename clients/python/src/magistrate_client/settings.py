"""Reads how a client is made: from its arguments, and from the environment where they are left out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal, NamedTuple, cast
from urllib.parse import quote, urlsplit

from magistrate_client.errors import InvalidUse
from magistrate_client.version import __version__

Consistency = Literal["session", "latest", "none"]

_PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy")
_LOOPBACK = ("localhost", "::1")


class Settings(NamedTuple):
    """Says where the service is and how it is called. Its text has no key."""

    url: str
    prefix: str
    authorization: str | None
    timeout: float
    retries: int
    consistency: Consistency

    def __repr__(self) -> str:
        return f"Settings(url={self.url!r}, prefix={self.prefix!r})"

    @property
    def fixed_headers(self) -> Mapping[str, str]:
        """Returns the headers of all requests."""
        headers = {
            "Host": urlsplit(self.url).netloc.rpartition("@")[2],
            "User-Agent": f"magistrate-client-python/{__version__}",
            "Content-Type": "application/json",
        }
        return headers if self.authorization is None else {**headers, "Authorization": self.authorization}


def read_settings(
    url: str | None,
    key: str | None,
    store: str | None,
    timeout: float,
    retries: int,
    consistency: str,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Returns the settings of a client. Raises InvalidUse, whose message does not show the key."""
    environment = os.environ if environment is None else environment
    url = url or environment.get("MAGISTRATE_URL") or ""
    key = key or environment.get("MAGISTRATE_API_KEY") or None
    store = store or environment.get("MAGISTRATE_STORE") or None
    if not url:
        raise InvalidUse("the URL of the service is missing: pass url, or set MAGISTRATE_URL")
    if consistency not in ("session", "latest", "none"):
        raise InvalidUse(f'consistency is "session", "latest" or "none", and not {consistency!r}')
    if timeout <= 0 or retries < 0:
        raise InvalidUse("timeout is above 0 seconds, and retries are 0 or more")
    prefix = f"/stores/{quote(store, safe='')}" if store else ""
    return Settings(_read_url(url), prefix, _render_key(key), timeout, retries, cast("Consistency", consistency))


def _read_url(url: str) -> str:
    message = "the URL of the service reads as http://host:port or https://host"
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError as error:
        raise InvalidUse(message) from error
    if not is_valid or parts.query or parts.fragment:
        raise InvalidUse(message)
    if parts.username or parts.password:
        raise InvalidUse("the URL of the service has no user and no password; pass the key as key")
    return url.rstrip("/")


def _render_key(key: str | None) -> str | None:
    if key is None:
        return None
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidUse("the key has a character that no key has; was it copied with a line break?")
    # A session token has two dots; only Bearer takes it.
    return f"Bearer {key}" if key.count(".") == 2 else f"ApiKey {key}"


def is_proxied(url: str, environment: Mapping[str, str] | None = None) -> bool:
    """Returns whether requests may have to go through a proxy that the environment names. A service on the same machine
    that is not encrypted is no business of a proxy, whatever is exported for others."""
    environment = os.environ if environment is None else environment
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "http" and (host in _LOOPBACK or host.startswith("127.")):
        return False
    return any(environment.get(name) or environment.get(name.upper()) for name in _PROXY_VARIABLES)
