"""Renders values as bytes: JSON bodies that end with a newline, and timestamps."""

from functools import lru_cache
from time import gmtime, strftime

import msgspec

_ENCODER = msgspec.json.Encoder()


def render_json(value: object) -> bytes:
    return _ENCODER.encode(value) + b"\n"


@lru_cache(maxsize=1_024)
def render_time(microseconds: int) -> str:
    """Renders a time as RFC 3339 in UTC with `Z`; fractional seconds have no trailing zeros and are omitted when
    zero."""
    seconds, fraction = divmod(microseconds, 1_000_000)
    whole = strftime("%Y-%m-%dT%H:%M:%S", gmtime(seconds))
    return f"{whole}.{fraction:06d}".rstrip("0") + "Z" if fraction else whole + "Z"
