"""Random warrants that come and go: what a graph that follows them decides is what an evaluation decides."""

from collections.abc import Sequence
from contextlib import suppress

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.cache.entry_reads import Fetch
from magistrate.engine.cache.graph import MAX_VISITS, Graph
from magistrate.engine.evaluation.check import Check, Decision
from magistrate.engine.names import Revision
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.walk.cached_entries import CachedEntries
from magistrate.engine.walk.walk import Undecided, Walk
from magistrate.engine.warrants.warrant import ChangedWarrant, Warrant
from magistrate.engine.work import Work
from tests.memory_source import PLENTY, change_of, model_of
from tests.properties.graphs import TooSmall, by_the_book, decided, filled, keep, question, read
from tests.properties.models import TYPES, Types, model, warrants


def check_about(warrant: Warrant) -> Check:
    """Whether the object that the warrant names as its subject, or as a group of it, has its relation."""
    subject = Subject(warrant.subject_type, warrant.subject_id)
    return Check(ObjectRef(warrant.object_type, warrant.object_id), warrant.relation, subject, {"x": 1})


def decide_in_slices(walk: Walk, asked: Check, used: int) -> Decision | Undecided:
    """So many units of each time slice are used for something else; a little less each time, so that it ends."""
    while True:
        walk.work.pass_checkpoint()
        walk.work.hasten_checkpoint(used)
        used -= 50
        if (found := walk.decide(asked)) is not Undecided.PAUSED:
            return found


@given(
    model(),
    warrants(rarely_to_all=True),
    st.lists(
        st.tuples(st.lists(st.integers(0, 13), min_size=1, max_size=3), question(), question()), min_size=1, max_size=6
    ),
    st.sampled_from((1, 2, 500)),
    st.sampled_from((0, 2, MAX_VISITS)),
)
def test_a_graph_that_follows_every_change_answers_like_an_evaluation(
    drawn: Types,
    all_ever: list[Warrant],
    steps: list[tuple[list[int], Check, Check]],
    max_each: int,
    max_visits: int,
) -> None:
    """In each step one to three warrants come or go together, with checks before and after."""
    graph = Graph(model_of(drawn, all_ever), Revision(1), 1_000_000, max_each, max_visits)
    stored = all_ever[::2]
    for revision, (numbers, before, after) in enumerate(steps, 2):
        expect(graph, drawn, all_ever, stored, before)
        changes: list[ChangedWarrant] = []
        for number in numbers if all_ever else ():
            changed = all_ever[number % len(all_ever)]
            stored = [one for one in stored if one != changed] if changed in stored else [*stored, changed]
            changes.append(change_of(changed, changed in stored))
        graph.apply(changes, Revision(revision))
        expect(graph, drawn, all_ever, stored, before)
        expect(graph, drawn, all_ever, stored, after)


@given(
    model(),
    model(),
    warrants(rarely_to_all=True),
    st.lists(st.tuples(st.integers(0, 13), st.booleans(), question()), min_size=1, max_size=6),
    st.sampled_from((1, 500)),
)
def test_a_graph_whose_model_changes_answers_like_an_evaluation_with_the_new_one(
    one: Types,
    other: Types,
    all_ever: list[Warrant],
    steps: list[tuple[int, bool, Check]],
    max_each: int,
) -> None:
    """In each step the model changes or does not, with some types as before, and a warrant comes or goes. A pattern of
    warrants is known from the first of them on."""
    stored, ever = all_ever[::2], all_ever[::2]
    types = one
    graph = Graph(model_of(types, ever), Revision(1), max_bytes=1_000_000, max_each=max_each)
    for revision, (number, is_changed, asked) in enumerate(steps, 2):
        expect(graph, types, ever, stored, asked)
        if all_ever:
            changed = all_ever[number % len(all_ever)]
            stored = [one for one in stored if one != changed] if changed in stored else [*stored, changed]
            graph.apply([change_of(changed, changed in stored)], Revision(revision))
            is_new = changed not in ever
            ever = [*ever, changed] if is_new else ever
        if is_changed:
            types = {name: (other if (number + place) % 2 else one).get(name, {}) for place, name in enumerate(TYPES)}
        if is_changed or all_ever:
            graph.change_model(model_of(types, ever), Revision(revision))
        expect(graph, types, ever, stored, asked)


@given(model(), warrants(rarely_to_all=True), st.lists(question(), min_size=2, max_size=12))
def test_checks_that_share_warrants_are_answered_as_if_each_were_the_only_one(
    drawn: Types, stored: list[Warrant], asked: list[Check]
) -> None:
    graph = Graph(model_of(drawn, stored), Revision(1), max_bytes=1_000_000)

    for _ in range(100):
        walk = Walk(CachedEntries(graph), 0, Work(PLENTY), shares=True)
        found = [walk.decide(question) for question in asked]
        if Undecided.IMPOSSIBLE in found:
            return
        if Undecided.MISSING not in found:
            break
        filled(Fetch(graph, walk.missing), stored)

    assert found == [by_the_book(drawn, stored, stored, question) for question in asked]


