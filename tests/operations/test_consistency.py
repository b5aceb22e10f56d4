"""Tokens: what they say, and which texts are tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.names import Revision
from magistrate.errors import InvalidParameter, RevisionLost
from magistrate.operations.consistency import NO_DEMAND, is_token, read_revision, read_token, write_token
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.stored_rows import Identity

HERE = Identity("0123456789abcdef", "00" * 16)
ELSEWHERE = Identity("fedcba9876543210", "00" * 16)


@given(st.integers(0, 2**63 - 1), st.none() | st.integers(0, 2**32 - 1))
def test_a_token_is_read_back_as_its_revision(number: int, bits: int | None) -> None:
    revision_id = RevisionId(Revision(number), bits)

    token = write_token(HERE, revision_id)

    assert read_token(HERE, "Service-Token", token).id == read_revision(HERE, "revision", token) == revision_id
    assert len(token) == (28 if bits is None else 34)
    assert set(token) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def test_a_token_of_another_store_names_the_header() -> None:
    with pytest.raises(InvalidParameter) as caught:
        read_token(HERE, "Warrant-Token", write_token(ELSEWHERE, RevisionId(Revision(1), 1)))

    assert caught.value.parameter == "Warrant-Token"


def test_a_demand_is_met_by_its_revision_and_later_ones() -> None:
    demand = read_token(HERE, "Service-Token", write_token(HERE, RevisionId(Revision(7), 1)))

    demand.demand(Revision(7))
    demand.demand(Revision(8))
    with pytest.raises(RevisionLost):
        demand.demand(Revision(6))


@given(st.text())
def test_other_texts_are_no_tokens_and_demand_nothing(text: str) -> None:
    assert not is_token(text) or text == "latest"
    assert read_token(HERE, "Service-Token", text) == NO_DEMAND
