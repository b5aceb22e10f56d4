"""Deciding checks (contract section 5.3): which reads are missing, then what follows from them.

An evaluation is driven from outside: `advance` goes as far as it can and answers the reads it misses, all of a level
at once; `take` is given their rows; and so on until the nodes that are asked for have a value. So a check costs as
many reads as there are levels between the object and what settles it, not as many as there are nodes, and a hundred
questions together cost as many as the deepest of them. `advance` may also answer none because its turn is over: then
it wants to be called again, when others have had theirs.

Nothing here recurses over objects: groups may be nested as deep as they like. A node that turns up again is the same
node, and what waits only for itself is settled in loops.py.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import msgspec

from magistrate.engine.facts import Facts
from magistrate.engine.loops import settled
from magistrate.engine.nodes import Edge, Node
from magistrate.engine.plans import Gate, Model, Part, Plan
from magistrate.engine.policy import Policy, is_kept, read_policy
from magistrate.engine.terms import ObjectId, ObjectRef, RelationName, Subject, TypeName
from magistrate.engine.truth import FALSE, MISSING, TRUE, UNKNOWN, Truth
from magistrate.engine.warrant_source import Read, Shape
from magistrate.engine.warrants import Warrant
from magistrate.errors import BudgetSpent, InvalidParameter

WORK_IN_A_TURN = 5_000
"""Nodes and warrants, or as much work of other kinds: some ten milliseconds."""

POLICY_STEPS_FOR_A_NODE = 20
POLICY_CHARACTERS_FOR_A_NODE = 4
"""Steps of evaluating, and characters of reading a policy, that take as long as a node: about five microseconds."""

_POLICY_VALUES: dict[bool | None, Truth] = {True: TRUE, False: FALSE, None: UNKNOWN}


@dataclass(frozen=True, slots=True)
class Question:
    """Does `subject` have `relation` on `object`? `context` holds the variables of policies. The ids may be `*`."""

    object: ObjectRef
    relation: RelationName
    subject: Subject
    context: Mapping[str, Any] = field(default_factory=dict)


class Evaluation:
    """Decides the questions it is given, all at one revision. `now` is in microseconds since 1970 UTC; `budget` the
    number of nodes and warrants that may be looked at: whoever needs more gets BudgetSpent."""

    def __init__(self, model: Model, now: int, budget: int) -> None:
        self.model = model
        self._now = now
        self._budget = budget
        self._left = budget
        self._left_in_turn = WORK_IN_A_TURN
        self._facts = Facts()
        self._walks: dict[tuple[Subject, bytes], _Walk] = {}
        self._digests: dict[int, tuple[Mapping[str, Any], bytes]] = {}
        self._policies: dict[str, Policy | None] = {}

    @property
    def left(self) -> int:
        """What is left of the budget. Of a read with more rows, one row more is enough to tell."""
        return self._left

    def ask(self, question: Question) -> Node:
        """The node that will have the answer. Questions with one subject and one context share what they find."""
        key = (question.subject, self._digest(question.context))
        walk = self._walks.get(key)
        if walk is None:
            walk = self._walks[key] = _Walk(self, question.subject, question.context)
        return walk.root(question.object, question.relation)

    def advance(self) -> list[Read]:
        """Decides what can be decided, and answers the reads that are missing for the rest; none if its turn is over,
        or if all is decided.

        Raises BudgetSpent.
        """
        self._left_in_turn = WORK_IN_A_TURN
        for walk in self._walks.values():
            walk.advance(self._facts)
            if self.turn_is_over:
                return []
        return self._facts.missing()

    def take(self, reads: Sequence[Read], rows: Sequence[Sequence[Warrant]]) -> None:
        """The rows of the reads that `advance` answered, one by one."""
        self.spend(sum(map(len, rows)))
        self._facts.take(reads, rows)
        for walk in self._walks.values():
            walk.go_on()

    def spend(self, amount: int) -> None:
        self._left -= amount
        self._left_in_turn -= amount
        if self._left < 0:
            raise BudgetSpent(self._budget)

    @property
    def turn_is_over(self) -> bool:
        return self._left_in_turn <= 0

    def policy_value(self, warrant: Warrant, context: Mapping[str, Any]) -> Truth:
        policy = self._policy(warrant.policy)
        if policy is None:
            return UNKNOWN
        value, steps = policy.outcome(context, warrant, self._now)
        self.spend(steps // POLICY_STEPS_FOR_A_NODE)
        return _POLICY_VALUES[value]

    def _policy(self, text: str) -> Policy | None:
        """None if it is not in the language any more: it was written when the language had more in it."""
        if text not in self._policies:
            if not is_kept(text):
                self.spend(len(text) // POLICY_CHARACTERS_FOR_A_NODE)
            try:
                self._policies[text] = read_policy(text)
            except InvalidParameter:
                self._policies[text] = None
        return self._policies[text]

    def _digest(self, context: Mapping[str, Any]) -> bytes:
        """The same for equal contexts. One that many questions share is looked at once."""
        known = self._digests.get(id(context))
        if known is None:
            encoded = msgspec.json.encode(context, order="deterministic")
            known = self._digests[id(context)] = (context, hashlib.blake2b(encoded, digest_size=16).digest())
        return known[1]


class _Walk:
    """The nodes for one subject and one context."""

    def __init__(self, evaluation: Evaluation, subject: Subject, context: Mapping[str, Any]) -> None:
        self._evaluation = evaluation
        self._subject = subject
        self._context = context
        self._nodes: dict[tuple[Plan | Gate, ObjectId], Node] = {}
        self._shapes: dict[Plan, Shape] = {}
        self._roots: dict[Node, None] = {}
        self._fresh: list[Node] = []
        self._waiting: list[Node] = []
        self._decided: list[Node] = []
        self._policy_values: dict[int, Truth] = {}

    def root(self, object: ObjectRef, relation: RelationName) -> Node:
        node = self._node(self._evaluation.model.plan(object.type, relation), object.id)
        self._roots[node] = None
        self._wake(node)
        return node

    def advance(self, facts: Facts) -> None:
        """Goes on until every root is decided, rows are missing, or the turn is over."""
        while True:
            self._work(facts)
            open_roots = [root for root in self._roots if root.value is None]
            if self._fresh or self._waiting or not open_roots or self._evaluation.turn_is_over:
                return
            # Nothing is left to be read, and yet these are open: they wait for each other.
            for node, value in settled(_open_nodes(open_roots), self._evaluation.spend):
                if node.value is None:
                    node.decide(value)
                    self._decided.append(node)

    def go_on(self) -> None:
        """What waited for rows may have them now."""
        self._fresh += self._waiting
        self._waiting = []

    def _work(self, facts: Facts) -> None:
        while not self._evaluation.turn_is_over:
            while self._decided:
                self._tell_parents(self._decided.pop())
            if not self._fresh or not facts.has_room:
                return
            node = self._fresh.pop()
            if node not in self._roots and not node.is_asked_by_someone:
                node.waits = False  # nobody wants to know any more; should somebody, `_attach` wakes it
            else:
                self._expand(node, facts)

    def _tell_parents(self, node: Node) -> None:
        for edge in node.parents:
            if edge.node.value is None and edge.node.hear(edge):
                self._decided.append(edge.node)

    def _expand(self, node: Node, facts: Facts) -> None:
        """Attaches its children to a node, if all that it says itself is known; else the node waits for it."""
        plan = node.plan
        if isinstance(plan, Gate):
            for part in plan.parts:
                self._attach(node, self._part(part, plan.type, node.id), TRUE, None)
            self._settle(node)
            return
        given = facts.find(self._shape(plan), node.id) if plan.relations else []
        groups = facts.find(plan.groups, node.id) if plan.groups else []
        links = [facts.find(link.shape, node.id) for link in plan.links]
        if given is None or groups is None or None in links:
            self._waiting.append(node)
            return
        known_links = [rows or [] for rows in links]
        if not self._evaluated([given, groups, *known_links]):
            self._fresh.append(node)
        elif not self._holds_directly(node, plan, given):
            node.floor = node.floor if plan.is_defined else max(node.floor, MISSING)
            self._follow(node, plan, groups, known_links)
            self._settle(node)

    def _evaluated(self, rows: Sequence[Sequence[Warrant]]) -> bool:
        """Whether the policies of all these are evaluated; if not, the turn is over before they are."""
        for warrant in chain.from_iterable(rows):
            if warrant.policy and warrant.number not in self._policy_values:
                if self._evaluation.turn_is_over:
                    return False
                self._policy_values[warrant.number] = self._evaluation.policy_value(warrant, self._context)
        return True

    def _follow(self, node: Node, plan: Plan, groups: list[Warrant], links: list[list[Warrant]]) -> None:
        for warrant in groups:
            if warrant.relation in plan.group_relations:
                relation = RelationName(warrant.subject_relation)
                self._lead(node, warrant, self._evaluation.model.plan(warrant.subject_type, relation))
        for link, warrants in zip(plan.links, links, strict=True):
            following = self._evaluation.model.plan(link.of_type, link.relation)
            for warrant in warrants:
                self._lead(node, warrant, following)
            for warrant in groups:  # a group is followed as if the object were named (contract section 3)
                if warrant.relation == link.with_relation and warrant.subject_type == link.of_type:
                    self._lead(node, warrant, following)
        for part in plan.parts:
            self._attach(node, self._part(part, plan.type, node.id), TRUE, None)

    def _lead(self, node: Node, warrant: Warrant, plan: Plan) -> None:
        """To whom a warrant points, unless its policy says no."""
        cap = self._policy_values[warrant.number] if warrant.policy else TRUE
        if cap != FALSE:
            self._attach(node, self._node(plan, warrant.subject_id), cap, warrant)

    def _holds_directly(self, node: Node, plan: Plan, given: list[Warrant]) -> bool:
        """By a warrant to the subject itself: of the asked relation first, without a policy first, oldest first."""
        for warrant in sorted(given, key=lambda warrant: (warrant.relation != plan.relation, warrant.policy != "")):
            value = self._policy_values[warrant.number] if warrant.policy else TRUE
            if value == TRUE:
                node.hold_by(warrant)
                self._decided.append(node)
                return True
            node.floor = max(node.floor, value)
        return False

    def _attach(self, node: Node, child: Node, cap: Truth, warrant: Warrant | None) -> None:
        edge = Edge(node, child, cap, warrant)
        node.edges.append(edge)
        node.open_children += 1
        if child.value is None:
            child.parents.append(edge)
            self._wake(child)

    def _wake(self, node: Node) -> None:
        if not node.waits:
            node.waits = True
            self._fresh.append(node)

    def _settle(self, node: Node) -> None:
        """Hears the children that were decided already; the others will be heard of."""
        for edge in node.edges:
            if edge.child.value is not None and node.value is None:
                node.hear(edge)
        if node.value is None and not node.edges:
            node.decide(node.floor)
        if node.value is not None:
            self._decided.append(node)

    def _part(self, part: Part, of_type: TypeName, id: ObjectId) -> Node:
        return self._node(part if isinstance(part, Plan | Gate) else self._evaluation.model.plan(of_type, part), id)

    def _node(self, plan: Plan | Gate, id: ObjectId) -> Node:
        node = self._nodes.get((plan, id))
        if node is None:
            self._evaluation.spend(1)
            node = self._nodes[plan, id] = Node(plan, id)
        return node

    def _shape(self, plan: Plan) -> Shape:
        shape = self._shapes.get(plan)
        if shape is None:
            model = self._evaluation.model
            shape = self._shapes[plan] = model.shape(plan.type, plan.relations, self._subject)
        return shape


def _open_nodes(roots: Sequence[Node]) -> list[Node]:
    """Every undecided node that an undecided root leads to."""
    found = dict.fromkeys(roots)
    waiting = list(found)
    while waiting:
        for edge in waiting.pop().edges:
            if edge.child.value is None and edge.child not in found:
                found[edge.child] = None
                waiting.append(edge.child)
    return list(found)
