"""Who calls: endpoints name what they need of this, and FastAPI hands it to them."""

from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from sharing.access import Access
from sharing.items import ANONYMOUS
from sharing.login import user_of
from sharing.service import Service
from sharing.storage import Storage


def storage_of(request: Request) -> Storage:
    storage: Storage = request.app.state.storage
    return storage


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Stored = Annotated[Storage, Depends(storage_of)]
Authorized = Annotated[Service, Depends(service_of)]
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))]


def visitor(request: Request, bearer: Bearer, storage: Stored, service: Authorized) -> Access:
    """A user, or the anonymous one. A token that is not ours is no login, and not anonymous either."""
    if bearer is None:
        return Access(ANONYMOUS, storage, service)
    if (user := user_of(bearer.credentials, request.app.state.secret)) is None:
        raise HTTPException(401, "not a token of this application", {"WWW-Authenticate": "Bearer"})
    return Access(user, storage, service)


Anyone = Annotated[Access, Depends(visitor)]


def signed_in(access: Anyone) -> Access:
    if access.user == ANONYMOUS:
        raise HTTPException(401, "log in first", {"WWW-Authenticate": "Bearer"})
    return access


Me = Annotated[Access, Depends(signed_in)]
