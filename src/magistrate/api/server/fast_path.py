"""Answers requests that need only memory before the web framework sees them, which halves the cost of a check.

Only successful answers are given here. Errors, and requests that have to wait, are left to the web framework, which
processes the same request from the start. Both use the same table of routes, the same decoding and the same handlers,
so callers cannot tell them apart."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any, NamedTuple

import msgspec
from uuid_utils import uuid7

from magistrate.api.endpoints.public import JSON
from magistrate.api.freshness import TOKEN_HEADERS, read_freshness, token_of
from magistrate.api.parse import decode_body
from magistrate.api.render import render_json
from magistrate.api.route import Route
from magistrate.api.server.ledger import Ledger
from magistrate.api.service import Answer, Call, Service
from magistrate.engine.terms import Revision
from magistrate.errors import MagistrateError
from magistrate.operations.consistency import NO_DEMAND
from magistrate.store.contract import Identity

RawHeaders = Sequence[tuple[bytes, bytes]]
"""Holds headers as received, with their names in lower case."""

MOST_BYTES = 65_536
"""Limits the size of a body that the fast path waits for (64 KiB)."""

_TOKENS = {header.lower().encode(): header for header in TOKEN_HEADERS}


@dataclass(frozen=True, slots=True)
class Hot:
    route: Route
    answer: Callable[[Call[Any]], Answer | None]
    decoder: msgspec.json.Decoder[Any]


class FastPath:
    """Answers requests to the routes that have `answer_now`. `service` raises StoreUnavailable while it is not open."""

    def __init__(self, service: Callable[[], Service], routes: Iterable[Route], ledger: Ledger) -> None:
        self._service = service
        self._ledger = ledger
        self._hot = {
            (route.method.encode(), route.path.encode()): Hot(route, route.answer_now, msgspec.json.Decoder(route.body))
            for route in routes
            if route.answer_now is not None
        }
        self._default_headers: RawHeaders | None = None
        self._head = b""

    def begin_request(self, method: bytes, url: bytes, headers: RawHeaders) -> "PendingCheck | None":
        """Returns a pending check if the head of a request qualifies for the fast path: the key is valid and the stated
        length is within the limits. Returns None otherwise."""
        hot = self._hot.get((method, url))
        read = _read(headers) if hot is not None else None
        if hot is None or read is None:
            return None
        try:
            service = self._service()
            actor = service.keys.actor(read.key)
        except MagistrateError:
            return None
        if read.length > min(MOST_BYTES, service.limits.max_body_bytes):
            return None
        return PendingCheck(hot, service, actor, read.given)

    def answer(self, held: "PendingCheck", body: bytes, default_headers: RawHeaders) -> bytes | None:
        """Returns the whole response, beginning with the status line and these headers, or None if the web framework
        must answer."""
        started = perf_counter()
        try:
            return self._answer(held, body, default_headers, started)
        except Exception:  # the framework runs into the same error and answers it
            return None

    def _answer(self, held: "PendingCheck", body: bytes, default_headers: RawHeaders, started: float) -> bytes | None:
        hot, context = held.hot, held.service.context
        identity = context.store.identity
        freshness = read_freshness(identity, held.given) if held.given else NO_DEMAND
        value = decode_body(body, hot.decoder, held.service.limits.max_json_depth)
        found = hot.answer(Call(context, {}, {}, value, held.actor, freshness, None))
        if found is None:
            return None
        content, tokens = render_json(found.value), _token_lines(identity, found.revision)
        if default_headers is not self._default_headers:
            self._default_headers = default_headers
            lines = [b"HTTP/1.1 200 OK", *(name + b": " + value for name, value in default_headers)]
            self._head = b"\r\n".join([*lines, b""])
        request_id, route = str(uuid7()), hot.route
        self._ledger.record_answer(route.method, route.path, route.path, 200, request_id, started)
        described = (
            f"content-type: {JSON}\r\nwarrant-request-id: {request_id}\r\ncontent-length: {len(content)}\r\n\r\n"
        )
        return b"".join((self._head, tokens, described.encode(), content))


class PendingCheck(NamedTuple):
    """Represents a request that waits for its body."""

    hot: Hot
    service: Service
    actor: str
    given: Mapping[str, str]
    """Holds the headers that contain consistency tokens."""


class _Head(NamedTuple):
    """Holds the values of the request headers that the fast path reads."""

    key: str | None
    length: int
    given: Mapping[str, str]


def _read(headers: RawHeaders) -> _Head | None:
    """Returns the values of the headers, or None if one is repeated or the length of the body is not stated."""
    key, length = None, None
    given: dict[str, str] = {}
    for name, value in headers:
        if name == b"authorization":
            if key is not None:
                return None
            key = value.decode("latin-1")
        elif name == b"content-length":
            length = int(value)  # the parser has checked that it is a number
        elif name in _TOKENS:
            if _TOKENS[name] in given:
                return None
            given[_TOKENS[name]] = value.decode("latin-1")
    return None if length is None else _Head(key, length, given)


@lru_cache(maxsize=256)
def _token_lines(identity: Identity, revision: Revision) -> bytes:
    token = token_of(identity, revision)
    return "".join(f"{header.lower()}: {token}\r\n" for header in TOKEN_HEADERS).encode()
