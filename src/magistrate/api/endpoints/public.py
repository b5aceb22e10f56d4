"""Handles the routes around the API: health, readiness, metrics, the OpenAPI document and the reference page."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from magistrate import __version__
from magistrate.api import openapi, reference
from magistrate.api.authzen.routes import WELL_KNOWN, render_metadata
from magistrate.api.calls import Service
from magistrate.api.http.json_values import render_json
from magistrate.api.http.metrics import CONTENT_TYPE, METRICS, exposition
from magistrate.api.http.request_values import JSON_TYPE
from magistrate.commit import COMMIT
from magistrate.errors import StoreUnavailable
from magistrate.operations.keys.callers import Scope

READY_WITHIN_SECONDS = 1.5

Opened = Callable[[], Service]
"""Returns the service; raises StoreUnavailable while it is not open."""


@dataclass(frozen=True, slots=True)
class PublicPage:
    """Represents a page. Without a `scope` it needs no key; a browser that has the content of the `etag` gets 304.
    `body` also takes the path of the request. With `takes_slash`, the path may have a slash at its end: HTML is then
    redirected to, because its links are relative."""

    path: str
    meaning: str
    content_type: str
    body: Callable[[Opened, str], Awaitable[bytes]]
    scope: Scope | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    etag: str = ""
    is_on_admin_port: bool = False
    takes_slash: bool = False


async def healthz(service: Opened, path: str) -> bytes:
    """Answers that the process is alive, without access to the store."""
    return _HEALTHY


async def readyz(service: Opened, path: str) -> bytes:
    """Answers whether the service is ready. Raises StoreUnavailable unless the store can be reached, is migrated and
    answers soon: load balancers must not wait for this as long as a request may take."""
    try:
        async with asyncio.timeout(READY_WITHIN_SECONDS):
            await service().context.store.check()
    except TimeoutError:
        raise StoreUnavailable(f"the store did not answer within {READY_WITHIN_SECONDS} seconds") from None
    return _READY


async def metrics(service: Opened, path: str) -> bytes:
    return await asyncio.to_thread(exposition, METRICS.publish_values())


class LongPage:
    """Represents a page that is the same for everyone, but takes 50 ms to render: it is rendered once, in a thread,
    when it is first requested."""

    def __init__(self, render: Callable[[], bytes]) -> None:
        self._render = render
        self._is_rendering = threading.Lock()
        self._rendered = b""

    async def respond(self, service: Opened, path: str) -> bytes:
        return self._rendered or await asyncio.to_thread(self._render_once)

    def _render_once(self) -> bytes:
        with self._is_rendering:
            self._rendered = self._rendered or self._render()
        return self._rendered


async def authzen_configuration(service: Opened, path: str) -> bytes:
    return render_metadata(service().public_url, path)


_HEALTHY = render_json({"status": "healthy", "version": __version__, "commit": COMMIT})
_READY = render_json({"status": "ready"})


JSON = JSON_TYPE
TEXT = "text/plain; charset=utf-8"


def list_pages(public_url: str = "", script_headers: Mapping[str, str] | None = None) -> tuple[PublicPage, ...]:
    """Returns all pages. `public_url` is the URL by which clients reach the service; empty if nobody said.
    `script_headers` are those of the API reference if it has a script, None if it is to be plain."""
    html = "text/html; charset=utf-8"
    has_script = script_headers is not None
    headers = reference.PLAIN_HEADERS if script_headers is None else reference.allow_own_style(script_headers)
    described = LongPage(lambda: render_json(openapi.document(public_url)))
    explained = LongPage(lambda: reference.page(openapi.document(public_url), has_script).encode())
    return (
        PublicPage("/healthz", "200 while the process runs", JSON, healthz, is_on_admin_port=True, takes_slash=True),
        PublicPage("/readyz", _READY_MEANING, JSON, readyz, is_on_admin_port=True, takes_slash=True),
        PublicPage("/openapi.json", "The OpenAPI 3.1 document", JSON, described.respond),
        PublicPage("/docs", "The same for people", html, explained.respond, headers=headers, takes_slash=True),
        PublicPage(
            "/metrics", "Counters for Prometheus", CONTENT_TYPE, metrics, scope=Scope.METRICS, is_on_admin_port=True
        ),
        PublicPage(WELL_KNOWN, _WELL_KNOWN_MEANING, JSON, authzen_configuration),
        PublicPage(
            f"{WELL_KNOWN}/{{base:path}}", "The same, if `--public-url` has this path", JSON, authzen_configuration
        ),
    )


_READY_MEANING = "200 while the store can be reached and is migrated, else 503"
_WELL_KNOWN_MEANING = "The URLs of the AuthZEN endpoints, if `--public-url` is set"

PAGES = list_pages()
PROBES = frozenset(page.path for page in PAGES if page.is_on_admin_port)
"""Holds the paths of health and metrics, which are requested periodically."""
