"""Answers that need nothing but memory, given before the web framework sees the request: half of what a check costs
otherwise.

Only what succeeds is answered here. Whatever else there is to say, and whatever has to be waited for, is left to the
ordinary way, which begins anew with the same request; both use the same table of routes, the same decoding and the same
handlers. So there is nothing a caller could tell them apart by."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any, NamedTuple

import msgspec
from uuid_utils import uuid7

from magistrate.api.freshness import TOKEN_HEADERS, read_freshness, token_of
from magistrate.api.ledger import Ledger
from magistrate.api.parse import decode_body
from magistrate.api.public import JSON
from magistrate.api.render import render_json
from magistrate.api.route import Route
from magistrate.api.service import Answer, Call, Service
from magistrate.engine.terms import Revision
from magistrate.errors import MagistrateError
from magistrate.operations.consistency import NO_DEMAND
from magistrate.store.contract import Identity

RawHeaders = Sequence[tuple[bytes, bytes]]
"""As they were received, the names in lower case."""

MOST_BYTES = 65_536
"""Of a body that is waited for (64 KiB)."""

_TOKENS = {header.lower().encode(): header for header in TOKEN_HEADERS}


@dataclass(frozen=True, slots=True)
class Hot:
    route: Route
    answer: Callable[[Call[Any]], Answer | None]
    decoder: msgspec.json.Decoder[Any]


class FastPath:
    """Made of those routes that can answer at once. `service` raises StoreUnavailable while it is not open."""

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
        """A request worth waiting for its body, given its head: its key is right, and it says that it is short."""
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
        """The whole answer, beginning with the status line and these headers; None if it takes the ordinary way."""
        started = perf_counter()
        try:
            return self._answer(held, body, default_headers, started)
        except Exception:  # the ordinary way comes upon the same, and knows what to say
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
    """A request that waits for its body."""

    hot: Hot
    service: Service
    actor: str
    given: Mapping[str, str]
    """Headers with tokens."""


class _Head(NamedTuple):
    """Of a request: what it has in these headers."""

    key: str | None
    length: int
    given: Mapping[str, str]


def _read(headers: RawHeaders) -> _Head | None:
    """None if one is there twice, or if it does not say how long the body is."""
    key, length = None, None
    given: dict[str, str] = {}
    for name, value in headers:
        if name == b"authorization":
            if key is not None:
                return None
            key = value.decode("latin-1")
        elif name == b"content-length":
            length = int(value)  # the parser has seen to it that it is one
        elif name in _TOKENS:
            if _TOKENS[name] in given:
                return None
            given[_TOKENS[name]] = value.decode("latin-1")
    return None if length is None else _Head(key, length, given)


@lru_cache(maxsize=256)
def _token_lines(identity: Identity, revision: Revision) -> bytes:
    token = token_of(identity, revision)
    return "".join(f"{header.lower()}: {token}\r\n" for header in TOKEN_HEADERS).encode()
