"""The parser accepts what the grammar of docs/models.md accepts, and the examples of that page are models."""

import json
import random
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark, UnexpectedInput
from lark.indenter import DedentError, Indenter

from magistrate.engine.text.json_documents import ModelBody
from magistrate.engine.text.lint import lint_text
from magistrate.engine.text.parser import parse_model
from magistrate.engine.text.rendering import format_model, render_model
from magistrate.engine.text.reports import report_value
from tests.engine.text.documents import document_of
from tests.engine.text.fault_cases import ERRORS, LINT, Case, name_of
from tests.engine.text.generated import layouts, models

PAGE = (Path(__file__).parents[3] / "docs" / "models.md").read_text()

SYNTAX = {
    "ambiguous_self": False,
    "invalid_action": False,
    "invalid_description": False,
    "invalid_name": False,
    "invalid_source": True,
    "misplaced_statement": True,
    "misplaced_version": True,
    "missing_expression": False,
    "missing_name": True,
    "missing_rule": True,
    "missing_version": True,
    "mixed_indentation": True,
    "needs_version": False,
    "repeated_declaration": False,
    "repeated_parameter": False,
    "repeated_type": False,
    "repeated_version": True,
    "several_rules": True,
    "several_types": True,
    "unclosed_policy": True,
    "undeclared_relation": False,
    "unexpected_token": True,
    "unknown_keyword": True,
    "unknown_parameter_type": False,
    "unknown_relation": False,
    "unknown_version": False,
    "wrong_indentation": True,
}
"""Whether a fault is one that the grammar sees."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


class Blocks(Indenter):
    @property
    def NL_type(self) -> str:
        return "_NL"

    @property
    def OPEN_PAREN_types(self) -> list[str]:
        return ["LBRACE"]

    @property
    def CLOSE_PAREN_types(self) -> list[str]:
        return ["RBRACE"]

    @property
    def INDENT_type(self) -> str:
        return "_INDENT"

    @property
    def DEDENT_type(self) -> str:
        return "_DEDENT"

    @property
    def tab_len(self) -> int:
        return 1


@cache
def grammar() -> Lark:
    [text] = blocks("lark")
    return Lark(text, parser="lalr", postlex=Blocks())


def is_in_the_grammar(text: str) -> bool:
    try:
        grammar().parse(text.rstrip() + "\n")
    except (UnexpectedInput, DedentError):
        return False
    return True


def is_read(text: str) -> bool:
    """Whether a text has no faults that the grammar sees."""
    return not any(SYNTAX[fault.code] for fault in parse_model(text).faults)


@given(st.data())
def test_texts_in_all_layouts_are_in_the_grammar(data: st.DataObject) -> None:
    body = data.draw(models())
    for one in body.object_types:
        one.description = one.descriptions = None
    text = data.draw(layouts(document_of(body)))

    assert is_in_the_grammar(text)


@given(models())
def test_all_models_are_in_the_grammar(body: ModelBody) -> None:
    for policy in body.policies:
        if "/" in policy.expression:  # a division could be followed by what the grammar takes for a comment
            policy.expression = "a == '}' && /* } { \n */ b // }\n || c"

    assert is_in_the_grammar(render_model(document_of(body)))


@given(models(), st.integers(0, 2**32))
def test_damaged_texts_are_refused_where_the_grammar_refuses_them(body: ModelBody, seed: int) -> None:
    for one in body.object_types:
        one.description = one.descriptions = one.source = None
    body.policies = []
    version, _, statements = render_model(document_of(body)).partition("\n")
    text = f"{version}\n{damage(statements, random.Random(seed))}"

    assert is_read(text) == is_in_the_grammar(text), text


def damage(text: str, chance: random.Random) -> str:
    """A text in which one word or sign is missing, twice, exchanged for another one, or moved to another line."""
    pieces = re.findall(r"\n *|[\w.-]+|[^\s\w]", text) or ["\n"]
    places = [chance.randrange(len(pieces)) for _ in range(2)]
    match chance.randrange(4):
        case 0:
            pieces.pop(places[0])
        case 1:
            pieces.insert(places[0], pieces[places[1]])
        case 2:
            pieces[places[0]] = chance.choice(["relation", "on", "for all", "[", "]", "any_of", "x", "\n    ", "type"])
        case _:
            pieces[places[0]], pieces[places[1]] = pieces[places[1]], pieces[places[0]]
    return " ".join(pieces).replace(" \n", "\n")


@pytest.mark.parametrize("case", [case for case in LINT if "\0" not in case["text"]], ids=name_of)
def test_what_lint_reads_is_in_the_grammar(case: Case) -> None:
    assert is_in_the_grammar(case["text"])


def test_the_codes_of_the_error_cases_are_all_known() -> None:
    assert {error.split()[1].rstrip(":") for case in ERRORS for error in case["errors"]} == SYNTAX.keys()


def test_the_examples_of_the_page_are_models_in_the_usual_layout() -> None:
    texts = blocks("fga")

    assert texts
    for text in texts:
        parsed = parse_model(text)
        assert not parsed.faults
        assert format_model(parsed) == text
        assert lint_text(parsed) == []


def test_the_json_of_the_page_is_a_model() -> None:
    [text] = blocks("json")

    report = report_value(json.loads(text), text)

    assert not report.errors
    assert render_model(report.document)


def test_the_rules_of_the_page_are_rules() -> None:
    rules = re.findall(r"^\| `((?:relation|policy|self|nobody)[^`(]*)` \| [^|]* \| [`a]", PAGE, re.MULTILINE)

    assert len(rules) >= 7
    for rule in rules:
        text = f"version 1.0\n\ntype a\n    relation r\n    inherit r if\n        {rule}\n"
        assert not parse_model(text).faults, rule
        assert is_in_the_grammar(text)
