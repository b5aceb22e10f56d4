"""Protects views of Flask: the decorator `require`.

@app.get("/documents/<document_id>")
@require("viewer", object="document:{document_id}", subject=find_user)
def read_document(document_id: str) -> str: ..."""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable, TypeVar, cast

from flask import current_app
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import Forbidden, HTTPException, NotFound, ServiceUnavailable, Unauthorized

from magistrate_client.errors import InvalidUse
from magistrate_client.guards import Guard, Rejection
from magistrate_client.refs import AnySubject
from magistrate_client.synchronous.client import Client

_View = TypeVar("_View", bound=Callable[..., Any])


def require(
    relation: str, object: str, *, subject: Callable[[], AnySubject | None], client: Client | None = None
) -> Callable[[_View], _View]:
    """Returns a decorator for a view, which then runs only for subjects that have a relation on the object.

    `object` has arguments of the view in its id: `document:{document_id}`. `subject` returns `user:ann`, or None where
    nobody is logged in. The client is `app.extensions["magistrate"]` unless it is given. The answer is 401 without a
    subject, 403 if the check is denied, 404 for what no object can be called, and 503 while the service does not
    answer."""
    guard = Guard(relation, object)

    def decorate(view: _View) -> _View:
        @wraps(view)
        def run_guarded(*args: Any, **kwargs: Any) -> Any:
            try:
                guard.admit(client or find_client(), subject(), kwargs)
            except Rejection as rejection:
                raise _build_exception(rejection) from rejection
            return current_app.ensure_sync(view)(*args, **kwargs)

        return cast("_View", run_guarded)

    return decorate


def find_client() -> Client:
    """Returns the client of the application, `app.extensions["magistrate"]`."""
    client = current_app.extensions.get("magistrate")
    if not isinstance(client, Client):
        raise InvalidUse('assign a Client to app.extensions["magistrate"], or pass it to require(…, client=…)')
    return client


def _build_exception(rejection: Rejection) -> HTTPException:
    if rejection.status == 401:
        return Unauthorized(www_authenticate=WWWAuthenticate("bearer"))
    if rejection.status == 503:
        return ServiceUnavailable(retry_after=int(rejection.headers["Retry-After"]))
    return NotFound() if rejection.status == 404 else Forbidden()
