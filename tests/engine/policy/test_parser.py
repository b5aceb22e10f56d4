"""The parser accepts what the grammar says, puts it together in the same way, and refuses the rest with the same words
in the same place."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from magistrate.engine.policy.environment import Environment
from magistrate.engine.policy.node import NOT_LITERAL, PolicyNode, Refusal
from magistrate.engine.policy.parser import parse
from magistrate.engine.policy.policy import MAX_POLICY_LENGTH, compile_text
from magistrate.engine.policy.run import MAX_STEPS, Fault, PolicyRun
from tests.engine.policy.asking import CONTEXT, NOW, WARRANT
from tests.engine.policy.expressions import TOKENS, contexts, expressions, token_runs
from tests.engine.policy.hostile import READABLE, REFUSED
from tests.engine.policy.reference import parse_with_grammar
from tests.engine.policy.syntax_cases import WRITTEN

OPERANDS = ["a", "1", "'x'", "nil", "a.b", "f(a)", "[a]", "{a: 1}", "#", ".a", "(a)", "a[0]", "a[:1]", "now().Hour()"]
INFIX = [
    *("||", "or", "&&", "and", "==", "!=", "<", "in", "not in", "contains", "matches", "..", "+", "-", "*", "/"),
    *("%", "**", "^", "??", "?", ":", "?:"),
]
Read = Callable[[str, Environment], PolicyNode]
PREFIXES = ["", "-", "!", "not ", "+"]

MISTAKES = [
    "let a = 1; a == 1",
    "let a = 1; -a < 0",
    "let a = 1; not (a == 2)",
    "any(a, not #) and .b",
    "any(a, -# < 0) and #",
    "let a = 1; let b = a; b == 1",
    "let a = 'x' + 1; b",
    "let a = 1",
    "let a = 1;",
    "let a 1; b",
    "a ? let b = 1; b : c == b",
    "[let a = 1; a, let a = 2; a] == b",
    "1 + let a = 1; a",
    "any(a, {let b = #; b == 1})",
    "let len = 1; a",
    "let a = 1; let a = 2; a",
    "a | len() == 1",
    "a == b | string() == 'true' or c",
    "a | filter(# > 1) | map({# * 2}) | sum() + 1 == 2",
    "a | reduce(#acc + #index, 0) == 1",
    "a | b",
    "a | b.c()",
    "a | len",
    "a | filter()",
    "a + | b()",
    "a | | b()",
    "a ? b | len() : c | len() == 1",
    "-a | abs() == 1",
    "reduce(a, # + #acc) == 1",
    "reduce(a, {# + #acc}, 1) == 1",
    "reduce(a, {# + #acc}, # + 1) == 1",
    "filter(a, #, 1) == a",
    "filter(a, {#}, 1) == a",
    "filter(a) == a",
    "filter() == a",
    "filter(1, #) == a",
    "filter(map(1..2, 'x'), # > 1) == a",
    "any(a, #index > 1)",
    "any(a, # index)",
    "map(a, #index)[0] == 1",
    "1 + a not in b",
    "(1 + a) not in b",
    "-a not in b",
    "a == b not in c",
    "a not == b",
    "a not + b",
    "$env.a == $env['a'] and get($env, 'a') == 1",
    "a?.b() == 1",
    "any(a, .b())",
    "all = 1",
    "m.all(1) == 2",
    "0b12",
    "0o8",
    "a ?? b == c",
    "a ?? b not in c",
    "a ?? b and c or d",
    "a == b ?? c == d",
    "a == b ?? c + d",
    "a ?? b | len() == 1",
    "a | len() ?? b == 1",
    "a ?? (b == c)",
    "(a ?? b) == c",
    "((a ?? b)) == c",
    "",
    "1 + 'a' )",  # both are wrong: the sum first, since a bracket may follow a sum
    "1 + 'a' b",
    "1 + 'a' @",
    "1 + 'a' 'b",
    "'\\q' )",
    "'\\q' b",
    "'\\q' '\\q'",
    "len('\\q'",
    "len({'\\q')",
    "len({'\\q'})",
    "len({'\\q': 1})",
    "len({9223372036854775808)",
    "len({0x8000000000000000)",
    "{'\\q'}",
    "{'\\q': 1}",
    "{1e999: 1} == a",
    "foo(1) b",
    "foo(1) )",
    "now().Nap() b",
    "now().Nap() ]",
    "len({a)",
    "len({(a))",
    "len({(a): 1}) == 1",
    "len({('a'): 1}) == 1",
    "len({((a)): 1}) == 1",
    "len({(a).b: 1}) == 1",
    "len({a.b: 1}) == 1",
    "len({a(): 1}) == 1",
    "len({len(a): 1}) == 1",
    "len({-a: 1}) == 1",
    "len({a ? b : c}) == 1",
    "len({not: 1}) == 1",
    "len({!: 1}) == 1",
    "len({in: 1, or: 2, true: 3, 'x': 4, 5: 6, 1.5: 7}) == 6",
    "len({||: 1}) == 1",
    "len({}) == 0",
    "len({}, )",
    "len(a, )",
    "len(, a)",
    "all(a, {{a: 1} == #})",
    "all(a, {#}.b)",
    "all(a, {#}) b",
    "all(a, {#} b",
    "a[]",
    "a[:] == a[1:] && a[:1] == a[0:1]",
    "a[b ? c : d : e] == a",
    "a[b ? c]",
    "a[1:2:3]",
    "a[:1:2]",
    "a ? b",
    "a ? b : ",
    "a ? : ",
    "a ?: ?: b",
    "a ? b : c : d",
    "true ? 1 ? 2 : 3 : 4",
    "a ?. b",
    "a?.5:1",
    "a.or == a.not && .in == 1",
    "a.|| == 1",
    "a.1",
    "a. 1",
    "a.true(b)",
    "a?.Hour()",
    "any(a, .Hour())",
    "(a)(b)",
    "a(b)(c)",
    "[,]",
    "[a,,]",
    "{,}",
    "{a: 1,,}",
    "{&&: 1}",
    "{and: 1} == a",
    "{(a: 1}",
    "a /* b",
    "a /** b",
    "/* b",
    "a / b // c",
    "a ! b",
    "a ! in b",
    "a * !b",
    "- !a",
    "a ** !b",
    "a + !b",
    "a, b",
    "a : b",
    "a ]",
    "a }",
    "a\0",
    "a == '\0",
    "\ud800",
    "²",
    "a == ٣",
    "a\xa0==\u2003b",
    "1..2 == 1...5",
    "1.e5",
    "1._5",
    "0x",
    "0xg",
    "1__0 == 10_",
]


def describe(read: Read, text: str) -> Any:
    """What is refused and where; or all that is known of the root before it is evaluated."""
    environment = Environment()
    try:
        node = read(text, environment)
    except Refusal as refusal:
        return refusal.reason, refusal.offset
    literal = "" if node.literal is NOT_LITERAL else repr(node.literal)
    return node.type.name, node.offset, node.weight, node.depth, node.patterns, literal, environment.mixed_at


def evaluate(read: Read, text: str, context: dict[str, Any]) -> Any:
    """The value and the steps it took; nothing for what is refused or needs an element."""
    try:
        node = read(text, Environment())
    except Refusal:
        return None
    run = PolicyRun(context, WARRANT, NOW)
    try:
        return repr(node.evaluate(run)), MAX_STEPS - run.steps
    except (Fault, ArithmeticError) as error:
        return type(error), MAX_STEPS - run.steps


@pytest.mark.parametrize("text", [*WRITTEN, *MISTAKES], ids=lambda text: ascii(text[:40]))
def test_it_reads_as_the_grammar_says(text: str) -> None:
    assert describe(parse, text) == describe(parse_with_grammar, text)


@pytest.mark.parametrize("first", INFIX)
@pytest.mark.parametrize("second", INFIX)
def test_any_two_operators_bind_as_the_grammar_says(first: str, second: str) -> None:
    context = {"a": 5, "b": 3, "c": 2, "d": None}
    for prefix in PREFIXES:
        for operands in ("abc", "cab", "dab", "131"):
            x, y, z = operands
            text = f"{x} {first} {prefix}{y} {second} {prefix}{z}"

            assert describe(parse, text) == describe(parse_with_grammar, text)
            assert evaluate(parse, text, context) == evaluate(parse_with_grammar, text, context)


@pytest.mark.parametrize("operand", OPERANDS)
def test_any_token_behind_an_operand_is_read_as_the_grammar_says(operand: str) -> None:
    for token in [*TOKENS, *INFIX]:
        for before in ("", "len({", "{", "[", "a[", "a ? ", "any(a, {", "a ?? -"):
            text = f"{before}{operand} {token} a"

            assert describe(parse, text) == describe(parse_with_grammar, text)


@settings(deadline=None)
@given(token_runs)
@example("a /** b")
@example("all//(b)")
@example("all /* */ == a /* */ (b)")
def test_any_run_of_tokens_reads_as_the_grammar_says(text: str) -> None:
    assert describe(parse, text) == describe(parse_with_grammar, text)


@settings(deadline=None)
@given(st.text(st.sampled_from("ab1.'\"\\/*?:!&|(){}[],#+-=<> \n") | st.characters(), max_size=30))
def test_any_text_reads_as_the_grammar_says(text: str) -> None:
    assert describe(parse, text) == describe(parse_with_grammar, text)


@settings(deadline=None)
@given(expressions(), contexts, st.data())
def test_any_expression_means_what_the_grammar_says(text: str, context: dict[str, Any], data: st.DataObject) -> None:
    damaged = text
    for _ in range(data.draw(st.integers(0, 2))):
        place = data.draw(st.integers(0, len(damaged)))
        damaged = damaged[:place] + data.draw(st.sampled_from(["", " ", *TOKENS])) + damaged[place + 1 :]

    assert evaluate(parse, text, context) == evaluate(parse_with_grammar, text, context)
    for one in (text, damaged):
        assert describe(parse, one) == describe(parse_with_grammar, one)


@pytest.mark.parametrize("text", [*READABLE.values(), *REFUSED.values()], ids=[*READABLE, *REFUSED])
def test_the_longest_policies_read_as_the_grammar_says(text: str) -> None:
    assert describe(parse, text) == describe(parse_with_grammar, text)


MAX_CALLS = 20
"""Of Python functions, for one character of a policy. Grammars of Lark take up to 120."""


@pytest.mark.parametrize("text", [*READABLE.values(), *REFUSED.values()], ids=[*READABLE, *REFUSED])
def test_reading_a_policy_takes_work_in_proportion_to_its_length(text: str) -> None:
    assert len(text) <= MAX_POLICY_LENGTH

    _, calls = count_calls(lambda: describe(compile_text, text))

    assert calls <= MAX_CALLS * len(text)


@pytest.mark.parametrize("text", READABLE.values(), ids=[*READABLE])
def test_evaluating_the_longest_policies_takes_work_in_proportion_to_their_length(text: str) -> None:
    node = compile_text(text, Environment())
    run = PolicyRun({**CONTEXT, "a": []}, WARRANT, NOW)

    def evaluate_it() -> Any:
        try:
            return node.evaluate(run)
        except Fault:
            return None

    _, calls = count_calls(evaluate_it)

    assert calls <= 8 * (node.weight + MAX_STEPS - run.steps)


@pytest.mark.parametrize("text", REFUSED.values(), ids=[*REFUSED])
def test_what_is_made_to_be_slow_and_wrong_is_refused(text: str) -> None:
    with pytest.raises(Refusal):
        compile_text(text, Environment())


def count_calls(work: Callable[[], Any]) -> tuple[Any, int]:
    """What it gives, and how many functions it calls."""
    calls = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        outcome = work()
    finally:
        sys.setprofile(None)
    return outcome, calls
