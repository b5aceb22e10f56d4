"""Calls Magistrate, a service that decides who may do what.

    from magistrate_client import Client

    with Client("http://127.0.0.1:8000", key) as client:
        client.write(create=["document:plan#viewer@user:ann"])
        assert client.check("user:ann", "viewer", "document:plan")

`AsyncClient` has the same calls for asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from magistrate_client.errors import (
    BudgetExceeded,
    CallTimeout,
    Conflict,
    Denied,
    Forbidden,
    Gone,
    InternalError,
    InvalidModel,
    InvalidParameter,
    InvalidRequest,
    InvalidUse,
    LimitReached,
    MagistrateError,
    NotAllowed,
    NotFound,
    ObjectSetTooLarge,
    OrphanedWarrants,
    PreconditionFailed,
    ReadOnly,
    Refused,
    RevisionLost,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
    Unreachable,
)
from magistrate_client.events import (
    AccessChanges,
    AccessEvent,
    AccessRow,
    AccessSnapshot,
    Checkpoint,
    Revision,
    Snapshot,
    WatchEvent,
)
from magistrate_client.explanations import Explanation, Suggestion
from magistrate_client.object_sets import ObjectSet
from magistrate_client.refs import Object, ObjectRef, SubjectRef, Warrant
from magistrate_client.results import AccessChange, Written
from magistrate_client.synchronous.client import Client
from magistrate_client.version import __version__

if TYPE_CHECKING:
    from magistrate_client.asynchronous.client import AsyncClient

__all__ = [
    "AccessChange",
    "AccessChanges",
    "AccessEvent",
    "AccessRow",
    "AccessSnapshot",
    "AsyncClient",
    "BudgetExceeded",
    "CallTimeout",
    "Checkpoint",
    "Client",
    "Conflict",
    "Denied",
    "Explanation",
    "Forbidden",
    "Gone",
    "InternalError",
    "InvalidModel",
    "InvalidParameter",
    "InvalidRequest",
    "InvalidUse",
    "LimitReached",
    "MagistrateError",
    "NotAllowed",
    "NotFound",
    "Object",
    "ObjectRef",
    "ObjectSet",
    "ObjectSetTooLarge",
    "OrphanedWarrants",
    "PreconditionFailed",
    "ReadOnly",
    "Refused",
    "Revision",
    "RevisionLost",
    "Snapshot",
    "SubjectRef",
    "Suggestion",
    "TooManyRequests",
    "Unauthenticated",
    "Unavailable",
    "Unreachable",
    "Warrant",
    "WatchEvent",
    "Written",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """Imports the client for asyncio once it is used: asyncio takes as long to import as all else together."""
    if name == "AsyncClient":
        from magistrate_client.asynchronous.client import AsyncClient

        return AsyncClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
