"""Finds the rows of a query for subjects with bitmaps from the graph cache (see set_listings.py)."""

from collections.abc import Sequence

from pyroaring import BitMap

from magistrate.engine.conditions import PolicyEvaluator
from magistrate.engine.expansion import Plan
from magistrate.engine.graph import GivenUp
from magistrate.engine.graph.subject_fetch import SubjectFetch
from magistrate.engine.plans import Model
from magistrate.engine.query import SubjectsQuery
from magistrate.engine.query.finding import demand_types, list_relations, list_subject_types
from magistrate.engine.query.plan_edges import PlanEdges
from magistrate.engine.query.search import Search
from magistrate.engine.query.subject_nodes import SolvedSubjects
from magistrate.engine.query.subject_pages import OrderedSubjects
from magistrate.engine.query.subject_sets import search_subjects
from magistrate.engine.terms import TypeName
from magistrate.engine.work import Work
from magistrate.operations.existing_numbers import ExistingNumbers, find_absent
from magistrate.store.contract import Store


class SubjectLists:
    """Keeps what many lists of subjects use: what plans lead to, of one model, and which objects exist."""

    def __init__(self, existing: ExistingNumbers) -> None:
        self._model: Model | None = None
        self._edges: dict[bool, dict[Plan, PlanEdges]] = {}
        self._existing = existing

    def begin(
        self, fetch: SubjectFetch, query: SubjectsQuery, conditions: PolicyEvaluator, work: Work
    ) -> Search[SolvedSubjects]:
        """Returns the search for the rows of a query. Raises NotFound, and GivenUp for usersets, which the entries of
        subjects do not tell apart."""
        if any("#" in subject_type for subject_type in query.types or ()):
            raise GivenUp
        model = fetch.model
        demand_types(model, query)
        if model is not self._model:
            self._model, self._edges = model, {False: {}, True: {}}
        types, relations = list_subject_types(model, query), list_relations(model, query)
        examined = model.without_rules() if query.is_explicit else model
        edges = self._edges[query.is_explicit]
        steps = search_subjects(examined, edges, fetch, types, conditions, work, (query.object, relations))
        return Search(model, work, steps)

    async def order(self, fetch: SubjectFetch, store: Store, found: SolvedSubjects, work: Work) -> OrderedSubjects:
        """Returns the rows of a result. Raises BudgetExceeded and RevisionUnavailable."""
        existing: dict[TypeName, BitMap] = {}
        for of_type in _list_complements(found):
            numbering, table = fetch.adjacency.numbering, found.tables[of_type]
            existing[of_type] = await self._existing.list(store, of_type, fetch.revision, numbering, table, work)
        absent = await find_absent(store, found.itself, fetch.revision, found.tables)
        return OrderedSubjects(found, existing, absent)


def _list_complements(found: SolvedSubjects) -> Sequence[TypeName]:
    return [*dict.fromkeys(of_type for (of_type, _), one in found.results.items() if one.is_complement)]
