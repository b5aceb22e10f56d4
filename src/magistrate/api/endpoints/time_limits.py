"""Reads and renders the times between which a warrant counts (docs/api.md#time-limits)."""

from typing import Protocol

from magistrate.api.render import render_time
from magistrate.errors import InvalidParameter
from magistrate.operations.times import TIME_MESSAGE, read_time


class Limited(Protocol):
    """Represents anything with the time limits of a warrant, in microseconds since 1970 UTC."""

    @property
    def starts_at(self) -> int | None: ...

    @property
    def expires_at(self) -> int | None: ...


def read_limits(starts_at: str | None, expires_at: str | None) -> tuple[int | None, int | None]:
    """Returns both limits in microseconds since 1970 UTC. Raises InvalidParameter for the first fault."""
    start, end = _read_limit(starts_at, "startsAt"), _read_limit(expires_at, "expiresAt")
    if start is not None and end is not None and end <= start:
        raise InvalidParameter("expiresAt", "must be after startsAt")
    return start, end


def _read_limit(text: str | None, parameter: str) -> int | None:
    if text is None:
        return None
    limit = read_time(text, parameter)
    if limit <= 0:
        raise InvalidParameter(parameter, f"{TIME_MESSAGE}, after 1970-01-01T00:00:00Z")
    return limit


def render_limits(limited: Limited) -> dict[str, str]:
    """Returns the members of an answer: those that there are."""
    limits = {"startsAt": limited.starts_at, "expiresAt": limited.expires_at}
    return {name: render_time(limit) for name, limit in limits.items() if limit is not None}
