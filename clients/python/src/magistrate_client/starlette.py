"""Protects endpoints of Starlette: the decorator `require`.

@require("viewer", object="document:{document_id}", subject=find_user)
async def read_document(request: Request) -> Response: ..."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, Callable, Optional, Union

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException, WebSocketException
from starlette.requests import HTTPConnection, Request

from magistrate_client.asynchronous.client import AsyncClient
from magistrate_client.errors import InvalidUse
from magistrate_client.guards import Guard, Rejection
from magistrate_client.refs import AnySubject, ObjectRef

FindSubject = Callable[[Request], Union[Optional[AnySubject], Awaitable[Optional[AnySubject]]]]
Endpoint = Callable[[Request], Any]

POLICY_VIOLATION = 1008
TRY_AGAIN_LATER = 1013


async def admit(
    guard: Guard, client: AsyncClient | None, connection: HTTPConnection, subject: AnySubject | None
) -> ObjectRef:
    """Returns the object of a request that may go on. Raises HTTPException, or WebSocketException, for any other."""
    try:
        return await guard.admit_async(client or find_client(connection), subject, connection.path_params)
    except Rejection as rejection:
        if connection.scope["type"] == "websocket":
            code = TRY_AGAIN_LATER if rejection.status == 503 else POLICY_VIOLATION
            raise WebSocketException(code, rejection.reason) from rejection
        raise HTTPException(rejection.status, rejection.reason, rejection.headers) from rejection


def find_client(connection: HTTPConnection) -> AsyncClient:
    """Returns the client of the application, `app.state.magistrate`."""
    client = getattr(connection.app.state, "magistrate", None)
    if not isinstance(client, AsyncClient):
        raise InvalidUse("assign an AsyncClient to app.state.magistrate, or pass it to require(…, client=…)")
    return client


def require(
    relation: str, object: str, *, subject: FindSubject, client: AsyncClient | None = None
) -> Callable[[Endpoint], Endpoint]:
    """Returns a decorator for a function that is an endpoint, which then runs only for subjects that have a relation on
    the object.

    `object` has path parameters in its id: `document:{document_id}`. `subject` is given the request and returns
    `user:ann`, or None where nobody is logged in. It and the endpoint are run in a thread if they are not async. The
    client is `app.state.magistrate` unless it is given. The answer is 401 without a subject, 403 if the check is
    denied, 404 for what no object can be called, and 503 while the service does not answer."""
    guard = Guard(relation, object)

    def decorate(endpoint: Endpoint) -> Endpoint:
        @wraps(endpoint)
        async def run_guarded(request: Request) -> Any:
            await admit(guard, client, request, await _run(subject, request))
            return await _run(endpoint, request)

        return run_guarded

    return decorate


async def _run(function: Callable[[Request], Any], request: Request) -> Any:
    return await (function(request) if iscoroutinefunction(function) else run_in_threadpool(function, request))
