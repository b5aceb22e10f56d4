"""Answers requests that need only memory before the web framework sees them, which halves the cost of a check.

Only successful answers are given here, and refusals while too many requests wait. Requests that have to wait, and
errors, are left to the web framework, which goes on from what was read and begun here. Both use the same pipeline for
each route of one table, so callers cannot tell them apart."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import msgspec

from magistrate.api.auth.callers import SCHEME
from magistrate.api.auth.forwarding import BYTES_OF_A_RESOLUTION
from magistrate.api.bounded_cache import BoundedCache
from magistrate.api.calls import Answer, Call, Service
from magistrate.api.endpoints.authz import REFUSED
from magistrate.api.endpoints.public import JSON
from magistrate.api.http.admission import Admission, Admissions
from magistrate.api.http.body_cache import KnownBodies
from magistrate.api.http.consistency_tokens import TOKEN_HEADERS, read_freshness, token_of
from magistrate.api.http.cors import VARY
from magistrate.api.http.error_bodies import RETRY_AFTER_SECONDS, error_body
from magistrate.api.http.json_values import render_json
from magistrate.api.http.ledger import Ledger
from magistrate.api.http.metrics import METRICS
from magistrate.api.http.pipeline import BegunAnswer, BegunRequest, FastHead, Pipeline, describe_store
from magistrate.api.http.request_scope import (
    OPENFGA_PREFIX,
    STORES_PREFIX,
    divide_forward_path,
    divide_openfga_path,
    divide_path,
)
from magistrate.api.http.request_values import read_parameters, require_json_type
from magistrate.api.http.ticket_parameter import TICKET
from magistrate.api.http.trace_headers import (
    TraceLines,
    divide_trace_lines,
    find_caller_trace,
    has_trace_lines,
    read_caller_trace,
)
from magistrate.api.route import Route
from magistrate.engine.forwarding.rules import KEY_HEADER, PATH, ForwardedRequest
from magistrate.errors import MagistrateError, Overloaded
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.stored_rows import Identity
from magistrate.tracing import CURRENT, TraceSpan


class FullRoute(NamedTuple):
    """Holds a route and its admission, which has no place left."""

    route: Route
    admission: Admission


class RefusableRoutes:
    """Finds the route of a request by its method and path. The variables of a path are not read."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._by_path: dict[tuple[str, str], Route] = {}
        self._by_length: dict[tuple[str, int], list[tuple[list[str], Route]]] = defaultdict(list)
        for route in routes:
            if "{" in route.path:
                segments = ["" if "{" in segment else segment for segment in route.path.split("/")[1:]]
                self._by_length[route.method, len(segments)].append((segments, route))
            else:
                self._by_path[route.method, route.path] = route

    def find_route(self, method: str, path: str) -> Route | None:
        """Returns the route of a request, None if there is none."""
        return self._by_path.get((method, path)) or self._match_segments(method, path)

    def find_full(self, admissions: Admissions, method: str, path: str) -> FullRoute | None:
        """Returns the route of a request that would be refused as soon as it would be admitted, otherwise None."""
        route = self._by_path.get((method, path))
        if route is None and any(admission.is_full for admission in admissions.by_scope.values()):
            route = self._match_segments(method, path)
        if route is None or not (admission := admissions.by_scope[route.scope]).is_full:
            return None
        return FullRoute(route, admission)

    def _match_segments(self, method: str, path: str) -> Route | None:
        path_segments = path.split("/")[1:]
        for segments, route in self._by_length.get((method, len(path_segments)), ()):
            if all(
                segment and (not expected or segment == expected)
                for segment, expected in zip(path_segments, segments, strict=True)
            ):
                return route
        return None


RawHeaders = Sequence[tuple[bytes, bytes]]
"""Holds headers as received, with their names in lower case."""

MAX_BYTES = 65_536
"""Limits the size of a body that the fast path waits for (64 KiB)."""

MAX_HEAD_BYTES = 2_048
"""Limits the size of a head that is kept (2 KiB)."""
MAX_TRACED_HEAD_BYTES = 1_024
"""Limits the size of a head that is kept without what differs in each request of a client that traces (1 KiB): the
least that `max_head_bytes` can be."""
BYTES_OF_A_HEAD, HEAD_FACTOR = 1_200, 2
"""Estimate what a head takes: what was read in it, as measured, and its bytes, which that repeats in part."""
HEADS_PART, RESOLUTIONS_PART = 0.1, 0.1
"""Set the parts of the bytes for what is kept of requests that heads may take, and what rules say about requests of
gateways."""
MAX_KEPT_BYTES = 33_554_432
"""Sets the bytes for what is kept of requests unless the operator does (32 MiB)."""
END_OF_HEAD = b"\r\n\r\n"

