"""Answers checks and queries from warrants in memory: the engine reads an overlay that nothing is under.

Whatever takes long is a generator, which yields wherever its caller may let others run. `complete` takes all steps of
one at once, for callers whom nobody waits for."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeVar

from magistrate.engine.evaluation.check import Check
from magistrate.engine.evaluation.evaluation import Evaluation, add_check, decide_added
from magistrate.engine.evaluation.nodes import CheckNode
from magistrate.engine.explanation.explanation import Explanation, ExplanationSearch
from magistrate.engine.explanation.tree import ExplanationNode
from magistrate.engine.lists.language import Query
from magistrate.engine.lists.query_search import begin_search, check_each, find_row_types
from magistrate.engine.lists.results import Findings, QueryRow
from magistrate.engine.model.model import Model
from magistrate.engine.model.object_types import ObjectType
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, Revision, TypeName
from magistrate.engine.policy.named_policies import NamedPolicy
from magistrate.engine.steps import Checkpoints, Run, Steps, answer_reads, take_pieces
from magistrate.engine.subjects import split_subject_type
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import Truth
from magistrate.engine.warrants.notation import read_written
from magistrate.engine.warrants.overlay import Overlay, warrant_key
from magistrate.engine.warrants.reader import AnyRead
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work

T = TypeVar("T")

MAX_WORK = 1_000_000
"""Limits the nodes and warrants that one check or query may look at, as the service does by default for queries."""
COST_OF_ROW = 50
"""Sets what a row of a query is charged as. Rows are sorted and compared in one step, so there must not be many."""


class _Releasable(Protocol):
    def release(self) -> Iterator[int]: ...


class WarrantsInMemory:
    """Holds a model and warrants, and answers at one time: `now`, in microseconds since 1970 UTC. Whatever takes `work`
    charges it, and raises BudgetExceeded. What an answer leaves in memory stays until `release`."""

    def __init__(
        self, types: Iterable[ObjectType], policies: Iterable[NamedPolicy], warrants: Sequence[Warrant], now: int
    ) -> None:
        self.warrants = warrants
        self.now = now
        self.overlay = Overlay(warrants)
        patterns = {warrant.pattern() for warrant in warrants}
        types_by_name = {of_type.name: of_type for of_type in types}
        self.model = Model(types_by_name, Revision(1), patterns, policies={policy.name: policy for policy in policies})
        self._remains: list[_Releasable] = []

    def add(self, warrants: Sequence[Warrant]) -> "WarrantsInMemory":
        """Returns the same with these warrants besides. Where one has the names and the policy of another, it replaces
        that, as if it were written again: it has time limits of its own."""
        model, replaced = self.model, {warrant_key(warrant) for warrant in warrants}
        joined = (*(warrant for warrant in self.warrants if warrant_key(warrant) not in replaced), *warrants)
        return WarrantsInMemory(model.types.values(), model.policies.values(), joined, self.now)

    def list_warrants_on(self, object_ref: ObjectRef) -> Iterator[Warrant]:
        """Yields the warrants on an object, and on every object of its type."""
        for object_id in dict.fromkeys((object_ref.id, WILDCARD)):
            yield from self._by_object.get((object_ref.type, object_id), ())

    @cached_property
    def _by_object(self) -> Mapping[tuple[TypeName, ObjectId], Sequence[Warrant]]:
        by_object: dict[tuple[TypeName, ObjectId], list[Warrant]] = defaultdict(list)
        for warrant in self.warrants:
            by_object[warrant.object_type, warrant.object_id].append(warrant)
        return by_object

    def decide_checks(self, checks: Sequence[Check], work: Work) -> Checkpoints[list[Truth]]:
        """Returns the value of each check, which is TRUE if it is allowed."""
        evaluation = Evaluation(self.model, self.now, work)
        self._remains.append(evaluation)
        nodes: list[CheckNode] = []

        def decide() -> Steps[None]:
            for check in checks:
                nodes.append((yield from add_check(evaluation, check)))
            yield from decide_added(evaluation)

        yield from answer_reads(Run(work, decide()), self._answer)
        return [node.value for node in nodes if node.value is not None]

    def explain_check(self, check: Check, work: Work) -> Checkpoints[Explanation]:
        """Returns why a check is allowed or denied, and what would allow it."""
        return self._complete(ExplanationSearch(self.model, check, self.now, work))

    def list_reached(self, check: Check, work: Work) -> Checkpoints[set[str]]:
        """Returns the checks that a denied check comes to, in written form: those of its explanation, the warrants in
        it, and the relations that are included in one of them on the same object."""
        search = ExplanationSearch(self.model, check, self.now, work, is_for_people=False)
        explanation = yield from self._complete(search)
        reached: set[str] = set()
        for node in list_nodes(explanation.tree):
            if node.via is not None:
                reached.add(node.via.names.render())
            if not node.check or node.check in reached:
                continue
            names = read_written(node.check).names
            relations = yield from take_pieces(self.model.relations_within(names.object_type, names.relation), work)
            reached |= {
                names._replace(relation=RelationName(included)).render() for included in (names.relation, *relations)
            }
        return reached

    def list_rows(self, query: Query, context: Mapping[str, Any], work: Work) -> Checkpoints[list[QueryRow]]:
        """Returns the rows of a query, sorted. Raises NotFound for a type in it that is not defined."""
        findings = yield from self._complete(begin_search(self.model, query, context, self.now, work=work))
        if findings.relation_results is None:
            candidates = self._list_existing(find_row_types(self.model, query))
            work.spend(sum(map(len, candidates.values())))
            checking = check_each(self.model, query, candidates, context, now=self.now, work=work)
            findings = yield from self._complete(checking)
            return (yield from _list_rows(findings, candidates, work))
        for ref in findings.self_objects:
            if not self._exists(ref):
                findings = findings.without(ref)
        existing = self._list_existing(findings.types_to_read)
        work.spend(sum(map(len, existing.values())))
        return (yield from _list_rows(findings, existing, work))

    def release(self) -> Iterator[int]:
        """Frees what the answers so far have left, and yields how much was freed since it yielded last."""
        while self._remains:
            yield from self._remains.pop().release()

    def _exists(self, ref: ObjectRef) -> bool:
        return ref.id in self.overlay.objects.get(ref.type, ())

    def _list_existing(self, types: Iterable[TypeName | None]) -> Mapping[TypeName, Sequence[ObjectId]]:
        """Returns the objects that the warrants name by type; None among the types stands for all."""
        named = {*types}
        names = self.overlay.objects if None in named else {name for name in named if name is not None}
        return {name: self.overlay.merge_objects(split_subject_type(name)[0], ()) for name in names}

    def _complete(self, run: Run[T]) -> Checkpoints[T]:
        self._remains.append(run)
        return answer_reads(run, self._answer)

    def _answer(self, read: AnyRead) -> Sequence[Warrant]:
        return self.overlay.merge(read, ())


def _list_rows(
    findings: Findings, existing: Mapping[TypeName, Sequence[ObjectId]], work: Work
) -> Checkpoints[list[QueryRow]]:
    rows: list[QueryRow] = []
    for (of_type, _), result in findings.by_name(existing).items():
        work.hasten_checkpoint(1)  # most results may be empty
        for object_id in result.ids(existing.get(of_type, ())):
            work.spend(COST_OF_ROW)
            rows.append(result.row(of_type, object_id))
            if work.needs_checkpoint:
                yield None
                work.pass_checkpoint()
    return sorted(rows, key=lambda row: row[:3])


def list_nodes(root: ExplanationNode) -> Iterator[ExplanationNode]:
    """Yields the nodes of an explanation, the nearest to the root first."""
    waiting = [root]
    for node in waiting:  # grows during the loop
        yield node
        waiting += node.children
