"""Walks make the entries that they miss from packed warrants, as if these had been read, and without holding the event
loop."""

from collections.abc import Mapping, Sequence

import pytest

from magistrate.engine.cache.filling import list_starts
from magistrate.engine.cache.graph import Graph
from magistrate.engine.cache.packing import Packing
from magistrate.engine.evaluation.check import DENIED, EXPLICIT, IMPLICIT, Decision
from magistrate.engine.names import WILDCARD, ObjectId, Revision, TypeName
from magistrate.engine.walk.cached_entries import CachedEntries
from magistrate.engine.walk.walk import Undecided, Walk
from magistrate.engine.warrants.warrant import ChangedWarrant, Warrant
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
        "blocked": {},
        "reader": {
            "inheritIf": "anyOf",
            "rules": [{"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}],
        },
        "viewer": {
            "inheritIf": "allOf",
            "rules": [{"inheritIf": "reader"}, {"inheritIf": "noneOf", "rules": [{"inheritIf": "blocked"}]}],
        },
    },
}
WRITTEN = (
    "document:1#reader@user:ann",
    "document:1#parent@folder:a",
    "document:2#parent@folder:a",
    "document:2#blocked@user:dan",
    "document:3#reader@user:*",
    "folder:a#viewer@group:g#member",
    "folder:a#viewer@user:dan",
    "group:g#member@group:h#member",
    "group:h#member@user:bob",
    "folder:*#viewer@user:root",
)
CASES = {
    "document:1#reader@user:ann": EXPLICIT,
    "document:1#viewer@user:ann": IMPLICIT,
    "document:1#viewer@user:bob": IMPLICIT,
    "document:1#viewer@user:eve": DENIED,
    "document:1#viewer@user:root": IMPLICIT,
    "document:2#viewer@user:bob": IMPLICIT,
    "document:2#viewer@user:dan": DENIED,
    "document:3#viewer@user:eve": IMPLICIT,
    "document:9#viewer@user:ann": DENIED,
}
LARGE = tuple(f"document:large#parent@folder:{number:04}" for number in range(250))


def is_at_once() -> bool:
    return True


def packed_graph(stored: Sequence[Warrant]) -> Graph:
    """Returns a graph in which everything is packed."""
    graph = Graph(model_of(dict(TYPES), stored), Revision(1), 10_000_000)
    for start in list_starts(graph.model):
        graph.find_view(*start, Work(PLENTY))
    for of_type in map(TypeName, TYPES):
        ids = {each.object_id for each in stored if each.object_type == of_type}
        ids |= {each.subject_id for each in stored if each.subject_type == of_type}
        packing = Packing(graph, of_type, None)
        packing.begin(sorted(ids - {WILDCARD}))
        while (wanted := packing.reads()) is not None:
            packing.take([rows_of(stored, read) for read in wanted[0]])
            while not packing.keep(PLENTY):
                pass
        packing.finish(None)
    return graph


def stored_from(*texts: str) -> list[Warrant]:
    return [stored_warrant(text, number, 0) for number, text in enumerate(texts, 1)]


def decide(graph: Graph, asked: str) -> Decision | Undecided:
    return Walk(CachedEntries(graph), 0, Work(PLENTY), decisions=graph.decisions).decide(question(asked))


@pytest.mark.parametrize("asked", CASES)
def test_nothing_is_missing(asked: str) -> None:
    assert decide(packed_graph(stored_from(*WRITTEN)), asked) == CASES[asked]


def test_all_is_decided_alike_in_any_order() -> None:
    graph = packed_graph(stored_from(*WRITTEN))
    for _ in range(2):
        assert {asked: decide(graph, asked) for asked in CASES} == CASES
    assert {asked: decide(graph, asked) for asked in reversed(CASES)} == CASES


@pytest.mark.parametrize(
    ("change", "asked", "before", "after"),
    [
        ("document:1#parent@folder:a", "document:1#viewer@user:bob", IMPLICIT, DENIED),
        ("group:g#member@group:h#member", "document:2#viewer@user:bob", IMPLICIT, DENIED),
        ("document:2#blocked@user:dan", "document:2#viewer@user:dan", DENIED, IMPLICIT),
        ("folder:*#viewer@user:root", "document:1#viewer@user:root", IMPLICIT, DENIED),
        ("document:3#reader@user:*", "document:3#viewer@user:eve", IMPLICIT, DENIED),
    ],
)
@pytest.mark.parametrize("is_cached", [True, False])
def test_what_ends_is_gone_and_what_comes_back_is_there(
    change: str, asked: str, before: Decision, after: Decision, is_cached: bool
) -> None:
    stored = stored_from(*WRITTEN)
    graph = packed_graph(stored)
    [changed] = [each for each in stored if each.names.render() == change]
    if is_cached:  # by entries that were made before, or by none
        assert decide(graph, asked) == before

    graph.apply([change_of(changed, exists=False)], Revision(2))
    assert decide(graph, asked) == after
    graph.apply([change_of(changed, exists=True)], Revision(3))
    assert decide(graph, asked) == before


def test_what_may_be_conditional_is_missing() -> None:
    stored = stored_from(*WRITTEN)
    graph = packed_graph(stored)
    [changed] = [each for each in stored if each.names.render() == "document:1#parent@folder:a"]
    graph.apply([ChangedWarrant(changed.names, exists=None)], Revision(2))

    assert decide(graph, "document:1#viewer@user:bob") is Undecided.MISSING
    assert decide(graph, "document:2#viewer@user:bob") == IMPLICIT


def test_it_yields_between_entries_that_it_makes() -> None:
    graph = packed_graph(stored_from(*WRITTEN, *LARGE))
    asked, pauses = question("document:large#viewer@user:eve"), 0
    work = Work(PLENTY, is_at_once)
    while (decision := Walk(CachedEntries(graph), 0, work).decide(asked)) is Undecided.PAUSED:
        pauses += 1
        work.pass_checkpoint()

    assert decision == DENIED
    assert pauses >= 2  # after a hundred each


def test_an_object_with_many_warrants_is_left_to_the_store() -> None:
    many = [f"document:many#reader@user:u{number}" for number in range(600)]
    graph = packed_graph(stored_from(*WRITTEN, *many))

    assert decide(graph, "document:many#viewer@user:eve") is Undecided.MISSING
    assert graph.packed.select_unpacked(TypeName("document"), [ObjectId("1"), ObjectId("many")]) == ["many"]
