"""Strategies of queries, and the rows that the oracle has for them."""

from collections.abc import Sequence

from hypothesis import strategies as st

from magistrate.engine.lists.language import ObjectCondition, ObjectsQuery, Query, SubjectsQuery
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.policy.policy import read_policy
from magistrate.engine.subjects import join_subject_type
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant
from tests import oracle_queries
from tests.properties.models import IDS, RELATIONS, TYPES, Types, types

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
    if draw(st.booleans()):
        further = draw(st.lists(condition(), max_size=2)) if draw(st.booleans()) else []
        return ObjectsQuery(one, *asked, draw(st.booleans()), tuple(further))
    usersets = draw(st.lists(st.builds(join_subject_type, types.map(TypeName), names), max_size=2, unique=True))
    kinds = (*asked[1], *usersets) if asked[1] is not None else asked[1]
    return SubjectsQuery(one, asked[0], kinds, draw(st.booleans()))


@st.composite
def condition(draw: st.DrawFn) -> ObjectCondition:
    relations = draw(st.none() | st.lists(names, min_size=1, max_size=2, unique=True))
    subject = ObjectRef(TypeName(draw(types)), ObjectId(draw(ids)))
    return ObjectCondition(
        subject, None if relations is None else tuple(map(RelationName, relations)), draw(st.booleans())
    )


others = st.lists(st.builds(ObjectRef, st.sampled_from(TYPES).map(TypeName), ids.map(ObjectId)), max_size=3)


def existing(stored: Sequence[Warrant], more: Sequence[ObjectRef]) -> list[ObjectRef]:
    """What there is: all that warrants name, and what was made besides."""
    named = [ObjectRef(warrant.object_type, warrant.object_id) for warrant in stored]
    named += [ObjectRef(warrant.subject_type, warrant.subject_id) for warrant in stored]
    return sorted({*more, *(ref for ref in named if ref.id != WILDCARD)})


def facts(drawn: Types, stored: Sequence[Warrant], objects: Sequence[ObjectRef]) -> oracle_queries.Facts:
    def holds(warrant: Warrant) -> bool | None:
        return read_policy(warrant.policy).outcome(CONTEXT, warrant, 0).value

    return oracle_queries.Facts(drawn, stored, objects, holds)
