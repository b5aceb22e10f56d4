"""docs/policies.md names everything there is, with the numbers and messages of the code."""

import re
from pathlib import Path

import pytest

from magistrate.engine.policy.compiler import ABSORBING
from magistrate.engine.policy.functions import CALENDAR_UNITS, FUNCTIONS
from magistrate.engine.policy.node import MAX_DEPTH
from magistrate.engine.policy.operators import OPERATORS
from magistrate.engine.policy.policy import MAX_POLICY_LENGTH
from magistrate.engine.policy.predicates import CLOSURE_FUNCTIONS
from magistrate.engine.policy.run import MAX_STEPS, TEXT_STEP
from magistrate.engine.policy.structs import METHODS
from magistrate.engine.policy.texts import MAX_PATTERN_LENGTH, MAX_PATTERNS
from magistrate.engine.policy.value_types import INNERMOST, READ_AS
from tests.engine.policy.asking import answer, refusal

DOCUMENT = (Path(__file__).parents[3] / "docs" / "policies.md").read_text()
METHOD_NAMES = sorted({name for methods in METHODS.values() for name in methods})
CODE = " ".join(re.findall(r"`([^`\n]+)`", DOCUMENT))


@pytest.mark.parametrize("name", [READ_AS, *ABSORBING, *FUNCTIONS, *sorted(CLOSURE_FUNCTIONS), *METHOD_NAMES])
def test_every_function_is_documented(name: str) -> None:
    assert re.search(rf"\b{name}\b", CODE)


@pytest.mark.parametrize("name", [*INNERMOST, "list<…>", "map<…>", *CALENDAR_UNITS])
def test_every_type_and_part_of_a_date_is_documented(name: str) -> None:
    assert name in CODE.replace('"', " ").split()


@pytest.mark.parametrize("sign", OPERATORS)
def test_every_operator_is_documented(sign: str) -> None:
    assert sign in CODE.replace("a..b", "..").split()


def test_the_numbers_are_those_of_the_code() -> None:
    assert f"at most {MAX_POLICY_LENGTH} bytes" in DOCUMENT
    assert f"| nesting depth | {MAX_DEPTH};" in DOCUMENT
    assert f"| {MAX_PATTERN_LENGTH:,} characters each, {MAX_PATTERNS} written out" in DOCUMENT
    assert f"| {MAX_STEPS:,} steps |" in DOCUMENT
    assert f"one for {TEXT_STEP} characters" in DOCUMENT


def test_the_examples_can_be_read_and_the_message_is_shown_word_for_word() -> None:
    examples, message = re.findall(r"```\n(.*?)\n```", DOCUMENT, re.DOTALL)

    for example in examples.splitlines():
        assert answer(example, {}) in (False, None)
    assert message.removeprefix("error validating policy 'element = \"115\"': ") == refusal('element = "115"')
