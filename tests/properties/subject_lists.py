"""Lists of subjects by bitmaps, compared with the oracle's."""

from collections.abc import Sequence

from magistrate.engine.bitmaps.subject_nodes import PlanEdges
from magistrate.engine.bitmaps.subject_pages import OrderedSubjects
from magistrate.engine.bitmaps.subject_sets import SubjectSetSearch
from magistrate.engine.cache.adjacency_reads import SubjectFetch
from magistrate.engine.cache.graph import Graph
from magistrate.engine.evaluation.conditions import PolicyEvaluator
from magistrate.engine.lists.language import SubjectsQuery
from magistrate.engine.lists.query_search import list_relations, list_subject_types
from magistrate.engine.model.plans import Plan
from magistrate.engine.names import Revision
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work
from tests.memory_source import PLENTY, model_of
from tests.properties.models import Types
from tests.properties.named_policies import NAMED
from tests.properties.object_lists import (
    absent,
    carry_out,
    numbers_of_existing,
)
from tests.properties.queries import CONTEXT


class Lists:
    """Answers queries with a graph that follows every change."""

    def __init__(self, drawn: Types, ever: Sequence[Warrant], most: int) -> None:
        self.graph = Graph(model_of(drawn, ever, policies=NAMED), Revision(1), most)
        self.edges: dict[bool, dict[Plan, PlanEdges]] = {False: {}, True: {}}

    def find(self, stored: Sequence[Warrant], asked: SubjectsQuery) -> OrderedSubjects | None:
        """None if the query has to be answered without bitmaps."""
        work, current = Work(PLENTY), self.graph.model
        examined = current.without_rules() if asked.is_explicit else current
        self.graph.limit_adjacency()
        fetch = SubjectFetch(self.graph)
        conditions = PolicyEvaluator(CONTEXT, 0, work, current.policies)
        root = (asked.object, list_relations(current, asked))
        wanted, edges = list_subject_types(current, asked), self.edges[asked.is_explicit]
        sets = carry_out(SubjectSetSearch(examined, edges, fetch, wanted, conditions, work).steps(*root), work, stored)
        if sets is None:
            return None
        there = numbers_of_existing(sets.tables, stored)
        return OrderedSubjects(sets, there, absent(sets.tables, stored, sets.itself))
