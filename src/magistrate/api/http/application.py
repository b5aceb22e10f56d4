"""Builds the ASGI application: the table of routes becomes a Falcon app with a responder for each."""

import asyncio
import re
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from time import perf_counter
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import quote, unquote

import falcon
import falcon.asgi
import structlog
from falcon.constants import COMBINED_METHODS

from magistrate import errors
from magistrate.api.auth.bearer import identify_caller
from magistrate.api.auth.forwarding import read_gateway_key
from magistrate.api.auth.tickets import identify_by_ticket
from magistrate.api.calls import Service
from magistrate.api.endpoints import public
from magistrate.api.http.answers import answer_error, answer_fault, answer_http_error, finish_answer
from magistrate.api.http.connection_memory import ConnectionMemory, UnsentAnswers
from magistrate.api.http.content_coding import compress_answer
from magistrate.api.http.cors import CorsPolicy, answer_options
from magistrate.api.http.deadlines import Deadlines
from magistrate.api.http.error_bodies import Send, send_error
from magistrate.api.http.fast_path import MAX_KEPT_BYTES, FastPath, FullRoute, RefusableRoutes
from magistrate.api.http.ledger import Ledger
from magistrate.api.http.metrics import Readings
from magistrate.api.http.pages import (
    HAS_TRAILING_SLASH,
    list_console_pages,
    redirect_browser,
    respond_to_pages,
)
from magistrate.api.http.pages import HEADERS as CONSOLE_HEADERS
from magistrate.api.http.pipeline import BEGUN, BegunRequest, Pipeline
from magistrate.api.http.request_scope import (
    ACCOUNT,
    FORWARD_TARGET,
    HAS_SLASH,
    LEDGER,
    OPENFGA,
    QUERY,
    RECEIVE,
    REQUEST_ID,
    SLASH_IN_ID,
    SPAN,
    STARTED,
    STORE,
    STORES_PREFIX,
    URL,
    decode_path,
    divide_forward_path,
    divide_path,
    find_openfga_store,
    is_openfga_path,
    is_utf8,
    render_path,
    render_store,
)
from magistrate.api.http.responders import (
    Receive,
    RouteResponder,
    Scope,
    read_source,
    require_refusable,
)
from magistrate.api.http.streams import OpenStreams, break_off_stream, finish_stream
from magistrate.api.http.ticket_parameter import divide_query
from magistrate.api.http.trace_headers import find_caller_trace
from magistrate.api.openfga.routes import OPENFGA_ROUTES
from magistrate.api.route import Route
from magistrate.api.route_table import FORWARD_ROUTE, ROUTES
from magistrate.engine.forwarding.rules import PATH
from magistrate.log import count_lost_lines, count_waiting_bytes
from magistrate.tracing import CURRENT, Tracer

App = falcon.asgi.App[falcon.asgi.Request, falcon.asgi.Response]
Responder = Callable[..., Awaitable[None]]

OPEN_AGAIN_SECONDS = 1.0
_METHODS = tuple(method for method in COMBINED_METHODS if method != "WEBSOCKET")

log = structlog.get_logger()


class Running:
    """Opens the service when the server starts, in its event loop, and closes it when the server stops (ASGI lifespan).

    A store that cannot be reached does not keep the server from starting: the server answers 503 and retries. If the
    worker exited instead, the supervisor would stop all the others."""

    def __init__(self, opened: Callable[[], AbstractAsyncContextManager[Service]], max_streams: int) -> None:
        self.deadlines = Deadlines()
        self.streams = OpenStreams(self.deadlines, max_streams)
        self.slashed_paths: Set[str] = frozenset()
        self._opened = opened
        self._service: Service | None = None
        self._resources = AsyncExitStack()
        self._opening: asyncio.Task[None] | None = None

    @property
    def service(self) -> Service:
        """Returns the service. Raises StoreUnavailable while it is not open yet."""
        if self._service is None:
            raise errors.StoreUnavailable("the store could not be opened yet")
        return self._service

    @property
    def is_open(self) -> bool:
        return self._service is not None

    async def process_startup(self, scope: Scope, event: dict[str, Any]) -> None:
        if not await self._open():
            self._opening = asyncio.create_task(self._open_at_last())

    async def process_shutdown(self, scope: Scope, event: dict[str, Any]) -> None:
        if self._opening is not None:
            self._opening.cancel()
        await self._resources.aclose()

    async def _open_at_last(self) -> None:
        while not await self._open():
            await asyncio.sleep(OPEN_AGAIN_SECONDS)

    async def _open(self) -> bool:
        try:
            self._service = await self._resources.enter_async_context(self._opened())
        except errors.StoreUnavailable as error:
            log.warning("store unavailable", outage="store", error=error.message, cause=repr(error.__cause__))
        return self._service is not None

    async def process_response(
        self, req: falcon.asgi.Request, resp: falcon.asgi.Response, resource: object, req_succeeded: bool
    ) -> None:
        await compress_answer(req, resp)

    async def process_request(self, req: falcon.asgi.Request, resp: falcon.asgi.Response) -> None:
        if not req.path.isascii() and not is_utf8(req.scope["raw_path"]):
            raise errors.InvalidRequest("Path must be UTF-8, percent-encoded")
        if "//" in req.path:
            if req.method not in ("GET", "HEAD"):  # clients do not repeat the body of a request that is redirected
                raise errors.NotFound("Endpoint", render_path(req), "; the path has an empty segment")
            query = req.scope[QUERY].decode("latin-1")
            cleaned = quote(re.sub(r"/{2,}", "/", req.path), safe="/:@|~!$&'()*+,;=-._")
            if HAS_SLASH in req.scope:
                cleaned = cleaned.replace(quote(SLASH_IN_ID), "%2F")
            cleaned = f"{render_store(req)}{cleaned}"
            location = f"{cleaned}?{quote(query, safe='%&=+~!$()*,;:@/?-._')}" if query else cleaned
            resp.status = 301
            resp.set_header("Location", location)
            resp.complete = True
            finish_answer(req, resp)
        elif req.path.endswith("/") and req.path != "/":
            if req.path[:-1] not in self.slashed_paths:
                raise errors.NotFound("Endpoint", render_path(req))
            req.path = req.path[:-1]
            req.scope[HAS_TRAILING_SLASH] = True


