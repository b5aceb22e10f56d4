"""Encrypts connections with a certificate that may be replaced while the service runs.

A changed certificate is used for new connections; those that exist go on with the one before. A certificate or key that
cannot be used is logged and changes nothing, because the two files are often replaced one after the other."""

import asyncio
import os
import ssl
import time
from dataclasses import dataclass

import structlog

from magistrate.errors import InvalidSetting

log = structlog.get_logger()

LOOK_EVERY_SECONDS = 1.0
"""Sets how often the files are looked at. They are opened only if they have changed."""
UNSTABLE_NS = 500_000_000
"""Sets the age from which the time of a change differs from that of any later one. File systems on Linux round times
to 10 ms at most."""
SHUTDOWN_SECONDS = 2.0
"""Limits the wait for a client to confirm the end of an encrypted connection."""

_State = tuple[tuple[int, int, int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Names the files of a certificate (followed by those of its issuers), its key, and the authority whose
    certificates clients must have; without that, clients need none. All are in PEM format."""

    certificate: str
    key: str
    client_authority: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(path for path in (self.certificate, self.key, self.client_authority) if path)


def load_context(files: TlsFiles) -> ssl.SSLContext:
    """Returns a context for connections of clients: TLS 1.2 or newer, HTTP/1.1. Raises InvalidSetting."""
    for setting, path in (("tls_cert", files.certificate), ("tls_key", files.key)):
        _require_readable(setting, path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        # Without a password, OpenSSL would prompt for one in the terminal.
        context.load_cert_chain(files.certificate, files.key, password=bytes)
    except (OSError, ValueError) as error:
        raise InvalidSetting(
            f"tls_cert and tls_key: {files.certificate} and {files.key} must hold a certificate and its key, without a "
            f"password, in PEM format: {_reason(error)}"
        ) from error
    if files.client_authority:
        _require_readable("tls_client_ca", files.client_authority)
        try:
            context.load_verify_locations(files.client_authority)
        except (OSError, ValueError) as error:
            raise InvalidSetting(
                f"tls_client_ca: {files.client_authority} must hold certificates in PEM format: {_reason(error)}"
            ) from error
        context.verify_mode = ssl.CERT_REQUIRED
    return context


class ServerTls:
    """Holds the context of new connections, and replaces it when its files change. `context` is there after `open`."""

    context: ssl.SSLContext

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._state: _State = ()
        self._is_stable = False
        """Says whether every later change of a file also changes the state."""
        self._fault = ""

    def open(self) -> bool:
        """Reads the files; returns whether they can be used. A fault is logged once."""
        return self._use(*self._load())

    def _load(self) -> tuple[_State, ssl.SSLContext | InvalidSetting]:
        state = _state_of(self._files)
        try:
            return state, load_context(self._files)
        except InvalidSetting as error:
            return state, error

    def _use(self, state: _State, loaded: ssl.SSLContext | InvalidSetting) -> bool:
        self._state, self._is_stable = state, False
        if isinstance(loaded, InvalidSetting):
            if loaded.message != self._fault:
                log.error("the TLS certificate cannot be used, the previous one stays", error=loaded.message)
            self._fault = loaded.message
            return False
        self.context, self._fault = loaded, ""
        newest = max((times[2] for times in state if times is not None), default=0)
        # Two writes within one tick of the clock of the file system leave the same time.
        self._is_stable = time.time_ns() - newest > UNSTABLE_NS
        return True

    async def keep_fresh(self) -> None:
        """Reads the files again when they change. It must run once, as a background task."""
        used = self._state
        while True:
            await asyncio.sleep(LOOK_EVERY_SECONDS)
            if self._is_stable and await asyncio.to_thread(_state_of, self._files) == self._state:
                continue
            loaded = await asyncio.to_thread(self._load)
            if self._use(*loaded) and self._state != used:
                used = self._state
                log.info("the TLS certificate was read again")


def _state_of(files: TlsFiles) -> _State:
    """Returns what identifies the contents of the files, without reading them; None for one that is not there."""
    states: list[tuple[int, int, int, int] | None] = []
    for path in files.paths:
        try:
            status = os.stat(path)
        except OSError:
            states.append(None)
        else:
            states.append((status.st_dev, status.st_ino, max(status.st_mtime_ns, status.st_ctime_ns), status.st_size))
    return tuple(states)


def _require_readable(setting: str, path: str) -> None:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            file.read(1)
    except OSError as error:
        raise InvalidSetting(f"{setting}: {path} cannot be read: {error.strerror}") from error


def _reason(error: Exception) -> str:
    """Returns OpenSSL's name of an error, which is a word or two: KEY_VALUES_MISMATCH."""
    return getattr(error, "reason", None) or str(error)
