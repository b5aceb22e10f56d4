"""Defines the states of a connection: whether it goes on, what its next bytes are, and which request is its last."""

from enum import Enum, auto
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

NOT_HTTP = "Request is not valid HTTP"
UNKNOWN_CODING = (HTTPStatus.NOT_IMPLEMENTED, "Transfer-Encoding must be chunked")

AROUND_A_REQUEST_LINE = len("  HTTP/1.1\r\n")
AROUND_A_HEADER = len(": \r\n")
"""Counts the bytes around a header's name and value; the constant beside it counts those around method and target."""


class Phase(Enum):
    """Says whether the connection goes on: SERVING → STOPPING → REFUSED, of which STOPPING may be skipped."""

    SERVING = auto()
    STOPPING = auto()
    """The service is shutting down: the connection closes between two requests, announced in the last answer."""
    REFUSED = auto()
    """The client has been, or will be, answered before its request was complete, and nothing more is read."""


class StreamPosition(Enum):
    """Says what the next bytes belong to: HEAD → BODY when a head is complete, BODY → HEAD when a message is."""

    HEAD = auto()
    BODY = auto()


class LastAnswer:
    """Represents an answer that announces the end of the connection although the request allows another. It is taken
    back if the reason goes away before the answer begins."""

    __slots__ = ("_cycle", "is_for_body")

    def __init__(self, cycle: RequestResponseCycle, is_for_body: bool) -> None:
        """`is_for_body` says that the reason is a body which is not complete; otherwise it is the shutdown."""
        cycle.keep_alive = False
        self._cycle = cycle
        self.is_for_body = is_for_body

    def take_back(self) -> None:
        if not self._cycle.response_started:
            self._cycle.keep_alive = True


class RequestHead:
    """Holds what is known of the head that is being received, over several segments, and counts the bytes towards its
    limit. The protocol updates it, in place of methods, because this is done for every request."""

    __slots__ = (
        "began_behind_request",
        "coding",
        "earlier",
        "hosts",
        "idle_bytes",
        "is_behind_request",
        "may_be_too_large",
        "most_bytes",
    )

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.may_be_too_large = False
        """Says whether a head that ends in the current segment can be too large."""
        self.is_behind_request = self.began_behind_request = False
        """These say whether a request has ended in the current segment: by now, and when the head began."""
        self.earlier = b""
        """Holds the bytes of the head from earlier segments."""
        self.idle_bytes = 0
        """Counts the bytes received since the last byte that completed a head or that will be read."""
        self.hosts = 0
        """Counts the Host headers."""
        self.coding = b""
        """Holds the transfer coding in lower case; several headers are joined by commas."""

    def find_fault(self, version: str) -> tuple[HTTPStatus, str] | None:
        """Returns the status and message if the complete head is not valid HTTP or asks for something that is not
        supported."""
        if version not in ("1.0", "1.1"):
            return HTTPStatus.BAD_REQUEST, NOT_HTTP
        if self.hosts != 1 and (self.hosts or version == "1.1"):
            return HTTPStatus.BAD_REQUEST, "Request must have exactly one Host header"
        if self.coding and version == "1.0":
            return HTTPStatus.BAD_REQUEST, "Transfer-Encoding is not defined in HTTP/1.0"
        return UNKNOWN_CODING if self.coding not in (b"", b"chunked") else None
