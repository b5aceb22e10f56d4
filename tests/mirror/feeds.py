"""A server that sends the feed of access as a test says, for what a real one does only now and then."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from magistrate.mirror.rows import MirroredAccess
from tests.http_server import SilentHandler, serving

HOLD = "hold"
"""In place of an event: the stream stays open, and sends nothing more."""

Event = dict[str, Any]
Sent = Event | str
Script = Callable[[dict[str, str]], tuple[int, Sequence[Sent]]]
"""Returns the status and the events for these parameters; for another status than 200, the body is the only one."""


@dataclass(slots=True)
class ScriptedFeed:
    """`requests`: the parameters of all requests, in the order they came."""

    url: str = ""
    requests: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def scripted_feed(script: Script) -> Iterator[ScriptedFeed]:
    feed, is_over = ScriptedFeed(), threading.Event()

    class Handler(SilentHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parameters = {name: values[-1] for name, values in parse_qs(urlsplit(self.path).query).items()}
            feed.requests.append(parameters)
            status, events = script(parameters)
            self.send_response(status)
            if status != 200:
                body = json.dumps(events[0]).encode()
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                return
            self.send_header("Content-Type", "application/x-ndjson")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for event in events:
                if event == HOLD:
                    is_over.wait()
                    break
                line = (event if isinstance(event, str) else json.dumps(event)).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                self.wfile.flush()
            self.close_connection = True

    with serving(Handler) as feed.url:
        try:
            yield feed
        finally:
            is_over.set()


def refusal(code: str, parameter: str | None = None) -> Event:
    body = {"code": code, "message": f"refused with {code}"}
    return body if parameter is None else body | {"parameter": parameter}


def rows(*access: MirroredAccess) -> list[Event]:
    """The rows as the feed has them."""
    return [
        {
            "objectType": one.key.object_type,
            "objectId": one.key.object_id,
            "relation": one.key.relation,
            "subject": {"objectType": one.key.subject_type, "objectId": one.key.subject_id},
        }
        | ({"conditional": True} if one.is_conditional else {})
        for one in access
    ]


def at(number: int, later: int = 0) -> Event:
    """The members of a position: revisions have a number, and perhaps some time has passed since."""
    time = f"2026-11-27T10:{number:02}:{later:02}.000000Z"
    return {"token": f"t{number}", "time": time} | ({"id": f"t{number}.{later}"} if later else {})


def snapshot(*access: MirroredAccess) -> Event:
    return {"event": "snapshot", "access": rows(*access)}


def checkpoint(number: int, later: int = 0) -> Event:
    return {"event": "checkpoint", **at(number, later)}


def change(
    number: int, gained: Sequence[MirroredAccess] = (), lost: Sequence[MirroredAccess] = (), later: int = 0
) -> Event:
    return {"event": "access", **at(number, later), "gained": rows(*gained), "lost": rows(*lost)}
