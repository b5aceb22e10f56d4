"""Strategies of warrants that have time limits."""

from collections.abc import Sequence

from hypothesis import strategies as st
from msgspec.structs import replace

from magistrate.engine.evaluation.check import Check
from magistrate.engine.truth import TRUE, UNDEFINED
from magistrate.engine.warrants.warrant import Warrant
from tests import oracle
from tests.memory_source import evaluated, model_of
from tests.properties.models import Types, warrants

LAST = 6
times = st.integers(0, LAST)
Limits = tuple[int | None, int | None]

limits: st.SearchStrategy[Limits] = st.one_of(
    st.tuples(st.none(), st.none() | st.integers(1, LAST)),
    st.integers(1, 4).flatmap(lambda start: st.tuples(st.just(start), st.none() | st.integers(start + 1, LAST))),
)


@st.composite
def limited(draw: st.DrawFn, rarely_to_all: bool = False) -> list[Warrant]:
    """Warrants about half of which have a start, an expiry or both."""
    drawn = draw(warrants(rarely_to_all=rarely_to_all))
    return [give_limits(one, draw(st.just((None, None)) | limits)) for one in drawn]


def give_limits(warrant: Warrant, pair: Limits) -> Warrant:
    return replace(warrant, starts_at=pair[0], expires_at=pair[1])


def by_the_book(
    drawn: Types, ever: Sequence[Warrant], stored: Sequence[Warrant], asked: Check, now: int
) -> tuple[bool, bool] | None:
    [node], _ = evaluated(model_of(drawn, ever), oracle.in_force(stored, now), [asked], now)
    if node.value == UNDEFINED:
        return None
    is_explicit = node.direct is not None and node.direct.relation == node.relation
    return node.value == TRUE, node.value == TRUE and not is_explicit
