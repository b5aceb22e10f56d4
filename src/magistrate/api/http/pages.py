"""Makes the responders of the routes outside the API proper: the pages in api/endpoints/public.py, and the console."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from hashlib import sha256
from importlib.resources import files

import falcon.asgi

from magistrate.api.endpoints.public import Opened, PublicPage
from magistrate.api.http.answers import finish_answer
from magistrate.api.http.content_coding import IS_CONSTANT
from magistrate.api.http.request_scope import render_path
from magistrate.api.http.responders import identify_sender
from magistrate.errors import NotFound
from magistrate.operations.scheduling import checkpoint

CONSOLE_PATH = "/console"

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # The names of the files stay the same from version to version, so a browser compares the ETag each time.
    "Cache-Control": "no-cache",
}
"""Allows browsers to load the files of the console and to call this service, and nothing else: no script or style in
the page itself, no other origin, no frame, and no text that becomes markup."""

_FILES = (
    (CONSOLE_PATH, "index.html", "The console, for browsers", "text/html; charset=utf-8"),
    (f"{CONSOLE_PATH}/console.js", "console.js", "Its script", "text/javascript; charset=utf-8"),
    (f"{CONSOLE_PATH}/pages.js", "pages.js", "Its pages besides the first", "text/javascript; charset=utf-8"),
    (f"{CONSOLE_PATH}/editor.js", "editor.js", "Its editor", "text/javascript; charset=utf-8"),
    (f"{CONSOLE_PATH}/workbench.js", "workbench.js", "Its workbench of models", "text/javascript; charset=utf-8"),
    (f"{CONSOLE_PATH}/tests_editor.js", "tests_editor.js", "Its editor of tests", "text/javascript; charset=utf-8"),
    (f"{CONSOLE_PATH}/console.css", "console.css", "Its style", "text/css; charset=utf-8"),
    (f"{CONSOLE_PATH}/icon.svg", "icon.svg", "Its icon", "image/svg+xml"),
    ("/docs/reference.js", "reference.js", "The script of the API reference", "text/javascript; charset=utf-8"),
    ("/docs/reference.css", "reference.css", "Its style", "text/css; charset=utf-8"),
)


def list_console_pages() -> list[PublicPage]:
    """Returns the files of the console and what the page at /docs loads. None needs a key: they are the same for
    everyone and have no data."""
    folder = files("magistrate").joinpath("console_files")
    pages = []
    for path, name, meaning, content_type in _FILES:
        content = folder.joinpath(name).read_bytes()
        etag = sha256(content).hexdigest()[:32]
        answer = partial(_answer, content)
        takes_slash = path == CONSOLE_PATH
        pages.append(
            PublicPage(
                path, meaning, content_type, answer, scope=None, headers=HEADERS, etag=etag, takes_slash=takes_slash
            )
        )
    return pages


async def _answer(content: bytes, service: Opened, path: str) -> bytes:
    return content


LARGE_PAGE_BYTES = 65_536
HAS_TRAILING_SLASH = "magistrate.has_trailing_slash"
"""Names the member of the scope of requests whose path had a slash at its end, which was taken off."""

PageResponder = Callable[..., Awaitable[None]]


def respond_to_pages(service: Opened, pages: Sequence[PublicPage]) -> list[tuple[str, str, PageResponder]]:
    """Returns method, path and responder of each page."""

    def responder(page: PublicPage) -> PageResponder:
        async def respond(req: falcon.asgi.Request, resp: falcon.asgi.Response, **path: str) -> None:
            if page.scope is not None:
                caller = (await identify_sender(req, service(), takes_bearer=False)).caller
                caller.require_scope(page.scope)
            if HAS_TRAILING_SLASH in req.scope and page.content_type.startswith("text/html"):
                _redirect_from_slash(req, resp, page.path)
                return
            if page.scope is None:
                req.scope[IS_CONSTANT] = True
            resp.set_headers(dict(page.headers))
            if page.etag:
                resp.etag = f'W/"{page.etag}"'  # weak: the compressed page has other bytes
            if page.etag and page.etag in (req.if_none_match or ()):
                resp.status = 304
                resp.append_header("Vary", "Accept-Encoding")
            else:
                resp.content_type = page.content_type
                resp.data = await page.body(service, render_path(req))
                if len(resp.data) > LARGE_PAGE_BYTES:
                    await checkpoint()  # sending it takes a millisecond, and many may be requested at once
            finish_answer(req, resp)

        return respond

    return [("GET", page.path, responder(page)) for page in pages]


def _redirect_from_slash(req: falcon.asgi.Request, resp: falcon.asgi.Response, path: str) -> None:
    """Redirects to the page at this path, by a relative URL: a proxy may serve it below a prefix."""
    resp.status = 301
    resp.set_header("Location", f"..{path}")
    finish_answer(req, resp)


async def redirect_browser(req: falcon.asgi.Request, resp: falcon.asgi.Response) -> None:
    """Redirects browsers from / to the console. Raises NotFound for callers that do not prefer HTML, as if there were
    no such path."""
    if req.client_prefers(("application/json", "text/html")) != "text/html":
        raise NotFound("Endpoint", "/")
    resp.status = 302
    resp.set_header("Location", CONSOLE_PATH.removeprefix("/"))  # relative: a proxy may serve it below a prefix
    resp.set_header("Vary", "Accept")
    resp.set_header("Cache-Control", "no-store")
    finish_answer(req, resp)
