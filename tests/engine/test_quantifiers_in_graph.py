"""The graph cache decides checks through the quantifier, and gives up only where something is unknown."""

from collections.abc import Sequence

import pytest

from magistrate.engine.cache.graph import Graph
from magistrate.engine.evaluation.check import Check
from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import object_ref
from tests.memory_source import Relations, change_of, model_of
from tests.properties.graphs import decided
from tests.scenario_files import stored_warrant

TYPES: dict[str, Relations] = {
    "user": {},
    "team": {"member": {}},
    "folder": {"viewer": {}},
    "document": {"parent": {}, "can-read": {"forAll": "viewer", "ofType": "folder", "withRelation": "parent"}},
}
BOTH = ("document:plan#parent@folder:a", "document:plan#parent@folder:b")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ((*BOTH, "folder:a#viewer@user:ann", "folder:b#viewer@team:eng#member", "team:eng#member@user:ann"), True),
        ((*BOTH, "folder:a#viewer@user:ann"), False),
        (("folder:a#viewer@user:ann",), False),
        (("document:plan#parent@folder:a#viewer", "folder:a#viewer@user:*"), True),
        ((BOTH[0], f"{BOTH[1]}[1 == 2]", "folder:a#viewer@user:ann"), True),
        ((f"{BOTH[0]}[1 == 2]", "folder:a#viewer@user:ann"), False),
        ((BOTH[0], "document:plan#parent@folder:*", "folder:a#viewer@user:ann"), None),
        ((BOTH[0], f"{BOTH[1]}[missing < 1]", "folder:a#viewer@user:ann"), None),
    ],
)
def test_the_graph_cache_decides_it_unless_something_is_unknown(written: Sequence[str], expected: bool | None) -> None:
    stored = [stored_warrant(text, number, 0) for number, text in enumerate(written, 1)]
    graph = Graph(model_of(TYPES, stored), Revision(1), max_bytes=1_000_000)
    ann = Subject(TypeName("user"), ObjectId("ann"))

    decision = decided(graph, stored, Check(object_ref("document", "plan"), RelationName("can-read"), ann))

    assert (decision and decision.is_authorized) == expected


def test_the_graph_cache_follows_changes_of_links() -> None:
    written = (*BOTH, "folder:a#viewer@user:ann")
    before = [stored_warrant(text, number, 0) for number, text in enumerate(written, 1)]
    after = [before[0], before[2]]
    graph = Graph(model_of(TYPES, before), Revision(1), max_bytes=1_000_000)
    asked = Check(object_ref("document", "plan"), RelationName("can-read"), Subject(TypeName("user"), ObjectId("ann")))

    decisions = [decided(graph, before, asked)]
    graph.apply([change_of(before[1], exists=False)], Revision(2))
    decisions.append(decided(graph, after, asked))

    assert [decision and decision.is_authorized for decision in decisions] == [False, True]
