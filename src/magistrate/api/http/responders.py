"""Answers the requests of one route within the web framework, by the pipeline of the route.

The order of checks is fixed (docs/compatibility.md#routing): an unknown path or method is answered 404 before anything
else; then the key is checked, then the size and the content of the request."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack
from functools import partial
from typing import Any, BinaryIO, cast

import falcon.asgi
import msgspec

from magistrate import errors
from magistrate.api.auth.bearer import Identified, identify_caller
from magistrate.api.auth.forwarding import identify_holder, read_gateway_key
from magistrate.api.auth.tickets import identify_by_ticket
from magistrate.api.calls import Call, Service, render_body
from magistrate.api.endpoints import public
from magistrate.api.http.admission import BodyAccount
from magistrate.api.http.answers import finish_answer
from magistrate.api.http.connection_memory import AnswerAccount
from magistrate.api.http.consistency_tokens import TOKEN_HEADERS, read_freshness
from magistrate.api.http.content_coding import GzipBody, has_gzip_body
from magistrate.api.http.deadlines import RequestDeadline
from magistrate.api.http.ledger import Ledger
from magistrate.api.http.metrics import METRICS
from magistrate.api.http.openfga_errors import require_ulid
from magistrate.api.http.pipeline import BEGUN, BegunRequest, Pipeline, answer_in_history, describe_store
from magistrate.api.http.rate_limits import name_source
from magistrate.api.http.request_scope import (
    ACCOUNT,
    BODY,
    CALLER,
    FORWARD_TARGET,
    HAS_SLASH,
    IS_DECIDED,
    LEDGER,
    OPENFGA,
    QUERY,
    RECEIVE,
    REQUEST_ID,
    ROUTE,
    SLASH_IN_ID,
    SOURCE,
    SPAN,
    STORE,
    render_path,
)
from magistrate.api.http.request_values import LARGE_BODY_BYTES, read_parameters, require_json_type
from magistrate.api.http.streams import OpenStreams, Stream, begin_stream
from magistrate.api.http.ticket_parameter import divide_query
from magistrate.api.http.uploads import UploadPlaces, write_upload
from magistrate.engine.forwarding.rules import ForwardedRequest
from magistrate.errors import ReadOnly, TooManyRefused
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.keys.callers import OPERATOR_SCOPES, Caller
from magistrate.store.contract.new_rows import Once
from magistrate.store.contract.read_memory import READ_MEMORY
from magistrate.tracing import TraceSpan

Receive = Callable[[], Awaitable[dict[str, Any]]]
Scope = dict[str, Any]

_IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,255}")

_ADMITTED = "magistrate.admitted"
"""Names the entry of the ASGI scope that says that a request was counted, and may be answered with 401."""


class RouteResponder:
    """Answers the requests of one route. `service` raises StoreUnavailable while it is not open."""

    def __init__(self, service: Callable[[], Service], streams: OpenStreams, pipeline: Pipeline) -> None:
        self._service = service
        self._streams = streams
        self._deadlines = streams.deadlines
        self._pipeline = pipeline
        self._places = UploadPlaces()
        self._route = pipeline.route

    async def respond(self, req: falcon.asgi.Request, resp: falcon.asgi.Response, **path: str) -> None:
        service = self._service()
        with service.admissions.bodies.open_account() as body_account:
            await self._answer(service, body_account, req, resp, path=path)

    async def _answer(
        self,
        service: Service,
        body_account: BodyAccount,
        req: falcon.asgi.Request,
        resp: falcon.asgi.Response,
        *,
        path: dict[str, str],
    ) -> None:
        route, account = self._route, cast(AnswerAccount, req.scope[ACCOUNT])
        # What was written is answered in any case.
        memory = None if route.writes else account
        READ_MEMORY.set(memory)
        limit_ms = service.limits.request_timeout_ms if route.upload is None else route.upload.timeout_ms
        with self._deadlines.begin(limit_ms, route.writes) as deadline, ExitStack() as files:
            req.scope[ROUTE] = route
            begun: BegunRequest | None = req.scope.get(BEGUN)
            if begun is None or begun.call is None:
                receiver = _BodyReceiver(req, service, deadline, body_account)
                call = await self._read_call(service, req, path, receiver)
                begun_answer = None
                if route.upload is not None:
                    file = files.enter_context(self._places.open_file(route.upload))
                    await receiver.write_upload(file)
                    call = msgspec.structs.replace(call, body=file)
            else:
                call, begun_answer = begun.call, begun.answer
                self._take_begun(begun, req, body_account)
            if METRICS.requests_by_store is not None:
                METRICS.requests_by_store[call.context.store.identity.store_id] += 1
            span: TraceSpan | None = req.scope.get(SPAN)
            if span is not None:
                describe_store(span, service, call.context)
            async with service.admissions.by_scope[route.scope]:
                answer, token = await answer_in_history(route, call, begun_answer)
        if span is not None:
            span.attributes["magistrate.revision"] = answer.revision
        for header in TOKEN_HEADERS:
            resp.set_header(header, token)
        resp.set_headers(answer.headers)
        resp.status = answer.status or route.status
        if answer.status is not None:
            req.scope[IS_DECIDED] = True
        if route.stream is not None and isinstance(answer.value, Stream):
            await begin_stream(self._streams, service.keys, answer.value, req, resp)
        else:
            # A bytearray is sent as it is: copying many megabytes would take as long as rendering them.
            resp.data = cast(bytes, await render_body(answer, memory))
            account.resize(len(resp.data))
            if route.is_typed:
                resp.content_type = public.TEXT if answer.is_text else public.JSON
        finish_answer(req, resp)

    def _take_begun(self, begun: BegunRequest, req: falcon.asgi.Request, account: BodyAccount) -> None:
        """Notes and counts what the fast path has read."""
        req.scope[CALLER] = begun.caller
        if self._pipeline.takes_body and begun.body is not None:
            account.add(len(begun.body))
            account.add_decoded(begun.body)
            req.scope[BODY] = begun.body

    async def _read_call(
        self, service: Service, req: falcon.asgi.Request, path: dict[str, str], receiver: "_BodyReceiver"
    ) -> Call[Any]:
        """Returns the call of a request. Raises what is wrong with it."""
        route, pipeline = self._route, self._pipeline
        ticket = _take_ticket(req) if route.takes_ticket else None
        identified = await identify_sender(req, service, route.takes_bearer, ticket)
        caller = identified.caller
        if OPENFGA in req.scope and (named := req.scope[STORE]) is not None:
            require_ulid(named)
        context = service.stores.resolve(caller, identified.store or req.scope.get(STORE))
        if BEGUN not in req.scope and route.scope not in OPERATOR_SCOPES:
            service.store_rates.require(context)
        if route.also_for not in caller.scopes:
            caller.require_scope(route.scope)
        if route.writes and context.store.read_only is not None:
            raise ReadOnly(context.store.read_only.primary)
        if HAS_SLASH in req.scope:
            path = {name: text.replace(SLASH_IN_ID, "/") for name, text in path.items()}
        forwarded, holder = None, identified.holder
        if route.is_forward:
            forwarded = service.forward_rules.apply_rules(route.path, read_forwarded(req)).resolution
            if forwarded.token is not None:
                holder = await identify_holder(service.bearers, forwarded, req.scope["headers"], caller)
        parameters = read_parameters(req.scope[QUERY]) if req.scope[QUERY] else {}
        tokens = {header: text for header in TOKEN_HEADERS if (text := req.get_header(header)) is not None}
        freshness = NO_DEMAND if route.writes else read_freshness(context.store.identity, tokens)
        if route.needs_json_type:
            require_json_type(req.content_type)
        raw, body = b"", None
        if pipeline.takes_body:
            raw = await receiver.read_body(b"{}" if route.may_lack_body else b"")
            decoding = partial(pipeline.decode, raw, service, parameters)
            body = decoding() if len(raw) <= LARGE_BODY_BYTES else await asyncio.to_thread(decoding)
            req.scope[BODY] = raw
        call: Call[Any] = Call(
            context=context,
            caller=caller,
            body=body,
            path=path,
            parameters=parameters,
            freshness=freshness,
            once=_read_once(req, raw, caller) if route.takes_key else None,
            holder=holder,
            forwarded=forwarded,
            accept=req.get_header("Accept") or "",
            request_id=req.scope[REQUEST_ID],
            if_match=req.get_header("If-Match"),
            last_event_id=req.get_header("Last-Event-ID"),
            query=req.scope[QUERY],
        )
        pipeline.require_allowed(call)
        return call


def _take_ticket(req: falcon.asgi.Request) -> str | None:
    """Returns the ticket of a request, which is not in its query string any more: nothing that has that sees it."""
    ticket, req.scope[QUERY] = divide_query(req.scope[QUERY])
    return ticket


async def identify_sender(
    req: falcon.asgi.Request, service: Service, takes_bearer: bool, ticket: str | None = None
) -> Identified:
    """Returns who sent a request, which counts towards the rate limit of its caller, once. A ticket is used up then, if
    there is one, whatever the answer is; HEAD leaves it. Raises what `identify_caller` and `identify_by_ticket` raise,
    TooManyRequests, and TooManyRefused in place of Unauthenticated."""
    begun: BegunRequest | None = req.scope.get(BEGUN)
    if begun is not None:
        req.scope[CALLER] = begun.caller
        return Identified(begun.caller)
    try:
        if ticket is not None:  # a browser may add the header Authorization of a proxy
            redeems = req.method != "HEAD"
            named = req.scope.get(STORE)
            identified = await identify_by_ticket(service.keys, service.stores, ticket, named, redeems)
        else:
            is_forward = FORWARD_TARGET in req.scope
            header = read_gateway_key(req.scope["headers"]) if is_forward else req.get_header("Authorization")
            identified = await identify_caller(service.keys, service.bearers, header, takes_bearer)
    except errors.Unauthenticated:
        require_refusable(req.scope)
        raise
    req.scope[CALLER] = identified.caller
    if service.rate_limit is not None:
        service.rate_limit.require(identified.caller)
    return identified


def read_forwarded(req: falcon.asgi.Request) -> ForwardedRequest:
    """Returns the request of a gateway as the rules read it."""
    return ForwardedRequest(req.method, req.scope[FORWARD_TARGET], req.scope["headers"])


def read_source(scope: Scope) -> str:
    """Returns the source of a request: that of the peer, which may be a proxy."""
    client = scope.get("client")
    return name_source(client[0] if client else None)


def require_refusable(scope: Scope) -> None:
    """Counts a request without a valid key, once. Raises TooManyRefused if its source has sent too many of them."""
    ledger: Ledger = scope[LEDGER]
    refused = ledger.refused
    if refused is None or _ADMITTED in scope:
        return
    source = read_source(scope)
    if refused.admit_source(source):
        scope[_ADMITTED] = True
        return
    refused.count_source(source)
    scope[SOURCE] = source
    raise TooManyRefused


class _BodyReceiver:
    """Receives the body of one request within its limits."""

    def __init__(
        self, req: falcon.asgi.Request, service: Service, deadline: RequestDeadline, account: BodyAccount
    ) -> None:
        self._req = req
        self._limits = service.limits
        self._deadline = deadline
        self._account = account

    async def read_body(self, placeholder: bytes) -> bytes:
        """Returns the body, decoded if it is compressed, and the placeholder for an empty one. Raises BodyTooLarge,
        before reading if the request states its length, otherwise as soon as the limit is exceeded, InvalidRequest if
        the body is incomplete or cannot be decoded, BodyTooSlow, UnsupportedCoding, and Overloaded if there are too
        many others."""
        begun: BegunRequest | None = self._req.scope.get(BEGUN)
        if begun is not None and begun.body is not None:
            raw = begun.body
            self._account.add(len(raw))
        else:
            self._deadline.begin_body(self._limits.body_timeout_ms)
            is_compressed = has_gzip_body(self._req.scope["headers"])
            raw = await (self._read_gzip() if is_compressed else self._read_plain()) or placeholder
            self._deadline.end_body()
        self._account.add_decoded(raw)
        return raw

    async def _read_plain(self) -> bytes:
        limit = self._limits.max_body_bytes
        if (self._req.content_length or 0) > limit:
            raise errors.BodyTooLarge(limit)
        body = b""
        async for piece in self._receive_pieces():
            self._account.add(len(piece))
            body += piece
            if len(body) > limit:
                raise errors.BodyTooLarge(limit)
        return body

    async def _read_gzip(self) -> bytes:
        body = GzipBody(self._limits.max_body_bytes)
        async for piece in self._receive_pieces():
            size = len(body.decoded)
            await body.add(piece)
            self._account.add(len(body.decoded) - size)
        return body.finish()

    async def write_upload(self, file: BinaryIO) -> None:
        """Writes the body to a file, as it was sent. Each piece has the time that a whole body has otherwise. Raises
        BodyTooLarge, BodyTooSlow, InvalidRequest if it is incomplete, and UnsupportedCoding."""
        limit = self._limits.max_restore_bytes
        has_gzip_body(self._req.scope["headers"])  # the file shows by itself whether it is compressed
        if (self._req.content_length or 0) > limit:
            raise errors.BodyTooLarge(limit)
        await write_upload(file, self._receive_timed_pieces(), limit)

    async def _receive_timed_pieces(self) -> AsyncIterator[bytes]:
        self._deadline.begin_body(self._limits.body_timeout_ms)
        async for piece in self._receive_pieces():
            self._deadline.end_body()
            yield piece
            self._deadline.begin_body(self._limits.body_timeout_ms)
        self._deadline.end_body()

    async def _receive_pieces(self) -> AsyncIterator[bytes]:
        """Yields the pieces in which a body arrives. Raises InvalidRequest if it is incomplete."""
        receive: Receive = self._req.scope[RECEIVE]
        more = True
        while more:
            event = await receive()
            if event["type"] == "http.disconnect":
                raise errors.InvalidRequest("Request body is incomplete")
            yield cast(bytes, event.get("body", b""))
            more = event.get("more_body", False)


def _read_once(req: falcon.asgi.Request, body: bytes, caller: Caller) -> Once | None:
    """Returns the key of a write, which belongs to its caller, and a digest of the method, the path, the query string
    and the body. Raises InvalidParameter."""
    key = req.get_header("Idempotency-Key")
    if key is None:
        return None
    if not _IDEMPOTENCY_KEY.fullmatch(key):
        raise errors.InvalidParameter("Idempotency-Key", "must be 1 to 255 printable ASCII characters, no blanks")
    request = f"{req.method} {render_path(req)}\n".encode() + req.scope[QUERY] + b"\n" + body
    owner = hashlib.blake2b(caller.identity.encode(), digest_size=16).hexdigest()
    return Once(key, hashlib.sha256(request).hexdigest(), owner)
