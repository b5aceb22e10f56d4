"""Translated conditions have the answers of the reference implementation of CEL (see decision 85)."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from magistrate.engine.importers.cel.pieces import CelRefusal
from magistrate.engine.importers.conditions import ConditionConverter
from magistrate.engine.importers.names import ForeignName
from magistrate.engine.importers.schema import ForeignCondition
from magistrate.engine.policy.policy import read_policy
from magistrate.engine.warrants.warrant import NO_WARRANT
from magistrate.errors import InvalidParameter
from tests.importers.cel_expressions import PARAMETERS, contexts, expressions, full_contexts
from tests.importers.cel_reference import decide_there
from tests.importers.condition_cases import CASES
from tests.properties.example_counts import count_for_all_answers

NOW = 1_767_225_600_000_000


def decide_here(
    expression: str, parameters: Mapping[str, str], given: Mapping[str, Any], context: Mapping[str, Any]
) -> bool | None:
    name = ForeignName("c")
    condition = ForeignCondition(name, {**parameters}, expression, name)
    policy = ConditionConverter(condition, "c", {parameter: parameter for parameter in parameters}).render_policy(given)
    return read_policy(policy).outcome(context, NO_WARRANT, NOW).value


SEEN: Counter[bool | None] = Counter()


@settings(max_examples=count_for_all_answers(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(expressions(), st.one_of(contexts, full_contexts, full_contexts))
def test_any_condition_has_the_answer_of_cel(expression: str, context: dict[str, Any]) -> None:
    for asked in (expression, f"!({expression})"):
        answer = decide_there(asked, PARAMETERS, context)
        SEEN[answer] += 1

        assert decide_here(asked, PARAMETERS, {}, context) is answer


def test_there_are_conditions_with_all_answers() -> None:
    assert not SEEN or min(SEEN[answer] for answer in (True, False, None)) > SEEN.total() / 20


NOT_OF_CEL = {"ipaddress", "let", "in"}
"""Lists types and names that CEL has no parameters of."""

COMPARABLE = [
    case
    for case in CASES
    if not {"products", "only_go"} & case.keys()
    and not NOT_OF_CEL & {*case["parameters"].keys(), *case["parameters"].values()}
]


@pytest.mark.parametrize("case", COMPARABLE, ids=[case["name"] for case in COMPARABLE])
def test_the_conditions_of_public_models_have_the_answers_of_cel(case: Any) -> None:
    for context, *answers in case["checks"]:
        joined = {**context, **case.get("given", {})}
        assert decide_there(case["expression"], case["parameters"], joined) is answers[-1], context


WORDS = """
( ) [ ] { } , . : ? ! - + * / % == != < <= && || in has size int string timestamp exists all map filter e
1 2u 0.5 "a" 'b' r"c" \"\"\" true null dyn x .getHours( .size() $ \\
"""


def translate_or_refuse(expression: str) -> str | int:
    """The policy, or the place of what is refused, -1 if it has none."""
    name = ForeignName("c")
    condition = ForeignCondition(name, {**PARAMETERS}, expression, name)
    try:
        return ConditionConverter(condition, "c", {parameter: parameter for parameter in PARAMETERS}).render_policy({})
    except CelRefusal as refusal:
        return refusal.offset
    except InvalidParameter:
        return -1


@settings(deadline=None)
@given(st.lists(st.sampled_from([*PARAMETERS, *WORDS.split()]), max_size=12).map(" ".join) | st.text(max_size=30))
def test_any_text_is_translated_or_refused(expression: str) -> None:
    translated = translate_or_refuse(expression)

    if isinstance(translated, str):
        assert read_policy(translated).outcome({}, NO_WARRANT, NOW).value in (True, False, None)
    else:
        assert -1 <= translated <= len(expression)
