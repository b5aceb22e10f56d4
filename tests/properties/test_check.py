"""Random models, warrants and checks: the engine answers what the oracle answers, and does not contradict itself."""

import itertools
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.evaluation.check import Check
from magistrate.engine.truth import UNDEFINED
from magistrate.engine.warrants.warrant import Warrant
from tests.memory_source import evaluated, found_paths, model_of
from tests.properties.models import (
    Types,
    model,
    oracle_path,
    oracle_value,
    question,
    values,
    warrants,
)


@given(model(), warrants(), st.lists(question(), min_size=1, max_size=5))
def test_checks_answer_what_the_oracle_answers_and_a_batch_what_single_checks_do(
    drawn: Types, stored: list[Warrant], asked: list[Check]
) -> None:
    together, levels = evaluated(model_of(drawn, stored), stored, asked)
    alone = [evaluated(model_of(drawn, stored), stored, [one]) for one in asked]

    assert values(together) == [oracle_value(drawn, stored, one) for one in asked]
    assert values(together) == [nodes[0].value for nodes, _ in alone]
    assert levels <= max(single for _, single in alone)


@given(model(), warrants(), st.lists(question(), min_size=1, max_size=5))
def test_the_reported_path_is_the_one_that_the_rules_reach_first(
    drawn: Types, stored: list[Warrant], asked: list[Check]
) -> None:
    paths = found_paths(model_of(drawn, stored), stored, asked)

    assert paths == [oracle_path(drawn, stored, one) for one in asked]


@given(model(), warrants(), question(), st.randoms(use_true_random=False))
def test_the_order_of_warrants_does_not_matter(
    drawn: Types, stored: list[Warrant], asked: Check, random: Random
) -> None:
    shuffled = [*stored]
    random.shuffle(shuffled)

    [before], _ = evaluated(model_of(drawn, stored), stored, [asked])
    [after], _ = evaluated(model_of(drawn, stored), shuffled, [asked])
    paths = [found_paths(model_of(drawn, stored), some, [asked]) for some in (stored, shuffled)]

    assert after.value == before.value
    assert paths[0] == paths[1]


@given(model(negation=False), warrants(), warrants(), question())
def test_without_noneof_another_warrant_never_takes_access_away(
    drawn: Types, stored: list[Warrant], more: list[Warrant], asked: Check
) -> None:
    [before], _ = evaluated(model_of(drawn, stored), stored, [asked])
    [after], _ = evaluated(model_of(drawn, [*stored, *more]), [*stored, *more], [asked])

    assert before.value is not None
    assert after.value is not None
    if before.value != UNDEFINED:
        assert after.value >= before.value


def union_only(drawn: Types) -> Types:
    """The same model with every allOf read as anyOf: its decisions depend on the one path that is shown."""
    replaced = {"allOf": "anyOf"}

    def rewritten(rule: dict[str, Any]) -> dict[str, Any]:
        if "rules" not in rule:
            return rule
        rules = [rewritten(branch) for branch in rule["rules"]]
        return {"inheritIf": replaced.get(rule["inheritIf"], rule["inheritIf"]), "rules": rules}

    return {name: {key: rewritten(value) for key, value in relations.items()} for name, relations in drawn.items()}


@given(model(negation=False).map(union_only), warrants(), question())
def test_the_warrants_of_the_path_alone_grant_what_they_are_shown_for(
    drawn: Types, stored: list[Warrant], asked: Check
) -> None:
    [path] = found_paths(model_of(drawn, stored), stored, [asked])

    if path is not None:
        assert found_paths(model_of(drawn, path), path, [asked]) == [path]
        assert len(path) >= 1
        assert all(warrant in stored for warrant in path)


@given(model(negation=False), warrants(), question())
def test_a_path_goes_from_the_subject_to_the_object(drawn: Types, stored: list[Warrant], asked: Check) -> None:
    [path] = found_paths(model_of(drawn, stored), stored, [asked])

    for lower, upper in itertools.pairwise(path or ()):
        assert upper.subject_type == lower.object_type
        assert {upper.subject_id, lower.object_id} & {"*"} or upper.subject_id == lower.object_id
    if path:
        assert path[0].subject_type == asked.subject.type
        assert path[0].subject_id in (asked.subject.id, "*")
        assert path[-1].object_type == asked.object.type
