"""Random models, and warrants that come and go: lists computed with bitmaps have the rows that the oracle has."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.lists.language import ObjectsQuery
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant
from tests import oracle_queries
from tests.properties.models import types, warrants
from tests.properties.named_policies import holds, named_model
from tests.properties.object_lists import (
    TINY,
    USUAL,
    Case,
    Lists,
    cases,
    drive,
    drive_warrants,
    expect_pages,
    expect_rows,
)
from tests.properties.queries import existing, ids, names


@st.composite
def objects_query(draw: st.DrawFn) -> ObjectsQuery:
    relations = draw(st.none() | st.lists(names, min_size=1, max_size=3, unique=True))
    wanted = draw(st.none() | st.lists(types, min_size=1, max_size=2, unique=True))
    return ObjectsQuery(
        ObjectRef(TypeName(draw(types)), ObjectId(draw(ids))),
        None if relations is None else tuple(map(RelationName, relations)),
        None if wanted is None else tuple(map(TypeName, wanted)),
        draw(st.booleans()),
    )


@st.composite
def drive_query(draw: st.DrawFn) -> ObjectsQuery:
    subject = ObjectRef(TypeName("user"), ObjectId(draw(st.sampled_from(("a", "b", "c")))))
    relations = draw(
        st.none() | st.lists(st.sampled_from(("owner", "viewer", "reader", "editor")), min_size=1, unique=True)
    )
    wanted = draw(st.none() | st.sampled_from((("document",), ("folder", "document"), ("group", "folder"))))
    return ObjectsQuery(
        subject,
        None if relations is None else tuple(map(RelationName, relations)),
        None if wanted is None else tuple(map(TypeName, wanted)),
        draw(st.integers(0, 4)) == 0,
    )


every_case = cases(drive(), drive_warrants(), drive_query()) | cases(
    named_model(), warrants(rarely_to_all=True), objects_query()
)


@given(every_case, st.sampled_from((TINY, USUAL)))
def test_lists_that_follow_every_change_have_the_rows_of_the_oracle(case: Case[ObjectsQuery], most: int) -> None:
    """Most entries that a list needs are cached by those before it."""
    lists = Lists(case.types, case.ever, most)

    def expect(stored: Sequence[Warrant], asked: ObjectsQuery) -> None:
        ordered = lists.find(stored, asked)
        if ordered is not None:
            expect_rows(ordered, stored, oracle_queries.Facts(case.types, stored, existing(stored, []), holds), asked)

    case.carry_out(lists.graph, expect)


@given(every_case, st.integers(1, 4))
def test_pages_of_any_size_make_up_the_list_in_both_directions(case: Case[ObjectsQuery], limit: int) -> None:
    drawn, stored, [(_, asked, _), *_] = case
    if oracle_queries.undefined_type(drawn, asked) is None:
        ordered = Lists(drawn, stored, USUAL).find(stored, asked)
        if ordered is not None:
            expect_pages(ordered, stored, limit)
