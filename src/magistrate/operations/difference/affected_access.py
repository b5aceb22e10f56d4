"""Finds the relations on objects that the changes between two states affect, and the subjects whom they concern."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from magistrate.engine.cache.entry_reads import Fetch
from magistrate.engine.cache.graph import Graph
from magistrate.engine.difference.comparison import (
    Affected,
    Concerned,
    SubjectSets,
    combine_sets,
    decide_checks,
    find_subject_sets,
)
from magistrate.engine.difference.origins import ChangeOrigin, list_type_origins, list_warrant_origins
from magistrate.engine.difference.reverse_expansion import ObjectRelation, ReverseExpansion
from magistrate.engine.evaluation.check import Check
from magistrate.engine.evaluation.conditions import ANY_CONTEXT, PolicyEvaluator
from magistrate.engine.evaluation.evaluation import Evaluation
from magistrate.engine.lists.objects import find_objects
from magistrate.engine.lists.reverse_graph import ReverseGraph
from magistrate.engine.lists.subjects import Root, SubjectSearch
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.steps import Checkpoints, Run, Steps
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import FALSE, TRUE, Truth
from magistrate.engine.walk.cached_entries import CachedEntries
from magistrate.engine.walk.walk import Undecided, Walk
from magistrate.engine.work import Container, Work
from magistrate.operations.difference.selection import Selection
from magistrate.operations.difference.states import ComparedState, StateComparison
from magistrate.operations.live_graph import GraphCounts, compile_groups, fetch_entries
from magistrate.operations.runs import complete_run, release_run
from magistrate.operations.scheduling import take_checkpoint

MIN_GRAPH_CHECKS = 50
"""Sets the number of checks from which on a graph is built; for fewer, it costs more than it saves."""
MAX_BYTES = 8_388_608
"""Limits the graph (8 MiB, some 50,000 warrants). It is freed in one step, in a few milliseconds."""
MAX_ROUNDS = 40
"""Limits the rounds of reads for the checks of one call."""


class StateGraph:
    """Holds the graph of one state, which is built when it is first needed."""

    def __init__(self, state: ComparedState, work: Work) -> None:
        self._state = state
        self._work = work
        self._graph: Graph | None = None

    async def decide(self, checks: Sequence[Check]) -> list[Truth | None]:
        """Returns the value of each check, None where it needs an evaluation. Raises BudgetExceeded."""
        graph = await self._find_graph()
        values: list[Truth | None] = [None] * len(checks)
        waiting, fetched = list(range(len(checks))), frozenset[object]()
        walk = Walk(CachedEntries(graph), self._state.now, self._work, shares=True)
        for _ in range(MAX_ROUNDS):
            waiting = await self._walk(walk, checks, waiting, values)
            if not waiting or not walk.missing or walk.missing.keys() == fetched:
                break  # all is decided, or the graph has no capacity for the rest
            fetched = walk.missing.keys()
            await fetch_entries(Fetch(graph, walk.missing), self._state.reader, self._work, GraphCounts())
            walk.resume_checks()
        return values

    async def _find_graph(self) -> Graph:
        if self._graph is None:
            model = self._state.model
            await compile_groups(model)
            self._graph = Graph(model, self._state.at, MAX_BYTES)
        return self._graph

    async def _walk(
        self, walk: Walk, checks: Sequence[Check], waiting: Sequence[int], values: list[Truth | None]
    ) -> list[int]:
        """Decides the checks at these places as far as possible, and returns the places of those that miss
        something."""
        missing: list[int] = []
        open_places = list(reversed(waiting))
        while open_places:
            decision = Undecided.PAUSED if self._work.needs_checkpoint else walk.decide(checks[open_places[-1]])
            if decision is Undecided.PAUSED:
                await take_checkpoint(self._work)
                self._work.pass_checkpoint()
                continue
            place = open_places.pop()
            if not isinstance(decision, Undecided):
                values[place] = TRUE if decision.is_authorized else FALSE
            elif decision is Undecided.MISSING:
                missing.append(place)
        return missing


T = TypeVar("T")

UNNAMED = ObjectId("?")
"""Stands for an object that no warrant names: no object can have this id. It is the same object in both roles."""

MAX_ALONE = 32
"""Limits the relations on objects that are searched again, each by itself, if one of them depends on its own negation:
each search may read what all the others do."""


class StateSearch:
    """Evaluates relations in one state. Checks, whose context is ANY_CONTEXT, share what earlier ones read."""

    def __init__(self, state: ComparedState, types: Sequence[TypeName], work: Work) -> None:
        self.state = state
        self.work = work
        self.evaluation = Evaluation(state.model, state.now, work)
        self.types = types
        self._graph = StateGraph(state, work)

    async def run(self, steps: Steps[T], remains: Sequence[Container] = ()) -> T:
        """Returns the outcome of these steps, and releases what remains of them."""
        search = Run(self.work, steps, remains)
        return await complete_run(self.state.reader, search, self.state.at)

    async def check(self, checks: Sequence[Check]) -> Sequence[Truth]:
        """Returns the values of these checks."""
        if len(checks) < MIN_GRAPH_CHECKS:
            return await self.run(decide_checks(self.evaluation, checks)) if checks else ()
        decisions = await self._graph.decide(checks)
        rest = [check for check, value in zip(checks, decisions, strict=True) if value is None]
        values = iter(await self.run(decide_checks(self.evaluation, rest)) if rest else ())
        return [next(values) if value is None else value for value in decisions]

    async def find_sets(self, roots: Sequence[Root]) -> Mapping[Root, SubjectSets | None]:
        """Returns the subjects of each of these relations on objects; None where it depends on its own negation, or one
        of many others does."""
        sets_by_root = await self._find_together(roots)
        if 1 < len(roots) <= MAX_ALONE and None in sets_by_root.values():
            alone = [await self._find_together([root]) for root in roots]
            sets_by_root = {root: sets for sets_of_root in alone for root, sets in sets_of_root.items()}
        return sets_by_root

    async def _find_together(self, roots: Sequence[Root]) -> Mapping[Root, SubjectSets | None]:
        if not roots:
            return {}
        conditions = self.build_conditions()
        sets_by_root = await self._search(roots, conditions)
        if not conditions.depends_on_context:
            return sets_by_root
        alone = await self._search(roots, PolicyEvaluator({}, self.state.now, self.work))
        both = ((root, sets, alone[root]) for root, sets in sets_by_root.items())
        return {
            root: combine_sets(united, separate) if united and separate else None for root, united, separate in both
        }

    async def _search(self, roots: Sequence[Root], conditions: PolicyEvaluator) -> Mapping[Root, SubjectSets | None]:
        subjects = SubjectSearch(
            model=self.state.model, types=self.types, others=True, conditions=conditions, work=self.work
        )
        search = Run(self.work, find_subject_sets(subjects, roots), subjects.remains)
        return await complete_run(self.state.reader, search, self.state.at)

    def build_conditions(self) -> PolicyEvaluator:
        return PolicyEvaluator(ANY_CONTEXT, self.state.now, self.work, self.state.model.policies)

    def defines(self, of_type: TypeName, relation: RelationName) -> bool:
        """Returns whether the relation is defined, so that there can be access to it."""
        defined = self.state.model.types.get(of_type)
        return defined is not None and relation in defined.relations

    def release(self) -> None:
        """Frees what the checks have read; nothing can be checked afterwards."""
        release_run(self.evaluation)


def _group_by_type(refs: Iterable[ObjectRef]) -> Mapping[TypeName, list[ObjectRef]]:
    by_type: dict[TypeName, list[ObjectRef]] = {}
    for ref in refs:
        by_type.setdefault(ref.type, []).append(ref)
    return by_type


class AffectedSearch:
    """Finds what the changes between two states affect, as far as it can be selected."""

    def __init__(self, comparison: StateComparison, selection: Selection, work: Work) -> None:
        self._comparison = comparison
        self.selection = selection
        self.narrowing = selection.narrowing
        self._work = work
        besides = self.narrowing.besides
        self._besides = frozenset[ObjectRef](() if besides is None else (besides,))
        self._targets = selection.targets
        self.before = StateSearch(comparison.before, selection.types, work)
        self.after = StateSearch(comparison.after, selection.types, work)

    async def find(self) -> Affected:
        origins = await self.before.run(self._prepare())
        concerned = await self._find_concerned(origins)
        kept = [number for number, subjects in enumerate(concerned) if subjects is None or subjects]
        affected = Affected([origins[number] for number in kept], [concerned[number] for number in kept])
        expansion = ReverseExpansion(self.selection.influences, self.selection.relevant, self._work)
        search = Run(self._work, affected.find_nodes(expansion))
        await complete_run(self._comparison.united, search, self._comparison.after.at)
        existence = self._comparison.existence
        await self._add_existence(affected, existence.created, self.before)
        await self._add_existence(affected, existence.deleted, self.after)
        return affected

    async def list_everything(self) -> Affected:
        """Returns all that is selected, on every object."""
        await self.before.run(self.selection.examine(self._work))
        only = self.narrowing.find_subject()
        affected = Affected([], [])
        for of_type, relation in self._targets:
            affected.add(ObjectRelation(of_type, WILDCARD, relation), None if only is None else [only])
        return affected

    def _prepare(self) -> Checkpoints[list[ChangeOrigin]]:
        """Returns the origins that matter."""
        selection, comparison = self.selection, self._comparison
        yield from selection.examine(self._work)
        origins = [*list_type_origins(selection.influences, *selection.models, comparison.timed_policies)]
        for change in comparison.warrants:
            origins += list_warrant_origins(selection.influences, change)
            yield from self._work.charge(1)
        return [*selection.select_origins(origins)]

    async def _find_concerned(self, origins: Sequence[ChangeOrigin]) -> Sequence[Concerned]:
        nodes = dict.fromkeys(origin.subjects for origin in origins if isinstance(origin.subjects, ObjectRelation))
        only = self.narrowing.find_subject()
        members = await (self._find_members(nodes) if only is None else self._check_member(nodes, only))

        def find_one(origin: ChangeOrigin) -> Concerned:
            subjects = origin.subjects
            if isinstance(subjects, ObjectRelation):
                of_members = members[subjects]
                return None if of_members is None else of_members - self._besides
            if only is not None:
                return frozenset([only] if subjects in (None, only) else ())
            return None if subjects is None else frozenset([subjects]) - self._besides

        return [find_one(origin) for origin in origins]

    async def _find_members(self, nodes: Collection[ObjectRelation]) -> Mapping[ObjectRelation, Concerned]:
        roots = [(ObjectRef(node.type, node.id), node.relation) for node in nodes]
        before, after = await self.before.find_sets(roots), await self.after.find_sets(roots)
        members: dict[ObjectRelation, Concerned] = {}
        for node, root in zip(nodes, roots, strict=True):
            sets = [subject_sets for subject_sets in (before[root], after[root]) if subject_sets is not None]
            if len(sets) < 2 or any(subject_sets.may_concern_any() for subject_sets in sets):
                members[node] = None
            else:
                members[node] = frozenset(subject for subject_sets in sets for subject in subject_sets.list_concerned())
                self._work.spend(len(members[node] or ()) // 10)
        return members

    async def _check_member(
        self, nodes: Collection[ObjectRelation], only: ObjectRef
    ) -> Mapping[ObjectRelation, Concerned]:
        subject = Subject(only.type, only.id)
        checks = [Check(ObjectRef(node.type, node.id), node.relation, subject, ANY_CONTEXT) for node in nodes]
        both = zip(nodes, await self.before.check(checks), await self.after.check(checks), strict=True)
        return {node: frozenset([only] if before or after else ()) for node, before, after in both}

    async def _add_existence(self, affected: Affected, refs: Collection[ObjectRef], search: StateSearch) -> None:
        """Adds the access that objects have, and give, by existing alone, given the state in which they do not exist:
        no warrant names them there, so all of a type have and give the same."""
        objects = await search.run(self.selection.select_given(refs, self._work))
        for of_type, some in _group_by_type(objects).items():
            await self._add_given(affected, of_type, some, search)
        only = self.narrowing.find_subject()
        refs = [ref for ref in refs if only in (None, ref) and ref not in self._besides]
        subjects = await search.run(self.selection.select_had(refs, self._work))
        for of_type, some in _group_by_type(subjects).items():
            await self._add_had(affected, of_type, some, search)

    async def _add_given(
        self, affected: Affected, of_type: TypeName, objects: Sequence[ObjectRef], search: StateSearch
    ) -> None:
        unnamed = ObjectRef(of_type, UNNAMED)
        roots = [(unnamed, relation) for name, relation in self._targets if name == of_type]
        only = self.narrowing.find_subject()
        for (_, relation), sets in (await search.find_sets(roots)).items():
            if sets is None or sets.may_concern_any():
                subjects: Concerned = None if only is None else frozenset([only])
            else:
                concerned = frozenset(sets.list_concerned())
                subjects = (
                    frozenset(subject for subject in concerned if subject != unnamed and only in (None, subject))
                    - self._besides
                )
                self._add_itself(affected, objects if unnamed in concerned else (), relation)
            for ref in objects if subjects is None or subjects else ():
                self._work.spend(1)
                affected.add(ObjectRelation(ref.type, ref.id, relation), subjects)

    def _add_itself(self, affected: Affected, objects: Sequence[ObjectRef], relation: RelationName) -> None:
        """Adds what each of these objects gives to itself (the rule `self`)."""
        only = self.narrowing.find_subject()
        for ref in objects:
            self._work.spend(1)
            if only in (None, ref):
                affected.add(ObjectRelation(ref.type, ref.id, relation), frozenset([ref]))

    async def _add_had(
        self, affected: Affected, of_type: TypeName, subjects: Sequence[ObjectRef], search: StateSearch
    ) -> None:
        unnamed = ObjectRef(of_type, UNNAMED)
        targets = [target for target in self._targets if search.defines(*target)]
        graph = ReverseGraph(search.state.model, of_type, self._work, is_exact=True)
        steps = find_objects(graph, targets, unnamed, search.build_conditions(), work=self._work)
        findings = await search.run(steps, graph.remains)
        if findings.relation_results is None:
            for name, relation in targets:
                affected.add(ObjectRelation(name, WILDCARD, relation), subjects)
            return
        for result in findings.relation_results:
            assert result.type is not None
            ids = [
                object_id for object_id, value in result.result_set.exceptions.items() if value and object_id != UNNAMED
            ]
            self._work.spend(len(ids))
            for object_id in [*ids, *([WILDCARD] if result.result_set.default else [])]:
                affected.add(ObjectRelation(result.type, object_id, result.relation), subjects)
