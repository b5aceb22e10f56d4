"""Random models, warrants and queries: a row is there if and only if the check authorizes it, as the oracle has it."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.lists.language import Query
from magistrate.engine.lists.results import RelationResult, Reports, ResultSet
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import NotFound
from magistrate.operations.lists.listings import Entry, SnapshotListing
from magistrate.store.contract.lists import Slice
from tests import oracle_queries
from tests.memory_source import found, model_of
from tests.properties.models import Types, model, warrants
from tests.properties.queries import CONTEXT, existing, facts, others, query


@given(model(), warrants(), others, query())
def test_queries_find_what_the_oracle_finds(
    drawn: Types, stored: list[Warrant], more: list[ObjectRef], asked: Query
) -> None:
    objects = existing(stored, more)
    missing = oracle_queries.undefined_type(drawn, asked)
    if missing is not None:
        with pytest.raises(NotFound, match=missing):
            found(model_of(drawn, stored), stored, objects, asked, CONTEXT)
        return
    answer = found(model_of(drawn, stored), stored, objects, asked, CONTEXT)
    expected = oracle_queries.list_rows(facts(drawn, stored, objects), asked)
    assert [(*row[:3], row.is_implicit) for row in answer.rows] == [(*row[:3], row.is_implicit) for row in expected]
    for row, wanted in zip(answer.rows, expected, strict=True):
        assert row.warrant in wanted.acceptable, row[:3]


@given(model(), warrants(), query(), st.randoms(use_true_random=False))
def test_the_order_in_which_warrants_are_read_does_not_matter(
    drawn: Types, stored: list[Warrant], asked: Query, random: Random
) -> None:
    if oracle_queries.undefined_type(drawn, asked) is not None:
        return
    objects, shuffled = existing(stored, []), [*stored]
    random.shuffle(shuffled)

    before = found(model_of(drawn, stored), stored, objects, asked, CONTEXT)
    after = found(model_of(drawn, stored), shuffled, objects, asked, CONTEXT)

    assert after == before


@given(
    st.sets(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.sampled_from("rs")), max_size=12),
    st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.sampled_from("rs")),
    st.integers(1, 13),
    st.booleans(),
    st.booleans(),
)
def test_a_page_of_any_size_is_what_lies_next_to_its_boundary(
    keys: set[Entry], boundary: Entry, limit: int, descending: bool, backwards: bool
) -> None:
    types = {
        (key[0], key[2]): RelationResult(None, key[2], ResultSet(), Reports(lambda object_id: None)) for key in keys
    }
    ordered = sorted(keys, reverse=descending)
    smaller, larger = [key for key in ordered if key < boundary], [key for key in ordered if key > boundary]
    before, behind = (larger, smaller) if descending else (smaller, larger)
    expected = before[-limit:] if backwards else behind[:limit]

    page = SnapshotListing(sorted(keys), types).cut_slice(Slice("id", limit, descending, boundary, backwards))

    assert [row[:3] for row in page.rows] == expected
    if expected:
        assert page.precedes == (ordered[0] != expected[0])
        assert page.follows == (ordered[-1] != expected[-1])
    else:
        assert (page.precedes, page.follows) == (False, False)
