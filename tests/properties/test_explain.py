"""Random models, warrants and checks: an explanation agrees with the decision, and its suggestions do what they say."""

import dataclasses
import json
from collections.abc import Sequence
from itertools import combinations
from random import Random
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from magistrate.engine.evaluation.check import Check
from magistrate.engine.explanation.changes import Effects, Suggestion
from magistrate.engine.model.model import Model
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import TRUE
from magistrate.engine.warrants.overlay import WarrantKey, warrant_key
from magistrate.engine.warrants.warrant import Warrant, WarrantNames
from tests.access import access, difference
from tests.memory_source import completed, explained, model_of
from tests.properties.explanations import (
    NOW,
    Case,
    cases,
    explanation_of,
    in_force,
    limited,
    nodes_of,
)
from tests.properties.models import (
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

Element = Warrant | WarrantKey | tuple[str, Any]
"""One thing that a suggestion does: a warrant to delete, one to create, a variable and its value."""


def elements_of(suggestion: Suggestion) -> list[Element]:
    return [*suggestion.delete, *suggestion.create, *suggestion.example.items()]


def decided_with(drawn: Types, stored: Sequence[Warrant], asked: Check, elements: Sequence[Element]) -> int:
    """What the oracle answers after these changes."""
    deleted = [one for one in elements if isinstance(one, Warrant)]
    created = [one for one in elements if not isinstance(one, Warrant) and isinstance(one[0], WarrantNames)]
    context = dict(one for one in elements if not isinstance(one, Warrant) and isinstance(one[0], str))
    left = [one for one in stored if one not in deleted and warrant_key(one) not in created]
    new = [Warrant(*names, policy, 100, 100 + place) for place, (names, policy) in enumerate(created)]
    return oracle_value(drawn, [*in_force(left), *new], replace(asked, context={**asked.context, **context}))


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
            object_id, _, rest = rest.partition("#")
            names = (TypeName(of_type), ObjectId(object_id), RelationName(rest.partition("@")[0]))
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
    assert len(sizes) <= 20  # of which half are shown
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
    subject_names = (asked.subject.type, asked.subject.id, asked.subject.relation)
    created = [
        (WarrantNames(TypeName(of_type), ObjectId(object_id), RelationName(relation), *subject_names), "")
        for of_type in TYPES
        for object_id in (*IDS, "*")
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
        if explanation.is_complete and len(suggested) < 20:
            names = [*((one, one[0]) for one in single.renewed), *((one, one.names) for one in single.deleted)]
            ordinary = [one for one, named in names if not is_link(drawn, named)]
            assert [one for one in ordinary if [one] not in suggested] == []


def is_link(drawn: Types, names: WarrantNames) -> bool:
    """Whether a rule follows such a warrant."""
    waiting: list[dict[str, Any]] = [*drawn.get(names.object_type, {}).values()]
    followed = set()
    for one in waiting:  # grows during the loop
        followed.add((one.get("withRelation"), one.get("ofType")))
        waiting += one.get("rules", ())
    return (names.relation, names.subject_type) in followed


def links_of(drawn: Types, suggestion: Suggestion) -> tuple[list[WarrantNames], list[WarrantNames]]:
    """The links that a suggestion deletes, and those that it creates."""
    deleted = [one.names for one in suggestion.delete if is_link(drawn, one.names)]
    return deleted, [names for names, _ in suggestion.create if is_link(drawn, names)]


@given(cases)
def test_links_are_touched_only_if_nothing_else_would_do(case: Case) -> None:
    drawn, stored, asked = case
    suggestions = explanation_of(drawn, stored, asked).suggestions

    links = [links_of(drawn, one) for one in suggestions]
    assert all(one == ([], []) for one in links) or ([], []) not in links
    assert not any(created for _, created in links) or all(created for _, created in links)
    for suggestion, (deleted, created) in zip(suggestions, links, strict=True):
        assert ("this is a link" in suggestion.note) == bool(deleted or created)


@st.composite
def linkable(draw: st.DrawFn) -> Case:
    """A check of a relation that arrows alone grant, among objects that few warrants link."""
    arrow = {
        "inheritIf": draw(st.sampled_from("ab")),
        "ofType": draw(st.sampled_from(("team", "doc"))),
        "withRelation": "c",
    }
    inner = rule(1, negation=False).map(lambda one: json.loads(json.dumps(one).replace('"d"', '"a"')))
    drawn: Types = {name: {"a": draw(inner), "b": {}, "c": {}} for name in ("doc", "team")}
    drawn["user"] = {}
    blocked = {"inheritIf": "noneOf", "rules": [{"inheritIf": "b"}]}
    drawn["doc"]["d"] = draw(st.sampled_from((arrow, {"inheritIf": "allOf", "rules": [arrow, blocked]})))
    cell = st.tuples(st.sampled_from(("doc", "team")), st.sampled_from("12"), st.sampled_from("abc"))
    subject = st.sampled_from((("user", "1", ""), ("user", "2", ""), ("team", "1", "a"), ("team", "2", "")))
    rows = draw(st.lists(st.tuples(cell, subject), min_size=1, max_size=8, unique=True))
    stored = [
        Warrant(TypeName(t), ObjectId(i), RelationName(r), TypeName(s), ObjectId(n), g, "", number, number)
        for number, ((t, i, r), (s, n, g)) in enumerate(rows, 1)
    ]
    asked = Subject(TypeName("user"), ObjectId("1"))
    return drawn, stored, Check(ObjectRef(TypeName("doc"), ObjectId("1")), RelationName("d"), asked, {"x": 1})


def closed_model(drawn: Types, stored: Sequence[Warrant]) -> Model:
    """The model in which the relation d of documents is given by its rule alone, and `c` to objects alone."""
    allowed: dict[str, dict[str, tuple[str, ...]]]
    allowed = {"team": {"c": ("team", "doc")}, "doc": {"c": ("team", "doc"), "d": ()}}
    return model_of(drawn, stored, allowed)


@given(linkable())
def test_a_link_between_existing_objects_is_created_only_where_it_is_the_only_way(case: Case) -> None:
    drawn, stored, asked = case
    stored = [one for one in stored if one.relation != "c" or (one.subject_type == "team" and not one.subject_relation)]
    model = closed_model(drawn, stored)
    explanation = explained(model, stored, asked, NOW)[0]
    if explanation.is_allowed:
        return
    shown = completed(explanation, model, stored, asked, NOW).suggestions

    existing = named_in(stored)
    created = [links_of(drawn, one)[1] for one in shown]
    assert not any(created) or all(created)
    for suggestion, links in zip(shown, created, strict=True):
        elements = elements_of(suggestion)
        assert decided_with(drawn, stored, asked, elements) == TRUE
        for count in range(len(elements)):
            assert all(decided_with(drawn, stored, asked, some) != TRUE for some in combinations(elements, count))
        for names in links if not explanation.suggestions else ():
            ends = {ObjectRef(names.object_type, names.object_id), ObjectRef(names.subject_type, names.subject_id)}
            assert ends <= {*existing}
    single = [
        (WarrantNames(one.type, one.id, RelationName("c"), other.type, other.id, ""), "")
        for one in existing
        for other in existing
        if one.type != "user" != other.type
    ]
    would_do = [one for one in single if decided_with(drawn, stored, asked, [one]) == TRUE]
    assert shown or not [one for one in would_do if asked.object in existing]


def changed_by(stored: Sequence[Warrant], suggestion: Suggestion) -> list[Warrant]:
    left = [one for one in stored if one not in suggestion.delete and warrant_key(one) not in suggestion.create]
    new = [Warrant(*names, policy, NOW, 100 + place) for place, (names, policy) in enumerate(suggestion.create)]
    return [*left, *new]


def named_in(warrants: Sequence[Warrant]) -> list[ObjectRef]:
    ends = {(ref.type, ref.id): ref for one in warrants for ref in (object_of(one), subject_of(one)) if ref.id != "*"}
    return [ends[key] for key in sorted(ends)]


def object_of(warrant: Warrant) -> ObjectRef:
    return ObjectRef(warrant.object_type, warrant.object_id)


def subject_of(warrant: Warrant) -> ObjectRef:
    return ObjectRef(warrant.subject_type, warrant.subject_id)


@given(cases)
@settings(max_examples=max(10, settings().max_examples // 3))
def test_the_effects_are_the_difference_for_others_and_those_that_do_no_harm_come_first(case: Case) -> None:
    drawn, stored, asked = case
    explanation = explanation_of(drawn, stored, asked)
    shown = completed(explanation, model_of(drawn, stored), stored, asked, NOW).suggestions

    before = access(drawn, stored, named_in(stored), NOW)
    own = None if asked.subject.relation else (asked.subject.type, asked.subject.id)
    for suggestion in shown:
        changed = changed_by(stored, suggestion)
        objects = named_in([*stored, *changed])
        rows = difference(before, access(drawn, changed, objects, NOW))
        gained = [is_gained for row, is_gained in rows if (row.subject_type, row.subject_id) != own]
        assert suggestion.effects == Effects(sum(gained), len(gained) - sum(gained), is_complete=True)

    effects = [one.effects for one in shown]
    assert effects == sorted(effects, key=lambda one: (one.lost, 0 if one.lost else one.gained))
    sizes = {one: [other.size for other in shown if other.effects == one] for one in effects}
    assert all(one == sorted(one) for one in sizes.values())
    known = [replaced_effects(one) for one in explanation.suggestions]
    assert all(replaced_effects(one) in known for one in shown)


def replaced_effects(suggestion: Suggestion) -> Suggestion:
    return dataclasses.replace(suggestion, effects=Effects())


@given(cases, st.randoms(use_true_random=False))
def test_an_explanation_does_not_depend_on_the_order_of_reads(case: Case, random: Random) -> None:
    drawn, stored, asked = case
    shuffled = [*stored]
    random.shuffle(shuffled)

    assert explained(model_of(drawn, stored), shuffled, asked, NOW)[0] == explanation_of(drawn, stored, asked)
