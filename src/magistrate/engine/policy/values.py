"""Defines the values that policies have beyond those of JSON (points in time and durations), and the bounds of
numbers."""

import math
import re
from datetime import UTC, datetime, timedelta

import msgspec

from magistrate.engine.policy.run import Fault

MIN_WHOLE, MAX_WHOLE = -(2**63), 2**63 - 1
"""Bounds integers to 64 bits, as in the languages that policies come from."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MIN_TIME = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1) * 1_000
_MAX_TIME = (datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1) * 1_000

_DATE = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?)?",
    re.ASCII,
)

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, the micro sign
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60 * 1_000_000_000,
    "h": 3_600 * 1_000_000_000,
}
_PIECE = re.compile(r"(\d{1,19})?(?:\.(\d{0,18}))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_LONGEST_DURATION = 100


class Time(msgspec.Struct, frozen=True, order=True):
    """Represents a point in time, in nanoseconds since 1970 UTC, of the years 1 to 9999."""

    nanoseconds: int


class Duration(msgspec.Struct, frozen=True, order=True):
    """Represents a duration in nanoseconds, of 64 bits: about 292 years each way."""

    nanoseconds: int


def whole(value: int) -> int:
    """Returns the value if it fits in 64 bits; raises Fault otherwise."""
    if MIN_WHOLE <= value <= MAX_WHOLE:
        return value
    raise Fault("the number is out of range")


def finite(value: float) -> float:
    if math.isfinite(value):
        return value
    raise Fault("the number is out of range")


def as_whole(value: float) -> int:
    """Returns a number as an integer. It may be written 3.0 but has to be whole: context values of some clients are all
    floats."""
    if type(value) is float:
        if not value.is_integer():
            raise Fault("the number is not whole")
        value = int(value)
    return whole(int(value))


def time_at(nanoseconds: int) -> Time:
    if _MIN_TIME <= nanoseconds <= _MAX_TIME:
        return Time(nanoseconds)
    raise Fault("the time is out of range")


def duration_of(nanoseconds: int) -> Duration:
    return Duration(whole(nanoseconds))


def calendar(time: Time) -> datetime:
    """Returns the time to the microsecond, in UTC."""
    return _EPOCH + timedelta(microseconds=time.nanoseconds // 1_000)


def read_date(text: str) -> Time:
    """Reads `2026-11-21`, `2026-11-21 08:30:00` or RFC 3339; UTC unless it says otherwise.

    Raises Fault for anything else."""
    match = _DATE.fullmatch(text)
    if match is None:
        raise Fault(f"cannot read {_shorten_text(text)} as a date")
    date, clock, fraction, zone = match.groups()
    try:
        read = datetime.fromisoformat(f"{date}T{clock or '00:00:00'}{zone or 'Z'}")
    except ValueError as error:
        raise Fault(f"cannot read {_shorten_text(text)} as a date") from error
    seconds = (read - _EPOCH) // timedelta(seconds=1)
    return time_at(seconds * 1_000_000_000 + int((fraction or "0").ljust(9, "0")))


def read_duration(text: str) -> Duration:
    """Reads the durations of Go: `72h`, `1h30m`, `1.5s`, `-10ms`, `0`.

    Raises Fault for anything else."""
    unsigned = text[1:] if text[:1] in ("-", "+") else text
    if unsigned == "0":
        return Duration(0)
    if not unsigned or len(unsigned) > _LONGEST_DURATION:
        raise Fault(f"cannot read {_shorten_text(text)} as a duration")
    total = at = 0
    while at < len(unsigned):
        piece = _PIECE.match(unsigned, at)
        if piece is None or not (piece[1] or piece[2]):
            raise Fault(f"cannot read {_shorten_text(text)} as a duration")
        fraction = piece[2] or ""
        unit = _UNITS[piece[3]]
        total += int(piece[1] or "0") * unit + int(fraction or "0") * unit // 10 ** len(fraction)
        at = piece.end()
    return duration_of(-total if text[0] == "-" else total)


def _shorten_text(text: str) -> str:
    return f'"{text}"' if len(text) <= 40 else f'"{text[:40]}"...'
