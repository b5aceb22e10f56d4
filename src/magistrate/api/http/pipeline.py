"""Turns requests into calls, and calls into answers, for the fast path and the web framework alike.

A request that the fast path cannot finish goes on in the framework from where it is: a BegunRequest carries what was
read, decoded and begun. An error is none of that. The framework repeats the one step that raised it, and answers it."""

from collections.abc import Awaitable, Mapping
from typing import Any

import msgspec

from magistrate.api.auth.forwarding import Forwarded
from magistrate.api.calls import Answer, Call, Service, answer_call
from magistrate.api.http.body_cache import KnownBodies
from magistrate.api.http.consistency_tokens import find_token
from magistrate.api.http.json_values import build_decoder
from magistrate.api.http.request_values import LARGE_BODY_BYTES, decode_body, read_written_body
from magistrate.api.route import STRICT, Route
from magistrate.errors import HistoryReplaced, InvalidParameter, MagistrateError, RevisionLost, StoreUnavailable
from magistrate.operations.consistency import require_stored
from magistrate.operations.context import Context
from magistrate.operations.keys.callers import Caller
from magistrate.store.contract.read_origins import OLDEST_READ
from magistrate.tracing import CallerTrace, TraceSpan

BEGUN = "magistrate.begun"
"""Names the entry of the ASGI scope that has the BegunRequest of a request that the fast path could not finish."""

MAX_ATTEMPTS = 3
"""Limits how often a read is begun that turns out to be of a history that the store has no more."""


class Pipeline:
    """Reads the calls of one route. Bodies that are likely to come again are decoded by `bodies`, if the route is
    fast."""

    def __init__(self, route: Route, bodies: KnownBodies) -> None:
        self.route = route
        self._bodies = bodies if route.is_fast else None
        self._decoder = None if route.body is None or route.takes_text else build_decoder(route.body)
        self._typed_decoder = None if route.typed_body is None else build_decoder(route.typed_body)
        self._takes_strict = route.takes_strict
        self._knows_types = hasattr(route.body, "types_of_objects")

    @property
    def takes_body(self) -> bool:
        return self._decoder is not None or self.route.takes_text

    def decode(self, raw: bytes, service: Service, parameters: Mapping[str, str]) -> Any:
        """Returns the value of a body, None if the route ignores bodies. Raises like `decode_body`."""
        if self._decoder is None:
            return read_written_body(raw, service.limits.max_json_depth) if self.route.takes_text else None
        max_depth, is_strict = service.limits.max_json_depth, self._takes_strict and service.context.is_strict
        bodies = self._bodies if len(raw) <= LARGE_BODY_BYTES else None
        if STRICT in parameters:
            # Handlers refuse a parameter that is no boolean.
            bodies, is_strict = None, self._takes_strict and parameters[STRICT] == "true"
        if self._typed_decoder is not None:
            try:
                if bodies is None:
                    return decode_body(raw, self._typed_decoder, max_depth)
                return bodies.decode(raw, self._typed_decoder, max_depth, None)
            except InvalidParameter:  # a member of the wrong type
                return decode_body(raw, self._decoder, max_depth)
        if bodies is None:
            return decode_body(raw, self._decoder, max_depth, is_strict)
        return bodies.decode(raw, self._decoder, max_depth, self.route.last_member, is_strict=is_strict)

    def require_allowed(self, call: Call[Any]) -> None:
        """Raises Forbidden if the caller may not use the object types of the call, InvalidParameter for a parameter
        that the route does not have."""
        types = call.caller.object_types
        if types is not None and not (self._knows_types and call.body.types_of_objects <= types):
            call.caller.require_types(self.route.list_types(call))
        if call.parameters:
            self.route.check_parameters(call)


class BegunAnswer(msgspec.Struct, frozen=True):
    """Represents the answer of a handler, or what is awaited for it, with the state of the history before that."""

    answer: Answer[Any] | Awaitable[Answer[Any]]
    history: int
    demands: int