_TOKENS: Mapping[bytes, str | None] = {header.lower().encode(): header for header in TOKEN_HEADERS}
TICKET_PARAMETER = f"{TICKET}=".encode()
ORIGIN, CODING = b"origin", b"content-encoding"
ECHOED_HEADER, TYPE_HEADER = "X-Request-ID", "Content-Type"
_OK, _FORBIDDEN = b"HTTP/1.1 200 OK", b"HTTP/1.1 403 Forbidden"
KEY_NAME = KEY_HEADER.lower().encode()
_OVERLOADED = render_json(error_body(Overloaded()))


class FastRoute(NamedTuple):
    """Holds the pipeline of a route of the fast path, and the headers that are read."""

    pipeline: Pipeline
    watched: Mapping[bytes, str | None]
    key_header: bytes = b"authorization"


class FastPath:
    """Answers requests to the routes that are fast. `service` raises StoreUnavailable while it is not open. If
    `has_cors`, requests of pages of other origins are left to the web framework. What is kept of requests takes up to
    `max_kept_bytes`."""

    def __init__(
        self,
        service: Callable[[], Service],
        routes: Sequence[Route],
        ledger: Ledger,
        has_cors: bool = False,
        max_kept_bytes: int = MAX_KEPT_BYTES,
    ) -> None:
        self._service = service
        self._ledger = ledger
        self._trusts_callers = ledger.tracer is not None and ledger.tracer.trusts_callers
        heads_bytes = int(HEADS_PART * max_kept_bytes)
        self.known_heads: BoundedCache[bytes, FastHead] = BoundedCache(heads_bytes, _measure_head)
        """Holds heads of requests that were answered, by their bytes up to and with the empty line."""
        self.bodies = KnownBodies(int((1 - HEADS_PART - RESOLUTIONS_PART) * max_kept_bytes))
        self._watched = watched = {**_TOKENS, CODING: None, **({ORIGIN: None} if has_cors else {})}
        self.routes = {
            (route.method.encode(), route.path.encode()): FastRoute(
                Pipeline(route, self.bodies),
                {**watched, **_list_headers(route)},
                KEY_NAME if route.is_forward else b"authorization",
            )
            for route in routes
            if route.is_fast
        }
        self._forward = self.routes.get((b"GET", PATH.encode()))
        self._refusable = RefusableRoutes(routes)
        self._vary = f"{VARY[0].lower()}: {VARY[1]}\r\n" if has_cors else ""
        self._default_headers: RawHeaders | None = None
        self._answered_at: tuple[Identity, RevisionId] | None = None
        self._common = b""

    def measure_kept(self) -> int:
        """Returns an estimate of the bytes that what is kept of requests takes."""
        try:
            resolutions = self._service().forward_rules.bytes
        except MagistrateError:
            resolutions = 0
        return self.known_heads.bytes + self.bodies.measure() + resolutions

    def begin_request(self, method: bytes, url: bytes, headers: RawHeaders) -> "BegunRequest | PendingRefusal | None":
        """Begins a request if its head qualifies for the fast path: the key is valid for the route and the stated
        length is within the limits. Returns None otherwise. A request that is begun counts towards the rate limits
        of its caller and of its store."""
        if (target := divide_forward_path(url)) is not None:
            return self._begin_forward(method, target, headers)
        path, _, query = url.partition(b"?") if method == b"GET" else (url, b"", b"")
        store = None
        if path.startswith(STORES_PREFIX):
            store, path = divide_openfga_path(path) or divide_path(path)
        fast = self.routes.get((method, path))
        if fast is None:
            return self._find_refusal(method.decode("latin-1"), path.decode("latin-1").partition("?")[0], headers)
        route = fast.pipeline.route
        if route.body is None and (refusal := self._find_refusal("GET", route.path, headers)) is not None:
            return refusal
        is_kept = TICKET_PARAMETER not in query
        head = _read_head(fast, query, headers, store) if is_kept else None
        begun = None if head is None else self.begin(head)
        if begun is not None and self._trusts_callers:
            begun.caller_trace = find_caller_trace(headers)
        return begun

    def _begin_forward(
        self, method: bytes, target: bytes, headers: RawHeaders
    ) -> "BegunRequest | PendingRefusal | None":
        """Begins a request of a gateway, like `begin_request`, if it needs no token. The answer to HEAD has no body,
        which is left to the web framework."""
        if self._forward is None:
            return None
        path = self._forward.pipeline.route.path
        if (refusal := self._find_refusal("GET", path, headers)) is not None:
            return refusal
        if method == b"HEAD":
            return None
        head = _read_head(self._forward, b"", headers, None)
        if head is None:
            return None
        request = ForwardedRequest(method.decode("latin-1"), target, headers)
        try:
            forwarded = self._service().forward_rules.apply_rules(path, request)
        except MagistrateError:
            return None
        if forwarded.resolution.token is not None:
            return None
        key = None if head.key is None else f"{SCHEME} {head.key}"
        begun = self.begin(msgspec.structs.replace(head, key=key, forwarded=forwarded))
        if begun is not None and self._trusts_callers:
            begun.caller_trace = find_caller_trace(headers)
        return begun

    def begin_known(self, head_bytes: bytes, body_length: int) -> BegunRequest | None:
        """Begins a request if its head, up to and with the empty line, is known, states this length of its body, and
        qualifies for the fast path now. A head that says which trace it belongs to is known by its other lines."""
        lines, head = None, self.known_heads.get(head_bytes)
        if head is None:
            lines = _divide_short_head(head_bytes)
            if lines is None or (head := self.known_heads.get(lines.head)) is None:
                return None
            head_bytes = lines.head
        if head.length != body_length or (begun := self.begin(head)) is None:
            return None
        self.known_heads.move_to_end(head_bytes)
        if lines is not None and self._trusts_callers:
            begun.caller_trace = read_caller_trace(lines.parent, lines.state)
        return begun

    def begin(self, head: FastHead) -> BegunRequest | None:
        """Begins a request if its head qualifies for the fast path now, like `begin_request`."""
        route = head.pipeline.route
        try:
            service = self._service()
            if head.forwarded is not None and head.forwarded.table is not service.forward_rules.table:
                return None
            caller = service.keys.identify(head.key)
            context = service.stores.resolve(caller, head.store)
            if route.body is None and not route.is_forward and not self._is_answerable(service, context, route):
                return None
        except MagistrateError:
            return None
        if route.scope not in caller.scopes or head.length > service.limits.max_body_bytes:
            return None
        rates, rate_limit, of_store = service.store_rates, service.rate_limit, context.requests_per_second
        if of_store is not None and rates.is_exhausted(context.store_number, of_store):
            return None  # before the caller is counted, whom the web framework counts, too
        if rate_limit is not None and not rate_limit.admit_caller(caller):
            return None
        if of_store is not None and not rates.admit_store(context.store_number, of_store):
            return None
        return BegunRequest(head, service, caller, context)

    def _is_answerable(self, service: Service, context: Context, route: Route) -> bool:
        """Returns whether lists are not refused now, and one without a token need not wait to know which revision it is
        at. Raises StoreUnavailable."""
        is_full = service.admissions.by_scope[route.scope].is_full
        return not is_full and context.caches.graph.current_graph(NO_DEMAND) is not None

    def _find_refusal(self, method: str, path: str, headers: RawHeaders) -> "PendingRefusal | None":
        """Returns a refusal if the service has more requests of this kind than it can answer. Its key is not read."""
        try:
            admissions = self._service().admissions
        except MagistrateError:
            return None
        full = self._refusable.find_full(admissions, method, path)
        if full is None:
            return None
        for name, value in headers:
            is_large = name == b"content-length" and int(value) > MAX_BYTES
            if is_large or name == b"transfer-encoding" or self._watched.get(name, name) is None:
                return None
        return PendingRefusal(full, path, admissions, perf_counter())

    def remember(self, received: bytes, head: FastHead) -> None:
        """Keeps the head of a request for `known_heads` if it is certain where it ends: at the first empty line of what
        was received, behind which there is nothing but its body."""
        end = received.find(END_OF_HEAD) + len(END_OF_HEAD)
        if end > MAX_HEAD_BYTES or len(received) - end != head.length:
            return
        head_bytes = received[:end]
        if not head_bytes.count(b"\r") == head_bytes.count(b"\n") == head_bytes.count(b"\r\n"):
            return
        if has_trace_lines(head_bytes):
            lines = _divide_short_head(head_bytes)
            if lines is None or has_trace_lines(lines.head):
                return  # it will not come again
            head_bytes = lines.head
        self.known_heads.keep(head_bytes, head)

    def answer(self, begun: BegunRequest, body: bytes, default_headers: RawHeaders) -> bytes | None:
        """Returns the whole response, beginning with the status line and these headers, or None if the web framework
        must go on with the request."""
        begun.started, begun.body = perf_counter(), body
        begun.request_id = self._ledger.make_request_id()
        tracer = self._ledger.tracer
        if tracer is not None and (span := tracer.begin(begun.caller_trace)) is not None:
            return self._answer_sampled(span, begun, body, default_headers)
        return self._answer(begun, body, default_headers)

    def _answer_sampled(
        self, span: TraceSpan, begun: BegunRequest, body: bytes, default_headers: RawHeaders
    ) -> bytes | None:
        begun.span = span
        before = CURRENT.set(span)
        try:
            return self._answer(begun, body, default_headers)
        finally:
            CURRENT.reset(before)  # the context is that of the connection

    def _answer(self, begun: BegunRequest, body: bytes, default_headers: RawHeaders) -> bytes | None:
        try:
            answered = self._attempt(begun, body)
            return None if answered is None else self._render(begun, *answered, default_headers)
        except Exception:
            # Whatever it is, a bug of a handler too, the framework meets it again, answers it and logs it. It must not
            # leave a callback of the parser, which would take it for a request that is not HTTP, and answer 400.
            return None

    def _attempt(self, begun: BegunRequest, body: bytes) -> tuple[Answer[Any], RevisionId] | None:
        """Returns the answer and its revision if nothing has to be waited for."""
        head, service, pipeline = begun.head, begun.service, begun.head.pipeline
        context = begun.context
        store = context.store
        revisions = store.known
        freshness = read_freshness(store.identity, head.tokens) if head.tokens else NO_DEMAND
        parameters = read_parameters(head.query) if head.query else {}
        call: Call[Any] = Call(
            context=context,
            caller=begun.caller,
            body=pipeline.decode(body, service, parameters),
            parameters=parameters,
            freshness=freshness,
            request_id=begun.request_id,
            forwarded=None if head.forwarded is None else head.forwarded.resolution,
        )
        pipeline.require_allowed(call)
        begun.call = call
        if freshness.revision and not revisions.holds(freshness.id):
            return None
        history, demands = revisions.history, revisions.demands
        answer = pipeline.route.handler(call)
        if isinstance(answer, Answer) and (revision_id := revisions.find(answer.revision)) is not None:
            return answer, revision_id
        begun.answer = BegunAnswer(answer, history, demands)
        return None

    def _render(
        self, begun: BegunRequest, answer: Answer[Any], revision_id: RevisionId, default_headers: RawHeaders
    ) -> bytes:
        route, request_id = begun.head.pipeline.route, begun.request_id
        assert request_id is not None
        if METRICS.requests_by_store is not None:
            METRICS.requests_by_store[begun.context.store.identity.store_id] += 1
        content = render_json(answer.value)
        common = self._render_common_lines(default_headers, begun.context.store.identity, revision_id)
        store, further = begun.head.store, ""
        path = route.path if store is None else f"/stores/{store}{route.path.removeprefix(OPENFGA_PREFIX)}"
        if route.path.startswith(OPENFGA_PREFIX):
            further = f"x-request-id: {request_id}\r\n"
        span = begun.span
        if span is not None:
            describe_store(span, begun.service, begun.context)
            span.attributes["magistrate.revision"] = answer.revision
        self._ledger.record_answer(
            route.method, route.path, answer.status or 200, begun.started, path=path, request_id=request_id, span=span
        )
        described = (
            f"content-type: {JSON}\r\nwarrant-request-id: {request_id}\r\n{_render_echo(begun.head.echoed)}{self._vary}"
            f"{further}{_render_headers(answer.headers)}content-length: {len(content)}\r\n\r\n"
        )
        if answer.status == REFUSED:
            common = common.replace(_OK, _FORBIDDEN, 1)
        return b"".join((common, described.encode("latin-1"), content))

    def refuse(self, pending: "PendingRefusal", default_headers: RawHeaders) -> bytes:
        """Returns the whole response to a request that is refused, like `answer`."""
        route, admission = pending.full
        admission.shed += 1
        request_id = self._ledger.make_request_id()
        self._ledger.record_answer(
            route.method, route.path, 503, pending.started, path=pending.path, request_id=request_id
        )
        lines = [b"HTTP/1.1 503 Service Unavailable", *(name + b": " + value for name, value in default_headers)]
        described = (
            f"\r\ncontent-type: {JSON}\r\nwarrant-request-id: {request_id}\r\nretry-after: {RETRY_AFTER_SECONDS}\r\n"
            f"{self._vary}content-length: {len(_OVERLOADED)}\r\n\r\n"
        )
        return b"\r\n".join(lines) + described.encode() + _OVERLOADED

    def _render_common_lines(self, default_headers: RawHeaders, identity: Identity, revision_id: RevisionId) -> bytes:
        """Returns the lines that most answers have in common with the one before."""
        answered_at = (identity, revision_id)
        if default_headers is not self._default_headers or answered_at != self._answered_at:
            self._default_headers, self._answered_at = default_headers, answered_at
            lines = [b"HTTP/1.1 200 OK", *(name + b": " + value for name, value in default_headers), b""]
            self._common = b"\r\n".join(lines) + _token_lines(identity, revision_id)
        return self._common


