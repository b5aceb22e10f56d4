"""Protects endpoints of FastAPI: `require` makes a dependency.

@app.get("/documents/{document_id}", dependencies=[Depends(require("viewer", "document:{document_id}", subject=user))])
async def read_document(document_id: str) -> Document: ..."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Callable, Optional

from fastapi import Depends
from starlette.requests import HTTPConnection

from magistrate_client.asynchronous.client import AsyncClient
from magistrate_client.guards import Guard
from magistrate_client.refs import AnySubject, ObjectRef
from magistrate_client.starlette import admit

Dependency = Callable[[HTTPConnection, Optional[AnySubject]], Awaitable[ObjectRef]]


def require(
    relation: str, object: str, *, subject: Callable[..., Any], client: AsyncClient | None = None
) -> Dependency:
    """Returns a dependency that lets a request go on only if its subject has a relation on the object, and which
    returns that object.

    `object` has path parameters in its id: `document:{document_id}`. The check is about the text in the path: take the
    id from what the dependency returns, or as `str`, or give the path a convertor (`{number:int}`), so that the
    endpoint cannot read another object. `subject` is a dependency itself, and returns `user:ann`, or None where nobody
    is logged in. The client is `app.state.magistrate` unless it is given. The answer is 401 without a subject, 403 if
    the check is denied, 404 for what no object can be called, and 503 while the service does not answer. A WebSocket
    is closed."""
    guard = Guard(relation, object)
    depends: Any = Depends(subject)

    async def admit_request(connection: HTTPConnection, found: Any = depends) -> ObjectRef:
        return await admit(guard, client, connection, found)

    return admit_request
