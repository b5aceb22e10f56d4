"""Random models, and warrants that come and go: lists of subjects computed with bitmaps have the rows that the oracle
has."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from magistrate.engine.lists.language import SubjectsQuery
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant
from tests import oracle, oracle_queries
from tests.memory_source import found, model_of
from tests.properties.models import Types, types, warrants
from tests.properties.named_policies import NAMED, holds, named_model
from tests.properties.object_lists import (
    TINY,
    USUAL,
    Case,
    cases,
    drive,
    drive_warrants,
    expect_pages,
    expect_rows,
    page,
)
from tests.properties.queries import CONTEXT, existing, ids, names
from tests.properties.subject_lists import Lists


@st.composite
def subjects_query(draw: st.DrawFn) -> SubjectsQuery:
    relations = draw(st.none() | st.lists(names, min_size=1, max_size=3, unique=True))
    wanted = draw(st.none() | st.lists(types, min_size=1, max_size=2, unique=True))
    return SubjectsQuery(
        ObjectRef(TypeName(draw(types)), ObjectId(draw(ids))),
        None if relations is None else tuple(map(RelationName, relations)),
        None if wanted is None else tuple(map(TypeName, wanted)),
        draw(st.booleans()),
    )


@st.composite
def drive_query(draw: st.DrawFn) -> SubjectsQuery:
    of_type = draw(st.sampled_from(("document", "document", "document", "folder", "group")))
    named = st.sampled_from(("owner", "viewer", "reader", "editor", "member"))
    relations = draw(st.none() | st.lists(named, min_size=1, unique=True))
    wanted = draw(st.none() | st.sampled_from((("user",), ("user",), ("folder", "user"))))
    return SubjectsQuery(
        ObjectRef(TypeName(of_type), ObjectId(draw(st.sampled_from(("a", "b", "c"))))),
        None if relations is None else tuple(map(RelationName, relations)),
        None if wanted is None else tuple(map(TypeName, wanted)),
        draw(st.integers(0, 4)) == 0,
    )


def limit(drawn: list[Warrant]) -> list[Warrant]:
    """Gives some of them time limits: those of some have passed, others have yet to begin, or hold at 0."""
    limits = {3: {"starts_at": 5}, 5: {"expires_at": -5}, 6: {"starts_at": -5, "expires_at": 5}}
    return [replace(one, **limits.get(one.number % 9, {})) for one in drawn]


every_case = cases(drive(), drive_warrants().map(limit), drive_query()) | cases(
    named_model(), warrants().map(limit), subjects_query()
)


def facts_of(drawn: Types, stored: Sequence[Warrant]) -> oracle_queries.Facts:
    return oracle_queries.Facts(drawn, oracle.in_force(stored, 0), existing(stored, []), holds)


@given(every_case, st.sampled_from((TINY, USUAL)))
def test_lists_of_subjects_that_follow_every_change_have_the_rows_of_the_oracle(
    case: Case[SubjectsQuery], most: int
) -> None:
    """Most entries that a list needs are cached by those before it."""
    lists = Lists(case.types, case.ever, most)

    def expect(stored: Sequence[Warrant], asked: SubjectsQuery) -> None:
        ordered = lists.find(stored, asked)
        if ordered is not None:
            expect_rows(ordered, stored, facts_of(case.types, stored), asked)

    case.carry_out(lists.graph, expect)


@given(every_case)
def test_rows_report_what_the_search_without_bitmaps_reports(case: Case[SubjectsQuery]) -> None:
    drawn, stored, [(_, asked, _), *_] = case
    if oracle_queries.undefined_type(drawn, asked) is not None:
        return
    ordered = Lists(drawn, stored, USUAL).find(stored, asked)
    if ordered is None:
        return
    expected = found(model_of(drawn, stored, policies=NAMED), stored, existing(stored, []), asked, CONTEXT).rows
    answer = page(ordered, stored, None, 1_000, back=False).results
    acceptable = {row[:3]: row.acceptable for row in oracle_queries.list_rows(facts_of(drawn, stored), asked)}
    for row, other in zip(answer, expected, strict=True):
        assert row == other or len(acceptable[row[:3]]) > 1


@given(every_case, st.integers(1, 4))
def test_pages_of_subjects_of_any_size_make_up_the_list_in_both_directions(
    case: Case[SubjectsQuery], limit: int
) -> None:
    drawn, stored, [(_, asked, _), *_] = case
    if oracle_queries.undefined_type(drawn, asked) is None:
        ordered = Lists(drawn, stored, USUAL).find(stored, asked)
        if ordered is not None:
            expect_pages(ordered, stored, limit)
