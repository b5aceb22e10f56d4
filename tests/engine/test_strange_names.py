"""Checks and queries of names that do not exist fill no memory with them."""

import pytest

from magistrate.engine.cache.graph import Graph
from magistrate.engine.evaluation.check import Check
from magistrate.engine.model.model import MAX_UNUSED_PLANS
from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.walk.cached_entries import CachedEntries
from magistrate.engine.walk.walk import Undecided, Walk
from magistrate.engine.work import Work
from tests.memory_source import PLENTY, evaluated, model_of


def question(object_type: str, relation: str, subject_type: str) -> Check:
    object_ref, subject = (
        ObjectRef(TypeName(object_type), ObjectId("1")),
        Subject(TypeName(subject_type), ObjectId("1")),
    )
    return Check(object_ref, RelationName(relation), subject)


def test_plans_of_relations_that_nobody_knows_are_bounded() -> None:
    model = model_of({"document": {"viewer": {}}})

    evaluated(model, [], [question("document", f"r{number}", "user") for number in range(3 * MAX_UNUSED_PLANS)])

    assert len(model.plans) + len(model._unused_plans) <= MAX_UNUSED_PLANS + 1


@pytest.mark.parametrize(
    "strange", [("nothing", "viewer", "user"), ("document", "nothing", "user"), ("document", "viewer", "nothing")]
)
def test_a_graph_keeps_nothing_for_names_that_nobody_knows(strange: tuple[str, str, str]) -> None:
    graph = Graph(model_of({"document": {"viewer": {}}, "user": {}}), Revision(1), max_bytes=1_000_000)

    assert Walk(CachedEntries(graph), 0, Work(PLENTY)).decide(question(*strange)) is Undecided.IMPOSSIBLE
    assert graph.views == {}
