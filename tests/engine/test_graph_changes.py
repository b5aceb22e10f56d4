"""Changes of the subjects of an object that is cached: what the entry has afterwards, without reading."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from magistrate.engine.cache.entries import MAX_NAMES_IN_TEXT
from magistrate.engine.cache.graph import Graph
from magistrate.engine.evaluation.check import DENIED, EXPLICIT, IMPLICIT, Check, Decision
from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import object_ref
from magistrate.engine.walk.cached_entries import CachedEntries
from magistrate.engine.walk.walk import Undecided, Walk
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work
from tests.memory_source import PLENTY, Relations, change_of, model_of
from tests.properties.graphs import decided
from tests.scenario_files import stored_warrant
from tests.working import counted_lines

TYPES: dict[str, Relations] = {
    "user": {},
    "team": {"member": {}},
    "document": {"owner": {}, "viewer": {"inheritIf": "owner"}},
}
ANN_VIEWS, ANN_OWNS = "document:plan#viewer@user:ann", "document:plan#owner@user:ann"


def warrants(*texts: str) -> list[Warrant]:
    return [stored_warrant(text, number, 0) for number, text in enumerate(texts, 1)]


def others(count: int) -> list[str]:
    return [f"document:plan#viewer@user:{number}" for number in range(count)]


def asked(relation: str, name: str = "ann") -> Check:
    return Check(object_ref("document", "plan"), RelationName(relation), Subject(TypeName("user"), ObjectId(name)))


def filled_graph(stored: Sequence[Warrant], ever: Sequence[Warrant]) -> Graph:
    graph = Graph(model_of(TYPES, ever), Revision(1), max_bytes=10_000_000)
    for relation in ("viewer", "owner"):
        decided(graph, stored, asked(relation))
    return graph


def without_reading(graph: Graph, check: Check) -> Decision | None:
    """None if something has to be read."""
    decision = Walk(CachedEntries(graph), 0, Work(PLENTY)).decide(check)
    return None if isinstance(decision, Undecided) else decision


@pytest.mark.parametrize("count", [0, 1, MAX_NAMES_IN_TEXT - 2, MAX_NAMES_IN_TEXT + 2, 3 * MAX_NAMES_IN_TEXT])
def test_a_subject_that_comes_or_goes_needs_no_reading(count: int) -> None:
    ever = warrants(ANN_VIEWS, *others(count))
    graph = filled_graph(ever[1:], ever)
    size = graph.measure()

    graph.apply([change_of(ever[0], exists=True)], Revision(2))
    with_ann = [without_reading(graph, asked("viewer")), without_reading(graph, asked("owner"))]
    graph.apply([change_of(ever[0], exists=False)], Revision(3))

    assert with_ann == [EXPLICIT, DENIED]
    assert without_reading(graph, asked("viewer")) == DENIED
    assert graph.measure()[:2] == size[:2]
    assert all(without_reading(graph, asked("viewer", str(number))) == EXPLICIT for number in range(count))


@pytest.mark.parametrize("count", [1, MAX_NAMES_IN_TEXT - 1, MAX_NAMES_IN_TEXT, 3 * MAX_NAMES_IN_TEXT])
@pytest.mark.parametrize(("ended", "left"), [(ANN_VIEWS, IMPLICIT), (ANN_OWNS, EXPLICIT)])
def test_who_is_named_twice_is_still_named_when_one_of_both_ends(count: int, ended: str, left: Decision) -> None:
    stored = warrants(ANN_VIEWS, ANN_OWNS, *others(count))
    graph = filled_graph(stored, stored)
    gone = next(one for one in stored if one.render() == ended)

    graph.apply([change_of(gone, exists=False)], Revision(2))

    assert decided(graph, [one for one in stored if one is not gone], asked("viewer")) == left


@pytest.mark.parametrize(
    "changed", ["document:plan#viewer@user:*", "document:*#viewer@user:ann", "document:plan#viewer@team:eng#member"]
)
def test_what_reaches_others_than_one_subject_is_read_again(changed: str) -> None:
    ever = warrants(changed, "team:eng#member@user:ann", *others(2))
    graph = filled_graph(ever[1:], ever)

    graph.apply([change_of(ever[0], exists=True)], Revision(2))
    with_it = decided(graph, ever, asked("viewer"))
    graph.apply([change_of(ever[0], exists=False)], Revision(3))

    assert with_it == (IMPLICIT if "#member" in changed else EXPLICIT)
    assert decided(graph, ever[1:], asked("viewer")) == DENIED


def test_a_warrant_whose_limits_the_log_does_not_name_is_not_taken_for_another_one() -> None:
    """Ann has an unconditional warrant, and one with a limit, which is deleted."""
    ever = warrants(ANN_OWNS, ANN_VIEWS)
    stored = [ever[0], replace(ever[1], expires_at=99)]
    graph = filled_graph(stored, ever)

    graph.apply([change_of(stored[1], exists=False)], Revision(2))

    assert decided(graph, stored[:1], asked("viewer")) == IMPLICIT


def test_a_graph_that_gets_more_bytes_meanwhile_evicts_nothing_for_it() -> None:
    limits = [256]

    def grow() -> bool:
        limits.append(2 * limits[-1])
        graph.resize(limits[-1])
        return True

    ever = warrants(ANN_VIEWS, *others(5))
    graph = Graph(model_of(TYPES, ever), Revision(1), max_bytes=limits[0], grow=grow)
    adjacency = graph.adjacency
    decided(graph, ever, asked("viewer"))
    graph.limit_adjacency()

    assert len(limits) > 3
    assert graph.adjacency is adjacency
    assert without_reading(graph, asked("viewer")) == EXPLICIT


def test_an_object_with_too_many_subjects_is_not_cached_with_them() -> None:
    ever = warrants(ANN_VIEWS, *others(5))
    graph = Graph(model_of(TYPES, ever), Revision(1), max_bytes=10_000_000, max_each=5)
    decided(graph, ever[1:], asked("viewer"))

    graph.apply([change_of(ever[0], exists=True)], Revision(2))

    assert without_reading(graph, asked("viewer")) is None
    assert decided(graph, ever, asked("viewer")) == EXPLICIT


def test_many_changes_of_what_many_relations_rest_on_take_little_work() -> None:
    """Each of the relations has a view, which each of the changes concerns."""
    relations: Relations = {f"r{number}": {"inheritIf": "owner"} for number in range(200)}
    written = warrants(*(f"document:{number}#owner@user:ann" for number in range(200)), "document:plan#owner@user:bob")
    graph = Graph(
        model_of({"user": {}, "document": {"owner": {}, **relations}}, written), Revision(1), max_bytes=10_000_000
    )
    for relation in relations:
        assert decided(graph, written[-1:], asked(relation, "bob")) == IMPLICIT

    with counted_lines() as lines:
        graph.apply([change_of(one, exists=True) for one in written[:-1]], Revision(2))

    assert lines.count < 20_000
    assert decided(graph, written, asked("r7", "bob")) == IMPLICIT
    assert decided(graph, written, asked("r7")) == DENIED
