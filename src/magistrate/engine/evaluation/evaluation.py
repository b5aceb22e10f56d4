"""Decides checks (docs/compatibility.md#check): determines which reads are missing, then what follows from their rows.

An evaluation is driven from outside. `advance` goes as far as it can and returns the reads it misses, all of a level at
once; `take` receives their rows; this repeats until the root nodes have a value. A check therefore costs as many reads
as there are levels between the object and what decides it, not as many as there are nodes, and a hundred checks in a
batch cost as many as the deepest of them. `advance` may also return None because its time slice is over: the caller
then yields to other requests and calls it again. Each subject of the checks has nodes of its own
(`SubjectEvaluation`).
"""

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec

from magistrate.engine.evaluation.check import Check as Check
from magistrate.engine.evaluation.conditions import ALWAYS, PolicyEvaluator
from magistrate.engine.evaluation.facts import Facts
from magistrate.engine.evaluation.loops import EDGES_AT_ONCE, EDGES_FOR_A_NODE, find_open_nodes, resolve_nodes
from magistrate.engine.evaluation.nodes import DECISION_ALONE, CheckEdge, CheckNode, EvaluationScope
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import ArrowExpansion, Branch, Expansion, Operation, Plan
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.rules.rule import CheckedNames, Quantifier
from magistrate.engine.steps import Checkpoints, Steps
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import FALSE, TRUE, UNDEFINED, Truth
from magistrate.engine.warrants.read_ahead import ReadsAhead, outline_reads
from magistrate.engine.warrants.reader import WarrantRead, WarrantsByObject
from magistrate.engine.warrants.warrant import Warrant, creation_order
from magistrate.engine.work import WARRANTS_FOR_A_NODE, Work, free_containers

NODES_SCANNED_FOR_ONE = 32
"""Counts the nodes that take as much work to look through as one takes to decide."""


