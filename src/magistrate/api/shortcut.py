"""Answers that need nothing but memory, given before the web framework sees the request: half of what a check costs
otherwise.

Only what succeeds is answered here. Whatever else there is to say, and whatever has to be waited for, is left to the
ordinary way, which begins anew with the same request; both use the same table of routes, the same decoding and the same
handlers. So there is nothing a caller could tell them apart by."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any

import msgspec
from uuid_utils import uuid7

from magistrate.api.freshness import TOKEN_HEADERS, read_freshness, token_of
from magistrate.api.ledger import Ledger
from magistrate.api.parse import LARGE_BODY_BYTES, decode_body
from magistrate.api.public import JSON
from magistrate.api.render import rendered
from magistrate.api.routes import Route
from magistrate.api.service import Answer, Call, Service
from magistrate.engine.terms import Revision
from magistrate.operations.consistency import NO_DEMAND
from magistrate.store.contract import Identity

RawHeaders = Sequence[tuple[bytes, bytes]]
"""As they were received, the names in lower case."""

_TOKENS = {header.lower().encode(): header for header in TOKEN_HEADERS}


@dataclass(frozen=True, slots=True)
class Hot:
    route: Route
    answer: Callable[[Call[Any]], Answer | None]
    decoder: msgspec.json.Decoder[Any]


class Shortcut:
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

    def find(self, method: bytes, url: bytes) -> Hot | None:
        return self._hot.get((method, url))

    def answer(self, hot: Hot, headers: RawHeaders, body: bytes, default_headers: RawHeaders) -> bytes | None:
        """The whole answer, beginning with the status line and these headers; None if it takes the ordinary way."""
        started = perf_counter()
        answered = self._answered(hot, headers, body)
        if answered is None:
            return None
        content, tokens = answered
        if default_headers is not self._default_headers:
            self._default_headers = default_headers
            lines = [b"HTTP/1.1 200 OK", *(name + b": " + value for name, value in default_headers)]
            self._head = b"\r\n".join([*lines, b""])
        request_id, route = str(uuid7()), hot.route
        self._ledger.answered(route.method, route.path, route.path, 200, request_id, started)
        described = (
            f"warrant-request-id: {request_id}\r\ncontent-length: {len(content)}\r\ncontent-type: {JSON}\r\n\r\n"
        )
        return b"".join((self._head, tokens, described.encode(), content))

    def _answered(self, hot: Hot, headers: RawHeaders, body: bytes) -> tuple[bytes, bytes] | None:
        """The body and the headers with the token."""
        key, given = None, {}
        for name, value in headers:
            if name == b"authorization":
                if key is not None:
                    return None
                key = value.decode("latin-1")
            elif name in _TOKENS:
                if _TOKENS[name] in given:
                    return None
                given[_TOKENS[name]] = value.decode("latin-1")
        try:
            service = self._service()
            actor = service.keys.actor(key)
            limits = service.limits
            if len(body) > min(LARGE_BODY_BYTES, limits.max_body_bytes):
                return None
            identity = service.context.store.identity
            freshness = read_freshness(identity, given) if given else NO_DEMAND
            value = decode_body(body, hot.decoder, limits.max_json_depth)
            found = hot.answer(Call(service.context, {}, {}, value, actor, freshness, None))
        except Exception:  # the ordinary way comes upon the same, and knows what to say
            return None
        return None if found is None else (rendered(found.value), _token_lines(identity, found.revision))


@lru_cache(maxsize=256)
def _token_lines(identity: Identity, revision: Revision) -> bytes:
    token = token_of(identity, revision)
    return "".join(f"{header.lower()}: {token}\r\n" for header in TOKEN_HEADERS).encode()
