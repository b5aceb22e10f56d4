"""Serves the console at /console, and the script of the API reference at /docs: the files of console_files/, which are
built from console/ (docs/console.md)."""

from collections.abc import Iterable
from functools import partial
from hashlib import sha256
from importlib.resources import files

from magistrate.api.endpoints.public import Opened, PublicPage

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
    (f"{CONSOLE_PATH}/workbench.js", "workbench.js", "Its editor of models", "text/javascript; charset=utf-8"),
    (f"{CONSOLE_PATH}/console.css", "console.css", "Its style", "text/css; charset=utf-8"),
    (f"{CONSOLE_PATH}/icon.svg", "icon.svg", "Its icon", "image/svg+xml"),
)

_REFERENCE_FILES = (
    ("/docs/reference.js", "reference.js", "The script of the API reference", "text/javascript; charset=utf-8"),
    ("/docs/reference.css", "reference.css", "Its style", "text/css; charset=utf-8"),
)


def list_console_pages() -> list[PublicPage]:
    """Returns the files of the console. None needs a key: they are the same for everyone and have no data."""
    return _list_files(_FILES)


def list_reference_files() -> list[PublicPage]:
    """Returns what the page at /docs loads."""
    return _list_files(_REFERENCE_FILES)


def _list_files(described: Iterable[tuple[str, str, str, str]]) -> list[PublicPage]:
    folder = files("magistrate").joinpath("console_files")
    pages = []
    for path, name, meaning, content_type in described:
        content = folder.joinpath(name).read_bytes()
        etag = sha256(content).hexdigest()[:32]
        answer = partial(_answer, content)
        takes_slash = path == CONSOLE_PATH
        pages.append(PublicPage(path, meaning, content_type, answer, None, HEADERS, etag, takes_slash=takes_slash))
    return pages


async def _answer(content: bytes, service: Opened, path: str) -> bytes:
    return content
