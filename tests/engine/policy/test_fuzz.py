"""Whatever text, whatever context: refused with InvalidParameter, or answered with true, false or unknown."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from magistrate.engine.policy.environment import Environment
from magistrate.engine.policy.node import PolicyNode
from magistrate.engine.policy.policy import Policy, compile_text, policy_of_context, read_policy
from magistrate.engine.policy.run import MAX_STEPS, Fault, PolicyRun
from magistrate.engine.policy.tokens import is_variable
from magistrate.errors import InvalidParameter
from tests.engine.policy.asking import NOW, WARRANT, answer
from tests.engine.policy.expressions import contexts, expressions, token_runs


def read_or_refused(text: str) -> Policy | None:
    try:
        return read_policy(text)
    except InvalidParameter as error:
        refusal = error
    assert refusal.parameter == "policy"
    assert refusal.message.startswith("error validating policy '")
    return None


@settings(deadline=None)
@given(st.text(st.characters(), max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    policy = read_or_refused(text)

    assert policy is None or policy.outcome({}, WARRANT, NOW).value in (True, False, None)


@settings(deadline=None)
@given(token_runs)
def test_any_run_of_tokens_is_read_or_refused(text: str) -> None:
    policy = read_or_refused(text)

    assert policy is None or policy.outcome({}, WARRANT, NOW).value in (True, False, None)


@settings(deadline=None)
@given(expressions(), contexts)
def test_any_policy_has_an_answer_of_the_kinds_that_were_known_before(text: str, context: dict[str, Any]) -> None:
    policy = read_or_refused(text)
    if policy is None:
        return

    answers = [policy.outcome(context, WARRANT, NOW).value for _ in range(2)]
    value, steps = outcome(compile_text(text, Environment()), context)

    assert answers[0] in (True, False, None)
    assert answers[1] is answers[0]
    assert answers[0] is None or answers[0] is value
    assert steps <= MAX_STEPS


def outcome(node: PolicyNode, context: dict[str, Any]) -> tuple[Any, int]:
    """The value, or Fault, and the steps it took."""
    run = PolicyRun(context, WARRANT, NOW)
    try:
        value = node.evaluate(run)
    except (Fault, ArithmeticError):
        return Fault, MAX_STEPS - max(run.steps, 0)
    return value, MAX_STEPS - run.steps


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=4).filter(is_variable), st.text(max_size=8), min_size=1, max_size=4))
def test_the_policy_of_a_context_is_true_of_it_and_of_no_other(context: dict[str, str]) -> None:
    text = policy_of_context(context)

    assert answer(text, context) is True
    assert answer(text, {**context, next(iter(context)): "something else"}) is False