class FastHead(msgspec.Struct, frozen=True):
    """Holds what the fast path reads in the head of a request, which depends on nothing but its bytes. `tokens` has the
    headers that contain consistency tokens; `echoed` is the id that the client gave the request, if it comes back;
    `store` is the name or id of the store that the path names, and `forwarded` what the rules say about the request
    of a gateway."""

    pipeline: Pipeline
    query: bytes
    key: str | None
    length: int
    tokens: Mapping[str, str] = {}
    echoed: str | None = None
    store: str | None = None
    forwarded: Forwarded | None = None


class BegunRequest(msgspec.Struct):
    """Represents a request as far as the fast path has come: its caller is known, and it was counted towards their rate
    limit and that of its store. The other parts are there once they have been reached. `started` is a time of
    time.perf_counter; `caller_trace` says what the caller's trace is, if callers are trusted with that, and `span` is
    the first of the request, if it is sampled."""

    head: FastHead
    service: Service
    caller: Caller
    context: Context
    started: float = 0.0
    request_id: str | None = None
    body: bytes | None = None
    call: Call[Any] | None = None
    answer: BegunAnswer | None = None
    caller_trace: CallerTrace | None = None
    span: TraceSpan | None = None


def describe_store(span: TraceSpan, service: Service, context: Context) -> None:
    """Adds the store that a request is about to its first span: its name, or the id in its tokens while that is not
    known yet."""
    store_id = context.store.identity.store_id
    span.attributes["magistrate.store"] = service.stores.name_issuer(store_id) or store_id


async def answer_in_history(route: Route, call: Call[Any], begun: BegunAnswer | None = None) -> tuple[Answer[Any], str]:
    """Returns the answer to a call, and its token, from a store that may be restored, or fail over, at any time
    (docs/consistency.md#lost-writes). A read is answered from a store that holds the write of its token, and from one
    history of it: if that is replaced meanwhile, it begins anew. An answer may have `begun` before.

    Raises RevisionLost, HistoryReplaced, and what the handler raises."""
    store = call.context.store
    if not route.writes and not call.freshness.newest:
        OLDEST_READ.set(call.freshness.id)
    for _ in range(1 if route.writes else MAX_ATTEMPTS):
        history, demands = store.known.history, store.known.demands
        awaited = None
        if begun is not None:
            history, demands, awaited = begun.history, begun.demands, begun.answer
            begun = None
        try:
            answer = await _answer_with_token(route, call, awaited)
            if demands != store.known.demands:
                await store.confirm_history()
            token = await find_token(store, answer.revision)
        except RevisionLost:
            raise
        except MagistrateError:
            if route.writes or history == store.known.history:
                raise
        else:
            if route.writes or history == store.known.history:
                return answer, token
    raise HistoryReplaced


async def _answer_with_token(
    route: Route, call: Call[Any], begun: Answer[Any] | Awaitable[Answer[Any]] | None
) -> Answer[Any]:
    """Answers a call if the store holds the write of its token, before and after: between both, it may fail over. An
    answer that has begun was begun when the store held it."""
    if not call.freshness.revision:
        return await _complete(route, call, begun)
    if begun is None:
        await require_stored(call.context.store, call.freshness.id)
    try:
        answer = await _complete(route, call, begun)
    except MagistrateError as error:
        if not isinstance(error, StoreUnavailable):  # what was read may not show which history the store has
            await call.context.store.locate(call.freshness.id)
        await require_stored(call.context.store, call.freshness.id)
        raise
    await require_stored(call.context.store, call.freshness.id)
    return answer


async def _complete(route: Route, call: Call[Any], begun: Answer[Any] | Awaitable[Answer[Any]] | None) -> Answer[Any]:
    if begun is None:
        return await answer_call(route.handler, call)
    return begun if isinstance(begun, Answer) else await begun
