"""How policies are written: literals, blanks, comments; and which texts are refused, with what words."""

import pytest

from magistrate.engine.policy.node import MAX_DEPTH
from magistrate.engine.policy.policy import MAX_POLICY_LENGTH, policy_of_context, read_new_policy, read_policy
from magistrate.engine.policy.texts import MAX_PATTERN_LENGTH, MAX_PATTERNS
from magistrate.errors import InvalidParameter
from tests.engine.policy.asking import answer, refusal
from tests.engine.policy.syntax_cases import WRITTEN


@pytest.mark.parametrize("text", WRITTEN, ids=lambda text: text[:40])
def test_it_can_be_written_so(text: str) -> None:
    assert answer(text) is True


def test_a_single_equals_sign_is_reported_word_for_word() -> None:
    with pytest.raises(InvalidParameter) as caught:
        read_policy('element = "115"')

    assert caught.value.parameter == "policy"
    assert caught.value.message == (
        'error validating policy \'element = "115"\': unexpected token Operator("=") (1:9)\n'
        ' | element = "115"\n'
        " | ........^"
    )


@pytest.mark.parametrize(
    ("text", "reason", "line", "column", "shown"),
    [
        ("", "unexpected token EOF", 1, 1, ""),
        ("a ==", "unexpected token EOF", 1, 4, "a =="),
        ("(a", "unexpected token EOF", 1, 2, "(a"),
        ("a)", 'unexpected token Bracket(")")', 1, 2, "a)"),
        ("a [", "unexpected token EOF", 1, 3, "a ["),
        ("a & b", 'unexpected token Operator("&")', 1, 3, "a & b"),
        ("a | b", "unexpected token EOF", 1, 5, "a | b"),
        ("a | (b)", 'unexpected token Bracket("(")', 1, 5, "a | (b)"),
        ("a == let b = 1; b", 'unexpected token Operator("let")', 1, 6, None),
        ("let a == 1", 'unexpected token Operator("==")', 1, 7, None),
        ("let a = 1", "unexpected token EOF", 1, 9, None),
        ("let len = 1; true", "cannot redeclare len", 1, 5, None),
        ("let a = 1; let a = 2; true", "cannot redeclare a", 1, 16, None),
        ("filter(a, #index > 1) == a", "unknown pointer #index", 1, 11, None),
        ("a === b", 'unexpected token Operator("=")', 1, 5, "a === b"),
        ("a; b", 'unexpected token Operator(";")', 1, 2, "a; b"),
        ("a b", 'unexpected token Identifier("b")', 1, 3, "a b"),
        ("a true", 'unexpected token Identifier("true")', 1, 3, "a true"),
        ("a AND b", 'unexpected token Identifier("AND")', 1, 3, "a AND b"),
        ("a 0x1f", 'unexpected token Number("0x1f")', 1, 3, "a 0x1f"),
        ("a 1.5", 'unexpected token Number("1.5")', 1, 3, "a 1.5"),
        ("a 'it\\'s \"x\"'", 'unexpected token String("it\'s \\"x\\"")', 1, 3, "a 'it\\'s \"x\"'"),
        ("a not b", 'unexpected token Identifier("b")', 1, 7, "a not b"),
        ("not in", 'unexpected token Operator("in")', 1, 5, "not in"),
        ("a in", "unexpected token EOF", 1, 4, "a in"),
        ("a.'b'", 'unexpected token String("b")', 1, 3, "a.'b'"),
        ("* a", 'unexpected token Operator("*")', 1, 1, "* a"),
        ("123abc", 'unexpected token Identifier("abc")', 1, 4, "123abc"),
        ("{a b}", 'unexpected token Identifier("b")', 1, 4, "{a b}"),
        ("a /* b", 'unexpected token Operator("*")', 1, 4, "a /* b"),
        ("a @ b", "unrecognized character U+0040 '@'", 1, 3, "a @ b"),
        ("`a`", "unrecognized character U+0060 '`'", 1, 1, "`a`"),
        ("a\0", "unrecognized character U+0000", 1, 2, "a\0"),
        ("a == 'b", "the string is not terminated", 1, 6, "a == 'b"),
        ('a == "b\n"', "the string is not terminated", 1, 6, 'a == "b'),
        (r"a == 'b\q'", "unknown escape in a string", 1, 8, r"a == 'b\q'"),
        (r"a == '\ud800'", "unknown escape in a string", 1, 7, r"a == '\ud800'"),
        (r"a == '\U00110000'", "unknown escape in a string", 1, 7, r"a == '\U00110000'"),
        ("a == 9223372036854775808", "the number 9223372036854775808 is out of range", 1, 6, None),
        ("a == 1e999", "the number 1e999 is out of range", 1, 6, "a == 1e999"),
        ("a &&\n  b = 1\n&& c", 'unexpected token Operator("=")', 2, 5, "  b = 1"),
        ("a &&\r\n\tb = 1", 'unexpected token Operator("=")', 2, 4, " b = 1"),
        ("a &&\n", "unexpected token EOF", 1, 5, "a &&"),
        # what cannot work
        ('1 + "a"', '"+" does not take int and string', 1, 3, None),
        ("1 && true", '"&&" does not take int', 1, 3, None),
        ("true or 'a'", '"or" does not take string', 1, 6, None),
        ("true && (a / b)", '"&&" does not take float64', 1, 6, None),
        ('"a" matches 5', '"matches" does not take string and int', 1, 5, None),
        ('"a" not contains 5', '"not contains" does not take string and int', 1, 5, None),
        ("a contains 5", '"contains" does not take interface {} and int', 1, 3, None),
        (
            "a + b + nil",
            '"+" does not take interface {} and <nil>',
            1,
            7,
            None,
        ),
        ("1 < 2 < 3", '"<" does not take bool and int', 1, 7, None),
        ("true < false", '"<" does not take bool and bool', 1, 6, None),
        ("1 in 'abc'", '"in" does not take int and string', 1, 3, None),
        ("1 != true", '"!=" does not take int and bool', 1, 3, None),
        ("'1' != 1", '"!=" does not take string and int', 1, 5, None),
        ("true not in [1]", '"not in" does not take bool and []interface {}', 1, 6, None),
        ("1.5 in ['a', 'b']", '"in" does not take float64 and []interface {}', 1, 5, None),
        ("'a' in 1..3", '"in" does not take string and []int', 1, 5, None),
        ("'a' in nil", '"in" does not take string and <nil>', 1, 5, None),
        ("7.5 % 2 == 1.5", '"%" does not take float64 and int', 1, 5, None),
        ("1 in {a: 1}", '"in" does not take int and map[string]interface {}', 1, 3, None),
        ("now() + 1 > now()", '"+" does not take time.Time and int', 1, 7, None),
        ("!1", '"!" does not take int', 1, 1, None),
        ("a && not 'b'", '"not" does not take string', 1, 6, None),
        ("-'a' == 1", '"-" does not take string', 1, 1, None),
        ("+true == 1", '"+" does not take bool', 1, 1, None),
        ("1 ? a : b", '"?" does not take int', 1, 3, None),
        ("'a' ?: b", '"?" does not take string', 1, 5, None),
        ("1.5.a == 1", '".a" does not take float64', 1, 5, None),
        ("nil.a == 1", '".a" does not take <nil>', 1, 5, None),
        ("now().a == 1", '".a" does not take time.Time', 1, 7, None),
        ("{a: 1}[0] == 1", '"[]" does not take map[string]interface {}', 1, 7, None),
        ("[1][true] == 1", '"[]" does not take []interface {}', 1, 4, None),
        ("a['b':] == 1", '"[:]" does not take string', 1, 2, None),
        ("'a'.Hour() == 1", '"Hour" does not take string', 1, 5, None),
        ("now().Hours() == 1", '"Hours" does not take time.Time', 1, 7, None),
        ("now().Nap() == 1", '"Nap" does not take time.Time', 1, 7, None),
        ("now().Hour(1) == 1", "Hour takes 0 arguments, got 1", 1, 7, None),
        ("len(1) == 1", "len does not take int", 1, 5, None),
        ("len() == 1", "wrong number of arguments for len: expected 1, got 0", 1, 1, None),
        ("trim() == ''", "wrong number of arguments for trim: expected 1 to 2, got 0", 1, 1, None),
        ("min() == 1", "wrong number of arguments for min: expected 1 or more, got 0", 1, 1, None),
        ("now(1) == 1", "wrong number of arguments for now: expected 0, got 1", 1, 1, None),
        ("len({a}) == 1", 'unexpected token Bracket("}")', 1, 7, None),
        ("all(a)", 'unexpected token Bracket(")")', 1, 6, None),
        ("all({a}, true)", 'unexpected token Bracket("}")', 1, 7, None),
        ("all(5, true)", "all does not take int", 1, 5, None),
        ("all(a, 5)", "the closure of all does not take int", 1, 8, None),
        ("a == #", "# and .field stand for an element and need a closure around them", 1, 6, None),
        ("all(.a, true)", "# and .field stand for an element and need a closure around them", 1, 5, None),
        ("any(a, .b) && .c", "# and .field stand for an element and need a closure around them", 1, 15, None),
        ("a matches '['", "cannot read the regular expression: missing ]: [", 1, 11, None),
        ("a matches '(?=b)'", "cannot read the regular expression: invalid perl operator: (?=", 1, 11, None),
    ],
)
def test_what_cannot_stand_is_refused_with_its_place(
    text: str, reason: str, line: int, column: int, shown: str | None
) -> None:
    shown_line = text if shown is None else shown

    assert refusal(text) == f"{reason} ({line}:{column})\n | {shown_line}\n | {'.' * (column - 1)}^"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1", "int"),
        ("1 + 1", "int"),
        ("1.5", "float64"),
        ("a / b", "float64"),
        ("'a'", "string"),
        ("lower(a)", "string"),
        ("len(a)", "int"),
        ("nil", "<nil>"),
        ("[true]", "[]interface {}"),
        ("filter(a, true)", "[]interface {}"),
        ("1..2", "[]int"),
        ("{a: true}", "map[string]interface {}"),
        ("warrant.createdAt.Hour() - 1", "interface {}"),
        ("now()", "time.Time"),
        ("now() - now()", "time.Duration"),
        ("a + b", "interface {}"),
        ("a - 1", "interface {}"),
        ("-a", "interface {}"),
        ("a ? 1 : 'b'", "interface {}"),
        ("a ? 1 : 2", "int"),
        ("(1 ?? 2) + 1", "int"),
        ("1 ?? 2.5", "interface {}"),
        ("a[0:1]", "interface {}"),
    ],
)
def test_what_cannot_be_a_bool_is_refused(text: str, kind: str) -> None:
    assert refusal(text) == f"expected bool, but got {kind}"


