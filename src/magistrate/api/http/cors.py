"""Lets pages of other origins call the service (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import falcon
import falcon.asgi

from magistrate.api.http.consistency_tokens import TOKEN_HEADERS

EXPOSED_HEADERS = (*TOKEN_HEADERS, "Warrant-Request-Id", "Warrant-Outcome", "Warning", "Retry-After")
"""Lists the headers that scripts of such a page may read."""
VARY = ("Vary", "Origin")
"""Keeps a cache from giving the answer for one origin to another. Answers without an Origin carry it, too."""
ANY_ORIGIN = "*"


@dataclass(frozen=True, slots=True)
class CorsPolicy:
    """Says which origins may call the routes that accept a session token or, if `all_routes`, any route. `origins` are
    written as browsers write them, or are `*` alone."""

    origins: Sequence[str]
    all_routes: bool = False

    def middleware(self) -> "CorsMiddleware":
        is_any = ANY_ORIGIN in self.origins
        return CorsMiddleware(ANY_ORIGIN if is_any else self.origins, EXPOSED_HEADERS)

    def allows(self, origin: str) -> bool:
        return ANY_ORIGIN in self.origins or origin in self.origins

    def raw_headers(self, request_headers: Iterable[tuple[bytes, bytes]]) -> Mapping[str, str]:
        """Returns the headers of an answer that is not made by the framework."""
        origin = next((value.decode("latin-1") for name, value in request_headers if name == b"origin"), None)
        headers = dict([VARY])
        if origin is not None and self.allows(origin):
            headers["Access-Control-Allow-Origin"] = ANY_ORIGIN if ANY_ORIGIN in self.origins else origin
            headers["Access-Control-Expose-Headers"] = ", ".join(EXPOSED_HEADERS)
        return {name.lower(): value for name, value in headers.items()}


class CorsMiddleware(falcon.CORSMiddleware[falcon.asgi.Request, falcon.asgi.Response]):
    """Adds the headers of CORS to every answer, those of errors included."""

    async def process_response_async(
        self, req: falcon.asgi.Request, resp: falcon.asgi.Response, resource: object, req_succeeded: bool
    ) -> None:
        resp.append_header(*VARY)
        await super().process_response_async(req, resp, resource, req_succeeded)


def answer_options(methods: Iterable[str]) -> Any:
    """Returns a responder for OPTIONS that needs no key; the middleware makes an answer to a preflight of it."""
    allow = ", ".join(sorted(methods))

    async def respond(req: falcon.asgi.Request, resp: falcon.asgi.Response, **path: str) -> None:
        resp.status = 204
        resp.set_header("Allow", allow)

    return respond
