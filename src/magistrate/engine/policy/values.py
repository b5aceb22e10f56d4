"""Defines the values that policies have beyond those of JSON (points in time and durations), and the bounds of
numbers."""

import math
import re
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import msgspec

from magistrate.engine.policy.run import Fault

MIN_WHOLE, MAX_WHOLE = -(2**63), 2**63 - 1
"""Bounds integers to 64 bits, as in the languages that policies come from."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MIN_TIME = (datetime(1, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1) * 1_000
_MAX_TIME = (datetime.max.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1) * 1_000 + 999

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

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


class Time(msgspec.Struct, frozen=True, eq=False):
    """Represents a point in time, in nanoseconds since 1970 UTC, of the years 1 to 9999. `offset` is that of its zone
    from UTC in seconds, and does not count when times are compared."""

    nanoseconds: int
    offset: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Time) and self.nanoseconds == other.nanoseconds

    def __hash__(self) -> int:
        return hash(self.nanoseconds)


class Duration(msgspec.Struct, frozen=True, order=True):
    """Represents a duration in nanoseconds, of 64 bits: about 292 years in each direction."""

    nanoseconds: int


class Int64(int):
    """Represents an integer that Go keeps apart from `int` in lists and as a key: the result of `.Unix()`."""


class Byte(int):
    """Represents a byte of a string."""


class Month(int):
    """Represents a month, from 1. It is no number: it equals no integer."""


class Weekday(int):
    """Represents a day of the week, from Sunday, which is 0. It is no number: it equals no integer."""


class MadeList(list[Any]):
    """Represents a list that the policy made. Its integers are integers, while all numbers in lists of the context are
    floats, whatever Python has there: see `json_value`."""


class MadeMap(dict[str, Any]):
    """Represents a map that the policy made. Its integers are integers."""


class Strings(list[str]):
    """Represents a list that can only hold strings; it is never equal to one that can hold anything."""


class Pairs(list[MadeList]):
    """Represents the members of a map as pairs of key and value."""


class GroupMap(dict[tuple[type, Any], Any]):
    """Represents a map whose keys may be of any kind. A key is kept with its Python type, since 1, 1.0 and true are
    different keys."""


class AnyMap(GroupMap):
    """Represents a map that `fromPairs` made."""


IpAddress = IPv4Address | IPv6Address
"""Represents an IP address; the two kinds are never equal."""

LISTS = frozenset({list, MadeList, range, Strings, Pairs})
MAPS = frozenset({dict, MadeMap, GroupMap, AnyMap})
TEXT_MAPS = frozenset[type]((dict, MadeMap))
"""Lists the kinds of maps whose keys are strings."""

NUMBERS = frozenset({int, float, Int64, Byte})
NAMED_INTEGERS = frozenset({Int64, Byte})
"""Lists the kinds of integers that work as numbers, besides int."""


def json_value(value: Any) -> Any:
    """Returns a value from a list or map of the context: all numbers of JSON are floats."""
    return float(value) if type(value) is int else value


def values_of(elements: Any) -> Any:
    """Returns the elements of a list, with those of the context as `json_value` gives them."""
    return map(json_value, elements) if type(elements) is list else elements


def values_in(members: Any) -> Any:
    """Returns the values of a map, as `values_of` those of a list."""
    return map(json_value, members.values()) if type(members) is dict else members.values()


def to_integer(value: Any) -> int:
    """Returns a number as an integer, rounded towards zero."""
    if type(value) not in NUMBERS:
        raise Fault("a number is needed")
    return whole(int(finite(value)))


def whole(value: int) -> int:
    """Returns the value if it fits in 64 bits; raises Fault otherwise."""
    if MIN_WHOLE <= value <= MAX_WHOLE:
        return value
    raise Fault("the number is out of range")


def divide(dividend: int, divisor: int) -> int:
    """Returns the quotient of two integers, rounded towards zero. Raises ZeroDivisionError."""
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def finite(value: float) -> float:
    if math.isfinite(value):
        return value
    raise Fault("the number is out of range")


def time_at(nanoseconds: int, offset: int = 0) -> Time:
    if _MIN_TIME <= nanoseconds <= _MAX_TIME:
        return Time(nanoseconds, offset)
    raise Fault("the time is out of range")


def duration_of(nanoseconds: int) -> Duration:
    return Duration(whole(nanoseconds))


def calendar(time: Time) -> datetime:
    """Returns the date and clock of the time in its zone, to the microsecond. Raises Fault outside the years 1 to
    9999."""
    try:
        return EPOCH + timedelta(microseconds=time.nanoseconds // 1_000, seconds=time.offset)
    except OverflowError as error:
        raise Fault("the time is out of range") from error


def read_duration(text: str) -> Duration:
    """Reads the durations of Go: `72h`, `1h30m`, `1.5s`, `-10ms`, `0`.

    Raises Fault for anything else."""
    unsigned = text[1:] if text[:1] in ("-", "+") else text
    if unsigned == "0":
        return Duration(0)
    if not unsigned or len(unsigned) > _LONGEST_DURATION:
        raise Fault(f"cannot read {shorten_text(text)} as a duration")
    total = at = 0
    while at < len(unsigned):
        piece = _PIECE.match(unsigned, at)
        if piece is None or not (piece[1] or piece[2]):
            raise Fault(f"cannot read {shorten_text(text)} as a duration")
        fraction = piece[2] or ""
        unit = _UNITS[piece[3]]
        total += int(piece[1] or "0") * unit + int(fraction or "0") * unit // 10 ** len(fraction)
        at = piece.end()
    return duration_of(-total if text[0] == "-" else total)


def shorten_text(text: str) -> str:
    return f'"{text}"' if len(text) <= 40 else f'"{text[:40]}"...'
