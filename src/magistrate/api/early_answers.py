"""Sends answers that are made without the web framework."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from magistrate.api.error_table import ERROR_TABLE, error_body
from magistrate.api.render import render_json
from magistrate.errors import Overloaded, StoreUnavailable, TooManyRefused

Send = Callable[[dict[str, Any]], Awaitable[None]]

RETRY_AFTER_SECONDS = "1"


async def answer_cancelled(send: Send, request_id: str, further_headers: Mapping[str, str]) -> None:
    """Answers a request that the server cancels because it must stop. Once a response has begun, nothing can be
    sent."""
    with suppress(RuntimeError):
        error = StoreUnavailable("the service is stopping")
        await _send_error(send, error, request_id, {"connection": "close", **further_headers})


async def answer_overloaded(send: Send, request_id: str, further_headers: Mapping[str, str]) -> None:
    """Answers a request that is refused because too many are waiting."""
    await _send_error(send, Overloaded(), request_id, further_headers)


async def answer_refused(
    send: Send, error: TooManyRefused, request_id: str, further_headers: Mapping[str, str]
) -> None:
    """Answers a request without a valid key, of which there are too many."""
    await _send_error(send, error, request_id, further_headers)


async def _send_error(
    send: Send,
    error: Overloaded | StoreUnavailable | TooManyRefused,
    request_id: str,
    further_headers: Mapping[str, str],
) -> None:
    body, status = render_json(error_body(error)), ERROR_TABLE[type(error)].status
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "warrant-request-id": request_id,
        "retry-after": RETRY_AFTER_SECONDS,
        **further_headers,
    }
    raw_headers = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw_headers})
    await send({"type": "http.response.body", "body": body})
