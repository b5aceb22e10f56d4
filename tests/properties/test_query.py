"""Random models, warrants and queries: a row is there if and only if the check authorizes it, as the oracle has it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.policy import read_policy
from magistrate.engine.query import ObjectsQuery, Query, SubjectsQuery
from magistrate.engine.terms import WILDCARD, ObjectId, ObjectRef, RelationName, TypeName
from magistrate.engine.warrants import Warrant
from magistrate.errors import NotFound
from tests import oracle
from tests.memory_source import found, model_of
from tests.properties.test_check import IDS, RELATIONS, TYPES, Types, model, types, warrants

CONTEXT = {"x": 1}

names = st.sampled_from(RELATIONS)
ids = st.sampled_from(IDS)


@st.composite
def query(draw: st.DrawFn) -> Query:
    one = ObjectRef(TypeName(draw(types)), ObjectId(draw(ids)))
    relations = draw(st.none() | st.lists(names, min_size=1, max_size=3, unique=True))
    found = draw(st.none() | st.lists(types, min_size=1, max_size=2, unique=True))
    asked = (
        None if relations is None else tuple(map(RelationName, relations)),
        None if found is None else tuple(map(TypeName, found)),
    )
    kind = ObjectsQuery if draw(st.booleans()) else SubjectsQuery
    return kind(one, *asked, draw(st.booleans()))


others = st.lists(st.builds(ObjectRef, st.sampled_from(TYPES).map(TypeName), ids.map(ObjectId)), max_size=3)


def existing(stored: Sequence[Warrant], more: Sequence[ObjectRef]) -> list[ObjectRef]:
    """What there is: all that warrants name, and what was made besides."""
    named = [ObjectRef(warrant.object_type, warrant.object_id) for warrant in stored]
    named += [ObjectRef(warrant.subject_type, warrant.subject_id) for warrant in stored]
    return sorted({*more, *(ref for ref in named if ref.id != WILDCARD)})


def facts(drawn: Types, stored: Sequence[Warrant], objects: Sequence[ObjectRef]) -> oracle.Facts:
    def holds(warrant: Warrant) -> bool | None:
        return read_policy(warrant.policy).holds(CONTEXT, warrant, 0)

    return oracle.Facts(drawn, stored, objects, holds)


@given(model(), warrants(), others, query())
def test_queries_find_what_the_oracle_finds(
    drawn: Types, stored: list[Warrant], more: list[ObjectRef], asked: Query
) -> None:
    objects = existing(stored, more)
    missing = oracle.undefined_type(drawn, asked)
    if missing is not None:
        with pytest.raises(NotFound, match=missing):
            found(model_of(drawn, stored), stored, objects, asked, CONTEXT)
        return
    answer = found(model_of(drawn, stored), stored, objects, asked, CONTEXT)
    known = facts(drawn, stored, objects)
    expected = oracle.query(known, asked)
    assert [(*row[:3], row.is_implicit) for row in answer.rows] == [(*row[:3], row.is_implicit) for row in expected]
    for row, wanted in zip(answer.rows, expected, strict=True):
        told = wanted.acceptable if answer.is_worked_out else oracle.reportable(known, asked, wanted) | {None}
        assert row.warrant in told, row[:3]
