"""What is wrong with a text, and what lint finds in one: the cases are data."""

import pytest

from magistrate.engine.text.faults import MAX_CHARACTERS_SHOWN, ModelFault, describe_fault
from magistrate.engine.text.lint import CODES, lint_text
from magistrate.engine.text.parser import parse_model
from tests.engine.text.fault_cases import ERRORS, LINT, Case, name_of


@pytest.mark.parametrize("case", ERRORS, ids=name_of)
def test_what_is_wrong_with_a_text_is_said_with_its_place(case: Case) -> None:
    faults = parse_model(case["text"]).faults

    assert [f"{one.line}:{one.column} {one.code}: {one.describe()}" for one in faults] == case["errors"]
    assert faults


def test_there_are_many_error_cases() -> None:
    assert len(ERRORS) >= 170
    assert len({error.split()[1] for case in ERRORS for error in case["errors"]}) >= 24


@pytest.mark.parametrize("case", LINT, ids=name_of)
def test_lint_finds_mistakes_with_their_places(case: Case) -> None:
    parsed = parse_model(case["text"])

    findings = lint_text(parsed)

    assert not parsed.faults
    assert [
        f"{one.line}:{one.column} {'error' if one.is_error else 'warning'} {one.code}: {one.describe()}"
        for one in findings
    ] == case["findings"]


def test_there_is_a_case_of_each_code() -> None:
    found = {finding.split()[2].rstrip(":") for case in LINT for finding in case["findings"]}

    assert found == set(CODES)


def test_a_fault_is_shown_with_its_line_and_a_mark() -> None:
    text = "version 1.0\ntype user\n\trelaton owner\n"

    [shown] = [describe_fault(text, fault, "model.txt") for fault in parse_model(text).faults]

    assert shown == (
        "model.txt:3:2: error unknown_keyword: expected relation, inherit, source, action, found 'relaton'; "
        "did you mean relation?\n |  relaton owner\n | .^"
    )


def test_of_a_long_line_what_is_around_the_fault_is_shown() -> None:
    line = "relation viewer [" + ", ".join(f"type{number}" for number in range(1_000)) + ", Type]"
    text = f"version 1.0\ntype user\n    {line}\n"

    [fault] = parse_model(text).faults
    _, shown, mark = describe_fault(text, fault).split("\n")

    assert len(shown) <= MAX_CHARACTERS_SHOWN + 6
    assert shown[mark.index("^") :].startswith("Type]")


def test_a_fault_without_a_position_is_shown_without_a_line() -> None:
    assert describe_fault("", ModelFault("code", "is wrong")) == "error code: is wrong"
