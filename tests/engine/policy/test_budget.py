"""No policy with any context works for long: what grows spends steps, and ends unknown when the steps are used up."""

import time
from typing import Any

import pytest

from magistrate.engine.policy.environment import Environment
from magistrate.engine.policy.policy import compile_text, read_policy
from magistrate.engine.policy.run import MAX_STEPS, PolicyRun
from tests.engine.policy.asking import NOW, WARRANT, answer

LONG = "a" * 3_000_000
DIGITS = int("9" * 4_300)
NESTED: list[Any] = []
NESTED_ALIKE: list[Any] = []
for _ in range(100_000):
    NESTED, NESTED_ALIKE = [NESTED], [NESTED_ALIKE]


def test_a_turn_of_a_closure_costs_the_parts_of_its_body_and_one() -> None:
    turns = MAX_STEPS // 4  # <, # and 0, and the iteration itself

    assert answer("all(1..turns, # > 0)".replace("turns", str(turns))) is True
    assert answer("all(1..turns, # > 0)".replace("turns", str(turns + 1))) is None


@pytest.mark.parametrize(
    ("text", "context"),
    [
        ("any(1..1000000000000, # < 0)", {}),
        ("any(1..1000, any(1..1000, # < 0))", {}),
        ("any(list, any(list, any(list, # < 0)))", {"list": list(range(500))}),
        ("map(1..1000000, #) == []", {}),
        ("map(1..1000000, {{a: #, b: {c: [#]}}}) == []", {}),
        ("count(1..100000, now().YearDay() + now().Hour() < 0) > 0", {}),
        ("any(1..100000, now() - now() + now() < warrant.createdAt)", {}),
        ("any(1..100000, string(# / 7) == '')", {}),
        ("any(list, int(#) + float(#) < 0)", {"list": ["1234567890"] * 100_000}),
        ("any(list, date(#) == nil)", {"list": ["2025-11-21T10:00:00.123456789+01:00"] * 100_000}),
        ("any(list, duration(#) == nil)", {"list": ["1h" * 48] * 100_000}),
        # numbers of thousands of digits
        ("any(list, # - # < 0)", {"list": [DIGITS] * 100_000}),
        ("any(list, # * # < 0)", {"list": [DIGITS] * 100_000}),
        # equality
        ("any(1..100000, a != b)", {"a": LONG, "b": LONG[:-1] + "a"}),
        ("any(1..100000, a != b)", {"a": {LONG: 1}, "b": {LONG[:-1] + "a": 1}}),
        ("any(1..100000, a != b)", {"a": ["x"] * 50, "b": ["x"] * 50}),
        ("a == b || a == b || a == b", {"a": [1] * 99_999, "b": [1] * 99_998 + [2]}),
        ("a != b || a != b || a != b", {"a": NESTED, "b": NESTED_ALIKE}),
        ("any(1..100000, a not in b)", {"a": LONG, "b": {LONG[:-1] + "a": 1}}),
        ("any(1..100000, # in a)", {"a": [-1] * 1_000}),
        ("any(1..100000, 'x' in a)", {"a": ["y"] * 1_000}),
        ("any(1..100000, a in b)", {"a": [1], "b": [[2]] * 1_000}),
        # texts
        ("any(1..100000, a contains b)", {"a": "a" * 2_400, "b": "a" * 600 + "b" + "a" * 600}),
        ("any(1..100000, a contains b)", {"a": LONG, "b": "a" * 700_000 + "b" + "a" * 700_000}),
        ("any(1..100000, indexOf(a, b) > 0)", {"a": "a" * 29_000, "b": "a" * 49 + "b" + "a" * 49}),
        ("any(1..100000, a + a == '')", {"a": LONG[:1_000]}),
        ("a + a == ''", {"a": LONG}),
        ("any(1..100000, upper(a) == '')", {"a": "ß" * 100}),
        ("any(1..100000, trim(a, b) != '')", {"a": "é" * 500, "b": "ū" * 500 + "é"}),
        ("trim(a, b) == 'x'", {"a": "é" * 500_000, "b": "ū" * 100_000 + "é"}),
        ("any(1..100000, replace(a, 'a', 'bb') == '')", {"a": "a" * 100}),
        ("replace(a, '', b) == ''", {"a": LONG[:1_000], "b": LONG[:100_000]}),
        ("any(1..100000, len(split(a, '')) == 0)", {"a": LONG[:1_000]}),
        ("any(1..100000, len(split(a, b)) == 0)", {"a": LONG[:1_000], "b": "a"}),
        ("any(1..100000, join(a, b) == 'x')", {"a": ["a"] * 100, "b": LONG[:1_000]}),
        ("any(1..100000, a[1:] == [])", {"a": [1] * 1_000}),
        ("any(1..100000, sum(a) + mean(a) + min(a) + max(a) < 0)", {"a": [1.5] * 100}),
        ("any(1..100000, len(keys(a)) + len(values(a)) < 0)", {"a": {f"k{n}": n for n in range(1_000)}}),
        # regular expressions
        ("any(1..100000, a matches '(x+x+)+y')", {"a": "x" * 100}),
        ("a matches '(.{0,40}x){8}y'", {"a": "xyé" * 20_000}),
        ("any(a, 'abc' matches #)", {"a": [rf"\pL{n}" for n in range(100_000)]}),
        ("any(a, 'abc' matches #)", {"a": [rf"(\pL{n}" for n in range(100_000)]}),
        ("any(1..100000, '' matches 'a')", {}),
        ("a matches '(a?){300}b'", {"a": "a" * 60_000}),
    ],
)
def test_what_would_take_long_ends_unknown(text: str, context: dict[str, Any]) -> None:
    before = time.process_time()

    assert answer(text, context) is None

    # Ten times what the slowest takes; without the steps, most of these would take minutes.
    assert time.process_time() - before < 2


