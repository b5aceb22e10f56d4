"""Receives the messages of a webhook, and says when which of the objects of a benchmark has arrived.

`python -m benchmarks.webhook_receiver` prints its URL. When its input ends, it prints an Arrivals for each object as a
line of JSON."""

import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import msgspec

from benchmarks.feed_readers import Arrivals

_NUMBER = re.compile(rb'"objectId": ?"n(\d+)"')


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    arrivals: ClassVar[dict[int, Arrivals]] = {}

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        now = time.monotonic()
        for number in {int(found) for found in _NUMBER.findall(body)}:
            self.arrivals.setdefault(number, Arrivals(1, now, now))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Prints nothing."""


def main() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        sys.stdin.read()
        server.shutdown()
    sys.stdout.buffer.write(msgspec.json.encode(_Handler.arrivals))


if __name__ == "__main__":
    main()