@pytest.mark.parametrize(
    "text",
    ["a", "a.b", "a[0]", "a?.b", "a ?? b", "a ?? 1", "a ? b : 1", "find(a, true)", "first(a)", "get(a, 0)", "now"],
)
def test_what_may_be_a_bool_is_accepted(text: str) -> None:
    assert read_policy(text).text == text


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("missing ?? 1 == a", 14),
        ("a ?? b not in c", 8),
        ("a ?? b && c", 8),
        ("a ?? b or c", 8),
        ("a ?? b ?? c < 1", 13),
        ("a ?? 1..2 == c", 7),
        ("a ?? -b - c == 1", 9),
        ("c == a ?? b * 2", 13),
        ("-a ?? b ** 2 == c", 9),
        ("2 ** a ?? b ** 2 == c", 13),
        ("any(a, {# ?? 1 > 2})", 16),
        ("(a ?? b) == c ? d ?? true and a : e ?? b or c", 27),
    ],
)
def test_an_operator_behind_a_double_question_mark_needs_brackets_in_new_policies(text: str, column: int) -> None:
    with pytest.raises(InvalidParameter) as caught:
        read_new_policy(text)

    assert caught.value.parameter == "policy"
    assert caught.value.message == (
        f"error validating policy '{text}': put brackets around the \"??\" before this operator (1:{column})\n"
        f" | {text}\n"
        f" | {'.' * (column - 1)}^"
    )
    assert read_policy(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        *("a == b ?? c", "a == b ?? c and d", "2 * a ?? 3 == 6", "-a ?? b == c", "not a ?? b and c", "a && b ?? -c"),
        *("(a ?? b) == c", "((a ?? b)) == c", "a ?? (b == c)", "a ?? b ?? c", "a ?? b ? c : d", "a ?? -b ** 2"),
        *("[a ?? b] == c", "a[b ?? 1] == c", "max(a ?? 1, 2) == c", "let v = a ?? 1; v == 1", "a ?? b | len() == 1"),
    ],
)
def test_a_double_question_mark_needs_none_elsewhere(text: str) -> None:
    assert read_new_policy(text) is read_policy(text)


