"""Shows the warrant to its policy, and defines the methods of times, durations, months and days of the week."""

from collections.abc import Callable
from typing import Any, NamedTuple

from magistrate.engine.policy.layouts import read_date, render_time
from magistrate.engine.policy.run import Fault, PolicyRun
from magistrate.engine.policy.types import (
    ANY,
    BOOL,
    DURATION,
    FLOAT,
    INT,
    INT64,
    MONTH,
    STRING,
    SUBJECT,
    TIME,
    WARRANT,
    WEEKDAY,
    StaticType,
)
from magistrate.engine.policy.values import (
    MONTHS,
    WEEKDAYS,
    Duration,
    Int64,
    Month,
    Time,
    Weekday,
    calendar,
    divide,
    duration_of,
    time_at,
    whole,
)
from magistrate.engine.warrants.warrant import Warrant

_SECOND = 1_000_000_000


class WarrantView(NamedTuple):
    """Represents the warrant as its policy sees it."""

    warrant: Warrant


class SubjectView(NamedTuple):
    """Represents the subject of the warrant as its policy sees it."""

    warrant: Warrant


class Field(NamedTuple):
    """Describes a member of the warrant or of its subject."""

    type: StaticType
    take: Callable[[Warrant], Any]


_OF_WARRANT: dict[str, Field] = {
    "objectType": Field(STRING, lambda warrant: warrant.object_type),
    "objectId": Field(STRING, lambda warrant: warrant.object_id),
    "relation": Field(STRING, lambda warrant: warrant.relation),
    "subject": Field(SUBJECT, SubjectView),
    "createdAt": Field(TIME, lambda warrant: time_at(warrant.created_at * 1_000)),
}
_OF_SUBJECT: dict[str, Field] = {
    "objectType": Field(STRING, lambda warrant: warrant.subject_type),
    "objectId": Field(STRING, lambda warrant: warrant.subject_id),
    "relation": Field(ANY, lambda warrant: warrant.subject_relation or None),
}


def _with_go_names(fields: dict[str, Field]) -> dict[str, Field]:
    return {**fields, **{name[0].upper() + name[1:]: field for name, field in fields.items()}}


FIELDS: dict[type, dict[str, Field]] = {
    WarrantView: _with_go_names(_OF_WARRANT),
    SubjectView: {**_with_go_names(_OF_SUBJECT), "Relation": Field(STRING, lambda warrant: warrant.subject_relation)},
}
"""Maps the views to their members, in the spelling of JSON and in that of Go."""


class Method(NamedTuple):
    """Describes a method: the types of its arguments and of its result, and what computes it."""

    result: StaticType
    apply: Callable[..., Any]
    parameters: tuple[StaticType, ...] = ()


def _calendar(result: StaticType, take: Callable[[Any], int], kind: type = int) -> Method:
    return Method(result, lambda time: kind(take(calendar(time))))


def _date_after(time: Time, years: int, months: int, days: int) -> Time:
    """Returns the time plus years, months and days. A day that the month lacks overflows into the next month."""
    moment = calendar(time)
    month = moment.month - 1 + whole(months)
    year = moment.year + whole(years) + month // 12
    first = read_date(f"{year:04d}-{month % 12 + 1:02d}-01" if 1 <= year <= 9_999 else "")
    into_month = (moment.day - 1 + whole(days)) * 86_400 + moment.hour * 3_600 + moment.minute * 60 + moment.second
    nanoseconds = first.nanoseconds + (into_month - time.offset) * _SECOND + time.nanoseconds % _SECOND
    return time_at(nanoseconds, time.offset)