class SubjectEvaluation:
    """Decides the checks of one subject with one context, which share their nodes."""

    def __init__(
        self,
        model: Model,
        subject: Subject,
        conditions: PolicyEvaluator,
        work: Work,
        facts: Facts,
        scope: EvaluationScope,
    ) -> None:
        self._scope = scope
        self._facts = facts
        self._model = model
        self._subject = subject
        self.conditions = conditions
        self._work = work
        self._nodes: dict[tuple[Plan | Operation, ObjectId], CheckNode] = {}
        self._requests: dict[Plan, WarrantsByObject | None] = {}
        self.ahead: ReadsAhead | None = None
        """Predicts the reads for roots of the same plan as the first."""
        self._roots: dict[CheckNode, None] = {}
        self._open_roots: list[CheckNode] = []
        """Holds the roots that were undecided when they were last looked at."""
        self._fresh: list[CheckNode] = []
        self._waiting: list[CheckNode] = []
        self._decided: list[CheckNode] = []
        self._doing: Iterator[int] = iter(())
        """Holds the work that was begun and is not finished; it yields the amount of work done since it last
        yielded."""

    def root(self, object_ref: ObjectRef, relation: RelationName) -> CheckNode:
        plan = self._model.plan(object_ref.type, relation)
        node = self._node(plan, object_ref.id)
        if self.ahead is None:
            self.ahead = outline_reads(self._model, plan, self._subject).name_subject(self._subject)
        self._roots[node] = None
        self._open_roots.append(node)
        self._wake(node)
        return node

    @property
    def is_waiting(self) -> bool:
        """Returns whether rows have to be read before it can continue."""
        return bool(self._fresh or self._waiting)

    def advance(self) -> bool:
        """Continues until every root is decided or rows are missing; returns False if the time slice is over before."""
        while self._finish() and self._go():
            open_roots = [] if self.is_waiting else self._find_open()
            if not open_roots:
                return True
            # Nothing is left to be read, so the roots that are still open wait for each other.
            self._doing = self._resolve_all(open_roots)
        return False

    def _find_open(self) -> Sequence[CheckNode]:
        """Returns the undecided roots; where more than they is evaluated, all undecided nodes whose value is needed."""
        if not any(self._scope):
            self._open_roots = [root for root in self._open_roots if root.value is None]
            return self._open_roots
        self._work.spend(len(self._nodes) // NODES_SCANNED_FOR_ONE)
        return [node for node in self._nodes.values() if node.value is None and node.is_needed]

    def find_direct(self, node: CheckNode) -> Iterator[tuple[Warrant, Truth]]:
        plan = node.plan
        direct = self._facts.find(self._request(plan), node.id) if isinstance(plan, Plan) else None
        return ((warrant, self.conditions.value(warrant)) for warrant in direct or ())

    def release(self) -> Iterator[int]:
        self._doing = iter(())
        self._roots.clear()
        for waiting in (self._open_roots, self._fresh, self._waiting, self._decided):
            waiting.clear()
        yield from free_containers([self._nodes])

    def _finish(self) -> bool:
        """Finishes the work that was begun, before anything else, and returns whether it is done; if not, the time
        slice is over."""
        for done in self._doing:
            self._work.hasten_checkpoint(done)
            if self._work.needs_checkpoint:
                return False
        return True

    def go_on(self) -> None:
        """Schedules the nodes that waited for rows."""
        self._fresh += self._waiting
        self._waiting = []

    def _go(self) -> bool:
        """Continues and returns whether only work that waits for rows is left; if not, the time slice is over."""
        work, facts = self._work, self._facts
        while not work.needs_checkpoint:
            if self._decided:
                doing = self._notify_parents(self._decided.pop())
            elif not self._fresh or not facts.has_capacity:
                return True
            else:
                doing = self._go_on_with(self._fresh.pop())
            work.hasten_checkpoint(1)
            if doing is not None:
                self._doing = doing
                if not self._finish():
                    return False
        return False

    def _go_on_with(self, node: CheckNode) -> Iterator[int] | None:
        """Returns the work on a node, None if there is no more."""
        if node not in self._roots and not node.is_awaited and not self._scope.covers(node):
            node.is_needed = False  # no open node needs its value; if one does later, `_attach` wakes it
            return None
        plan = node.plan
        if isinstance(plan, Operation):
            return self._expand_operation(node, plan)
        direct = self._facts.find(self._request(plan), node.id)
        warrants = self._facts.find_all(plan.requests, node.id)
        if direct is None or warrants is None:
            self._waiting.append(node)
        elif direct or plan.branches or any(warrants):
            return self._expand(node, plan, direct, warrants)
        else:
            node.value = max(node.floor, FALSE if plan.is_defined else UNDEFINED)
            self._decided.append(node)
        return None

    def _resolve_all(self, roots: Sequence[CheckNode]) -> Iterator[int]:
        open_nodes, edges = yield from find_open_nodes(roots)
        self._work.spend(len(open_nodes) + edges // EDGES_FOR_A_NODE)
        values = yield from resolve_nodes(open_nodes)
        for number, (node, value) in enumerate(values, 1):
            if node.value is None:
                node.value = value
                self._decided.append(node)
            if not number % EDGES_FOR_A_NODE:
                yield 1

    def _notify_parents(self, node: CheckNode) -> Iterator[int] | None:
        """Returns the rest of the work, None if all parents are notified."""
        if len(node.parents) >= EDGES_FOR_A_NODE:
            return self._notify_each(node.parents)
        for edge in node.parents:
            if edge.node.value is None and edge.node.apply_child(edge):
                self._decided.append(edge.node)
        return None

    def _notify_each(self, parents: Iterable[CheckEdge]) -> Iterator[int]:
        for number, edge in enumerate(parents, 1):
            if edge.node.value is None and edge.node.apply_child(edge):
                self._decided.append(edge.node)
            if not number % EDGES_FOR_A_NODE:
                yield 1

    def _expand(
        self, node: CheckNode, plan: Plan, direct: list[Warrant], warrants: Sequence[Sequence[Warrant]]
    ) -> Iterator[int]:
        """Attaches its children to a node, whose warrants have been read."""
        for _ in self._model.prepare_expansion(plan, warrants, self._work):
            yield 0
        yield from self._evaluate_policies(chain(direct, *warrants))
        if not self._holds_directly(node, plan, direct):
            node.floor = node.floor if plan.is_defined else max(node.floor, UNDEFINED)
            yield from self._follow(node, plan, warrants)
        elif self._scope.with_paths or self._scope.with_reports:
            yield from self._follow_up_to_direct(node, plan, warrants)

    def _expand_operation(self, node: CheckNode, plan: Operation) -> Iterator[int]:
        while not self._model.prepare_following(plan, self._work):
            yield 0
        rule, subject = plan.rule, self._subject
        if rule.leaf is not None:
            names = CheckedNames(plan.type, node.id, subject.type, subject.id, subject_relation=subject.relation)
            yield from self._evaluate_policies(self.conditions.list_placeholders(rule.leaf.policy))
            node.floor = rule.leaf.decide(names, self.conditions)
        elif rule.quantifier is not None:
            warrants = self._facts.find_all(plan.links[0].requests, node.id)
            if warrants is None:
                self._waiting.append(node)
                return
            linked = [*plan.links[0].select(chain.from_iterable(warrants))]
            yield from self._evaluate_policies(linked)
            yield from self._attach_linked(node, plan.links[0], rule.quantifier, linked)
        for branch in plan.branches:
            self._attach(node, self._branch(branch, plan.type, node.id), TRUE, None)
        yield from self._resolve_node(node)

    def _attach_linked(
        self, node: CheckNode, link: ArrowExpansion, quantifier: Quantifier, linked: Sequence[Warrant]
    ) -> Iterator[int]:
        limits = [self.conditions.value(warrant) for warrant in linked]
        node.floor = quantifier.begin(limits)
        for number, (warrant, limit) in enumerate(zip(linked, limits, strict=True), 1):
            if limit is not FALSE:
                self._attach(node, self._find_linked_node(link, quantifier, warrant), limit, warrant)
            if not number % EDGES_FOR_A_NODE:
                yield 1

    def _find_linked_node(self, link: ArrowExpansion, quantifier: Quantifier, warrant: Warrant) -> CheckNode:
        plan = self._model.plan(*link.target(warrant))
        if warrant.subject_id != WILDCARD:
            return self._node(plan, warrant.subject_id)
        node = CheckNode(plan, WILDCARD)
        node.value = quantifier.of_wildcard
        return node

    def _evaluate_policies(self, warrants: Iterable[Warrant]) -> Iterator[int]:
        for _ in self.conditions.evaluate_each(warrants):
            yield 0  # the time slice is over

    def _follow(self, node: CheckNode, plan: Plan, warrants: Sequence[Sequence[Warrant]]) -> Iterator[int]:
        for number, (warrant, expansion) in enumerate(plan.expand_warrants(warrants), 1):
            self._expand_warrant(node, warrant, expansion)
            if not number % EDGES_FOR_A_NODE:
                yield 1
        for branch in plan.branches:
            self._attach(node, self._branch(branch, plan.type, node.id), TRUE, None)
        yield from self._resolve_node(node)

    def _follow_up_to_direct(self, node: CheckNode, plan: Plan, warrants: Sequence[Sequence[Warrant]]) -> Iterator[int]:
        """Attaches the children of a node that a warrant grants directly, as far as they come before that warrant."""
        direct = node.direct
        assert direct is not None
        position = plan.positions[direct.relation]
        by_age = self._scope.with_reports
        if position == 0 and not by_age:
            return
        for number, (warrant, expansion) in enumerate(plan.expand_warrants(warrants), 1):
            other = expansion.position(plan, warrant)
            if other < position or (by_age and other == position and creation_order(warrant) < creation_order(direct)):
                self._expand_warrant(node, warrant, expansion)
            if not number % EDGES_FOR_A_NODE:
                yield 1
        for branch in plan.branches:
            if plan.positions[branch] < position:
                self._attach(node, self._branch(branch, plan.type, node.id), TRUE, None)

    def _expand_warrant(self, node: CheckNode, warrant: Warrant, expansion: Expansion) -> None:
        """Attaches the node that a warrant reaches; if its policy is false, only with all rules."""
        limit = self.conditions.value(warrant)
        if limit is not FALSE or self._scope.with_all_rules:
            plan = self._model.plan(*expansion.target(warrant))
            self._attach(node, self._node(plan, warrant.subject_id), limit, warrant)

    def _holds_directly(self, node: CheckNode, plan: Plan, direct: list[Warrant]) -> bool:
        """Decides the node by a warrant to the subject itself, and returns whether one holds.

        Their relations are tried in written order, beginning with that of the plan; for each, those without a policy
        come first unless reports are needed, then the oldest.
        """
        positions, by_age = plan.positions, self._scope.with_reports
        for warrant in sorted(
            direct, key=lambda warrant: (positions[warrant.relation], warrant.policy != "" and not by_age)
        ):
            value = self.conditions.value(warrant)
            if value is TRUE:
                node.value, node.direct = TRUE, warrant
                self._decided.append(node)
                return True
            node.floor = max(node.floor, value)
        return False

    def _attach(self, node: CheckNode, child: CheckNode, limit: Truth, warrant: Warrant | None) -> None:
        edge = CheckEdge(node, child, limit, warrant)
        node.edges.append(edge)
        node.open_children += 1
        if child.value is None:
            child.parents.append(edge)
            self._wake(child)

    def _wake(self, node: CheckNode) -> None:
        if not node.is_needed:
            node.is_needed = True
            self._fresh.append(node)

    def _resolve_node(self, node: CheckNode) -> Iterator[int]:
        """Applies the values of children that are already decided; the others report their values later."""
        for number, edge in enumerate(node.edges, 1):
            if edge.child.value is not None and node.value is None:
                node.apply_child(edge)
            if not number % EDGES_AT_ONCE:
                yield EDGES_AT_ONCE // EDGES_FOR_A_NODE
        if node.value is None and not node.edges:
            node.value = node.floor
        if node.value is not None:
            self._decided.append(node)

    def _branch(self, branch: Branch, of_type: TypeName, object_id: ObjectId) -> CheckNode:
        return self._node(self._model.branch(of_type, branch), object_id)

    def _node(self, plan: Plan | Operation, object_id: ObjectId) -> CheckNode:
        node = self._nodes.get((plan, object_id))
        if node is None:
            self._work.spend(1)
            node = self._nodes[plan, object_id] = CheckNode(plan, object_id)
        return node

    def _request(self, plan: Plan) -> WarrantsByObject | None:
        if plan not in self._requests:
            request = self.ahead.find_direct(plan) if self.ahead is not None else None
            self._requests[plan] = request or self._model.request(plan.type, plan.relations, self._subject)
        return self._requests[plan]


class Evaluation:
    """Decides the checks it is given, all at one revision. `now` is in microseconds since 1970 UTC.

    `scope` says what is evaluated besides; that is complete when `advance` returns an empty list.
    """

    def __init__(self, model: Model, now: int, work: Work, scope: EvaluationScope = DECISION_ALONE) -> None:
        self.model = model.with_all_arrows() if scope.with_paths else model
        self._scope = scope
        self.work = work
        self._now = now
        self._facts = Facts(model.counts)
        self._requested: list[WarrantRead] = []
        self._arriving: Iterator[int] = iter(())
        self._subjects: dict[tuple[Subject, bytes], SubjectEvaluation] = {}
        self._advancing: deque[SubjectEvaluation] = deque()
        self._waiting: list[SubjectEvaluation] = []
        self._digests: dict[int, tuple[Mapping[str, Any], bytes]] = {}

    @property
    def valid_until(self) -> int:
        """Returns the time at which the first of the decisions may change by itself."""
        return min((evaluation.conditions.valid_until for evaluation in self._subjects.values()), default=ALWAYS)

    @property
    def ahead(self) -> ReadsAhead | None:
        """Returns what the checks may read after their first read, if all of them have the same subject."""
        return next(iter(self._subjects.values())).ahead if len(self._subjects) == 1 else None

    def add_check(self, check: Check) -> CheckNode | None:
        """Returns the node that will have the value of a check.

        Returns None when the time slice ends before the plan is compiled; the caller then yields and makes the check
        again. Checks with the same subject and context share their nodes. Raises BudgetExceeded.
        """
        if not self.model.prepare(check.object.type, check.relation, self.work):
            return None
        key = (check.subject, self._digest(check.context))
        evaluation = self._subjects.get(key)
        if evaluation is None:
            conditions = PolicyEvaluator(check.context, self._now, self.work, self.model.policies)
            evaluation = SubjectEvaluation(
                self.model, check.subject, conditions, self.work, facts=self._facts, scope=self._scope
            )
            self._subjects[key] = evaluation
        if not self._advancing or self._advancing[-1] is not evaluation:
            self._advancing.append(evaluation)
        return evaluation.root(check.object, check.relation)

    def advance(self) -> list[WarrantRead] | None:
        """Decides what can be decided, and returns the reads that are missing for the rest.

        The list is empty when everything is decided; None means that the time slice is over. The caller begins each
        time slice of `work`. Raises BudgetExceeded.
        """
        for warrants in self._arriving:
            self.work.hasten_checkpoint(warrants // WARRANTS_FOR_A_NODE)
            if self.work.needs_checkpoint:
                return None
        while self._advancing:
            evaluation = self._advancing[0]
            if not evaluation.advance():
                return None
            if evaluation.is_waiting:
                self._waiting.append(evaluation)
            self._advancing.popleft()
            if self._advancing and self.work.needs_checkpoint:
                return None
        self._requested = self._facts.missing()
        return self._requested

    def take(self, warrants: Sequence[Sequence[Warrant]]) -> None:
        """Takes the rows of the reads that `advance` returned, one list for each read."""
        self.work.spend(sum(map(len, warrants)))
        self._arriving = self._facts.take(self._requested, warrants)
        for evaluation in self._waiting:
            evaluation.go_on()
        self._advancing.extend(self._waiting)
        self._waiting = []

    def find_direct(self, node: CheckNode) -> list[tuple[Warrant, Truth]]:
        """Returns the warrants to the subject itself that a node was given, with their values, in an evaluation of one
        check."""
        return [direct for evaluation in self._subjects.values() for direct in evaluation.find_direct(node)]

    def policy_value(self, warrant: Warrant) -> Truth:
        """Returns the value of a warrant's policy whatever its time limits, in an evaluation of one check."""
        [evaluation] = self._subjects.values()
        return evaluation.conditions.policy_value(warrant)

    def release(self) -> Iterator[int]:
        """Frees the nodes and the warrants, and yields how many were freed since it yielded last.

        The evaluation cannot be used afterwards."""
        self._arriving = iter(())
        self._advancing.clear()
        self._waiting.clear()
        for evaluation in self._subjects.values():
            yield from evaluation.release()
        self._subjects.clear()
        yield from free_containers(self._facts.containers())

    def _digest(self, context: Mapping[str, Any]) -> bytes:
        """Returns a digest that is equal for equal contexts. A context that several checks share is encoded once."""
        context_digest = self._digests.get(id(context))
        if context_digest is None:
            encoded = msgspec.json.encode(context, order="deterministic")
            context_digest = self._digests[id(context)] = (context, hashlib.blake2b(encoded, digest_size=16).digest())
        return context_digest[1]


def add_check(evaluation: Evaluation, check: Check) -> Checkpoints[CheckNode]:
    """Returns the node that will have the value of a check."""
    while (node := evaluation.add_check(check)) is None:
        yield None
    yield from evaluation.work.checkpoint()
    return node


def decide_added(evaluation: Evaluation) -> Steps[None]:
    """Decides the checks that were added to an evaluation. Raises BudgetExceeded."""
    while (reads := evaluation.advance()) != []:
        warrants = yield reads
        if warrants is not None:
            evaluation.take(warrants)
