"""Handles the routes around the API: health, readiness, metrics, the OpenAPI document and the reference page."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from magistrate.api import openapi, reference
from magistrate.api.render import render_json
from magistrate.api.server.metrics import CONTENT_TYPE, exposition
from magistrate.api.service import Service
from magistrate.errors import StoreUnavailable
from magistrate.operations.callers import Scope

READY_WITHIN_SECONDS = 1.5

Opened = Callable[[], Service]
"""Returns the service; raises StoreUnavailable while it is not open."""


@dataclass(frozen=True, slots=True)
class PublicPage:
    """Represents a page. Without a `scope` it needs no key. `body` takes the public URL of the service, too, which is
    empty if there is none."""

    path: str
    meaning: str
    content_type: str
    body: Callable[[Opened, str], Awaitable[bytes]]
    scope: Scope | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    is_on_admin_port: bool = False


async def healthz(service: Opened, public_url: str) -> bytes:
    """Answers that the process is alive, without access to the store."""
    return _HEALTHY


async def readyz(service: Opened, public_url: str) -> bytes:
    """Answers whether the service is ready. Raises StoreUnavailable unless the store can be reached, is migrated and
    answers soon: load balancers must not wait for this as long as a request may take."""
    try:
        async with asyncio.timeout(READY_WITHIN_SECONDS):
            await service().context.store.check()
    except TimeoutError:
        raise StoreUnavailable(f"the store did not answer within {READY_WITHIN_SECONDS} seconds") from None
    return _READY


async def metrics(service: Opened, public_url: str) -> bytes:
    return exposition()


async def openapi_document(service: Opened, public_url: str) -> bytes:
    return _openapi(public_url)


async def docs(service: Opened, public_url: str) -> bytes:
    return _docs(public_url)


_HEALTHY = render_json({"status": "healthy"})
_READY = render_json({"status": "ready"})


@cache
def _openapi(public_url: str) -> bytes:
    return render_json(openapi.document(public_url))


@cache
def _docs(public_url: str) -> bytes:
    return reference.page(openapi.document(public_url)).encode()


JSON = "application/json"
TEXT = "text/plain; charset=utf-8"

PAGES: tuple[PublicPage, ...] = (
    PublicPage("/healthz", "200 while the process runs", JSON, healthz, is_on_admin_port=True),
    PublicPage(
        "/readyz", "200 while the store can be reached and is migrated, else 503", JSON, readyz, is_on_admin_port=True
    ),
    PublicPage("/openapi.json", "The OpenAPI 3.1 document", JSON, openapi_document),
    PublicPage("/docs", "The same for people", "text/html; charset=utf-8", docs, headers=reference.HEADERS),
    PublicPage("/metrics", "Counters for Prometheus", CONTENT_TYPE, metrics, Scope.METRICS, is_on_admin_port=True),
)
