"""Random models, warrants and checks: an explanation agrees with the decision, and its suggestions do what they say."""

import json
from collections.abc import Iterator, Sequence
from itertools import combinations
from random import Random
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from magistrate.engine.evaluation import Check
from magistrate.engine.explanation import Explanation, ExplanationNode, Suggestion
from magistrate.engine.names import WarrantNames
from magistrate.engine.overlay import WarrantKey, warrant_key
from magistrate.engine.terms import ObjectId, ObjectRef, RelationName, Subject, TypeName
from magistrate.engine.truth import TRUE
from magistrate.engine.warrants import Warrant
from tests.memory_source import explained, model_of
from tests.properties.test_check import (
    IDS,
    RELATIONS,
    TYPES,
    Types,
    model,
    oracle_path,
    oracle_value,
    question,
    rule,
    warrants,
)

Case = tuple[Types, list[Warrant], Check]

NOW = 1_000
LIMITS: Sequence[dict[str, int]] = (
    {},
    {},
    {},
    {"expires_at": NOW},
    {"starts_at": NOW + 1},
    {"starts_at": NOW, "expires_at": NOW + 1},
)

Element = Warrant | WarrantKey | tuple[str, Any]
"""One thing that a suggestion does: a warrant to delete, one to create, a variable and its value."""


@st.composite
def excluding(draw: st.DrawFn) -> tuple[Types, list[Warrant], Check]:
    """A check of a relation with an exclusion, among few objects, so that many are allowed and many excluded."""
    inner = rule(1, negation=False).map(lambda one: json.loads(json.dumps(one).replace('"d"', '"a"')))
    drawn: Types = {name: {relation: draw(inner) for relation in "abc"} for name in ("doc", "team")}
    needed, excluded = (draw(st.lists(inner, min_size=1, max_size=2)) for _ in range(2))
    none = {"inheritIf": "noneOf", "rules": excluded}
    drawn["doc"]["d"] = draw(st.sampled_from(({"inheritIf": "allOf", "rules": [*needed, none]}, none)))
    id, policy = st.sampled_from("12"), st.sampled_from(("", "", "", "x == 1", "x == 2", "y == 1"))
    group = st.sampled_from((("user", ""), ("user", ""), ("team", "a"), ("team", "b"), ("doc", ""), ("team", "")))
    cell = st.tuples(st.sampled_from(("doc", "doc", "team")), id, st.sampled_from("abc"), group, id, policy)
    stored = [
        Warrant(TypeName(t), ObjectId(i), RelationName(r), TypeName(s), ObjectId(n), g, p, number, number)
        for number, (t, i, r, (s, g), n, p) in enumerate(draw(st.lists(cell, min_size=6, max_size=16, unique=True)), 1)
    ]
    subject = Subject(TypeName("user"), ObjectId("1"))
    return drawn, stored, Check(ObjectRef(TypeName("doc"), ObjectId("1")), RelationName("d"), subject, {"x": 1})


@st.composite
def limited(draw: st.DrawFn, cases: st.SearchStrategy[Case]) -> Case:
    """Some of the warrants have expired, and others are yet to start."""
    drawn, stored, asked = draw(cases)
    return drawn, [replace(one, **draw(st.sampled_from(LIMITS))) for one in stored], asked


unlimited = st.one_of(st.tuples(model(), warrants(), question()), excluding())
cases = st.one_of(unlimited, limited(unlimited))


def nodes_of(tree: ExplanationNode) -> Iterator[ExplanationNode]:
    waiting = [tree]
    while waiting:
        waiting += (node := waiting.pop()).children
        yield node


def elements_of(suggestion: Suggestion) -> list[Element]:
    return [*suggestion.delete, *suggestion.create, *suggestion.example.items()]


def in_force(stored: Sequence[Warrant]) -> list[Warrant]:
    return [one for one in stored if one.is_in_force(NOW)]


def decided_with(drawn: Types, stored: Sequence[Warrant], asked: Check, elements: Sequence[Element]) -> int:
    """What the oracle answers after these changes."""
    deleted = [one for one in elements if isinstance(one, Warrant)]
    created = [one for one in elements if not isinstance(one, Warrant) and isinstance(one[0], WarrantNames)]
    context = dict(one for one in elements if not isinstance(one, Warrant) and isinstance(one[0], str))
    left = [one for one in stored if one not in deleted and warrant_key(one) not in created]
    new = [Warrant(*names, policy, 100, 100 + place) for place, (names, policy) in enumerate(created)]
    return oracle_value(drawn, [*in_force(left), *new], replace(asked, context={**asked.context, **context}))