def test_large_values_that_are_not_used_cost_nothing() -> None:
    context = {"text": LONG, "list": [0] * 1_000_000, "map": dict.fromkeys(map(str, range(1_000)))}

    assert answer("len(text) + len(list) + len(map) == 4001000", context) is True
    assert answer('text != "short" && list != [1] && map["7"] == nil && list[-1] == 0', context) is True
    assert answer("5 in 1..9000000000000000000 && first(list) == last(list)", context) is True


def test_values_nested_as_deep_as_json_allows_are_compared() -> None:
    assert answer("a == b", {"a": NESTED, "b": NESTED_ALIKE}) is True
    assert answer("a in [b]", {"a": NESTED, "b": [NESTED_ALIKE]}) is False


def test_closures_within_closures_down_to_the_limit_do_not_exhaust_the_stack() -> None:
    text = "any([1], " * 62 + "# == 1" + ")" * 62

    assert answer(text) is True


def test_an_expression_costs_the_same_whether_it_was_compiled_before_or_not() -> None:
    node = compile_text("any(list, text matches #)", Environment())
    context = {"list": [f"^first{n}" for n in range(30)], "text": "none"}
    runs = [PolicyRun(context, WARRANT, NOW) for _ in range(2)]

    assert [node.evaluate(run) for run in runs] == [False, False]
    assert runs[0].steps == runs[1].steps < MAX_STEPS


def test_a_match_costs_the_product_of_the_text_and_the_expression() -> None:
    """RE2 goes through all instructions for each character if the automaton of the expression is too large."""
    spent = [_steps(f"text matches '(a?){{{times}}}b'", {"text": "a" * 3_000}) for times in (10, 100)]

    assert spent[0] >= 3_000 * 10 // 32
    assert spent[1] >= 3_000 * 100 // 32


def test_a_text_that_is_read_as_a_number_costs_its_length() -> None:
    short, long = ("1" * length for length in (2, 40))

    for function in ("int", "float"):
        assert (
            _steps(f"{function}(text) == 0", {"text": long}) >= _steps(f"{function}(text) == 0", {"text": short}) + 15
        )


def _steps(text: str, context: dict[str, Any]) -> int:
    policy = read_policy(text)
    policy.outcome(context, WARRANT, NOW)  # compiles it for these types
    return policy.outcome(context, WARRANT, NOW).steps
