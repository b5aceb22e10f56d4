"""Conditions of OpenFGA's API have the answers of CEL's own implementation, wherever their values come from."""

import re
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from magistrate.engine.evaluation.conditions import PolicyEvaluator
from magistrate.engine.openfga.conditions import MAX_EXPRESSION_BYTES, rename_context
from magistrate.engine.openfga.documents import load_document, read_document
from magistrate.engine.truth import FALSE, TRUE, UNKNOWN
from magistrate.engine.warrants.warrant import NO_WARRANT
from magistrate.engine.work import Work
from magistrate.errors import OpenFgaRefusal
from tests.importers.cel_expressions import PARAMETERS, contexts, expressions, full_contexts
from tests.importers.cel_reference import decide_there
from tests.properties.example_counts import count_for_all_answers

_WORD = re.compile(r"[A-Za-z_]\w*")
_TRUTH = {True: TRUE, False: FALSE, None: UNKNOWN}
SEEN: Counter[bool | None] = Counter()


def render_type(of_type: str) -> dict[str, Any]:
    name, _, generic = of_type.partition("<")
    return {
        "type_name": f"TYPE_NAME_{name.upper()}",
        "generic_types": [render_type(generic.removesuffix(">"))] if generic else [],
    }


@settings(
    max_examples=count_for_all_answers(),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(expressions(), st.one_of(contexts, full_contexts, full_contexts), st.sets(st.sampled_from([*PARAMETERS])))
def test_any_condition_has_the_answer_of_cel(expression: str, context: dict[str, Any], of_tuple: set[str]) -> None:
    negated = f"!({expression})"
    assume(len(negated.encode()) <= MAX_EXPRESSION_BYTES)
    for asked in (expression, negated):
        expect_answer_of_cel(asked, context, of_tuple)


def expect_answer_of_cel(expression: str, context: dict[str, Any], of_tuple: set[str]) -> None:
    parameters = {name: PARAMETERS[name] for name in _WORD.findall(expression) if name in PARAMETERS}
    condition = {
        "name": "c",
        "expression": expression,
        "parameters": {n: render_type(t) for n, t in parameters.items()},
    }
    read = read_document("1.1", [{"type": "user"}], {"c": condition})
    document = load_document(read.text)
    described = document.conditions["c"]
    assert described.parameters == parameters
    values = {name: value for name, value in context.items() if name in of_tuple & parameters.keys()}
    expected = decide_there(expression, PARAMETERS, {n: v for n, v in context.items() if n in parameters})
    if any(context.get(name) is None for name in parameters):
        expected = None
    try:
        policy = described.render(values)
    except OpenFgaRefusal:
        assert expected is None  # a value of another type, which a check finds otherwise
        return
    given_by_request = {name: value for name, value in context.items() if name not in values}
    named = {each.name: each for each in document.policies}
    SEEN[expected] += 1

    evaluator = PolicyEvaluator(rename_context(given_by_request), 0, Work(10_000_000), named)

    assert evaluator.value(replace(NO_WARRANT, policy=policy, number=1)) is _TRUTH[expected]


def test_there_are_conditions_with_all_answers() -> None:
    assert not SEEN or min(SEEN[answer] for answer in (True, False, None)) > SEEN.total() / 20