def explanation_of(drawn: Types, stored: Sequence[Warrant], asked: Check) -> Explanation:
    return explained(model_of(drawn, stored), stored, asked, NOW)[0]


@given(cases)
def test_an_explanation_agrees_with_the_decision_and_its_path(case: Case) -> None:
    drawn, stored, asked = case
    explanation = explanation_of(drawn, stored, asked)

    value = oracle_value(drawn, in_force(stored), asked)
    assert explanation.is_allowed == (value == TRUE)
    assert explanation.tree.holds == value
    assert [*explanation.path] == (oracle_path(drawn, in_force(stored), asked) or [])
    if explanation.is_allowed:
        shown = [node.via for node in nodes_of(explanation.tree) if node.holds is TRUE]
        assert {*explanation.path} <= {*shown}
    assert explanation.is_allowed or not explanation.path


@given(cases)
def test_every_check_in_the_tree_has_the_value_that_the_oracle_gives_it(case: Case) -> None:
    drawn, stored, asked = case
    explanation = explanation_of(drawn, stored, asked)

    for node in nodes_of(explanation.tree):
        if node.check and node.via is None:
            of_type, _, rest = node.check.partition(":")
            id, _, rest = rest.partition("#")
            names = (TypeName(of_type), ObjectId(id), RelationName(rest.partition("@")[0]))
            one = Check(ObjectRef(*names[:2]), names[2], asked.subject, asked.context)
            assert node.holds == oracle_value(drawn, in_force(stored), one)
        if node.via is not None:
            assert (node.out_of_force is None) == node.via.is_in_force(NOW)


@given(limited(st.tuples(model(negation=False), warrants(), question())))
def test_the_warrants_of_the_tree_suffice(case: Case) -> None:
    drawn, stored, asked = case
    explanation = explanation_of(drawn, stored, asked)

    if explanation.is_allowed:
        shown = {node.via for node in nodes_of(explanation.tree) if node.holds is TRUE}
        assert oracle_value(drawn, [one for one in stored if one in shown], asked) == TRUE


@given(cases)
def test_every_suggestion_suffices_and_no_proper_part_of_it_does(case: Case) -> None:
    drawn, stored, asked = case
    explanation = explanation_of(drawn, stored, asked)

    sizes = [len(elements_of(one)) for one in explanation.suggestions]
    assert sizes == sorted(sizes)
    assert len(sizes) <= 10
    for suggestion in explanation.suggestions:
        elements = elements_of(suggestion)
        assert decided_with(drawn, stored, asked, elements) == TRUE
        for count in range(len(elements)):
            for some in combinations(elements, count):
                assert decided_with(drawn, stored, asked, some) != TRUE


class Single(NamedTuple):
    """The single warrants that would do."""

    created: list[WarrantKey]
    renewed: list[WarrantKey]
    deleted: list[Warrant]


def single_changes(drawn: Types, stored: Sequence[Warrant], asked: Check) -> Single:
    subject_names = (asked.subject.type, asked.subject.id, asked.subject.relation or "")
    created = [
        (WarrantNames(TypeName(of_type), ObjectId(id), RelationName(relation), *subject_names), "")
        for of_type in TYPES
        for id in (*IDS, "*")
        for relation in RELATIONS
        if relation in drawn.get(of_type, {})
    ]
    renewed = [
        warrant_key(one)
        for one in stored
        if not one.is_in_force(NOW) and one.relation in drawn.get(one.object_type, {})
    ]
    return Single(
        [one for one in created if decided_with(drawn, stored, asked, [one]) == TRUE],
        [one for one in renewed if decided_with(drawn, stored, asked, [one]) == TRUE],
        [one for one in stored if decided_with(drawn, stored, asked, [one]) == TRUE],
    )


@given(cases)
def test_a_suggestion_is_found_whenever_a_single_warrant_would_do(case: Case) -> None:
    drawn, stored, asked = case
    explanation = explanation_of(drawn, stored, asked)

    if not explanation.is_allowed:
        single = single_changes(drawn, stored, asked)
        assert bool(explanation.suggestions) >= bool(single.created or single.renewed or single.deleted)
        suggested = [elements_of(one) for one in explanation.suggestions]
        if explanation.is_complete and len(suggested) < 10:
            assert [one for one in (*single.renewed, *single.deleted) if [one] not in suggested] == []


@given(cases, st.randoms(use_true_random=False))
def test_an_explanation_does_not_depend_on_the_order_of_reads(case: Case, random: Random) -> None:
    drawn, stored, asked = case
    shuffled = [*stored]
    random.shuffle(shuffled)

    assert explained(model_of(drawn, stored), shuffled, asked, NOW)[0] == explanation_of(drawn, stored, asked)
