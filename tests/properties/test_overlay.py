"""Random models and warrants: what is answered over an overlay is what is answered once the same changes are made."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from magistrate.engine.cache.entry_reads import Fetch, MissingEntries
from magistrate.engine.cache.graph import Graph
from magistrate.engine.evaluation.check import Check, Decision
from magistrate.engine.lists.language import Query
from magistrate.engine.model.model import Model
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.walk.cached_entries import OverlaidEntries
from magistrate.engine.walk.walk import Undecided, Walk
from magistrate.engine.warrants.overlay import Overlay, warrant_key
from magistrate.engine.warrants.plain_warrants import FIRST_NUMBER
from magistrate.engine.warrants.reader import (
    AnyRead,
    ReverseWarrantRead,
    WarrantRead,
    WarrantsByObject,
    WarrantsBySubject,
)
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work
from magistrate.errors import NotFound
from tests import oracle_queries
from tests.memory_source import PLENTY, evaluated, found, found_paths, model_of, rows_of
from tests.properties import time_limits as test_time_limits
from tests.properties.contextual_cases import LIFELIKE, SHAPES
from tests.properties.graphs import by_the_book, filled
from tests.properties.graphs import question as walkable
from tests.properties.models import IDS, RELATIONS, TYPES, Types, model, question, rare, values, warrants
from tests.properties.queries import CONTEXT, existing, others, query

NOW = 10
"""Later than all warrants that are drawn."""


class Case(NamedTuple):
    """`stored`, and what is `written` once the changes of the overlay are made."""

    stored: list[Warrant]
    overlay: Overlay
    written: list[Warrant]
    ended: frozenset[ObjectRef]


@st.composite
def changes(draw: st.DrawFn, only_adds: bool = False, policies: bool = True, rarely_to_all: bool = False) -> Case:
    stored = draw(warrants(policies, rarely_to_all))
    drawn = [*draw(warrants(policies, rarely_to_all)), *(one for one in stored if draw(rare))]
    new = [
        replace(one, created_at=NOW, number=FIRST_NUMBER + place)
        for place, one in enumerate({warrant_key(one): one for one in drawn}.values())
    ]
    deleted = [] if only_adds else [one for one in stored if draw(rare)]
    ends = {ObjectRef(one.object_type, one.object_id) for one in stored if one.object_id != WILDCARD}
    ended = frozenset() if only_adds else frozenset(end for end in sorted(ends) if draw(rare))
    left = [one for one in stored if one not in deleted and ended.isdisjoint(ends_of(one))]
    kept = {warrant_key(one) for one in left}
    written = [*left, *(one for one in new if warrant_key(one) not in kept)]
    return Case(stored, Overlay(new, map(warrant_key, deleted), ended), written, ended)


def ends_of(warrant: Warrant) -> set[ObjectRef]:
    return {ObjectRef(warrant.object_type, warrant.object_id), ObjectRef(warrant.subject_type, warrant.subject_id)}


def final_model(types: Types, case: Case) -> Model:
    """The model once the changes are made: it has every pattern there ever was."""
    return model_of(types, [*case.stored, *case.written])


names = st.sampled_from(RELATIONS).map(RelationName)
kinds = st.sampled_from(TYPES).map(TypeName)
some_ids = st.none() | st.lists(st.sampled_from((*IDS, WILDCARD)).map(ObjectId), unique=True).map(tuple)


@st.composite
def read(draw: st.DrawFn) -> AnyRead:
    relations = tuple(draw(st.lists(names, min_size=1, max_size=3, unique=True)))
    if draw(st.booleans()):
        group = draw(st.just("") | names)
        return ReverseWarrantRead(WarrantsBySubject(draw(kinds), relations, draw(kinds), group), draw(some_ids))
    one = st.builds(Subject, kinds, st.sampled_from((*IDS, WILDCARD)).map(ObjectId), st.none() | names)
    request = WarrantsByObject(draw(kinds), relations, draw(st.none() | kinds | one), True, draw(st.booleans()))
    return WarrantRead(request, draw(some_ids))


@given(changes(), st.lists(read(), min_size=1, max_size=8))
def test_a_read_over_an_overlay_returns_what_is_stored_once_the_changes_are_made(
    case: Case, reads: list[AnyRead]
) -> None:
    for one in reads:
        merged = case.overlay.merge(one, rows_of(case.stored, one))

        assert sorted(merged, key=repr) == sorted(rows_of(case.written, one), key=repr)


@given(model(), changes(), st.lists(question(), min_size=1, max_size=4))
def test_checks_over_an_overlay_answer_what_they_answer_once_the_changes_are_made(
    types: Types, case: Case, asked: list[Check]
) -> None:
    final = final_model(types, case)
    extended = case.overlay.extend_model(model_of(types, case.stored))

    over, _ = evaluated(extended, case.stored, asked, overlay=case.overlay)
    paths = found_paths(extended, case.stored, asked, overlay=case.overlay)

    assert values(over) == values(evaluated(final, case.written, asked)[0])
    assert paths == found_paths(final, case.written, asked)


@given(model(), model(), changes(), st.lists(question(), min_size=1, max_size=4))
def test_an_overlay_works_with_a_model_of_other_definitions(
    types: Types, other: Types, case: Case, asked: list[Check]
) -> None:
    assert types is not other
    extended = case.overlay.extend_model(model_of(other, case.stored))

    over, _ = evaluated(extended, case.stored, asked, overlay=case.overlay)

    assert values(over) == values(evaluated(final_model(other, case), case.written, asked)[0])


@given(model(), changes(), others, query())
def test_queries_over_an_overlay_find_what_they_find_once_the_changes_are_made(
    types: Types, case: Case, more: list[ObjectRef], asked: Query
) -> None:
    extended = case.overlay.extend_model(model_of(types, case.stored))
    before = existing(case.stored, more)
    after = existing(case.written, [ref for ref in before if ref not in case.ended])
    missing = oracle_queries.undefined_type(types, asked)
    if missing is not None:
        with pytest.raises(NotFound, match=missing):
            found(extended, case.stored, before, asked, CONTEXT, overlay=case.overlay)
        return

    over = found(extended, case.stored, before, asked, CONTEXT, overlay=case.overlay)

    assert over.rows == found(final_model(types, case), case.written, after, asked, CONTEXT).rows


def walked(graph: Graph, case: Case, asked: Sequence[Check], now: int = 0) -> list[Decision] | None:
    """None if the walk cannot decide all of them."""
    walk = Walk(OverlaidEntries(graph, now, case.overlay), now, Work(PLENTY), shares=len(asked) > 1)
    for _ in range(100):
        found = [walk.decide(one) for one in asked]
        if Undecided.IMPOSSIBLE in found:
            return None
        decided = [one for one in found if not isinstance(one, Undecided)]
        if len(decided) == len(found):
            return decided
        filled(Fetch(graph, walk.missing), case.stored)
        walk.resume_checks()
    raise AssertionError("a walk does not find what was read for it")


@given(
    model(),
    changes(only_adds=True, rarely_to_all=True),
    st.lists(walkable(), min_size=1, max_size=6),
    st.sampled_from((1, 2, 500)),
)
def test_a_walk_over_an_overlay_decides_what_an_evaluation_decides_once_the_warrants_are_written(
    types: Types, case: Case, asked: list[Check], max_each: int
) -> None:
    """The graph knows the patterns of the added warrants. It answers without them as before."""
    ever = [*case.stored, *case.written]
    graph = Graph(model_of(types, ever), Revision(1), max_bytes=1_000_000, max_each=max_each)

    for questions in ([asked[0]], asked, asked[-1:]):
        decided = walked(graph, case, questions)
        if decided is not None:
            assert decided == [by_the_book(types, ever, case.written, one) for one in questions]
    unchanged = Case(case.stored, Overlay(()), case.stored, frozenset())
    for one in asked:
        if (decided := walked(graph, unchanged, [one])) is not None:
            assert decided == [by_the_book(types, ever, case.stored, one)]


IN_GROUPS = SHAPES[:2]


@st.composite
def lifelike_warrants(draw: st.DrawFn) -> list[Warrant]:
    """Sometimes with a policy, though seldom of memberships, and sometimes for every user, or on every document."""
    drawn: dict[object, Warrant] = {}
    for number in range(1, draw(st.integers(1, 14)) + 1):
        object_type, relation, subject_type, group = draw(st.sampled_from(SHAPES))
        has_policy = draw(rare) and (object_type != "group" or draw(rare))
        policy = draw(st.sampled_from(("x == 1", "x == 2"))) if has_policy else ""
        object_id = WILDCARD if object_type == "document" and draw(rare) else ObjectId(draw(st.sampled_from(IDS)))
        subject_id = WILDCARD if draw(rare) else ObjectId(draw(st.sampled_from(IDS)))
        of_object, to_subject = TypeName(object_type), TypeName(subject_type)
        one = Warrant(of_object, object_id, RelationName(relation), to_subject, subject_id, group, policy, 0, number)
        drawn.setdefault(warrant_key(one), one)
    return list(drawn.values())


@st.composite
def lifelike_check(draw: st.DrawFn) -> Check:
    object_type, relation = draw(
        st.sampled_from((("document", "reader"), ("document", "viewer"), ("folder", "viewer"), ("group", "member")))
    )
    object_ref = ObjectRef(TypeName(object_type), ObjectId(draw(st.sampled_from(IDS))))
    subject = Subject(TypeName("user"), ObjectId(draw(st.sampled_from(IDS))))
    return Check(object_ref, RelationName(relation), subject, {"x": 1})


@given(
    lifelike_warrants(),
    lifelike_warrants(),
    st.lists(lifelike_check(), min_size=1, max_size=4),
    st.sampled_from((1, 2, 500)),
    st.booleans(),
)
def test_a_walk_decides_over_an_overlay_of_memberships_links_and_exclusions(
    stored: list[Warrant], drawn: list[Warrant], asked: list[Check], max_each: int, is_warm: bool
) -> None:
    """A warm graph has answered the same without the overlay, and knows all groups of the subjects."""
    new = [replace(one, created_at=NOW, number=FIRST_NUMBER + place) for place, one in enumerate(drawn)]
    keys = {warrant_key(one) for one in stored}
    written = [*stored, *(one for one in new if warrant_key(one) not in keys)]
    ever = [*stored, *written]
    graph = Graph(model_of(LIFELIKE, ever), Revision(1), max_bytes=1_000_000, max_each=max_each)
    unchanged = Case(stored, Overlay(()), stored, frozenset())
    case = Case(stored, Overlay(new), written, frozenset())
    for one in asked if is_warm else ():
        complete_closures(graph, unchanged, one)

    for questions in ([asked[0]], asked):
        decided = walked(graph, case, questions)
        if decided is not None:
            assert decided == [by_the_book(LIFELIKE, ever, written, one) for one in questions]
    for one in asked:
        if (decided := walked(graph, unchanged, [one])) is not None:
            assert decided == [by_the_book(LIFELIKE, ever, stored, one)]


def complete_closures(graph: Graph, case: Case, asked: Check) -> None:
    """Walks until nothing is missing, and reads all groups of the subject, as reading ahead does."""
    walked(graph, case, [asked])
    for _ in range(20):
        closure = graph.memberships(asked.subject.type).closure(asked.subject.id, Work(PLENTY))
        missing = MissingEntries()
        missing.groups.update(
            {(asked.subject.type, kind.number, written_id): None for kind, written_id in closure.missing}
        )
        if not missing:
            return
        filled(Fetch(graph, missing), case.stored)


HELD_5 = 'expiresIn("5us")'
POLICIES = ("x == 1", "x == 2", HELD_5, f"x == 2 || {HELD_5}")
LIMITS = (*[(None, None)] * 4, (NOW, None), (None, NOW + 1), (1, NOW + 5), (NOW + 1, None), (None, NOW))
"""The last two are out of force."""


@st.composite
def limited_warrants(draw: st.DrawFn) -> list[Warrant]:
    """Warrants some of which have limits, and policies that hold for some time after the warrant is created."""
    drawn = []
    for one in draw(lifelike_warrants()):
        starts_at, expires_at = draw(st.sampled_from(LIMITS))
        policy = draw(st.sampled_from(POLICIES)) if one.policy else ""
        created_at = draw(st.sampled_from((0, NOW - 5, NOW - 4)))
        drawn.append(
            replace(one, policy=policy, created_at=created_at, starts_at=starts_at, expires_at=expires_at),
        )
    return list({warrant_key(one): one for one in drawn}.values())


def written_to(stored: list[Warrant], new: list[Warrant]) -> list[Warrant]:
    """What is stored once the new ones are written: they renew what is over, and give others their limits."""
    there = {warrant_key(one): one for one in stored}
    for one in new:
        former = there.get(warrant_key(one), one)
        is_over = former.policy == HELD_5 and former.created_at + 5 <= NOW
        has_expired = former.expires_at is not None and former.expires_at <= NOW
        there[warrant_key(one)] = one if is_over or has_expired else replace(one, created_at=former.created_at)
    return list(there.values())


@given(
    limited_warrants(),
    limited_warrants(),
    st.lists(lifelike_check(), min_size=1, max_size=4),
    st.sampled_from((1, 2, 500)),
)
def test_added_warrants_with_time_limits_renew_stored_ones_as_if_they_were_written(
    stored: list[Warrant], drawn: list[Warrant], asked: list[Check], max_each: int
) -> None:
    """Half of them name what is stored."""
    pairs = zip(stored, drawn, strict=False)
    named = [replace(one, starts_at=two.starts_at, expires_at=two.expires_at) for one, two in pairs]
    new = [
        replace(one, created_at=NOW, number=FIRST_NUMBER + place)
        for place, one in enumerate({warrant_key(one): one for one in [*named, *drawn[len(drawn) // 2 :]]}.values())
    ]
    written = written_to(stored, new)
    ever = [*stored, *written]
    known = model_of(LIFELIKE, ever)
    case = Case(stored, Overlay(new), written, frozenset())
    graph = Graph(known, Revision(1), max_bytes=1_000_000, max_each=max_each)
    expected = [test_time_limits.by_the_book(LIFELIKE, ever, written, one, NOW) for one in asked]

    over, _ = evaluated(known, stored, asked, NOW, overlay=case.overlay)
    decided = walked(graph, case, asked, NOW)

    assert values(over) == values(evaluated(known, written, asked, NOW)[0])
    if decided is not None:
        assert [(one.is_authorized, one.is_implicit) for one in decided if one is not None] == expected
