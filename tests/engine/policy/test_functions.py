"""Every built-in function and method, on what it takes and on what it does not."""

import pytest

from magistrate.engine.policy.access import METHODS
from magistrate.engine.policy.functions import FUNCTIONS
from magistrate.engine.policy.predicates import TAKE_CLOSURES
from tests.engine.policy.asking import CREATED_AT, HOUR, NOW, answer

TRUE = [
    "len('häl') == 3",
    "len(ids) == 3",
    "len({}) == 0",
    "len(2..4) == 3",
    "type(nil) == 'nil'",
    "type(yes) == 'bool'",
    "type(1) == 'int'",
    "type(1.0) == 'float'",
    "type(name) == 'string'",
    "type(ids) == 'array'",
    "type(1..2) == 'array'",
    "type(order) == 'map'",
    "type(now()) == 'time.Time'",
    "type(duration('1s')) == 'time.Duration'",
    "int(2.9) == 2",
    "int(-2.9) == -2",
    "int('12') == 12",
    "int('+12') == 12",
    "int('-007') == -7",
    "type(int(2.0)) == 'int'",
    "float(2) == 2.0",
    "float('2.5e1') == 25",
    "float('.5') == 0.5",
    "type(float('2')) == 'float'",
    "string('a') == 'a'",
    "string(12) == '12'",
    "string(12.0) == '12'",
    "string(0.5) == '0.5'",
    "string(1e20) == '1e+20'",
    "string(true) == 'true'",
    "string(no) == 'false'",
    "abs(-2) == 2",
    "abs(-0.5) == 0.5",
    "ceil(1.2) == 2",
    "ceil(-1.2) == -1",
    "floor(1.8) == 1",
    "floor(3) == 3",
    "round(2.5) == 3",
    "round(-2.5) == -3",
    "round(2.4) == 2",
    "round(0.49999999999999994) == 0",
    "min(3, 1.5, 2) == 1.5",
    "max(3, 1.5, 2) == 3",
    "min(ids) == 1",
    "max(ids, 7) == 7",
    "max(1..9) == 9",
    "sum(ids) == 6",
    "sum([0.5, 1]) == 1.5",
    "sum([]) == 0",
    "mean(ids) == 2",
    "mean([]) == 0",
    "lower('ÀB') == 'àb'",
    "upper('äß') == 'ÄSS'",
    "trim('  a b ') == 'a b'",
    "trim('xyaxy', 'xy') == 'a'",
    "trim(' a ', '') == ' a '",
    "trimPrefix('abab', 'ab') == 'ab'",
    "trimPrefix('ab', 'x') == 'ab'",
    "trimSuffix('abab', 'ab') == 'ab'",
    "hasPrefix('abc', 'ab')",
    "hasSuffix('abc', 'bc')",
    "indexOf('banana', 'na') == 2",
    "indexOf('banana', 'x') == -1",
    "split('a,b,c', ',') == ['a', 'b', 'c']",
    "split('a,b,c', ',', 2) == ['a', 'b,c']",
    "split('a,b,c', ',', 9) == ['a', 'b', 'c']",
    "split('a,b,c', ',', 0) == []",
    "split('abc', '') == ['a', 'b', 'c']",
    "split('abc', '', 2) == ['a', 'bc']",
    "split('abc', '', 3) == ['a', 'b', 'c']",
    "split('abc', '', 0) == []",
    "split('', ',') == ['']",
    "replace('banana', 'an', 'o') == 'booa'",
    "replace('banana', 'an', 'o', 1) == 'boana'",
    "replace('banana', 'an', 'o', 0) == 'banana'",
    "replace('ab', '', '-') == '-a-b-'",
    "join(names, '-') == 'ada-bob'",
    "join(names) == 'adabob'",
    "join([], ',') == ''",
    "first(ids) == 1",
    "last(ids) == 3",
    "last(1..9) == 9",
    "first([]) == nil",
    "last([]) == nil",
    "get(ids, 1) == 2",
    "get(ids, -1) == 3",
    "get(ids, 3) == nil",
    "get(order, 'total') == 25",
    "get(order, 'none') == nil",
    "keys({b: 1, a: 2}) == ['b', 'a']",
    "values({b: 1, a: 2}) == [1, 2]",
    "date('2025-11-21') == date('2025-11-21T00:00:00Z')",
    "date('2025-11-21 01:00:00') == date('2025-11-21T02:00:00+01:00')",
    "date('2025-11-21T00:00:00.5Z') - date('2025-11-21') == duration('500ms')",
    "date('2025-' + '11-21') == date('2025-11-21')",
    "duration('1h30m') == duration('90m')",
    "duration('1.5h') == duration('90m')",
    "duration('-1.5s') == -duration('1500ms')",
    "duration('+1us') == duration('1000ns')",
    "duration('1µs') == duration('1μs')",
    "duration('.5s') == duration('500ms')",
    "duration('1' + 'h') == duration('60m')",
    "duration('0') == duration('0s')",
    "now().Year() == 2025",
    "now().Month() == 11",
    "now().Day() == 21",
    "now().Hour() == 10",
    "now().Minute() == 30",
    "now().Second() == 15",
    "now().Weekday() == 5",
    "date('2025-11-23').Weekday() == 0",
    "now().YearDay() == 325",
    "date('1970-01-02').Unix() == 86400",
    "date('1969-12-31T23:59:59Z').Unix() == -1",
    "duration('90m').Hours() == 1.5",
    "duration('90s').Minutes() == 1.5",
    "duration('1500ms').Seconds() == 1.5",
    "duration('1.5s').Milliseconds() == 1500",
    "date('0001-01-01').Year() == 1",
    "warrant.createdAt.Weekday() == 5",
]

