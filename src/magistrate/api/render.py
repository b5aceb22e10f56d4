"""From values to bytes: JSON bodies that end with a newline, and timestamps."""

from datetime import UTC, datetime

import msgspec

_ENCODER = msgspec.json.Encoder()


def rendered(value: object) -> bytes:
    return _ENCODER.encode(value) + b"\n"


def rendered_time(microseconds: int) -> str:
    """RFC 3339 in UTC with `Z`; fractional seconds without trailing zeros, left out when zero."""
    seconds, fraction = divmod(microseconds, 1_000_000)
    whole = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{fraction:06d}".rstrip("0") + "Z" if fraction else whole + "Z"