class PendingRefusal(msgspec.Struct, frozen=True):
    """Represents a request that is refused when all of it has arrived. `started` is a time of time.perf_counter."""

    full: FullRoute
    path: str
    admissions: Admissions
    started: float


def _read_head(fast: FastRoute, query: bytes, headers: RawHeaders, store: str | None) -> FastHead | None:
    """Returns what these headers say, or None if the web framework must read them: if one is repeated, the length of a
    body is not stated or too large, or there is a header that is watched for that."""
    watched = fast.watched
    key, length = None, 0 if fast.pipeline.route.body is None else None
    values: dict[str, str] = {}
    for name, value in headers:
        if name == fast.key_header:
            if key is not None:
                return None
            key = value.decode("latin-1")
        elif name == b"content-length":
            length = int(value)  # the parser has checked that it is a number
        elif name in watched:
            header = watched[name]
            if header is None or header in values:
                return None
            values[header] = value.decode("latin-1")
    if length is None or length > MAX_BYTES:
        return None
    echoed = values.pop(ECHOED_HEADER, None)
    if fast.pipeline.route.needs_json_type:
        try:
            require_json_type(values.pop(TYPE_HEADER, None))
        except MagistrateError:
            return None
    return FastHead(fast.pipeline, query, key, length, tokens=values, echoed=echoed, store=store)


