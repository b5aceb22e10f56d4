"""Lists that find nothing in the graph cache: what they read is processed and freed in steps of bounded size."""

import sys
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from magistrate.engine.bitmaps.connected_graph import connect_graph
from magistrate.engine.bitmaps.object_sets import ObjectSetSearch
from magistrate.engine.bitmaps.subject_sets import SubjectSetSearch
from magistrate.engine.cache.adjacency_reads import AdjacencyFetch, SubjectFetch
from magistrate.engine.cache.graph import Graph
from magistrate.engine.evaluation.conditions import PolicyEvaluator
from magistrate.engine.lists.language import ObjectsQuery, SubjectsQuery, read_query
from magistrate.engine.lists.query_search import find_targets, list_relations, list_subject_types
from magistrate.engine.names import Revision
from magistrate.engine.steps import Run, Steps
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import ITEMS_AT_ONCE, Work
from tests.calls import count_calls
from tests.conftest import list_by_day
from tests.engine.lists.policies import always
from tests.memory_source import PLENTY, Relations, model_of, rows_of
from tests.scenario_files import stored_warrant

TYPES: dict[str, Relations] = {"paper": {"viewer": {}}, "group": {"member": {}}}
MANY = 12 * ITEMS_AT_ONCE
OF_SUBJECTS, OF_OBJECTS = "select viewer of type user for paper:wide", "select paper where user:ann is viewer"

CASES = {
    "the groups of an object": (
        OF_SUBJECTS,
        [
            *(f"paper:wide#viewer@group:g{number}#member" for number in range(MANY)),
            *(f"group:g{number}#member@user:u{number}" for number in range(MANY)),
        ],
    ),
    "the subjects of an object": (OF_SUBJECTS, [f"paper:wide#viewer@user:u{number}" for number in range(MANY)]),
    "the groups of a subject": (
        OF_OBJECTS,
        [
            *(f"group:g{number}#member@user:ann" for number in range(MANY)),
            *(f"paper:p{number}#viewer@group:g{number}#member" for number in range(MANY)),
        ],
    ),
    "the objects of a subject": (OF_OBJECTS, [f"paper:p{number}#viewer@user:ann" for number in range(MANY)]),
}


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("name", list_by_day(CASES, 2))
def test_a_turn_frees_few_warrants_and_does_little(name: str) -> None:
    text, written = CASES[name]
    stored = [stored_warrant(one, number, 0) for number, one in enumerate(written, 1)]
    search = begin(stored, text)
    freed, calls = [0], [0]

    while search.outcome() is None:
        before = sys.getallocatedblocks()
        reads, more = count_calls(search.advance)
        freed.append(before - sys.getallocatedblocks())
        calls.append(more)
        if reads:
            search.take([[replace(one) for one in rows_of(stored, read)] for read in reads])  # nobody else has them

    assert max(freed) < 4 * ITEMS_AT_ONCE  # an entry in the making consists of several parts
    assert max(calls) < 14_000


def begin(stored: Sequence[Warrant], text: str) -> Run[object]:
    """A search whose time is up at each look at the clock."""
    query, work = read_query(text), Work(PLENTY, always)
    model = model_of(TYPES, stored)
    graph = Graph(model, Revision(1), 100 * PLENTY)
    conditions = PolicyEvaluator({}, 0, work, model.policies)
    if isinstance(query, SubjectsQuery):
        root = (query.object, list_relations(model, query))
        types = list_subject_types(model, query)
        return Run(work, SubjectSetSearch(model, {}, SubjectFetch(graph), types, conditions, work).steps(*root))
    assert isinstance(query, ObjectsQuery)

    def steps() -> Steps[object]:
        connected = yield from connect_graph(model, query.subject.type, find_targets(model, query), work)
        assert connected is not None
        return (yield from ObjectSetSearch(connected, AdjacencyFetch(graph), query.subject, conditions, work).steps())

    return Run(work, steps())
