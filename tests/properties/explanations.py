"""Strategies of checks that are explained."""

import json
from collections.abc import Iterator, Sequence

from hypothesis import strategies as st
from msgspec.structs import replace

from magistrate.engine.evaluation.check import Check
from magistrate.engine.explanation.explanation import Explanation
from magistrate.engine.explanation.tree import ExplanationNode
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant
from tests.memory_source import explained, model_of
from tests.properties.models import Types, model, question, rule, warrants

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


@st.composite
def excluding(draw: st.DrawFn) -> tuple[Types, list[Warrant], Check]:
    """A check of a relation with an exclusion, among few objects, so that many are allowed and many excluded."""
    inner = rule(1, negation=False).map(lambda one: json.loads(json.dumps(one).replace('"d"', '"a"')))
    drawn: Types = {name: {relation: draw(inner) for relation in "abc"} for name in ("doc", "team")}
    needed, excluded = (draw(st.lists(inner, min_size=1, max_size=2)) for _ in range(2))
    none = {"inheritIf": "noneOf", "rules": excluded}
    drawn["doc"]["d"] = draw(st.sampled_from(({"inheritIf": "allOf", "rules": [*needed, none]}, none)))
    object_id, policy = st.sampled_from("12"), st.sampled_from(("", "", "", "x == 1", "x == 2", "y == 1"))
    group = st.sampled_from((("user", ""), ("user", ""), ("team", "a"), ("team", "b"), ("doc", ""), ("team", "")))
    cell = st.tuples(
        st.sampled_from(("doc", "doc", "team")), object_id, st.sampled_from("abc"), group, object_id, policy
    )
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


def in_force(stored: Sequence[Warrant]) -> list[Warrant]:
    return [one for one in stored if one.is_in_force(NOW)]


def explanation_of(drawn: Types, stored: Sequence[Warrant], asked: Check) -> Explanation:
    return explained(model_of(drawn, stored), stored, asked, NOW)[0]
