"""Strategies of models, warrants and checks, and the values that the oracle has for the checks."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from magistrate.engine.evaluation.check import Check
from magistrate.engine.evaluation.nodes import CheckNode
from magistrate.engine.model.stratification import find_negation_loop
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.policy.policy import read_policy
from magistrate.engine.rules import RULE_OPERATORS
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant
from tests import oracle, oracle_paths
from tests.memory_source import model_of

Types = dict[str, dict[str, dict[str, Any]]]
TYPES = ("doc", "team", "user")
UNDEFINED_TYPE = "ghost"
RELATIONS = ("a", "b", "c", "d")
UNKNOWN_RELATION = "gone"
IDS = ("1", "2", "3")
POLICIES = ("x == 1", "x == 2", "x.y == 1", "!x")
"""With `x` 1: holds, does not hold, breaks, breaks."""

types = st.sampled_from(TYPES)
relations = st.sampled_from(RELATIONS)
rare = st.integers(0, 9).map(lambda number: number == 0)


@st.composite
def rule(draw: st.DrawFn, depth: int = 2, negation: bool = True) -> dict[str, Any]:
    combinations = [keyword for keyword, operator in RULE_OPERATORS.items() if negation or operator.is_monotone]
    kinds = ["none", "same", "through", *(combinations if depth else []), *(["self", "forAll"] if negation else [])]
    kind = draw(st.sampled_from(kinds))
    if kind == "none":
        return {}
    if kind == "same":
        return {"inheritIf": draw(relations)}
    if kind == "self":
        return {"inheritIf": "self"}
    if kind == "forAll":
        return {"forAll": draw(relations), "ofType": draw(types), "withRelation": draw(relations)}
    if kind == "through":
        return {"inheritIf": draw(relations), "ofType": draw(types), "withRelation": draw(relations)}
    return {"inheritIf": kind, "rules": draw(st.lists(rule(depth - 1, negation), min_size=1, max_size=3))}


@st.composite
def model(draw: st.DrawFn, negation: bool = True) -> Types:
    """Types that may be defined together. Those whose relations would depend on their own negation lose these."""
    drawn: Types = {
        name: {relation: draw(rule(negation=negation)) for relation in RELATIONS if not draw(rare)}
        for name in TYPES
        if not draw(rare)
    }
    for name in list(drawn):
        while loop := find_negation_loop(lambda wanted: model_of(drawn).types.get(wanted), [TypeName(name)]):
            drawn[loop[0].source.type][loop[0].source.relation] = {}
    return drawn


@st.composite
def warrants(draw: st.DrawFn, policies: bool = True, rarely_to_all: bool = False) -> list[Warrant]:
    object_id = st.sampled_from(IDS if rarely_to_all and draw(rare.map(lambda one: not one)) else (*IDS, "*"))
    group = st.sampled_from(("", "", *RELATIONS, UNKNOWN_RELATION))
    policy = st.sampled_from(("", "", "", *POLICIES)) if policies else st.just("")
    subject_type = st.sampled_from((*TYPES, *TYPES, UNDEFINED_TYPE))
    row = st.tuples(
        types, object_id, st.sampled_from((*RELATIONS, UNKNOWN_RELATION)), subject_type, object_id, group, policy
    )
    rows = draw(st.lists(row, max_size=14, unique=True))
    return [
        Warrant(TypeName(t), ObjectId(i), RelationName(r), TypeName(s), ObjectId(n), g, p, -number % 3, number)
        for number, (t, i, r, s, n, g, p) in enumerate(rows, 1)
    ]


@st.composite
def question(draw: st.DrawFn) -> Check:
    object_ref = ObjectRef(TypeName(draw(types)), ObjectId(draw(st.sampled_from((*IDS, *IDS, "*")))))
    subject_id = ObjectId(draw(st.sampled_from((*IDS, *IDS, "*"))))
    group = draw(relations) if draw(rare) else ""
    subject = Subject(TypeName(draw(st.sampled_from((*TYPES, "user", "user")))), subject_id, group)
    return Check(object_ref, RelationName(draw(relations)), subject, {"x": 1})


def oracle_value(drawn: Types, stored: Sequence[Warrant], asked: Check) -> int:
    def holds(warrant: Warrant) -> bool | None:
        return read_policy(warrant.policy).outcome(asked.context, warrant, 0).value

    object_ref = asked.object
    return int(oracle.check(drawn, stored, object_ref.type, object_ref.id, asked.relation, asked.subject, holds))


def values(nodes: Sequence[CheckNode]) -> list[int | None]:
    return [node.value for node in nodes]


def oracle_path(drawn: Types, stored: Sequence[Warrant], asked: Check) -> list[Warrant] | None:
    def holds(warrant: Warrant) -> bool | None:
        return read_policy(warrant.policy).outcome(asked.context, warrant, 0).value

    node = oracle.Node(asked.object.type, asked.object.id, asked.relation)
    return oracle_paths.find_path(drawn, stored, node, asked.subject, holds)
