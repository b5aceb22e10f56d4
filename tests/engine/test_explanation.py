"""Explanations of what nobody would write by hand: deep chains, cliques, large policies, small budgets."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from magistrate.engine.evaluation.check import Check
from magistrate.engine.explanation.explanation import Explanation
from magistrate.engine.explanation.tree import FOR_PEOPLE, ExplanationNode
from magistrate.engine.terms import ObjectRef
from magistrate.errors import BudgetExceeded
from tests.memory_source import PLENTY, explained, model_of
from tests.scenario_files import claim, stored_warrant

GROUPS: Mapping[str, Any] = {"user": {}, "group": {"member": {}}}
EXCLUDING = {**GROUPS, "doc": {"b": {}, "a": {"inheritIf": "noneOf", "rules": [{"inheritIf": "b"}]}}}


def explanation_of(
    types: Mapping[str, Any], written: Sequence[str], asked: str, budget: int = PLENTY, **context: object
) -> Explanation:
    warrants = [stored_warrant(text, number, number) for number, text in enumerate(written, 1)]
    object_type, object_id, relation, subject = claim(asked)
    check = Check(ObjectRef(object_type, object_id), relation, subject, context)
    return explained(model_of({**types}, warrants), warrants, check, budget=budget)[0]


def levels_of(tree: ExplanationNode) -> list[int]:
    """How many nodes each level has."""
    levels, here = [], [tree]
    while here:
        levels.append(len(here))
        here = [child for node in here for child in node.children]
    return levels


def rendered(explanation: Explanation) -> list[tuple[list[str], list[str]]]:
    return [
        ([names.render() for names, _ in one.create], [warrant.render() for warrant in one.delete])
        for one in explanation.suggestions
    ]


CHAIN = [f"group:{number}#member@group:{number + 1}#member" for number in range(1_000)]


def test_a_long_chain_of_groups_is_shown_as_far_as_the_tree_goes_and_its_path_in_full() -> None:
    denied = explanation_of(GROUPS, CHAIN, "group:0#member@user:ann")
    allowed = explanation_of(GROUPS, [*CHAIN, "group:1000#member@user:ann"], "group:0#member@user:ann")

    for explanation in (denied, allowed):
        levels = levels_of(explanation.tree)
        assert levels == [1] * FOR_PEOPLE.levels
    assert len(allowed.path) == 1_001
    assert rendered(denied)[0] == (["group:1#member@user:ann"], [])
    assert not denied.is_complete


def test_groups_that_all_contain_each_other_are_explained_once_each() -> None:
    names = range(30)
    clique = [f"group:{one}#member@group:{other}#member" for one in names for other in names if one != other]

    explanation = explanation_of(GROUPS, clique, "group:0#member@user:ann")

    assert sum(levels_of(explanation.tree)) <= FOR_PEOPLE.nodes
    assert rendered(explanation)[0] == (["group:1#member@user:ann"], [])


def test_many_groups_without_the_subject_are_counted() -> None:
    types = {**GROUPS, "doc": {"a": {}}}
    explanation = explanation_of(types, [f"doc:x#a@group:{n}#member" for n in range(400)], "doc:x#a@user:ann")

    assert len(explanation.tree.children) + explanation.tree.cut == 400
    assert explanation.tree.cut > 300
    assert len(explanation.suggestions) == 13


def test_two_warrants_that_exclude_are_both_deleted() -> None:
    blocked = ["doc:x#b@user:ann", "doc:x#b@group:g#member", "group:g#member@user:ann"]
    explanation = explanation_of(EXCLUDING, blocked, "doc:x#a@user:ann")

    assert rendered(explanation) == [
        (["doc:x#a@user:ann"], []),
        ([], ["doc:x#b@user:ann", "doc:x#b@group:g#member"]),
        ([], ["doc:x#b@user:ann", "group:g#member@user:ann"]),
    ]


def test_fifty_warrants_that_exclude_are_too_many_to_suggest() -> None:
    written = [text for n in range(50) for text in (f"doc:x#b@group:{n}#member", f"group:{n}#member@user:ann")]
    explanation = explanation_of(EXCLUDING, written, "doc:x#a@user:ann")

    assert rendered(explanation) == [(["doc:x#a@user:ann"], [])]
    assert not explanation.is_complete


@pytest.mark.parametrize("keyword", ["allOf", "noneOf"])
def test_a_rule_over_a_thousand_is_cut(keyword: str) -> None:
    relations: dict[str, Any] = {f"r{n}": {} for n in range(1_000)}
    rule = {"inheritIf": keyword, "rules": [{"inheritIf": name} for name in relations]}
    written = [f"doc:x#{name}@user:ann" for name in relations] if keyword == "noneOf" else []
    explanation = explanation_of({"user": {}, "doc": {"a": rule, **relations}}, written, "doc:x#a@user:ann")

    assert sum(levels_of(explanation.tree)) <= FOR_PEOPLE.nodes
    assert explanation.tree.children[0].cut > 400
    assert rendered(explanation) == [(["doc:x#a@user:ann"], [])]


def test_a_long_policy_with_more_variables_than_can_be_tried_is_shown_without_a_suggestion_of_values() -> None:
    text = " && ".join(f"v{number} == {number}" for number in range(250))
    explanation = explanation_of(
        {"user": {}, "doc": {"a": {}}}, [f"doc:x#a@user:ann[{text}]"], "doc:x#a@user:ann", v7=7, v8="x" * 1_000
    )

    [leaf] = explanation.tree.children
    assert leaf.policy is not None
    assert (leaf.policy.text, leaf.policy.values, leaf.policy.long) == (text, {"v7": 7}, ["v8"])
    assert leaf.policy.missing == []  # it is false
    assert rendered(explanation) == [(["doc:x#a@user:ann"], [])]


def test_a_decision_that_exceeds_the_budget_is_not_explained() -> None:
    with pytest.raises(BudgetExceeded):
        explanation_of(GROUPS, CHAIN, "group:0#member@user:ann", budget=500)


def test_a_small_budget_costs_suggestions_and_not_the_answer() -> None:
    explanation = explanation_of(GROUPS, CHAIN[:100], "group:0#member@user:ann", budget=600)

    assert not explanation.is_allowed
    assert not explanation.is_complete


@pytest.mark.parametrize(
    ("policy", "context", "example"),
    [
        ("user.age >= 18", {}, {"user": {"age": 18}}),
        ("user.age >= 18", {"user": {"age": 3, "name": "ann"}}, {"user": {"age": 18, "name": "ann"}}),
        ('region in ["eu", "us"]', {"region": "asia"}, {"region": "eu"}),
        ('path startsWith "/home"', {}, {"path": "/home"}),
        ("!suspended", {"suspended": True}, {"suspended": False}),
        ('tier != "free"', {"tier": "free"}, {"tier": "not free"}),
        ("ratio < 0.5", {}, {"ratio": -0.5}),
    ],
)
def test_values_are_found_from_what_a_policy_compares(
    policy: str, context: dict[str, Any], example: dict[str, Any]
) -> None:
    explanation = explanation_of(
        {"user": {}, "doc": {"a": {}}}, [f"doc:x#a@user:ann[{policy}]"], "doc:x#a@user:ann", **context
    )

    assert [one.example for one in explanation.suggestions if one.example] == [example]