def _unix(divisor: int) -> Method:
    return Method(INT64, lambda time: Int64(time.nanoseconds // divisor))


def _truncate(divisor: int) -> Method:
    return Method(INT64, lambda duration: Int64(divide(duration.nanoseconds, divisor)))


def _compare(left: Time, right: Time) -> int:
    return (left.nanoseconds > right.nanoseconds) - (left.nanoseconds < right.nanoseconds)


_OF_TIME: dict[str, Method] = {
    "Year": _calendar(INT, lambda moment: moment.year),
    "Month": _calendar(MONTH, lambda moment: moment.month, Month),
    "Day": _calendar(INT, lambda moment: moment.day),
    "Hour": _calendar(INT, lambda moment: moment.hour),
    "Minute": _calendar(INT, lambda moment: moment.minute),
    "Second": _calendar(INT, lambda moment: moment.second),
    "Weekday": _calendar(WEEKDAY, lambda moment: moment.isoweekday() % 7, Weekday),
    "YearDay": _calendar(INT, lambda moment: moment.timetuple().tm_yday),
    "Nanosecond": Method(INT, lambda time: time.nanoseconds % _SECOND),
    "Unix": _unix(_SECOND),
    "UnixMilli": _unix(1_000_000),
    "UnixMicro": _unix(1_000),
    "UnixNano": _unix(1),
    "Before": Method(BOOL, lambda time, other: time.nanoseconds < other.nanoseconds, (TIME,)),
    "After": Method(BOOL, lambda time, other: time.nanoseconds > other.nanoseconds, (TIME,)),
    "Equal": Method(BOOL, lambda time, other: time == other, (TIME,)),
    "Compare": Method(INT, _compare, (TIME,)),
    "Add": Method(TIME, lambda time, by: time_at(time.nanoseconds + by.nanoseconds, time.offset), (DURATION,)),
    "Sub": Method(DURATION, lambda time, other: duration_of(time.nanoseconds - other.nanoseconds), (TIME,)),
    "AddDate": Method(TIME, _date_after, (INT, INT, INT)),
    "UTC": Method(TIME, lambda time: Time(time.nanoseconds)),
    "Format": Method(STRING, render_time, (STRING,)),
}
_OF_DURATION: dict[str, Method] = {
    "Hours": Method(FLOAT, lambda duration: duration.nanoseconds / (3_600 * _SECOND)),
    "Minutes": Method(FLOAT, lambda duration: duration.nanoseconds / (60 * _SECOND)),
    "Seconds": Method(FLOAT, lambda duration: duration.nanoseconds / _SECOND),
    "Milliseconds": _truncate(1_000_000),
    "Microseconds": _truncate(1_000),
    "Nanoseconds": _truncate(1),
    "Abs": Method(DURATION, lambda duration: duration_of(abs(duration.nanoseconds))),
}

METHODS: dict[type, dict[str, Method]] = {
    Time: _OF_TIME,
    Duration: _OF_DURATION,
    Month: {"String": Method(STRING, lambda month: MONTHS[month - 1])},
    Weekday: {"String": Method(STRING, lambda day: WEEKDAYS[day])},
}
"""Maps the kinds of values to their methods. Times are in their own zone; Sunday is weekday 0."""

KINDS: dict[StaticType, type] = {
    **{TIME: Time, DURATION: Duration, MONTH: Month, WEEKDAY: Weekday, INT: int, STRING: str},
    **{WARRANT: WarrantView, SUBJECT: SubjectView},
}
"""Maps the types that have members, or that methods take, to the kinds of their values."""

_METHOD_STEPS = 8


def call_method(run: PolicyRun, name: str, value: Any, arguments: list[Any]) -> Any:
    """Returns the result of a method. Raises Fault if the value has none of that name, or it takes other arguments."""
    method = METHODS.get(type(value), {}).get(name)
    if method is None or len(arguments) != len(method.parameters):
        raise Fault(f"the value has no method {name} of so many arguments")
    for argument, parameter in zip(arguments, method.parameters, strict=True):
        if type(argument) is not KINDS[parameter]:
            raise Fault(f"{name} does not take this kind")
    run.charge(_METHOD_STEPS)
    return method.apply(value, *arguments)