@given(
    model(),
    warrants(rarely_to_all=True),
    st.lists(question(), min_size=1, max_size=12),
    st.lists(st.integers(0, 12), max_size=20),
    st.integers(0, 2_000),
    st.sampled_from((1, 2, 500)),
)
def test_checks_that_go_on_where_they_stopped_are_answered_as_if_everything_had_been_there(
    drawn: Types, stored: list[Warrant], asked: list[Check], dropped: list[int], used: int, max_each: int
) -> None:
    """They stop at what has to be read, and at the end of each time slice, of which so many units of work are used.
    Some that are still open in one round are not made again in the next, so the walks of others wait for none."""
    graph = Graph(model_of(drawn, stored), Revision(1), max_bytes=1_000_000, max_each=max_each)
    work = Work(PLENTY)
    walk = Walk(CachedEntries(graph), 0, work, shares=len(asked) > 1)
    decisions: list[Decision | None] = [None] * len(asked)
    left = [*range(len(asked))]

    for number in [*dropped, *[-1] * 100]:
        for place in [place for place in left if place != number]:
            found = decide_in_slices(walk, asked[place], used)
            if found is not Undecided.MISSING:
                left.remove(place)
            if not isinstance(found, Undecided):
                decisions[place] = found
        if not left:
            break
        filled(Fetch(graph, walk.missing), stored)
        walk.resume_checks()

    assert not left
    for one, decision in zip(asked, decisions, strict=True):
        assert decision in (None, by_the_book(drawn, stored, stored, one))


@given(
    model(),
    warrants(rarely_to_all=True),
    st.sets(st.integers(0, 13)),
    st.lists(st.tuples(st.integers(0, 20), question(), st.integers(0, 3), st.booleans()), min_size=2, max_size=10),
    st.sampled_from((4_000, 12_000, 1_000_000)),
    st.sampled_from((1, 2, 500)),
)
def test_a_cached_decision_is_what_a_walk_decides_at_any_time_and_in_any_context(
    drawn: Types,
    all_ever: list[Warrant],
    limited: set[int],
    steps: list[tuple[int, Check, int, bool]],
    max_bytes: int,
    max_each: int,
) -> None:
    """In each step a warrant may come or go, and what it grants is checked before and after, and what was checked in
    earlier steps again. Some warrants have a time limit, and the graph may be too small for what the checks need: then
    entries are evicted all the time."""
    all_ever = [
        msgspec.structs.replace(one, expires_at=5) if number in limited else one for number, one in enumerate(all_ever)
    ]
    graph = Graph(model_of(drawn, all_ever), Revision(1), max_bytes=max_bytes, max_each=max_each)
    stored = all_ever[::2]
    earlier: list[Check] = []

    def expect_cached(asked: Check, now: int) -> None:
        with suppress(TooSmall):
            found = decided(graph, stored, asked, now=now)
            roomy = Graph(graph.model, Revision(1), max_bytes=1_000_000, max_each=max_each)
            assert found in (None, decided(roomy, stored, asked, caches=False, now=now))

    for revision, (number, asked, x, is_late) in enumerate(steps, 2):
        now = 10 if is_late else 0
        changed = all_ever[number] if number < len(all_ever) else None
        about = check_about(changed) if changed is not None else asked
        expect_cached(about, now)
        if changed is not None:
            stored = [one for one in stored if one != changed] if changed in stored else [*stored, changed]
            graph.apply([change_of(changed, changed in stored)], Revision(revision))
        for one in (*earlier, about, asked, msgspec.structs.replace(about, context={"x": x})):
            expect_cached(one, now)
        earlier += [about, asked]


@given(
    model(),
    warrants(rarely_to_all=True),
    question(),
    st.lists(st.integers(0, 13), max_size=3),
    st.booleans(),
    st.sampled_from((1, 500)),
)
def test_what_changes_while_it_is_read_is_not_kept(
    drawn: Types, all_ever: list[Warrant], asked: Check, changes: list[int], is_told: bool, max_each: int
) -> None:
    """The rows of a fetch are those of its revision; by the time they are kept, the graph has moved on."""
    graph = Graph(model_of(drawn, all_ever), Revision(1), max_bytes=1_000_000, max_each=max_each)
    stored = all_ever[::2]
    walk = Walk(CachedEntries(graph), 0, Work(PLENTY))
    walk.decide(asked)
    fetch = Fetch(graph, walk.missing)
    before = list(stored)
    touched = []
    for number in changes if all_ever else ():
        changed = all_ever[number % len(all_ever)]
        stored = [one for one in stored if one != changed] if changed in stored else [*stored, changed]
        touched.append(change_of(changed, changed in stored))
    is_read_already = fetch.reads()
    if is_told:
        graph.apply(touched, Revision(2))
        fetch.note_changes([change.names for change in touched])
    else:
        graph.clear(Revision(2))
        fetch.is_wasted = True
    if is_read_already is not None:
        reads, most = is_read_already
        keep(fetch, read(before, reads, most))
    filled(fetch, before)

    expect(graph, drawn, all_ever, stored, asked)


def expect(graph: Graph, drawn: Types, all_ever: Sequence[Warrant], stored: Sequence[Warrant], asked: Check) -> None:
    for caches in (True, True, False):  # the second time, the decision may be cached
        found = decided(graph, stored, asked, caches)
        if found is not None:
            assert found == by_the_book(drawn, all_ever, stored, asked)
