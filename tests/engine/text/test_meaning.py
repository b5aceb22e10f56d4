"""What can be read and has no meaning is found with its place: expressions, and loops through negation."""

import json

import pytest

from magistrate.engine.text.faults import MAX_FAULTS
from magistrate.engine.text.reports import ModelReport, render_json, report_text, report_value

POLICIES = {
    "a call": ("policy p(hour integer) {\n    hour > 3 &&\n      hour <\n}", "4:12 unexpected token EOF"),
    "a sign in a block": ("policy p(hour integer) {\n    hour > 3 &&\n      ?hour\n}", "4:7 unexpected token"),
    "a sign on the line of the policy": ("policy p(hour integer) { hour > ) }", "2:33 unexpected token"),
    "a type that does not fit": ("policy p(hour string) { hour + 1 > 3 }", '2:30 "+" does not take string and int'),
    "a sum": ("policy p(hour integer) {\n\n    // a comment\n    hour + 1\n}", "4:5 expected bool"),
    "a name that is no parameter": (
        "policy p(hour integer) {\n    houre < 3\n}",
        "3:5 houre is not a parameter of policy p; did you mean hour?",
    ),
    "a name behind others": ("policy p(a map) {\n    a.b == b &&\n    c\n}", "3:12 b is not a parameter"),
    "a long expression": (f"policy p() {{\n    {'true && ' * 600}true\n}}", "3:5 an expression has at most 4096 bytes"),
}


def errors_of(report: ModelReport) -> list[str]:
    return [f"{one.line}:{one.column} {one.describe()}" for one in report.list_faults() if one.is_error]


@pytest.mark.parametrize(("text", "error"), POLICIES.values(), ids=POLICIES)
def test_an_expression_that_is_no_policy_is_an_error_at_its_place(text: str, error: str) -> None:
    report = report_text(f"version 1.0\n{text}\n")

    [found] = errors_of(report)
    place, _, message = error.partition(" ")
    assert found.startswith(f"{place} ")
    assert message in found
    assert report.errors == []  # it can be converted all the same


def test_parameters_have_the_types_of_the_context() -> None:
    parameters = "a string, b integer, c boolean, d float, e array, f map"
    expression = 'a startsWith "x" && b + 1 > 2 && c && d > 0.5 && "y" in e && f.g == "z" && all(e, {# != a})'

    assert errors_of(report_text(f"version 1.0\npolicy p({parameters}) {{\n    {expression}\n}}\n")) == []


def test_in_json_the_place_is_that_of_the_policy() -> None:
    value = {"policies": [{"name": "p", "expression": "x"}]}
    text = json.dumps(value, indent=1)

    assert errors_of(report_value(value, text)) == ["4:4 x is not a parameter of policy p"]


LOOPS = {
    "in one relation": (
        "    relation a\n    inherit a if\n        none_of\n            relation a\n",
        "4:13 a relation depends on its own negation: t#a -> not t#a",
    ),
    "through related objects": (
        "    relation p\n    relation a\n    inherit a if\n        none_of\n            relation a on p [t]\n",
        "5:13 a relation depends on its own negation: t#a -> not t#a",
    ),
    "through all related objects": (
        "    relation a\n    relation b\n    inherit a if\n        none_of\n            relation b for all b [t]\n"
        "    inherit b if relation a\n",
        "5:13 a relation depends on its own negation: t#a -> not t#b -> t#a",
    ),
}


@pytest.mark.parametrize(("block", "error"), LOOPS.values(), ids=LOOPS)
def test_a_loop_through_negation_is_an_error_at_its_rule(block: str, error: str) -> None:
    assert errors_of(report_text(f"version 1.0\ntype t\n{block}")) == [error]


def test_negation_without_a_loop_is_none() -> None:
    text = "version 1.0\ntype t\n    relation a\n    relation b\n    inherit a if\n        none_of\n"

    report = report_text(text + "            relation b\n            self\n            nobody\n")

    assert errors_of(report) == []
    assert render_json(report.document)["objectTypes"]


def test_many_expressions_have_few_errors() -> None:
    text = "version 1.0\n" + "".join(f"policy p{number}() {{ x }}\n" for number in range(MAX_FAULTS * 2))

    assert len(errors_of(report_text(text))) == MAX_FAULTS
