"""Reads answers: their JSON, their token, and the error that they may be."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any, Callable, NamedTuple, TypeVar

from magistrate_client.errors import Refused, Unreachable, choose_error
from magistrate_client.http_messages import BrokenAnswer

_Result = TypeVar("_Result")

TEXT_TYPE = "text/plain"
"""Is the media type of a model as text."""


class Answer(NamedTuple):
    """Holds a complete answer."""

    status: int
    body: bytes
    media_type: str
    token: str | None
    retry_after: str | None
    request_id: str | None

    def read_json(self) -> Any:
        """Returns the JSON value of the body. Raises BrokenAnswer if it is none, as the page of a proxy."""
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise BrokenAnswer("what answers there is no Magistrate: the answer is not JSON") from error

    def read_text(self) -> str:
        """Returns the body as text."""
        return self.body.decode(errors="replace")


def require_ours(answer: Answer, media_type: str = "application/json") -> None:
    """Raises BrokenAnswer if a successful answer is not one of Magistrate's."""
    if answer.status < 300 and not answer.media_type.startswith(media_type):
        raise BrokenAnswer(f"what answers there, with {answer.media_type or 'no media type'}, is no Magistrate")


def read_answer(answer: Answer, read: Callable[[Any], _Result], url: str) -> _Result:
    """Returns what a function reads from the JSON of an answer. Raises Unreachable if it is not one of Magistrate's."""
    try:
        return read(answer.read_json())
    except (BrokenAnswer, LookupError, TypeError, ValueError) as error:
        message = f"{url}: what answers there is no Magistrate: {error!r}"
        raise Unreachable(message, url) from error


def build_refusal(answer: Answer) -> Refused:
    """Returns the error that an answer is."""
    try:
        body = json.loads(answer.body)
    except ValueError:
        body = None
    details = body if isinstance(body, dict) else {}
    code, message = details.get("code"), details.get("message")
    code = code if isinstance(code, str) else None
    kind = choose_error(answer.status, code)
    said = message if isinstance(message, str) else f"answered with the status {answer.status}"
    return kind(said, answer.status, code, answer.request_id, details, read_retry_after(answer.retry_after))


def read_retry_after(text: str | None) -> float | None:
    """Returns after how many seconds to come back: the header has them, or a date."""
    if text is None:
        return None
    if text.strip().isdigit():
        return float(text)
    try:
        date = datetime.strptime(text.strip(), "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=timezone.utc)
        return max(0.0, (date - datetime.now(timezone.utc)).total_seconds())
    except ValueError:
        return None