def _divide_short_head(head_bytes: bytes) -> TraceLines | None:
    """Divides a head that no setting refuses as too large: that is not looked at before it is found to be known."""
    return divide_trace_lines(head_bytes) if len(head_bytes) <= MAX_TRACED_HEAD_BYTES else None


def _list_headers(route: Route) -> dict[bytes, str | None]:
    """Returns the headers that a route needs besides tokens."""
    names = [TYPE_HEADER] if route.needs_json_type else []
    names += [ECHOED_HEADER] if route.echoes_id else []
    return {name.lower().encode(): name for name in names}


def _measure_head(head_bytes: bytes, head: FastHead) -> int:
    forwarded = 0 if head.forwarded is None else BYTES_OF_A_RESOLUTION  # which may be kept by nothing else
    return BYTES_OF_A_HEAD + forwarded + HEAD_FACTOR * len(head_bytes)


def _render_headers(headers: Mapping[str, str]) -> str:
    return "".join([f"{name.lower()}: {value}\r\n" for name, value in headers.items()]) if headers else ""


def _render_echo(echoed: str | None) -> str:
    return "" if echoed is None else f"{ECHOED_HEADER.lower()}: {echoed}\r\n"


def _token_lines(identity: Identity, revision_id: RevisionId) -> bytes:
    token = token_of(identity, revision_id)
    return "".join(f"{header.lower()}: {token}\r\n" for header in TOKEN_HEADERS).encode()
