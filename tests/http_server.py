"""What the HTTP servers of tests have in common: a port of their own, and that they end with the test."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class SilentHandler(BaseHTTPRequestHandler):
    def log_message(self, template: str, *args: object) -> None:
        """Says nothing."""


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # clients open many connections at once

    def handle_error(self, request: object, client_address: object) -> None:
        """A client may disconnect, and a test may want a connection to end."""


@contextmanager
def serving(handler: type[SilentHandler], tls: ssl.SSLContext | None = None, port: int = 0) -> Iterator[str]:
    """The URL of a server whose requests are handled so, on a free port unless one is given."""
    server = _Server(("127.0.0.1", port), handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
