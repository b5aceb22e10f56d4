"""Decisions are cached as long as nothing that they were made from can have changed."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from magistrate.engine.cache.decision_cache import MAX_CHARACTERS
from magistrate.engine.cache.entry_reads import Fetch
from magistrate.engine.cache.graph import Graph
from magistrate.engine.evaluation.check import DENIED, EXPLICIT, IMPLICIT, Check, Decision
from magistrate.engine.names import Revision
from magistrate.engine.walk.cached_entries import CachedEntries
from magistrate.engine.walk.walk import Undecided, Walk
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work
from tests.memory_source import PLENTY, Relations, change_of, model_of, rows_of
from tests.operations.stored_warrants import question
from tests.scenario_files import stored_warrant

TYPES: Mapping[str, Relations] = {
    "user": {},
    "group": {"member": {}},
    "folder": {"viewer": {}},
    "document": {
        "parent": {},
        "viewer": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"},
    },
}
WRITTEN = (
    "document:1#viewer@user:ann",
    "document:1#parent@folder:a",
    "document:2#parent@folder:a",
    "folder:a#viewer@group:g#member",
    "group:g#member@user:bob",
    "group:all#member@user:ann",
    "group:h#member@user:dan",
    "document:3#viewer@user:bob",
    "document:3#viewer@user:ann[x == 1]",
    *(f"document:4#viewer@user:u{number}" for number in range(50)),
)
LATER = (
    "document:1#viewer@user:bob",
    "folder:a#viewer@user:eve",
    "group:g#member@user:eve",
    "document:9#viewer@user:eve",
)
OF_MANY = ("document:1#viewer@user:*", "group:g#member@group:h#member", "folder:a#viewer@group:all#member")
CASES = {
    "document:1#viewer@user:ann": EXPLICIT,
    "document:1#viewer@user:bob": IMPLICIT,
    "document:2#viewer@user:ann": DENIED,
    "document:2#viewer@user:bob": IMPLICIT,
    "document:1#viewer@user:eve": DENIED,
}


class Cache:
    """A graph, and the warrants that it caches."""

    def __init__(self, max_bytes: int = 1_000_000, max_each: int = 500) -> None:
        ever = [stored_warrant(one, number, 0) for number, one in enumerate((*WRITTEN, *LATER, *OF_MANY), 1)]
        self.stored = ever[: len(WRITTEN)]
        self.graph = Graph(model_of(dict(TYPES), ever), Revision(1), max_bytes, max_each)

    def walk(self, work: Work) -> Walk:
        return Walk(CachedEntries(self.graph), 0, work, decisions=self.graph.decisions)

    def decide(self, asked: Check) -> Decision:
        for _ in range(20):
            walk = self.walk(Work(PLENTY))
            decision = walk.decide(asked)
            if not isinstance(decision, Undecided):
                return decision
            fetch = Fetch(self.graph, walk.missing)
            while (wanted := fetch.reads()) is not None:
                fetch.take([rows_of(self.stored, read) for read in wanted[0]])
                fetch.keep(PLENTY)
        raise AssertionError("it is not decided from what was read for it")

    def write(self, text: str) -> None:
        warrant: Warrant = stored_warrant(text, 100, 0)
        self.stored = [*self.stored, warrant]
        self.graph.apply([change_of(warrant, exists=True)], Revision(self.graph.revision + 1))

    def count_work(self, asked: Check) -> int:
        work = Work(PLENTY)
        assert not isinstance(self.walk(work).decide(asked), Undecided)
        return work.cost


@pytest.fixture
def cache() -> Cache:
    """With a decision for each case."""
    cache = Cache()
    for text, decision in CASES.items():
        assert cache.decide(question(text)) == decision
    return cache


def test_a_decision_that_is_cached_takes_one_unit_of_work(cache: Cache) -> None:
    assert len(cache.graph.decisions) == len(CASES)
    assert [cache.count_work(question(text)) for text in CASES] == [1] * len(CASES)


@pytest.mark.parametrize("text", LATER[:3])
def test_a_change_of_what_a_decision_was_made_from_evicts_it(cache: Cache, text: str) -> None:
    """The decisions about other subjects stay."""
    [named] = [one for one in ("bob", "eve") if text.endswith(one)]
    others = [one for one in CASES if not one.endswith(named)]

    cache.write(text)

    assert len(cache.graph.decisions) == len(others)
    assert [cache.count_work(question(one)) for one in others] == [1] * len(others)
    assert cache.decide(question("document:1#viewer@user:eve")).is_authorized is (text != LATER[0])
    assert cache.decide(question("document:1#viewer@user:bob")) == (EXPLICIT if text == LATER[0] else IMPLICIT)


@pytest.mark.parametrize("text", OF_MANY)
def test_a_change_that_concerns_more_than_one_subject_evicts_all_decisions(cache: Cache, text: str) -> None:
    cache.write(text)

    assert len(cache.graph.decisions) == 0
    assert cache.decide(question("document:1#viewer@user:eve")).is_authorized is (text == OF_MANY[0])
    assert cache.decide(question("document:2#viewer@user:ann")).is_authorized is (text == OF_MANY[2])


def test_an_entry_that_is_read_again_after_a_change_of_one_subject_evicts_all_decisions(cache: Cache) -> None:
    """It is not cached then, and the graph would not notice what changes in it before it is."""
    cache.write("document:1#viewer@user:eve[x == 1]")

    assert len(cache.graph.decisions) == 0
    cache.write("document:1#parent@folder:b")
    cache.write("folder:b#viewer@user:zoe")
    assert cache.decide(question("document:1#viewer@user:zoe")) == IMPLICIT


def test_decisions_about_all_subjects_with_the_id_that_changes_are_evicted() -> None:
    """Subjects of two types may have one id."""
    cache = Cache()
    for asked in ("document:1#viewer@user:eve", "document:1#viewer@group:eve"):
        cache.decide(question(asked))

    cache.write("document:1#viewer@user:eve")

    assert len(cache.graph.decisions) == 0


@pytest.mark.parametrize(("member", "name"), [("user:eve", "eve"), ("group:h#member", "dan")])
def test_a_new_member_of_a_group_that_was_never_read_itself_evicts_decisions(member: str, name: str) -> None:
    """It is in the membership closure of the subject alone."""
    cache = Cache()
    asked = question(f"document:1#viewer@user:{name}")
    for text in ("document:1#viewer@user:bob", f"document:2#viewer@user:{name}"):
        cache.decide(question(text))
    for view in cache.graph.views.values():
        if view.key.type == "group":
            view.entries.evict_all()
            view.points.evict_all()
    assert cache.decide(asked) == DENIED

    cache.write(f"group:g#member@{member}")

    assert cache.decide(asked) == IMPLICIT


def test_a_change_of_what_no_decision_was_made_from_leaves_them(cache: Cache) -> None:
    cache.write("document:9#viewer@user:zoe")
    cache.write("document:9#viewer@user:eve")

    assert len(cache.graph.decisions) == len(CASES) - 1
    assert cache.decide(question("document:9#viewer@user:eve")) == EXPLICIT


@pytest.mark.parametrize("subject", ["user:bob", "user:*"])
def test_a_change_of_an_object_with_too_many_subjects_evicts_the_decisions(subject: str) -> None:
    cache = Cache(max_each=1)
    assert cache.decide(question("document:4#viewer@user:bob")) == DENIED

    cache.write(f"document:4#viewer@{subject}")

    assert cache.decide(question("document:4#viewer@user:bob")) == EXPLICIT


def test_a_decision_that_depends_on_the_context_is_not_cached(cache: Cache) -> None:
    text = "document:3#viewer@user:ann"

    assert cache.decide(question(text)) == DENIED
    assert cache.decide(replace(question(text), context={"x": 1})) == EXPLICIT
    assert cache.decide(replace(question(text), context={"x": 2})) == DENIED
    assert len(cache.graph.decisions) == len(CASES)


def test_a_decision_beside_a_policy_for_somebody_else_is_cached(cache: Cache) -> None:
    assert cache.decide(question("document:3#viewer@user:bob")) == EXPLICIT
    assert len(cache.graph.decisions) == len(CASES) + 1


def test_decisions_go_when_the_graph_evicts_entries(cache: Cache) -> None:
    """It would not notice changes of these."""
    assert cache.decide(question("document:2#viewer@user:bob")) == IMPLICIT
    for _ in range(2):
        cache.graph._capacity.age()
    assert not any(view.entries.has("2") for view in cache.graph.views.values())

    cache.write("document:2#viewer@user:bob")

    assert cache.decide(question("document:2#viewer@user:bob")) == EXPLICIT


def test_checks_of_ids_that_do_not_exist_evict_nothing_that_exists() -> None:
    cache = Cache(max_bytes=40_000)
    assert cache.decide(question("document:2#viewer@user:bob")) == IMPLICIT
    entries, before = cache.graph.measure()[0], cache.graph.count_entries()

    for number in range(300):
        nobody = f"zoe-{'e' * 900}{number}"
        assert cache.decide(question(f"document:{number + 100}{'x' * 900}#viewer@user:{nobody}")) == DENIED

    assert cache.graph.measure()[0] == entries
    assert cache.graph.measure()[1].bytes <= 5_000
    assert cache.graph.count_entries() < before + 20
    assert any("2" in view.entries.young for view in cache.graph.views.values())


def test_decisions_go_when_the_model_changes(cache: Cache) -> None:
    types: dict[str, Relations] = {**TYPES, "document": {"parent": {}, "viewer": {}}}

    cache.graph.change_model(model_of(types, cache.stored), Revision(2))

    assert cache.decide(question("document:1#viewer@user:bob")) == DENIED


def test_the_bytes_of_decisions_are_limited_and_the_newest_stay() -> None:
    cache = Cache(max_bytes=160_000)

    for number in range(200):
        cache.decide(question(f"document:{number}#viewer@user:zoe"))
        decisions = cache.graph.measure()[2]
        assert (decisions.cache, decisions.max_bytes) == ("decisions", 10_000)
        assert decisions.bytes <= decisions.max_bytes
        assert cache.graph.decisions.find([question(f"document:{number}#viewer@user:zoe")])
    assert len(cache.graph.decisions) > 10


def test_decisions_stay_when_entries_age_once_and_go_when_these_are_evicted() -> None:
    cache = Cache()
    check = question("document:2#viewer@user:bob")
    assert cache.decide(check) == IMPLICIT
    capacity = cache.graph._capacity

    for one, still_there in ((capacity, True), (capacity.absent, False)):
        one.age()
        assert bool(cache.graph.decisions.find([check])) == still_there


def test_a_check_with_long_ids_is_not_cached(cache: Cache) -> None:
    assert cache.decide(question(f"document:{'1' * MAX_CHARACTERS}#viewer@user:ann")) == DENIED
    assert len(cache.graph.decisions) == len(CASES)
