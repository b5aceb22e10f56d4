"""Defines what is sent to a receiver, and what comes of it."""

from typing import NamedTuple


class OutgoingMessage(NamedTuple):
    """Holds a message: its id, which is the same for each attempt, and its body."""

    id: str
    body: bytes


class SendOutcome(NamedTuple):
    """Says what came of an attempt: the status of the answer, None without one, and what went wrong, nothing if the
    receiver has the message. `retry_after` is for how many seconds it does not want another attempt."""

    status: int | None
    failure: str
    retry_after: float = 0.0