def test_a_policy_has_a_length() -> None:
    assert MAX_POLICY_LENGTH == 4_096
    longest = "true" + " " * (MAX_POLICY_LENGTH - 4)

    assert answer(longest) is True
    with pytest.raises(InvalidParameter, match="must be at most 4096 bytes long") as caught:
        read_policy(longest + " ")
    assert caught.value.parameter == "policy"
    with pytest.raises(InvalidParameter, match="at most 4096"):
        read_policy("'" + "é" * 2_048 + "' == a")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("!", "yes"),
        ("ten + (", "1{}"),
        ("any([1], ", "true{}"),
        ("no ? yes : ", "yes"),
        ("max(", "1{}"),
    ],
)
def test_parts_within_parts_have_a_limit(before: str, after: str) -> None:
    def nested(levels: int) -> str:
        closed = after.format(")" * levels) if "{}" in after else after
        return before * levels + closed + (" > 0" if "1{}" in after else "")

    within = MAX_DEPTH - 2 if "1{}" in after else MAX_DEPTH - 1
    assert answer(nested(within)) is not None
    assert f"nested more than {MAX_DEPTH} deep" in refusal(nested(within + 1))


def test_regular_expressions_have_limits() -> None:
    longest = "a" * MAX_PATTERN_LENGTH
    most = " && ".join(f"'{n}' matches '{n}'" for n in range(MAX_PATTERNS))

    assert answer(f"'{longest}' matches '{longest}'") is True
    assert f"at most {MAX_PATTERN_LENGTH} characters long" in refusal(f"a matches '{longest}a'")
    assert answer("'' matches pattern", {"pattern": longest}) is False
    assert answer("'' matches pattern", {"pattern": longest + "a"}) is None
    assert answer(most) is True
    assert refusal(most + " && a not matches 'a'") == f"a policy can have at most {MAX_PATTERNS} regular expressions"
    assert "pattern too large" in refusal(r"a matches '\\pL{999}'")


