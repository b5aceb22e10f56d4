"""Both forms of a model say the same, and formatting changes the layout only."""

import re

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.text.expressions import find_end, read_expression, tidy_expression, write_expression
from magistrate.engine.text.json_documents import ModelBody, render_body
from magistrate.engine.text.parser import ParsedModel, parse_model
from magistrate.engine.text.rendering import format_model, render_model
from magistrate.engine.text.statements import TOKEN
from tests.engine.text.documents import document_of
from tests.engine.text.generated import expressions, layouts, models


def parsed(text: str) -> ParsedModel:
    """A text that has no faults, parsed."""
    read = parse_model(text)
    assert not read.faults, (text, read.faults)
    return read


def json_of(text: str) -> bytes:
    return msgspec.json.encode(render_body(parsed(text).document))


@given(models())
def test_json_as_text_is_the_same_json(body: ModelBody) -> None:
    text = render_model(document_of(body))

    assert json_of(text) == msgspec.json.encode(body)


@given(models())
def test_a_text_made_from_json_is_in_the_usual_layout(body: ModelBody) -> None:
    for policy in body.policies:
        policy.expression = tidy_expression(policy.expression)
    text = render_model(document_of(body))

    assert format_model(parsed(text)) == text


@given(st.data())
def test_a_text_as_json_and_text_again_says_the_same_in_the_same_order(data: st.DataObject) -> None:
    text = data.draw(texts())

    again = render_model(document_of(render_body(parsed(text).document)))

    assert json_of(again) == json_of(text)


@given(st.data())
def test_formatting_keeps_the_meaning_and_the_comments_and_is_done_once(data: st.DataObject) -> None:
    text = data.draw(texts())

    formatted = format_model(parsed(text))

    assert json_of(formatted) == json_of(text)
    assert comments_of(formatted) == comments_of(text)
    assert format_model(parsed(formatted)) == formatted


@given(models(), st.sampled_from(["\r\n", "\n"]), st.booleans())
def test_line_ends_and_a_byte_order_mark_mean_nothing(body: ModelBody, line_end: str, has_mark: bool) -> None:
    for one in body.object_types:
        one.description = one.descriptions = None
    for policy in body.policies:
        policy.expression, policy.description = tidy_expression(policy.expression).replace("\r", ""), None
    text = render_model(document_of(body))

    read = parsed(has_mark * "\ufeff" + text.replace("\n", line_end))

    assert msgspec.json.encode(render_body(read.document)) == json_of(text)


@given(expressions)
def test_an_expression_is_read_as_it_was_written(expression: str) -> None:
    text = "{" + write_expression(expression) + "} // behind"

    end = find_end(text, 1)

    assert text[end:] == "} // behind"
    assert read_expression(text[1:end], 1, 2).expression == expression


def test_a_rule_with_several_types_is_a_rule_for_each_type() -> None:
    text = "version 1.0\n\ntype a\n    relation r\n    inherit r if\n        relation x on p [b, c]\n"

    [body] = render_body(parsed(text).document).object_types

    arrows = [RuleDefinition(inherit_if="x", of_type=name, with_relation="p") for name in ("b", "c")]
    assert body.relations["r"] == RuleDefinition(inherit_if="anyOf", rules=[*arrows])
    assert render_model(document_of(ModelBody([body]))) == text


def test_a_type_in_brackets_means_its_usersets_too_before_version_1() -> None:
    types = "type crew\n    relation member\n    relation chief\n\ntype boat\n    relation owner"

    def allowed(version: str, brackets: str) -> list[str]:
        body = render_body(parsed(f"version {version}\n\n{types} {brackets}\n").document)
        assert body.object_types[1].allowed_types is not None
        return body.object_types[1].allowed_types["owner"]

    assert allowed("0.3", "[crew]") == ["crew", "crew#member", "crew#chief"]
    assert allowed("0.2", "[crew, crew#member]") == ["crew", "crew#member"]
    assert allowed("1.0", "[crew]") == ["crew"]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Texts in random layouts."""
    body = draw(models())
    for one in body.object_types:
        one.source = None
        one.description = _one_line(one.description)
        one.descriptions = {key: _one_line(text) or "x" for key, text in (one.descriptions or {}).items()} or None
    body.policies = []
    return draw(layouts(document_of(body)))


def _one_line(text: str | None) -> str | None:
    return (text.replace("\n", "").replace("\r", "").strip() or "x") if text else None


def comments_of(text: str) -> list[str]:
    """The comments of a text without policies, in order."""
    return [
        found[0].rstrip()
        for line in text.split("\n")
        for found in TOKEN.finditer(re.sub(r'^(\s*action\s+)"[^"]*"', r"\1", line))
        if found[0].startswith("//")
    ]
