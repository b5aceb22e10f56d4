"""Writes events as readers of streams expect them: as server-sent events, or as lines of JSON."""

import re
from collections.abc import Mapping

EVENT_STREAM, NDJSON = "text/event-stream", "application/x-ndjson"
MEDIA_TYPES = (EVENT_STREAM, NDJSON)

STREAM_HEADERS: Mapping[str, str] = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Keep caches from storing a stream, and nginx from holding it back."""


class ServerSentEvents:
    """Writes server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

    media_type = EVENT_STREAM
    closing = b"}\n\n"

    def open(self, name: str, event_id: str | None) -> bytes:
        identified = "" if event_id is None else f"id: {event_id}\n"
        return f"event: {name}\n{identified}data: {{".encode()


class JsonLines:
    """Writes a line for each event, which is an object whose member `event` has the name."""

    media_type = NDJSON
    closing = b"}\n"

    def open(self, name: str, event_id: str | None) -> bytes:
        return b'{"event":"%s",' % name.encode()


_OF_LINES = re.compile(r"application/(?:x-)?ndjson\b", re.IGNORECASE)


def choose_frames(accept: str) -> ServerSentEvents | JsonLines:
    """Returns how a request with this header Accept gets its events: as lines of JSON if it names these, and no
    server-sent events."""
    return JsonLines() if _OF_LINES.search(accept) and EVENT_STREAM not in accept.lower() else ServerSentEvents()