UNKNOWN = [
    "len(missing) == 0",
    "len(ten) == 2",
    "int(name) == 0",
    "int(' 1') == 1",
    "int('1.5') == 1",
    "int('9223372036854775808') > 0",
    "int('99999999999999999999') > 0",
    "int(1e30) > 0",
    "int(yes) == 1",
    "int(missing) == 0",
    "float('inf') > 0",
    "float('nan') != 0",
    "float('1e999') > 0",
    "float('1_0') == 10",
    "float(huge) > 0",
    "float('1' + name) > 0",
    "string(nothing) == 'nil'",
    "string(ids) == ''",
    "string(huge) != ''",
    "abs(name) > 0",
    "abs(huge) > 0",
    "min([]) == 0",
    "min('a' == name ? 1 : ids, name) == 0",
    "max(names) == 'bob'",
    "min(yes) == 1",
    "sum(names) == 'x'",
    "sum([9223372036854775807, 1]) > 0",
    "sum([1e308, 1e308]) > 0",
    "mean(names) == 0",
    "lower(ten) == '10'",
    "split(name, missing) == []",
    "split(name, 'a', 0.5) == []",
    "join(ids) == '123'",
    "first(name) == 'A'",
    "first(missing) == nil",
    "get(missing, 0) == nil",
    "get(ids, 'a') == nil",
    "get(order, 0) == nil",
    "keys(ids) == []",
    "values(missing) == []",
    "date(name) == now()",
    "date(ten) == now()",
    "duration(name) == duration('1h')",
    "duration(ten) == duration('1h')",
    "expiresIn(name)",
    "expiresIn(ten)",
    "name.Hour() == 1",
    "missing.Hour() == 1",
    "warrant.createdAt.Hours() == 1",
]


@pytest.mark.parametrize("text", TRUE)
def test_it_is_true(text: str) -> None:
    assert answer(text) is True


@pytest.mark.parametrize("text", UNKNOWN)
def test_a_run_time_error_is_neither_true_nor_false(text: str) -> None:
    assert answer(text) is None


def test_no_function_or_method_is_without_a_case() -> None:
    cases = " ".join(TRUE)

    assert [name for name in FUNCTIONS if f"{name}(" not in cases] == ["now" if "now(" not in cases else "expiresIn"]
    assert [name for name in METHODS if f".{name}()" not in cases] == []
    assert not TAKE_CLOSURES & FUNCTIONS.keys()


@pytest.mark.parametrize(
    ("duration", "after_us", "expected"),
    [
        ("1h", HOUR - 1, True),
        ("1h", HOUR, False),
        ("1h", HOUR + 1, False),
        ("30m", HOUR, False),
        ("72h", 71 * HOUR, True),
        ("-1h", 0, False),
        ("0", 0, False),
        ("0", -1, True),
        ("1500ns", 1, True),
        ("1500ns", 2, False),
    ],
)
def test_a_warrant_expires_so_long_after_its_creation(duration: str, after_us: int, expected: bool) -> None:
    assert answer(f'expiresIn("{duration}")', now=CREATED_AT + after_us) is expected
    assert answer("expiresIn(time)", {"time": duration}, now=CREATED_AT + after_us) is expected


def test_now_is_the_time_of_the_question_however_it_is_written() -> None:
    day = '(now - date("2025-11-21")).Hours() > 24'

    assert answer("now() == now") is True
    assert answer(day, now=NOW) is False
    assert answer(day, now=NOW + 24 * HOUR) is True


@pytest.mark.parametrize("now", [-(10**30), 10**30])
def test_a_time_that_no_calendar_has_is_unknown(now: int) -> None:
    assert answer("now() != nil", now=now) is None
