"""The views of a graph stay within their bytes, however many relations and types of subjects are checked: whoever may
check chooses among the pairs of these."""

import tracemalloc
from collections.abc import Iterator

import pytest

from magistrate.engine.cache.entry_reads import Fetch
from magistrate.engine.cache.graph import Graph
from magistrate.engine.cache.segments import Capacity
from magistrate.engine.evaluation.check import DENIED, EXPLICIT, IMPLICIT, Check, Decision
from magistrate.engine.model.model import Model
from magistrate.engine.names import Revision
from magistrate.engine.walk.cached_entries import CachedEntries
from magistrate.engine.walk.walk import Undecided, Walk
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work
from tests.memory_source import PLENTY, Relations, model_of, rows_of
from tests.operations.stored_warrants import question
from tests.scenario_files import stored_warrant

RELATIONS, TYPES = 15, 60
MAX_BYTES = 8_000_000
VIEWS_BYTES = MAX_BYTES // 16
SLACK = 400_000
"""What one type takes by itself, which is never evicted while it is used, and what is still to be freed."""


class Store:
    """Holds warrants, and a graph for them; each type has its own users, all of whom may have any relation."""

    def __init__(self, reachable: bool = True) -> None:
        users: dict[str, Relations] = {f"user{number}": {} for number in range(TYPES)}
        types: dict[str, Relations] = {
            **users,
            "document": {f"viewer{number}": {} for number in range(RELATIONS)},
            "team": {f"member{number}": {} for number in range(RELATIONS)},
        }
        written = [f"document:1#viewer{one}@team:1#member{one}" for one in range(RELATIONS)]
        written += [f"team:1#member{one}@{of}:ann" for one in range(RELATIONS) for of in (users if reachable else ())]
        self.warrants: list[Warrant] = [stored_warrant(text, number, 0) for number, text in enumerate(written, 1)]
        self.model: Model = model_of(types, self.warrants)
        self.graph = Graph(self.model, Revision(1), max_bytes=MAX_BYTES)

    def walk(self) -> Walk:
        return Walk(CachedEntries(self.graph), 0, Work(PLENTY), shares=True)

    def decide(self, check: Check) -> Decision:
        """Decides a check as a request does, which walks again where a walk gives up; an evaluation would also do."""
        for _ in range(3):
            walk = self.walk()
            while (decision := self.walk_on(walk, check)) is Undecided.MISSING:
                self.fetch(walk)
            if not isinstance(decision, Undecided):
                return decision
        raise AssertionError(check)

    def walk_on(self, walk: Walk, check: Check) -> Decision | Undecided:
        walk.work.pass_checkpoint()
        while (decision := walk.decide(check)) is Undecided.PAUSED:
            walk.work.pass_checkpoint()
        return decision

    def fetch(self, walk: Walk) -> None:
        fetch = Fetch(self.graph, walk.missing)
        while (wanted := fetch.reads()) is not None:
            fetch.take([rows_of(self.warrants, read) for read in wanted[0]])
            fetch.keep(PLENTY)
        walk.resume_checks()


def pairs(subject: str) -> Iterator[Check]:
    """Yields checks of all pairs of a relation and a type."""
    for of in range(TYPES):
        for relation in range(RELATIONS):
            yield question(f"document:1#viewer{relation}@user{of}:{subject}")


def test_views_stay_within_their_bytes_when_all_pairs_are_checked() -> None:
    store = Store()
    for check in pairs("ann"):
        assert store.decide(check) == IMPLICIT
    used_before, evictions = taken_of(store.graph), store.graph.view_evictions
    tracemalloc.start()
    try:
        for subject, expected in (("ann", IMPLICIT), ("bob", DENIED)):
            for check in pairs(subject):
                assert store.decide(check) == expected
                assert taken_of(store.graph) <= VIEWS_BYTES + SLACK
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert evictions
    assert len(store.graph.views) < RELATIONS * TYPES / 2
    assert used_before <= VIEWS_BYTES + SLACK
    assert grown <= MAX_BYTES / 2


