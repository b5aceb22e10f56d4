"""Serves pages over HTTP: a page has an origin of its own only if a server has sent it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.http_server import SilentHandler, serving


@contextmanager
def serving_pages(pages: Mapping[str, str]) -> Iterator[str]:
    """Yields the origin of a server with these pages: their HTML by path."""

    class Handler(SilentHandler):
        def do_GET(self) -> None:
            html = pages.get(self.path)
            body = (html or "").encode()
            self.send_response(404 if html is None else 200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with serving(Handler) as origin:
        yield origin
