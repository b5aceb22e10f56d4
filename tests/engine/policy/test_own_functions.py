"""The functions that Go `expr` does not have, on what they take and on what they do not."""

import time
from typing import Any

import pytest

from magistrate.engine.policy.compiler import ABSORBING
from magistrate.engine.policy.functions import OWN_FUNCTIONS
from magistrate.engine.policy.predicates import CLOSURE_FUNCTIONS
from magistrate.engine.policy.value_types import INNERMOST
from tests.engine.policy.asking import CONTEXT, answer, refusal

MORE: dict[str, Any] = {
    **CONTEXT,
    "at": "2026-03-01T00:30:15.25+02:00",
    "lasts": "90m",
    "digits": "12",
    "home": "10.1.2.3",
    "level": 3,
    "matrix": [[1, 2], []],
    "tags": {"a": ["x"], "b": []},
}

TRUE = [
    # as
    "as(level, 'int') == 3",
    "as(digits, 'int') == 12",
    "as('5.0', 'int') == 5",
    "as('1e2', 'int') == 100",
    "type(as(level, 'int')) == 'int'",
    "as(level, 'int') % 2 == 1",
    "as(level, 'uint') == 3",
    "as(digits, 'double') == 12.0",
    "type(as(level, 'double')) == 'float'",
    "as(name, 'string') == 'Ada'",
    "as(yes, 'bool')",
    "as(at, 'timestamp') == date('2026-02-28T22:30:15.25Z')",
    "as(lasts, 'duration') == duration('1h30m')",
    "as(home, 'ipaddress') == as('10.1.2.3', 'ipaddress')",
    "as(home, 'ipaddress') != as('::ffff:10.1.2.3', 'ipaddress')",
    "as(nothing, 'any') == nil",
    "as(ids, 'list')[0] == 1",
    "as(ids, 'list<int>') == [1, 2, 3]",
    "as(ids, 'list<double>') == [1.0, 2.0, 3.0]",
    "as(matrix, 'list<list<int>>') == [[1, 2], []]",
    "as(tags, 'map<list<string>>').a == ['x']",
    "as(order, 'map<any>').total == 25",
    "as(order, 'map').total == 25",
    "as(missing, 'int?') == 1 || true",
    "any(as(names, 'list<string>'), # == 'bob')",
    # logic
    "anyOf(no, 1 / 0 > 1, yes)",
    "anyOf(order.total, yes)",
    "!allOf(1 / 0 > 1, no)",
    "!allOf(as(missing, 'int?') == 1, no)",
    "allOf(yes, true)",
    "!anyOf(no)",
    "anyOf(any(ids, {1 / (# - 1) > 5}), all(ids, {# > 0}))",
    # closures
    "some(ids, {div(1, int(#) - 1) == 1})",
    "!every(ids, {div(1, int(#) - 1) > 0})",
    "every([], {# > 0}) and !some([], {# > 0})",
    "some(ids, {let $x = #; every(ids, {# <= $x})})",
    "every(ids, {some([], {# > 0}) || # > 0})",
    # access
    "at(order, 'buyer', 'name') == 'Ada'",
    "at(ids, 0) == 1 && at(ids, 2.0) == 3",
    "at({a: [1, {b: 2}]}, 'a', 1, 'b') == 2",
    "at(order, 'note') == nil",
    "has(order, 'note') && !has(order, 'gone')",
    "!has(missing, 'x') && !has(name, 'x') && !has(ten, 'x')",
    "size('häl') == 3 && size(ids) == 3 && size(order) == 4",
    "elements(order) == ['total', 'buyer', 'in', 'note'] && elements(ids) == ids",
    "includes(ids, 2) && !includes(ids, 'x') && includes(order, 'in') && !includes(order, 1)",
    "includes(matrix, [1, 2]) && matrix != [[1, 2], []]",
    "equals(matrix, [[1, 2], []]) && !equals(matrix, [[1, 2]]) && !equals(matrix, [[1, 3], []])",
    "equals({a: 1}, {a: 1.0}) && !equals({a: 1}, {b: 1}) && !equals({a: 1}, [1]) && equals(nil, nil)",
    "equals([as(at, 'timestamp')], [date('2026-02-28T22:30:15.25Z')])",
    "isSubtree({buyer: {name: 'Ada'}}, order) && !isSubtree({buyer: {name: 'Bob'}}, order)",
    "isSubtree({}, order) && !isSubtree({gone: nil}, order) && !isSubtree({total: {}}, order)",
    "equals(concat(ids, [4], []), [1, 2, 3, 4])",
    # numbers
    "div(7, 2) == 3 && div(-7, 2) == -3 && div(7, -2) == -3 && div(-7, -2) == 3",
    "div(9007199254740993, 1) == 9007199254740993",
    "div(duration('1h').Nanoseconds(), 1000000000) == 3600",
    # dates
    "datePart(as(at, 'timestamp'), 'hour') == 22",
    "datePart(as(at, 'timestamp'), 'hour', '+02:00') == 0",
    "datePart(as(at, 'timestamp'), 'minute', '-00:45') == 45",
    "datePart(as(at, 'timestamp'), 'day', 'Europe/Berlin') == 28",
    "datePart(as(at, 'timestamp'), 'day', '+02:00') == 1",
    "datePart(as(at, 'timestamp'), 'weekday', '02:00') == 0",
    "datePart(date('2024-12-31'), 'yearday') == 366 && datePart(date('2024-12-31'), 'month') == 12",
    "datePart(date('2024-12-31'), 'year') == 2024 && datePart(date('2024-12-31'), 'second') == 0",
    "datePart(as(at, 'timestamp'), 'millisecond') == 250",
    # addresses
    "inCIDR(home, '10.0.0.0/8') && !inCIDR(home, '11.0.0.0/8') && inCIDR(home, '0.0.0.0/0')",
    "inCIDR(as(home, 'ipaddress'), '10.1.2.99/24')",
    "inCIDR('2001:db8::1', '2001:db8::/32') && !inCIDR('2001:db8::1', '0.0.0.0/0')",
    "!inCIDR('::ffff:10.1.2.3', '10.0.0.0/8') && !inCIDR('fe80::1%eth0', 'fe80::/10')",
    # conversions
    "convert('42', 'int') == 42 && convert(-2.9, 'int') == -2 && convert(2.9, 'uint') == 2",
    "convert(date('1970-01-01T00:01:00Z'), 'int') == 60 && convert(duration('1us'), 'int') == 1000",
    "convert('1.5', 'double') == 1.5 && convert(2, 'double') == 2.0 && type(convert(2, 'double')) == 'float'",
    "convert(42, 'string') == '42' && convert(2.5, 'string') == '2.5' && convert(1e7, 'string') == '1e+07'",
    "convert(true, 'string') == 'true' && convert('a', 'string') == 'a' && convert(2.0, 'string') == '2'",
    "convert(date('2026-01-01T08:00:00.5Z'), 'string') == '2026-01-01T08:00:00.5Z'",
    "convert(duration('1h30m'), 'string') == '5400s' && convert(duration('-1.5s'), 'string') == '-1.5s'",
    "convert('true', 'bool') && !convert('F', 'bool') && convert(yes, 'bool')",
    "convert(5, 'timestamp') == date('1970-01-01T00:00:05Z') && convert('2026-01-01T00:00:00Z', 'timestamp') != nil",
    "convert('1h', 'duration') == duration('60m') && convert('::1', 'ipaddress') != nil",
]

