"""Decides checks by walks of the graph cache."""

from collections.abc import Sequence

from hypothesis import strategies as st

from magistrate.engine.cache.entry_reads import Fetch
from magistrate.engine.cache.graph import Graph
from magistrate.engine.evaluation.check import Check, Decision
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import TRUE, UNDEFINED
from magistrate.engine.walk.cached_entries import CachedEntries
from magistrate.engine.walk.walk import Undecided, Walk
from magistrate.engine.warrants.reader import AnyRead
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work
from tests.memory_source import PLENTY, evaluated, model_of, rows_of
from tests.properties.models import IDS, RELATIONS, TYPES, Types


@st.composite
def question(draw: st.DrawFn) -> Check:
    """Of the kind that a walk can decide."""
    object_ref = ObjectRef(TypeName(draw(st.sampled_from(TYPES))), ObjectId(draw(st.sampled_from(IDS))))
    subject = Subject(TypeName(draw(st.sampled_from(TYPES))), ObjectId(draw(st.sampled_from(IDS))))
    return Check(object_ref, RelationName(draw(st.sampled_from(RELATIONS))), subject, {"x": 1})


def filled(fetch: Fetch, stored: Sequence[Warrant]) -> None:
    while (wanted := fetch.reads()) is not None:
        keep(fetch, read(stored, *wanted))


def keep(fetch: Fetch, rows: list[list[Warrant]]) -> None:
    fetch.take(rows)
    while not fetch.keep(1):
        pass


def read(stored: Sequence[Warrant], reads: Sequence[AnyRead], most: int) -> list[list[Warrant]]:
    rows, room = [], most
    for one in reads:
        rows.append(rows_of(stored, one)[:room])
        room -= len(rows[-1])
    return rows


class TooSmall(AssertionError):
    """The graph evicts what is read for a check before the check is decided."""


def decided(
    graph: Graph, stored: Sequence[Warrant], asked: Check, caches: bool = True, now: int = 0
) -> Decision | None:
    """None if a walk cannot decide it."""
    decisions = graph.decisions if caches else None
    walk = Walk(CachedEntries(graph), now, Work(PLENTY), decisions=decisions)
    for _ in range(100):
        found = walk.decide(asked)
        if found is Undecided.IMPOSSIBLE:
            return None
        if not isinstance(found, Undecided):
            return found
        filled(Fetch(graph, walk.missing), stored)
        walk.resume_checks()
    raise TooSmall("a walk does not find what was read for it")


def by_the_book(drawn: Types, all_ever: Sequence[Warrant], stored: Sequence[Warrant], asked: Check) -> Decision | None:
    """None if there is no answer."""
    [node], _ = evaluated(model_of(drawn, all_ever), stored, [asked])
    if node.value == UNDEFINED:
        return None
    is_explicit = node.direct is not None and node.direct.relation == node.relation
    return Decision(node.value == TRUE, node.value == TRUE and not is_explicit)
