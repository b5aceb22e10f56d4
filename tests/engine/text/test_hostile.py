"""Whatever is written, the parser answers: in time that grows with the length, without recursion, with few faults."""

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.text.faults import MAX_FAULTS, describe_fault
from magistrate.engine.text.lint import lint_text
from magistrate.engine.text.parser import MAX_MODEL_CHARACTERS, MAX_NESTING, ParsedModel, parse_model
from magistrate.engine.text.rendering import format_model
from tests.engine.text.documents import document_of
from tests.engine.text.generated import layouts, models

TEXT = "version 1.0\n\ntype user\n\ntype doc\n    relation a [user]\n"
LONG = 300_000


def check_positions(parsed: ParsedModel) -> None:
    lines = parsed.text.split("\n")
    assert len(parsed.faults) <= MAX_FAULTS
    for fault in parsed.faults:
        assert 1 <= fault.line <= len(lines)
        assert 1 <= fault.column <= len(lines[fault.line - 1]) + 1
    assert all("^" in describe_fault(parsed.text, fault) for fault in parsed.faults)


@given(st.text() | st.text(string.printable) | st.text("\n \tverstionpolicyfah[]{}#:*,()/\"'01."))
def test_any_text_has_an_answer(text: str) -> None:
    check_positions(parse_model(text))


@given(st.data(), st.integers(0, 2**32))
def test_damaged_models_have_an_answer(data: st.DataObject, seed: int) -> None:
    chance = random.Random(seed)
    text = data.draw(layouts(document_of(data.draw(models()))))
    for _ in range(chance.randrange(1, 4)):
        place = chance.randrange(len(text) + 1)
        text = text[:place] + chance.choice(["", "\n", "    ", "{", "}", "[", "\0", "type ", "//"]) + text[place + 1 :]

    parsed = parse_model(text)

    check_positions(parsed)
    if not parsed.faults:
        assert not parse_model(format_model(parsed)).faults


HOSTILE = {
    "a long name": f"type {'x' * LONG}\n",
    "a long line of signs": "[" * LONG,
    "long brackets": f"type t\n    relation r [{', '.join(f't{n}' for n in range(LONG // 8))}]\n",
    "long brackets of one type": f"type t\n    relation r [{', '.join(['t'] * (LONG // 3))}]\n",
    "brackets that do not end": f"type t\n    relation r [{'t,' * (LONG // 2)}\n",
    "many types behind on": "type t\n    relation r\n    inherit r if\n        relation r on r "
    + f"[{', '.join(f't{n}' for n in range(LONG // 8))}]\n",
    "many blank lines": "\n" * LONG,
    "one long indentation": " " * LONG + "type t\n",
    "a long comment": f"// {'x' * LONG}\n",
    "many faults": "banana\n" * (LONG // 7),
    "many misspelled words": "relatoin r\n" * (LONG // 11),
    "many brackets in a policy": f"policy p() {{{'{' * LONG}\n",
    "many quotes in a policy": "policy p() {" + '"\\' * (LONG // 2) + "\n",
    "many comments that do not end in a policy": "policy p() {" + "/*" * (LONG // 2) + "\n",
    "many policies that do not end": "policy p() {\n" * (LONG // 13),
    "many quotes in many policies": "policy p() { ' \" }\n" * (LONG // 19),
    "a long source": f'type t\n    source {{"a": {"[" * LONG}}}\n',
    "a deep source": f'type t\n    source {{"a": {"[" * LONG}{"]" * LONG}}}\n',
    "a type many times": "type t\n" * (LONG // 7),
    "a relation many times": "type t\n" + "    relation r\n" * (LONG // 15),
    "a description of many lines": "/// x\n" * (LONG // 6) + "type t\n",
    "carriage returns": "\r" * LONG,
    "line separators of Unicode": "type t\u2028" * (LONG // 7),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_long_and_strange_texts_have_an_answer(text: str) -> None:
    check_positions(parse_model("version 1.0\n" + text))


def test_a_model_of_ten_megabytes_is_refused_unread() -> None:
    parsed = parse_model(TEXT + "// x\n" * 2_000_000)

    assert [fault.code for fault in parsed.faults] == ["model_too_large"]
    assert str(MAX_MODEL_CHARACTERS) in parsed.faults[0].message


def test_too_many_faults_end_the_reading() -> None:
    parsed = parse_model("version 1.0\n" + "banana\n" * 10_000)

    assert len(parsed.faults) == MAX_FAULTS
    assert parsed.faults[-1].code == "too_many_errors"
    assert parsed.faults[-1].line == MAX_FAULTS + 1


@pytest.mark.parametrize(("depth", "codes"), [(MAX_NESTING - 2, []), (MAX_NESTING - 1, ["too_deep"])])
def test_blocks_nest_to_a_limit(depth: int, codes: list[str]) -> None:
    rules = "".join(f"{' ' * (level + 2)}any_of\n" for level in range(depth))
    text = f"version 1.0\ntype t\n relation r\n inherit r if\n{rules}{' ' * (depth + 2)}self\n"

    parsed = parse_model(text)

    assert [fault.code for fault in parsed.faults][: len(codes) or 1] == codes
    if not codes:
        assert parse_model(format_model(parsed)).document == parse_model(format_model(parsed)).document
        lint_text(parsed)


LINTED = {
    "a chain of relations": "".join(
        f"    relation r{n} []\n    inherit r{n} if relation r{n + 1}\n" for n in range(4_000)
    ),
    "a chain of relations backwards": "".join(
        f"    relation r{n} []\n    inherit r{n} if relation r{n + 1}\n" for n in range(4_000, 0, -1)
    ),
    "many rules that one relation fulfils": "    relation a []\n    relation b\n    inherit a if\n        all_of\n"
    + "            relation b\n" * 8_000,
    "many silencing comments": "    // lint: ignore unused_relation\n" * 4_000
    + "    relation a // lint: ignore unknown_type\n"
    + "".join(f"    // lint: ignore x{n}\n    relation a{n}\n" for n in range(4_000)),
    "many unknown names that are silenced": "    // lint: ignore unknown_relation\n    inherit a if\n        any_of\n"
    + "            relation zzz\n" * 8_000
    + "    relation a\n",
}


@pytest.mark.parametrize("block", LINTED.values(), ids=LINTED)
def test_lint_answers_for_large_models(block: str) -> None:
    parsed = parse_model(f"version 1.0\ntype t\n{block}")

    findings = lint_text(parsed)

    assert {fault.code for fault in parsed.faults} <= {"repeated_declaration"}
    assert len(findings) <= MAX_FAULTS