UNKNOWN = [
    "as(half, 'int') == 0",
    "as(name, 'int') == 0",
    "as(yes, 'int') == 1",
    "as('-1', 'uint') == 1",
    "as('9223372036854775808', 'int') > 0",
    "as('1e999', 'int') > 0",
    "as('1e9999', 'double') > 0",
    "as(huge, 'int') > 0",
    "as(missing, 'int') == 0",
    "as(nothing, 'string') == ''",
    "as(nothing, 'string?') == ''",
    "as(missing, 'any') == nil",
    "as(missing, 'any?') == nil",
    "as(ten, 'string') == '10'",
    "as(name, 'timestamp') != nil",
    "as('2026-03-01', 'timestamp') != nil",
    "as('2026-03-01T8:00:00Z', 'timestamp') != nil",
    "as('2026-02-30T08:00:00Z', 'timestamp') != nil",
    "as('0000-01-01T00:00:00Z', 'timestamp') != nil",
    "as('1d', 'duration') != nil",
    "as('10.1.2', 'ipaddress') != nil",
    "as('010.1.2.3', 'ipaddress') != nil",
    "as(names, 'list<int>') != nil",
    "as(matrix, 'list<int>') != nil",
    "as(ids, 'map<int>') != nil",
    "as(order, 'list') != nil",
    "as(tags, 'map<list<int>>') != nil",
    # the type of a variable counts wherever the policy comes to
    "true == yes || as(missing, 'int') == 1",
    "yes || as(half, 'int') == 1",
    "yes || as(name, 'list<string>') == []",
    "anyOf(yes, as(half, 'int?') == 1)",
    # errors that no other value decides
    "anyOf(no, 1 / 0 > 1)",
    "allOf(yes, 1 / 0 > 1)",
    "anyOf(name)",
    "some(ids, {div(1, int(#) - 1) == 5})",
    "every(ids, {div(1, int(#) - 1) >= 0})",
    "some(missing, {true})",
    "at(order, 'gone') == nil",
    "at(ids, -1) == 3",
    "at(ids, 3) == nil",
    "at(ids, 0.5) == 1",
    "at(ids, 'x') == nil",
    "at(name, 0) == nil",
    "at(missing, 'x') == nil",
    "has(ids, 'x')",
    "has(groupBy(ids, #), 'x')",
    "size(ten) == 0",
    "size(nothing) == 0",
    "elements(name) == []",
    "includes(name, 'A')",
    "includes(missing, 'A')",
    "equals(fromPairs([[1, 2]]), fromPairs([[1, 2]]))",
    "isSubtree(ids, order)",
    "concat(ids, name) == []",
    "div(1, 0) == 0",
    "div(1, half) == 0",
    "div(-9223372036854775808 + 0, -1) > 0",
    "datePart(name, 'hour') == 0",
    "datePart(now(), 'century') == 21",
    "datePart(now(), 'hour', 'Nowhere/Else') == 0",
    "datePart(now(), 'hour', '+15:00') == 0",
    "datePart(date('0001-01-01'), 'hour', '-01:00') == 0",
    "inCIDR(name, '10.0.0.0/8')",
    "inCIDR(home, '10.0.0.0')",
    "inCIDR(home, '10.0.0.0/33')",
    "inCIDR(home, '10.0.0.0/255.0.0.0')",
    "inCIDR(home, '10.0.0.0/08')",
    "inCIDR(home, name)",
    "convert('x', 'int') == 0",
    "convert(yes, 'int') == 1",
    "convert(ids, 'string') == ''",
    "convert('', 'bool')",
    "convert(-1, 'uint') == 1",
    "convert(1e300, 'int') == 1",
    "convert('1', 'number') == 1",
    "convert(yes, 'timestamp') == now()",
]

