"""Reads and renders times as callers write them."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from time import gmtime, strftime
from typing import Annotated

import msgspec

from magistrate.errors import InvalidParameter

TimeText = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]
"""Represents a time in JSON, as it is rendered."""
TIME_MESSAGE = "must be a valid time in the format 2006-01-02T15:04:05Z07:00"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = Annotated[datetime, msgspec.Meta(tz=True)]
_MICROSECONDS = re.compile(r"(\.\d{6})\d+")


def read_time(text: str, parameter: str) -> int:
    """Returns microseconds since 1970 UTC, negative before; finer fractions are cut off. Raises InvalidParameter unless
    the text is an RFC 3339 time."""
    try:
        moment = msgspec.convert(_MICROSECONDS.sub(r"\1", text), _TIME)
        return (moment - _EPOCH) // timedelta(microseconds=1)
    except (msgspec.ValidationError, OverflowError):
        raise InvalidParameter(parameter, TIME_MESSAGE) from None


@lru_cache(maxsize=1_024)
def render_time(microseconds: int) -> str:
    """Renders a time as RFC 3339 in UTC with `Z`; fractional seconds have no trailing zeros and are omitted when
    zero."""
    seconds, fraction = divmod(microseconds, 1_000_000)
    whole = strftime("%Y-%m-%dT%H:%M:%S", gmtime(seconds))
    return f"{whole}.{fraction:06d}".rstrip("0") + "Z" if fraction else whole + "Z"