@pytest.mark.parametrize(
    ("context", "policy"),
    [
        ({}, ""),
        ({"a": "b"}, 'a == "b"'),
        ({"b": "2", "a": "1", "B": "3"}, 'B == "3" && a == "1" && b == "2"'),
        ({"a": 'say "hi"\\'}, 'a == "say \\"hi\\"\\\\"'),
        ({"a": "line\nend\t\0\x7f"}, 'a == "line\\u000aend\\u0009\\u0000\\u007f"'),
        ({"straße": "Ü 😀"}, 'straße == "Ü 😀"'),
    ],
)
def test_a_context_reads_as_a_policy(context: dict[str, str], policy: str) -> None:
    assert policy_of_context(context) == policy
    if policy:
        assert answer(policy, context) is True
        assert answer(policy, {}) is False


@pytest.mark.parametrize("name", ["", "a-b", "a b", "1a", "a.b", "true", "nil", "not", "in", "matches", "$a", "a\n"])
def test_a_context_whose_names_are_no_variables_is_refused(name: str) -> None:
    with pytest.raises(InvalidParameter, match="cannot be the name of a variable") as caught:
        policy_of_context({"fine": "1", name: "2"})

    assert caught.value.parameter == "context"


@pytest.mark.parametrize("text", ["once == 1", "once == 1" + " && again == 2" * 50])
def test_a_policy_is_read_once(text: str) -> None:
    assert read_policy(text) is read_policy(text)
