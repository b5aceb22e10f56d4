"""Parses and renders times with the layouts of Go: `2006-01-02 15:04:05`.

A layout shows how the time 2006-01-02 15:04:05 UTC-7, a Monday, would be written.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from magistrate.engine.policy.run import Fault
from magistrate.engine.policy.values import EPOCH, MONTHS, WEEKDAYS, Time, calendar, shorten_text, time_at

_LONGEST_LAYOUT = 200
_LONGEST_ZONE = 64

_TOKEN = re.compile(
    r"January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|2006|-07:00:00|-070000|-07:00|-0700|-07|Z07:00|Z0700|Z07"
    r"|[.,](?:0+|9+)(?![0-9])|002|__2|_2(?!006)|01|02|03|04|05|06|15|1|2|3|4|5|PM|pm"
)


class LayoutToken(NamedTuple):
    """Describes a token of a layout: the name of its value, the regular expression of what it reads, and what renders
    it; None for the offset from UTC."""

    name: str
    expression: str
    render: Callable[[datetime], str] | None = None


_TOKENS: dict[str, LayoutToken] = {
    "January": LayoutToken("month", "|".join(MONTHS), lambda moment: MONTHS[moment.month - 1]),
    "Jan": LayoutToken("month", "|".join(month[:3] for month in MONTHS), lambda moment: MONTHS[moment.month - 1][:3]),
    "Monday": LayoutToken("name", "|".join(WEEKDAYS), lambda moment: WEEKDAYS[moment.isoweekday() % 7]),
    "Mon": LayoutToken(
        "name", "|".join(day[:3] for day in WEEKDAYS), lambda moment: WEEKDAYS[moment.isoweekday() % 7][:3]
    ),
    "MST": LayoutToken("name", r"UTC|GMT[+-]\d{1,2}|[A-Z]{3,4}T?|[+-]\d\d"),
    "2006": LayoutToken("year", r"\d{4}", lambda moment: f"{moment.year:04d}"),
    "06": LayoutToken("short", r"\d\d", lambda moment: f"{moment.year % 100:02d}"),
    "01": LayoutToken("month", r"\d\d", lambda moment: f"{moment.month:02d}"),
    "1": LayoutToken("month", r"\d\d?", lambda moment: str(moment.month)),
    "02": LayoutToken("day", r"\d\d", lambda moment: f"{moment.day:02d}"),
    "2": LayoutToken("day", r"\d\d?", lambda moment: str(moment.day)),
    "_2": LayoutToken("day", r" ?\d\d?", lambda moment: f"{moment.day:2d}"),
    "002": LayoutToken("yearday", r"\d{3}", lambda moment: f"{moment.timetuple().tm_yday:03d}"),
    "__2": LayoutToken("yearday", r"[ \d]{2}\d", lambda moment: f"{moment.timetuple().tm_yday:3d}"),
    "15": LayoutToken("hour", r"\d\d?", lambda moment: f"{moment.hour:02d}"),
    "03": LayoutToken("hour12", r"\d\d?", lambda moment: f"{moment.hour % 12 or 12:02d}"),
    "3": LayoutToken("hour12", r"\d\d?", lambda moment: str(moment.hour % 12 or 12)),
    "04": LayoutToken("minute", r"\d\d", lambda moment: f"{moment.minute:02d}"),
    "4": LayoutToken("minute", r"\d\d?", lambda moment: str(moment.minute)),
    "05": LayoutToken("second", r"\d\d", lambda moment: f"{moment.second:02d}"),
    "5": LayoutToken("second", r"\d\d?", lambda moment: str(moment.second)),
    "PM": LayoutToken("half", "AM|PM", lambda moment: "AM" if moment.hour < 12 else "PM"),
    "pm": LayoutToken("half", "am|pm", lambda moment: "am" if moment.hour < 12 else "pm"),
    "-07:00:00": LayoutToken("zone", r"[+-]\d\d:\d\d:\d\d"),
    "-070000": LayoutToken("zone", r"[+-]\d{6}"),
    "-07:00": LayoutToken("zone", r"[+-]\d\d:\d\d"),
    "-0700": LayoutToken("zone", r"[+-]\d{4}"),
    "-07": LayoutToken("zone", r"[+-]\d\d"),
    "Z07:00": LayoutToken("zone", r"Z|[+-]\d\d:\d\d"),
    "Z0700": LayoutToken("zone", r"Z|[+-]\d{4}"),
    "Z07": LayoutToken("zone", r"Z|[+-]\d\d"),
}

DEFAULT_LAYOUTS = (
    "2006-01-02",
    "15:04:05",
    "2006-01-02 15:04:05",
    "2006-01-02T15:04:05Z07:00",
    "02 Jan 06 15:04 MST",
    "Monday, 02-Jan-06 15:04:05 MST",
    "Mon, 02 Jan 2006 15:04:05 MST",
)
"""Lists the layouts that `date` tries when it is given none."""


def read_date(text: str, layout: str | None = None, zone: str | None = None) -> Time:
    """Returns the time that the text is in the layout, or in the first default layout that fits; UTC unless the text or
    `zone` says otherwise. Raises Fault if none fits."""
    if layout is not None:
        return _read(text, layout, _find_zone(zone))
    for candidate in DEFAULT_LAYOUTS:
        try:
            return _read(text, candidate, UTC)
        except Fault:
            continue
    raise Fault(f"cannot read {shorten_text(text)} as a date")


def render_time(time: Time, layout: str) -> str:
    """Returns the time in the layout."""
    moment = calendar(time)
    pieces: list[str] = []
    at = 0
    for child in _TOKEN.finditer(_check_length(layout)):
        pieces += (layout[at : child.start()], _render_token(child[0], moment, time))
        at = child.end()
    return "".join(pieces) + layout[at:]


def _check_length(layout: str) -> str:
    if len(layout) > _LONGEST_LAYOUT:
        raise Fault("the layout is too long")
    return layout


@lru_cache(maxsize=64)
def _compile_layout(layout: str) -> re.Pattern[str]:
    """Returns the regular expression of a layout. Each part has a group; of parts that say the same, the last counts,
    as in Go."""
    pieces: list[str] = []
    at, taken = 0, 0
    for child in _TOKEN.finditer(layout):
        token = _describe_token(child[0])
        pieces += (_literal(layout[at : child.start()]), f"(?P<g{taken}_{token.name}>{token.expression})")
        follows = layout[child.end() : child.end() + 2]
        if child[0] in ("05", "5") and not re.match(r"[.,][09]", follows):
            pieces.append(rf"(?P<g{taken}f_fraction>[.,]\d+)?")
        at, taken = child.end(), taken + 1
    return re.compile("".join(pieces) + _literal(layout[at:]), re.ASCII)


def _literal(text: str) -> str:
    """Returns the expression of text between parts; a blank reads any number of blanks, as in Go."""
    return "".join(" +" if run.isspace() else re.escape(run) for run in re.split(r"( +)", text) if run)


def _describe_token(written: str) -> LayoutToken:
    if written[0] not in ".,":
        return _TOKENS[written]
    digits = rf"[.,]\d{{{len(written) - 1}}}" if written[1] == "0" else r"(?:[.,]\d+)?"
    return LayoutToken("fraction", digits)


def _read(text: str, layout: str, zone: Any) -> Time:
    match = _compile_layout(_check_length(layout)).fullmatch(text) if len(text) <= _LONGEST_LAYOUT else None
    if match is None:
        raise Fault(f"cannot read {shorten_text(text)} as a date")
    read = {name.split("_")[1]: value for name, value in match.groupdict().items() if value is not None}
    try:
        moment = _moment(read, zone)
    except (ValueError, OverflowError) as error:
        raise Fault(f"cannot read {shorten_text(text)} as a date") from error
    offset = moment.utcoffset() or timedelta()
    digits = read.get("fraction", ".")[1:10].ljust(9, "0")
    return time_at((moment - EPOCH) // timedelta(seconds=1) * 1_000_000_000 + int(digits), int(offset.total_seconds()))


def _moment(read: dict[str, str], zone: Any) -> datetime:
    """Returns the date and clock that were read. Raises ValueError if there is no such time."""
    year = _read_year(read)
    hour = int(read.get("hour", "0"))
    if "hour12" in read:
        hour = int(read["hour12"])
        if hour > 12:
            raise ValueError("an hour with AM or PM")
    if read.get("half", "").upper() == "PM" and hour < 12:
        hour += 12
    elif read.get("half", "").upper() == "AM" and hour == 12:
        hour = 0
    moment = datetime(
        year,
        _read_month(read.get("month", "1")),
        int(read.get("day", "1")),
        hour,
        int(read.get("minute", "0")),
        int(read.get("second", "0")),
        tzinfo=_read_offset(read["zone"]) if "zone" in read else zone,
    )
    return _of_yearday(moment, int(read["yearday"])) if "yearday" in read else moment


def _of_yearday(moment: datetime, day: int) -> datetime:
    day_of_year = moment.replace(month=1, day=1) + timedelta(days=day - 1)
    if day < 1 or day_of_year.year != moment.year:
        raise ValueError("a day of the year")
    return day_of_year


def _read_year(read: dict[str, str]) -> int:
    if "short" in read:
        short = int(read["short"])
        return short + (1900 if short >= 69 else 2000)
    return int(read.get("year", "0"))


def _read_month(text: str) -> int:
    if text.isdecimal():
        return int(text)
    return next(number for number, name in enumerate(MONTHS, 1) if name.startswith(text[:3]))


def _read_offset(text: str) -> timezone:
    if text == "Z":
        return UTC
    digits = text[1:].replace(":", "").ljust(6, "0")
    hours, minutes, seconds = int(digits[:2]), int(digits[2:4]), int(digits[4:])
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError("an offset from UTC")
    offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return timezone(-offset if text[0] == "-" else offset)


def _find_zone(name: str | None) -> Any:
    if name in (None, "", "UTC"):
        return UTC
    return load_zone(name[:_LONGEST_ZONE] if name else "")


@lru_cache(maxsize=64)
def load_zone(name: str) -> Any:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise Fault(f"unknown time zone {shorten_text(name)}") from error


def _render_token(child: str, moment: datetime, time: Time) -> str:
    if child[0] in ".,":
        digits = f"{time.nanoseconds % 1_000_000_000:09d}"[: len(child) - 1]
        digits = digits.rstrip("0") if child[1] == "9" else digits
        return child[0] + digits if digits else ""
    render = _TOKENS[child].render
    return render(moment) if render else _render_offset(child, time.offset)


def _render_offset(child: str, offset: int) -> str:
    if offset == 0 and child[0] in "MZ":
        return "UTC" if child == "MST" else "Z"
    pieces = [f"{abs(offset) // 3600:02d}", f"{abs(offset) // 60 % 60:02d}", f"{abs(offset) % 60:02d}"]
    count = 2 if child == "MST" else len(re.findall(r"\d\d", child))
    return ("-" if offset < 0 else "+") + (":" if ":" in child else "").join(pieces[:count])