OWN_CLOSURES = [name for name, function in CLOSURE_FUNCTIONS.items() if function.is_own]


@pytest.mark.parametrize("text", TRUE)
def test_it_is_true(text: str) -> None:
    assert answer(text.replace("-9223372036854775808", "(-9223372036854775807 - 1)"), MORE) is True


@pytest.mark.parametrize("text", UNKNOWN)
def test_an_error_is_neither_true_nor_false(text: str) -> None:
    assert answer(text.replace("-9223372036854775808", "(-9223372036854775807 - 1)"), MORE) is None


def test_no_function_and_no_type_is_without_a_case() -> None:
    cases = " ".join(TRUE)
    names = [*OWN_FUNCTIONS, *ABSORBING, *OWN_CLOSURES]

    assert [name for name in names if f"{name}(" not in cases] == []
    assert [name for name in INNERMOST if f"'{name}'" not in cases] == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("as(a) == 1", "wrong number of arguments for as: expected 2, got 1"),
        ("as(a, b) == 1", 'as needs a type such as "list<string>"'),
        ("as(a, 'number') == 1", 'as needs a type such as "list<string>"'),
        ("as(a, 'list<int') == 1", 'as needs a type such as "list<string>"'),
        ("as(a, 'list<list>>') == 1", 'as needs a type such as "list<string>"'),
        ("as(a, '" + "list<" * 400 + "int" + ">" * 400 + "') == 1", 'as needs a type such as "list<string>"'),
        ("as(5, 'string') == ''", 'as "string" does not take int'),
        ("anyOf()", "wrong number of arguments for anyOf: expected 1 or more, got 0"),
        ("allOf(1)", "allOf does not take int"),
        ("some(a, {1})", "the closure of some does not take int"),
        ("some('a', {true})", "some does not take string"),
        ("div(1.5, 2) == 1", "div does not take float64"),
        ("as(a, 'string')", "expected bool, but got string"),
    ],
)
def test_what_can_never_work_is_refused_when_it_is_written(text: str, reason: str) -> None:
    assert refusal(text).startswith(reason)


