"""Renders the answers to what is refused before the web framework sees it."""

from http import HTTPStatus

from uuid_utils import uuid7

from magistrate.api.render import render_json


class RejectedRequest(Exception):
    """Stops the parser at a request that is answered with this status, whatever follows it."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def render_refusal(status: HTTPStatus, code: str, message: str, more_headers: str = "") -> bytes:
    """Returns a whole response that announces the end of the connection. Each line of `more_headers` ends in CRLF."""
    body = render_json({"code": code, "message": message})
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n{more_headers}"
        f"content-length: {len(body)}\r\nwarrant-request-id: {uuid7()}\r\nconnection: close\r\n\r\n"
    )
    return head.encode("ascii") + body