def taken_of(graph: Graph) -> int:
    taken, most = next((one.bytes, one.max_bytes) for one in graph.measure() if one.cache == "views")
    assert most == VIEWS_BYTES
    return taken


def test_types_that_are_used_stay() -> None:
    store = Store()
    used = question("document:1#viewer0@user0:ann")
    store.decide(used)
    numbers = {number for number, view in store.graph.views.items() if view.subject_type == "user0"}
    for check in pairs("ann"):
        store.decide(check)
        store.decide(used)

    assert store.graph.view_evictions
    assert numbers <= store.graph.views.keys()


def test_no_view_is_made_where_a_relation_never_leads_to_the_type() -> None:
    store = Store(reachable=False)
    for check in pairs("ann"):
        assert store.decide(check) == DENIED

    assert store.graph.views == {}
    assert taken_of(store.graph) <= VIEWS_BYTES


def test_memberships_have_no_views_of_groups_that_never_lead_to_the_type() -> None:
    warrants = [
        *(stored_warrant(f"document:1#viewer@team:1#member{one}", one + 1, 0) for one in range(RELATIONS)),
        stored_warrant("team:1#member0@user:ann", RELATIONS + 1, 0),
    ]
    members: Relations = {f"member{one}": {} for one in range(RELATIONS)}
    model = model_of({"user": {}, "team": members, "document": {"viewer": {}}}, warrants)
    graph = Graph(model, Revision(1), MAX_BYTES)
    graph.memberships(question("document:1#viewer@user:ann").subject.type)

    assert [view.key.relation for view in graph.views.values()] == ["member0"]


def test_a_walk_gives_up_whose_views_were_evicted_meanwhile() -> None:
    store, check = Store(), question("document:1#viewer0@user0:ann")
    walk = store.walk()
    assert store.walk_on(walk, check) is Undecided.MISSING
    for other in pairs("ann"):
        if other.subject.type != "user0":
            store.decide(other)
    assert store.graph.view_evictions

    store.fetch(walk)  # what was evicted is not read
    assert store.walk_on(walk, check) is Undecided.IMPOSSIBLE
    assert store.decide(check) == IMPLICIT


def test_evicted_views_take_no_part_of_the_capacity_and_see_no_changes() -> None:
    store = Store()
    for check in pairs("ann"):
        store.decide(check)
    graph = store.graph
    while graph._evicted or graph._evicted_memberships:
        graph._free_evicted()

    registered = {view for views in graph._views_by_relation.values() for view in views}
    assert registered <= set(graph.views.values())
    segments = {segment for view in graph.views.values() for segment in (view.entries, view.points)}
    of_views = {one for one in graph._capacity._segments if type(one).__name__ == "SparseSegment"}
    of_kinds = {kind.groups for one in graph._list_memberships() for kind in one.kinds}
    assert of_views == segments | of_kinds


def test_views_are_evicted_with_the_decisions_that_rest_on_them() -> None:
    store = Store()
    check = question("document:1#viewer0@user0:ann")
    store.decide(check)
    store.graph.decisions.keep(check, EXPLICIT)
    for other in pairs("ann"):
        store.decide(other)

    assert store.graph.view_evictions
    assert store.graph.decisions.find([check]) is None


def test_evicted_views_are_freed_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    removed: list[object] = []
    remove = Capacity.remove

    def note(capacity: Capacity, segment: object) -> None:
        removed.append(segment)
        remove(capacity, segment)  # type: ignore[arg-type]  # it is passed on

    monkeypatch.setattr(Capacity, "remove", note)
    store = Store()
    most = 0
    for check in pairs("ann"):
        walk = store.walk()
        del removed[:]
        store.walk_on(walk, check)
        most = max(most, len(removed))

    assert 0 < most <= 600