def test_a_type_may_be_nested_far_deeper_than_a_policy() -> None:
    depth = 300
    value: Any = [1]
    for _ in range(depth - 1):
        value = [value]

    text = f"as(a, '{'list<' * depth}int{'>' * depth}') != nil"

    assert answer(text, {"a": value}) is True
    assert answer(text, {"a": [value]}) is None


def test_variables_of_policies_of_go_may_have_the_names() -> None:
    for name in (*OWN_FUNCTIONS, *ABSORBING, *OWN_CLOSURES, "as"):
        assert answer(f"let {name} = 1; {name} == 1", {}) is True
        assert answer(f"{name} == 1", {name: 1}) is True


def test_a_variable_is_read_once_however_often_the_policy_needs_it() -> None:
    words = [str(number) for number in range(1_000)]

    assert answer("every(1..50, {size(as(words, 'list<string>')) == 1000})", {"words": words}) is True


LONG = "a" * 3_000_000
DEEP: list[Any] = []
DEEP_ALIKE: list[Any] = []
for _ in range(100_000):
    DEEP, DEEP_ALIKE = [DEEP], [DEEP_ALIKE]
TREE: dict[str, Any] = {}
TREE_ALIKE: dict[str, Any] = {}
for _ in range(100_000):
    TREE, TREE_ALIKE = {"a": TREE}, {"a": TREE_ALIKE}


@pytest.mark.parametrize(
    ("text", "context"),
    [
        ("as(a, 'list<int>') != nil", {"a": [1] * 200_000}),
        ("as(a, 'list<int>') != nil", {"a": ["1"] * 200_000}),
        ("as(a, 'map<int>') != nil", {"a": dict.fromkeys(map(str, range(200_000)), 1)}),
        ("as(a, 'list<timestamp>') != nil", {"a": ["2026-03-01T00:00:00Z"] * 200_000}),
        ("as(a, 'list<duration>') != nil", {"a": ["1h"] * 200_000}),
        ("as(a, 'list<ipaddress>') != nil", {"a": ["::1"] * 200_000}),
        ("as(a, 'ipaddress') != nil", {"a": LONG}),
        ("as(a, 'timestamp') != nil", {"a": LONG}),
        ("anyOf(" + "any(1..900000, {# < 0}), " * 20 + "true)", {}),
        ("some(1..900000, {div(1, 0) == 1})", {}),
        ("every(1..1000, {some(1..1000, {# < 0}) || a})", {"a": True}),
        ("every(1..1000, {some(1..1000, {# < 0}) == a})", {"a": False}),
        ("any(1..900000, {convert(#, 'string') == ''})", {}),
        ("any(1..900000, {inCIDR('10.1.2.3', '10.0.0.' + string(# % 256) + '/32') && false})", {}),
        ("any(1..900000, {datePart(now(), 'hour', 'Europe/Berlin') < 0})", {}),
        ("any(1..900000, {includes(a, 'x')})", {"a": ["y"] * 1_000}),
        ("any(1..900000, {includes(a, b)})", {"a": {"y": 1}, "b": LONG}),
        ("any(1..900000, {at(a, b) == 1})", {"a": {LONG: 2}, "b": LONG}),
        ("any(1..900000, {concat(a, a) == []})", {"a": [1] * 1_000}),
        ("any(1..900000, {elements(a) == []})", {"a": dict.fromkeys(map(str, range(1_000)))}),
        ("any(1..900000, {!isSubtree(a, a)})", {"a": dict.fromkeys(map(str, range(1_000)))}),
        ("any(1..900000, {!equals(a, b)})", {"a": LONG, "b": LONG[:-1] + "a"}),
        ("any(1..900000, {!equals(a, b)})", {"a": [1] * 1_000, "b": [1] * 1_000}),
        ("equals(a, b) && equals(a, b) && equals(a, b)", {"a": DEEP, "b": DEEP_ALIKE}),
        ("isSubtree(a, b) && isSubtree(b, a)", {"a": TREE, "b": TREE_ALIKE}),
    ],
)
def test_what_would_take_long_ends_unknown(text: str, context: dict[str, Any]) -> None:
    before = time.process_time()

    assert answer(text, context) is None

    assert time.process_time() - before < 2  # as in test_budget.py


def test_to_be_without_steps_is_an_error_that_nothing_decides_away() -> None:
    assert answer("anyOf(any(1..900000, {# < 0}), true == yes)", MORE) is None
    assert answer("some([1, 2], {# == 2 || any(1..900000, {# < 0})})") is None