class Application:
    """Represents the ASGI application that the server calls. Falcon would wait for the first bytes of the body and
    decode the query string before it looks at a request; here neither is read until the request is known to match a
    route, to have a key and to be within the limits."""

    def __init__(
        self,
        opened: Callable[[], AbstractAsyncContextManager[Service]],
        ledger: Ledger | None = None,
        cors: CorsPolicy | None = None,
        has_console: bool = True,
        public_url: str = "",
        request_cache_bytes: int = MAX_KEPT_BYTES,
        received: ConnectionMemory | None = None,
        unsent: UnsentAnswers | None = None,
        max_streams: int = sys.maxsize,
        has_openfga: bool = True,
    ) -> None:
        self._has_openfga = has_openfga
        routes = (*ROUTES, *(OPENFGA_ROUTES if has_openfga else ()), FORWARD_ROUTE)
        self.received = received or ConnectionMemory(sys.maxsize)
        self.unsent = unsent or UnsentAnswers(sys.maxsize, 0.0)
        self._running = Running(opened, max_streams)
        self._ledger = ledger or Ledger()
        self._cors = cors
        self.fast_path = FastPath(
            lambda: self._running.service, routes, self._ledger, cors is not None, max_kept_bytes=request_cache_bytes
        )
        self._refusable = RefusableRoutes(routes)
        public_pages = public.list_pages(public_url, CONSOLE_HEADERS if has_console else None)
        console_files = list_console_pages() if has_console else []
        responders = [self._respond_to_route(route) for route in routes]
        _, path, forward = self._respond_to_route(FORWARD_ROUTE)
        responders += [(method, path, forward) for method in _METHODS if method != "GET"]
        responders += self._respond_to([*public_pages, *console_files])
        self._running.slashed_paths = {page.path for page in (*public_pages, *console_files) if page.takes_slash}
        responders += [("GET", "/", redirect_browser)] if has_console else []
        responders += _preflight_responders(cors) if cors is not None else []
        self._app = self._build_app(responders)
        self._admin_app = self._build_app(self._respond_to([page for page in public_pages if page.is_on_admin_port]))

    def read_metrics(self) -> Readings:
        """Returns the values that /metrics reports of this application."""
        refused, tracer = self._ledger.refused, self._ledger.tracer
        return {
            "spans_exported": 0 if tracer is None else tracer.queue.exported,
            "spans_dropped": 0 if tracer is None else tracer.queue.dropped,
            "request_cache_bytes": self.fast_path.measure_kept(),
            "unwritten_audit_bytes": 0 if self._ledger.audit_log is None else self._ledger.audit_log.waiting_bytes,
            "log_lines_lost": count_lost_lines(),
            "unwritten_log_bytes": count_waiting_bytes(),
            "received_bytes": self.received.bytes,
            "received_dropped": self.received.dropped,
            "unsent_bytes": self.unsent.bytes,
            "unsent_dropped": self.unsent.dropped,
            "unsent_refused": self.unsent.refused,
            "streams": len(self._running.streams),
            "streams_refused": self._running.streams.refused,
            "unauthenticated_limited": 0 if refused is None else refused.limited,
        }

    def _respond_to_route(self, route: Route) -> tuple[str, str, Responder]:
        pipeline = Pipeline(route, self.fast_path.bodies)
        responder = RouteResponder(lambda: self._running.service, self._running.streams, pipeline)
        return route.method, route.path, responder.respond

    def _respond_to(self, pages: Sequence[public.PublicPage]) -> list[tuple[str, str, Responder]]:
        return respond_to_pages(lambda: self._running.service, pages)

    def _build_app(self, responders: Sequence[tuple[str, str, Responder]]) -> App:
        app: App = falcon.asgi.App(middleware=[self._running, *([self._cors.middleware()] if self._cors else [])])
        # Some answers have no media type. Falcon accepts None here, although its types do not say so.
        app.resp_options.default_media_type = None  # type: ignore[assignment]
        app.add_error_handler(errors.MagistrateError, answer_error)
        app.add_error_handler(falcon.HTTPError, answer_http_error)
        app.add_error_handler(Exception, answer_fault)
        _add_resources(app, responders)
        return app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._answer(self._app, scope, receive, send)
            return
        await self._app(scope, receive, send)
        if scope["type"] == "lifespan":
            self._ledger.stopping()

    def stop_streams(self) -> None:
        """Lets the streams that are being sent end by themselves, because the server stops."""
        self._running.streams.end_all()

    async def answer_admin(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request to the admin port, which has health and metrics only."""
        await self._answer(self._admin_app, scope, receive, send)

    async def _answer(self, app: App, scope: Scope, receive: Receive, send: Send) -> None:
        if divide_forward_path(scope["raw_path"]) is not None:
            # Behind the host of an absolute URL, which no gateway sends, there is no path that rules could match.
            target = divide_forward_path(scope[URL] if URL in scope else scope["raw_path"]) or b""
            scope |= {FORWARD_TARGET: target, "raw_path": PATH.encode(), "path": PATH, "query_string": b""}
        if scope["raw_path"].startswith(STORES_PREFIX):
            store, path = divide_path(scope["raw_path"])
            scope |= {STORE: store, "raw_path": path, "path": unquote(path.decode("ascii"))}
        if self._has_openfga and is_openfga_path(scope["raw_path"]):
            scope |= {OPENFGA: True, STORE: find_openfga_store(scope["raw_path"])}
        if b"%2f" in scope["raw_path"].lower():
            scope |= {"path": decode_path(scope["raw_path"]), HAS_SLASH: True}
        scope |= {RECEIVE: receive, QUERY: scope["query_string"], "query_string": b""}
        begun: BegunRequest | None = scope.get(BEGUN)
        scope |= {
            LEDGER: self._ledger,
            STARTED: (begun and begun.started) or perf_counter(),
            REQUEST_ID: (begun and begun.request_id) or self._ledger.make_request_id(),
        }
        if self._ledger.tracer is not None:
            self._begin_trace(self._ledger.tracer, scope, begun)
        account = scope[ACCOUNT] = self.unsent.open_account()
        try:
            full = self._find_full(scope) if app is self._app else None
            if full is not None:
                await self._refuse(full, scope, send)
            elif not await self._refuse_unauthenticated(scope, send):
                await app(scope, _receive_nothing, send)
        except asyncio.CancelledError:
            with suppress(RuntimeError):  # nothing can be sent once a response has begun
                if not await break_off_stream(scope, send):
                    stopping = errors.StoreUnavailable("the service is stopping")
                    await self._send_error(stopping, scope, send, {"connection": "close"})
        finally:
            await finish_stream(scope)
            account.close()
            del scope[RECEIVE]  # it refers to the scope: only a collection would free either of them

    def _begin_trace(self, tracer: Tracer, scope: Scope, begun: BegunRequest | None) -> None:
        """Begins the trace of a request if it is sampled. Of one that the fast path has begun to answer, this is
        decided already."""
        if begun is not None and begun.request_id is not None:
            span = begun.span
        elif scope["path"] in public.PROBES:
            return
        else:
            span = tracer.begin(find_caller_trace(scope["headers"]) if tracer.trusts_callers else None)
        if span is not None:
            scope[SPAN] = span
            CURRENT.set(span)  # in the context of this task, which ends with the request

    def _find_full(self, scope: Scope) -> FullRoute | None:
        """Returns the route of a request that would be refused as soon as it would be admitted, otherwise None."""
        if not self._running.is_open:
            return None
        return self._refusable.find_full(self._running.service.admissions, _method_of(scope), scope["path"])

    async def _refuse(self, full: FullRoute, scope: Scope, send: Send) -> None:
        """Refuses a request before its key is known: whatever is done for it is taken from those that are answered."""
        full.admission.shed += 1
        await self._running.service.admissions.pace.wait()
        self._ledger.record_answer(
            scope["method"], full.route.path, 503, scope[STARTED], path=scope["path"], request_id=scope[REQUEST_ID]
        )
        await self._send_error(errors.Overloaded(), scope, send)

    async def _send_error(
        self, error: errors.MagistrateError, scope: Scope, send: Send, headers: Mapping[str, str] = {}
    ) -> None:
        further_headers = self._cors.raw_headers(scope["headers"]) if self._cors else {}
        await send_error(send, error, scope[REQUEST_ID], {**headers, **further_headers})

    async def _refuse_unauthenticated(self, scope: Scope, send: Send) -> bool:
        """Refuses a request without a valid key, if its source has sent too many of them, and returns whether it did.
        The web framework would take several times as long. A valid key is found first, whoever else sends others."""
        refused = self._ledger.refused
        if BEGUN in scope or refused is None or not refused.is_suspect(read_source(scope)) or not self._running.is_open:
            return False
        route = self._refusable.find_route(_method_of(scope), scope["path"])
        if route is None or not await self._is_unauthenticated(scope, route):
            return False
        try:
            require_refusable(scope)
        except errors.TooManyRefused as error:
            self._ledger.count_answer(scope["method"], route.path, 429, scope[STARTED])
            await self._send_error(error, scope, send)
            return True
        return False

    async def _is_unauthenticated(self, scope: Scope, route: Route) -> bool:
        """Returns whether a request has no valid key or token."""
        service = self._running.service
        header = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"authorization"), None)
        try:
            with self._running.deadlines.begin(service.limits.request_timeout_ms, writes=False):
                ticket, _ = divide_query(scope[QUERY]) if route.takes_ticket else (None, b"")
                if ticket is not None:
                    await identify_by_ticket(service.keys, service.stores, ticket, None, redeems=False)
                else:
                    if route.is_forward:
                        header = read_gateway_key(scope["headers"])
                    await identify_caller(service.keys, service.bearers, header, route.takes_bearer)
        except errors.Unauthenticated:
            return True
        except errors.MagistrateError:
            pass  # the web framework answers it
        return False


def _method_of(scope: Scope) -> str:
    """Returns the method by which the table of routes has a request."""
    return "GET" if scope["method"] == "HEAD" or FORWARD_TARGET in scope else cast(str, scope["method"])


async def _receive_nothing() -> dict[str, Any]:
    return {"type": "http.request", "body": b"", "more_body": False}


def _preflight_responders(cors: CorsPolicy) -> list[tuple[str, str, Responder]]:
    """Returns the responders to OPTIONS, for the routes that pages of other origins may call."""
    methods: dict[str, set[str]] = defaultdict(set)
    for route in ROUTES:
        if route.takes_bearer or cors.all_routes:
            methods[route.path].add(route.method)
    if cors.all_routes:
        for page in public.PAGES:
            methods[page.path].add("GET")

    def responder(answer: Responder) -> Responder:
        async def respond(req: falcon.asgi.Request, resp: falcon.asgi.Response, **path: str) -> None:
            await answer(req, resp)
            finish_answer(req, resp)

        return respond

    return [("OPTIONS", path, responder(answer_options(allowed))) for path, allowed in methods.items()]


def _add_resources(app: App, responders: Sequence[tuple[str, str, Responder]]) -> None:
    by_path: dict[str, dict[str, Responder]] = defaultdict(dict)
    for method, path, responder in responders:
        by_path[path][f"on_{method.lower()}"] = responder
    # Falcon would answer OPTIONS by itself and 405 to the rest; here every method that is not in the table is 404.
    for path, by_method in by_path.items():
        named = [method for method in sorted(_METHODS) if f"on_{method.lower()}" in by_method]
        refuse = _refuse_method(named)
        if "on_get" in by_method:
            by_method["on_head"] = by_method["on_get"]  # the server sends no body
        app.add_route(path, SimpleNamespace(**({f"on_{method.lower()}": refuse for method in _METHODS} | by_method)))


def _refuse_method(methods: Sequence[str]) -> Responder:
    """Returns the responder of the methods that a path does not have; its message names those that it has, but for
    HEAD, which goes with GET."""
    allowed = ", ".join(sorted({*methods, "HEAD"} if "GET" in methods else methods))

    async def refuse(req: falcon.asgi.Request, resp: falcon.asgi.Response, **path: str) -> None:
        resp.set_header("Allow", allowed)
        req.uri_template = None  # so that the metrics have no series for each method and path that anybody may send
        hint = f" for {req.method}; it exists for {', '.join(methods)}"
        raise errors.NotFound("Endpoint", render_path(req), hint)

    return refuse
