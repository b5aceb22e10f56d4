"""Answers checks and queries from warrants in memory: the engine reads an overlay that nothing is under."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from magistrate.engine.check import Check
from magistrate.engine.evaluation import Evaluation
from magistrate.engine.explanation import Explanation, ExplanationSearch
from magistrate.engine.model import ObjectType
from magistrate.engine.named_policy import NamedPolicy
from magistrate.engine.nodes import CheckNode
from magistrate.engine.overlay import Overlay, warrant_key
from magistrate.engine.plans import Model
from magistrate.engine.query.finding import check_each, find, find_row_types
from magistrate.engine.query.language import Query
from magistrate.engine.query.rows import Findings, QueryRow
from magistrate.engine.query.search import Search
from magistrate.engine.terms import WILDCARD, ObjectId, ObjectRef, Revision, TypeName
from magistrate.engine.truth import TRUE, Truth
from magistrate.engine.warrants import Warrant
from magistrate.engine.work import Work

T = TypeVar("T")

MOST_WORK = 1_000_000
"""Limits the nodes and warrants that one check or query may look at, as the service does by default for queries."""


class WarrantsInMemory:
    """Holds a model and warrants, and answers at one time: `now`, in microseconds since 1970 UTC. Whatever asks raises
    BudgetExceeded."""

    def __init__(
        self, types: Iterable[ObjectType], policies: Iterable[NamedPolicy], warrants: Sequence[Warrant], now: int
    ) -> None:
        self.warrants = warrants
        self._now = now
        self._overlay = Overlay(warrants)
        patterns = {warrant.pattern() for warrant in warrants}
        types_by_name = {one.name: one for one in types}
        self.model = Model(types_by_name, Revision(1), patterns, policies={one.name: one for one in policies})

    def add(self, warrants: Sequence[Warrant]) -> "WarrantsInMemory":
        """Returns the same with these warrants besides. Where one has the names and the policy of another, it replaces
        that, as if it were written again: it has time limits of its own."""
        model, replaced = self.model, {warrant_key(one) for one in warrants}
        joined = (*(one for one in self.warrants if warrant_key(one) not in replaced), *warrants)
        return WarrantsInMemory(model.types.values(), model.policies.values(), joined, self._now)

    def list_warrants_on(self, object: ObjectRef) -> Iterator[Warrant]:
        """Yields the warrants on an object, and on every object of its type."""
        for id in dict.fromkeys((object.id, WILDCARD)):
            yield from self._by_object.get((object.type, id), ())

    @cached_property
    def _by_object(self) -> Mapping[tuple[TypeName, ObjectId], Sequence[Warrant]]:
        by_object: dict[tuple[TypeName, ObjectId], list[Warrant]] = defaultdict(list)
        for warrant in self.warrants:
            by_object[warrant.object_type, warrant.object_id].append(warrant)
        return by_object

    def decide_checks(self, checks: Sequence[Check]) -> list[Truth]:
        """Returns the value of each check, which is TRUE if it is allowed."""
        work = Work(MOST_WORK)
        evaluation = Evaluation(self.model, self._now, work)
        nodes: list[CheckNode] = []
        while len(nodes) < len(checks):
            work.pass_checkpoint()
            node = evaluation.add_check(checks[len(nodes)])
            nodes += [node] if node is not None else []
        while any(node.value is None for node in nodes):
            work.pass_checkpoint()
            if reads := evaluation.advance():
                evaluation.take([self._overlay.merge(read, ()) for read in reads])
        return [node.value for node in nodes if node.value is not None]

    def explain_check(self, check: Check) -> Explanation:
        """Returns why a check is allowed or denied, and what would allow it."""
        return self._complete(ExplanationSearch(self.model, check, self._now, Work(MOST_WORK)))

    def list_rows(self, query: Query, context: Mapping[str, Any]) -> list[QueryRow]:
        """Returns the rows of a query, sorted. Raises NotFound for a type in it that is not defined."""
        findings = self._complete(find(self.model, query, context, self._now, Work(MOST_WORK)))
        if findings.relation_results is None:
            candidates = self._list_existing(find_row_types(self.model, query))
            checking = check_each(self.model, query, candidates, context, self._now, Work(MOST_WORK))
            return _list_rows(self._complete(checking), candidates)
        itself = findings.itself
        if itself is not None and not self._exists(itself):
            findings = findings.without_itself()
        return _list_rows(findings, self._list_existing(findings.types_to_read))

    def _exists(self, ref: ObjectRef) -> bool:
        return ref.id in self._overlay.objects.get(ref.type, ())

    def _list_existing(self, types: Iterable[TypeName | None]) -> Mapping[TypeName, Sequence[ObjectId]]:
        """Returns the objects that the warrants name by type; None among the types stands for all."""
        named = {*types}
        wanted = self._overlay.objects if None in named else {name for name in named if name is not None}
        return {name: self._overlay.merge_objects(name, ()) for name in wanted}

    def _complete(self, search: Search[T]) -> T:
        while (outcome := search.outcome()) is None:
            if reads := search.advance():
                search.take([self._overlay.merge(read, ()) for read in reads])
        return outcome


def is_allowed(value: Truth) -> bool:
    return value is TRUE


def _list_rows(findings: Findings, existing: Mapping[TypeName, Sequence[ObjectId]]) -> list[QueryRow]:
    rows = [
        result.row(of_type, id)
        for (of_type, _), result in findings.by_name(existing).items()
        for id in result.ids(existing.get(of_type, ()))
    ]
    return sorted(rows, key=lambda row: row[:3])
