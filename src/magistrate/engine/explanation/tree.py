"""Builds the tree that shows people why a check is allowed or denied.

Of a node that holds, the tree shows what it depends on; of one that does not, everything it could have depended on.
What is not shown is counted. A node that stands in the tree already is not expanded again, and one that it hangs on
itself is marked as a loop. The tree is bounded in size and depth, the nearest nodes to the object first.
"""

from collections import deque
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

import msgspec

from magistrate.engine.evaluation.conditions import POLICY_STEPS_FOR_A_NODE, LongStep
from magistrate.engine.evaluation.loops import EDGES_FOR_A_NODE
from magistrate.engine.evaluation.nodes import CheckEdge, CheckNode
from magistrate.engine.evaluation.paths import PathSearch, PathStep
from magistrate.engine.explanation.hypothetical_checks import HypotheticalCheck
from magistrate.engine.explanation.policy_values import list_variables
from magistrate.engine.model.plans import Operation
from magistrate.engine.policy.policy import LONG_POLICY, Policy, read_policy
from magistrate.engine.policy.references import PolicyReference
from magistrate.engine.policy.run import STEPS_AT_ONCE
from magistrate.engine.truth import FALSE, TRUE, Truth
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work
from magistrate.errors import InvalidParameter

Supports = dict[CheckNode, CheckEdge | Warrant]
"""Maps nodes of relations that hold to what they depend on. Combinations depend on all rules that matter to them."""


def find_supports(root: CheckNode, work: Work) -> Generator[None, Any, Supports]:
    """Returns what each node that holds, from the root on, depends on. Yields when the time slice is over. Raises
    BudgetExceeded."""
    parents = yield from _list_parents(root, work)
    supports: Supports = {}
    is_supported: set[CheckNode] = set()
    open_children = {node: len(list_holding(node)) for node in parents if isinstance(node.plan, Operation)}
    waiting = deque(node for node in parents if node.direct is not None or not list_holding(node))
    while waiting:
        node = waiting.popleft()
        if node in is_supported:
            continue
        is_supported.add(node)
        if node.direct is not None:
            supports[node] = node.direct
        for edge in parents[node]:
            if edge.node in open_children:
                open_children[edge.node] -= 1
                if not open_children[edge.node]:
                    waiting.append(edge.node)
            elif edge.node not in supports and edge.node.direct is None:
                supports[edge.node] = edge
                waiting.append(edge.node)
        yield from work.charge(1 + len(parents[node]) // EDGES_FOR_A_NODE)
    return supports


def list_holding(node: CheckNode) -> Sequence[CheckEdge]:
    """Returns the edges that a node which holds may depend on; for a combination, those it depends on."""
    if isinstance(node.plan, Operation):
        positions = node.plan.rule.explain([edge.child.value for edge in node.edges])
        return [node.edges[position] for position in positions if node.edges[position].child.value is TRUE]
    return [edge for edge in node.edges if edge.child.value is TRUE and edge.limit is TRUE]


def _list_parents(root: CheckNode, work: Work) -> Generator[None, Any, dict[CheckNode, list[CheckEdge]]]:
    """Returns all nodes that hold from the root on, with the edges by which others may depend on them."""
    parents: dict[CheckNode, list[CheckEdge]] = {}
    waiting = [root]
    if root.value is TRUE:
        parents[root] = []
    for node in waiting:  # grows during the loop
        edges = list_holding(node) if node.value is TRUE else node.edges
        for edge in edges:
            if edge.child not in parents and edge.child.value is not None:
                parents[edge.child] = []
                waiting.append(edge.child)
            if edge.child in parents and node.value is TRUE:
                parents[edge.child].append(edge)
        yield from work.charge(1 + len(node.edges) // EDGES_FOR_A_NODE)
    return {node: edges for node, edges in parents.items() if node.value is TRUE}


def follow_path(
    root: CheckNode, path: Sequence[Warrant], search: PathSearch, supports: Supports
) -> Generator[None, Any, None]:
    """Lets the nodes on the path of the root depend on its warrants. Yields when the time slice is over. Raises
    BudgetExceeded."""
    node, work = root, search.work
    for _ in path:
        step = yield from search.first_step(node)
        reached: dict[CheckNode, CheckEdge | None] = {node: None}
        waiting = [node]
        while waiting:
            inner = waiting.pop()
            yield from work.charge(1 + len(inner.edges) // EDGES_FOR_A_NODE)
            last = _find_last(inner, path[0]) if step is None else _find_step(inner, step)
            if last is not None:
                _set_support(inner, last, reached, supports)
                break
            for edge in reversed(list_holding(inner)):
                if edge.warrant is None and edge.child not in reached:
                    reached[edge.child] = edge
                    waiting.append(edge.child)
        node = step.target if step is not None else node


def _find_last(node: CheckNode, warrant: Warrant) -> Warrant | None:
    return warrant if node.direct is warrant else None


def _find_step(node: CheckNode, step: PathStep) -> CheckEdge | None:
    edges = (edge for edge in list_holding(node) if edge.warrant is step.warrant and edge.child is step.target)
    return next(edges, None)


def _set_support(
    node: CheckNode,
    support: CheckEdge | Warrant,
    reached: dict[CheckNode, CheckEdge | None],
    supports: Supports,
) -> None:
    """Lets a node depend on its support, and those through which it was reached each on the next one."""
    supports[node] = support
    while (edge := reached[node]) is not None:
        node = edge.node
        if not isinstance(node.plan, Operation):
            supports[node] = edge


class TreeLimits(NamedTuple):
    """Limits the nodes of a tree, its levels (parsers of JSON have limits, too), and the children of a node that does
    not hold, of which there may be thousands, all alike."""

    nodes: int = 500
    levels: int = 50
    children: int = 20


FOR_PEOPLE = TreeLimits()
WHOLE = TreeLimits(nodes=10_000, levels=2_000, children=10_000)
"""Limits a tree that is only searched, not sent."""

MAX_VALUE_CHARACTERS = 200
"""Limits the JSON of a value that a policy read, because any caller can send long ones."""

OutOfForce = Literal["notStarted", "expired"]


@dataclass(frozen=True, slots=True)
class PolicyTrace:
    """Holds what a policy came to, and the values that it was given; one that is long is named in `long` instead.
    `missing` has the names of those whose absence keeps it from being true or false."""

    text: str
    holds: Truth
    values: Mapping[str, Any]
    missing: list[str]
    long: Sequence[str]


@dataclass(slots=True)
class ExplanationNode:
    """Represents one step of an explanation: a check, or a rule within a combination.

    `via` is the warrant that its parent depends on together with it, or would; `policy` is that of the warrant.
    `out_of_force` says why the warrant does not count if it is outside its time limits. `cut` counts the branches that
    are not shown. `is_loop` says that the node hangs on itself and is not expanded again.
    """

    check: str
    rule: str
    holds: Truth
    via: Warrant | None = None
    policy: PolicyTrace | None = None
    children: "list[ExplanationNode]" = field(default_factory=list)
    cut: int = 0
    is_loop: bool = False
    out_of_force: OutOfForce | None = None


class _Branch(NamedTuple):
    """Represents a child to be shown: a node, or the warrant to the subject itself if there is none."""

    node: CheckNode | None
    via: Warrant | None
    limit: Truth
    rule: str


class _Place(NamedTuple):
    """Represents a node with its place in the tree."""

    node: CheckNode
    shown: ExplanationNode
    above: "_Place | None"
    level: int

    def hangs_on(self, node: CheckNode) -> bool:
        place: _Place | None = self
        while place is not None:
            if place.node is node:
                return True
            place = place.above
        return False


class TreeBuilder:
    """Builds the tree for one evaluation of one check with all rules, made for the time `now`."""

    def __init__(
        self, decided: HypotheticalCheck, supports: Supports, work: Work, limits: TreeLimits = FOR_PEOPLE
    ) -> None:
        self._decided = decided
        self._check = decided.check
        self._evaluation = decided.evaluation
        self._now = decided.now
        self._supports = supports
        self._work = work
        self._limits = limits
        self._left = limits.nodes
        self._unknown: list[tuple[PolicyTrace, Policy, Warrant]] = []
        """Holds the traces of policies that are unknown although something is absent."""

    def build(self) -> Generator[None, Any, ExplanationNode]:
        """Returns the tree. Yields when the time slice is over. Raises BudgetExceeded."""
        root = self._decided.root
        top = self._show(_Branch(root, None, TRUE, ""))
        waiting = deque([_Place(root, top, None, 1)])
        expanded = {root}
        while waiting:
            place = waiting.popleft()
            branches, place.shown.cut = self._branches(place.node)
            for branch in branches:
                if self._left <= 0 or place.level >= self._limits.levels:
                    place.shown.cut += 1
                    continue
                shown = self._show(branch)
                place.shown.children.append(shown)
                if branch.node is None:
                    continue
                if branch.node not in expanded:
                    expanded.add(branch.node)
                    waiting.append(_Place(branch.node, shown, place, place.level + 1))
                elif place.hangs_on(branch.node):
                    shown.is_loop = True
                else:
                    shown.cut = len(self._branches(branch.node)[0])
            yield from self._work.charge(1 + len(place.node.edges) // EDGES_FOR_A_NODE)
        yield from self._name_missing()
        return top

    def _name_missing(self) -> Generator[None, Any, None]:
        """Finds what is missing for the policies that are unknown; equal policies miss the same."""
        missing: dict[tuple[str, int], list[str]] = {}
        for trace, policy, warrant in self._unknown:
            key = (policy.text, warrant.number if "warrant" in policy.names else 0)
            if key not in missing:
                missing[key] = yield from self._list_absent(policy, warrant)
            trace.missing.extend(missing[key])

    def _list_absent(self, policy: Policy, warrant: Warrant) -> Generator[None, Any, list[str]]:
        context, now = self._check.context, self._now
        self._work.spend(1 + policy.steps_of_compiling // POLICY_STEPS_FOR_A_NODE)
        is_short = len(policy.text) < LONG_POLICY
        absent = policy.list_absent(context, warrant, now, STEPS_AT_ONCE) if is_short else None
        if absent is None:
            long = LongStep(partial(policy.list_absent, context, warrant, now))
            self._work.offload(long.complete)
            yield None
            absent = long.complete()
        yield from self._work.checkpoint()
        return absent or []

    def _branches(self, node: CheckNode) -> tuple[Sequence[_Branch], int]:
        """Returns what is shown below a node, and how much is not."""
        direct = self._evaluation.find_direct(node)
        if isinstance(node.plan, Operation):
            rule = node.plan.rule
            places = rule.explain([edge.child.value for edge in node.edges])
            edges = [(node.edges[place], rule.rules[place].describe() if rule.rules else "") for place in places]
            return [_expand(edge, text) for edge, text in edges], len(node.edges) - len(edges)
        count = len(direct) + len(node.edges)
        support = self._supports.get(node) if node.value is TRUE else None
        if support is not None:
            branch = _expand(support) if isinstance(support, CheckEdge) else _Branch(None, support, TRUE, "")
            return [branch], count - 1
        branches = [_Branch(None, warrant, value, "") for warrant, value in direct]
        decided = (edge for edge in node.edges if edge.child.value is not None)
        branches += map(_expand, sorted(decided, key=_distance))
        most = self._limits.children
        return branches[:most], count - min(len(branches), most)

    def _show(self, branch: _Branch) -> ExplanationNode:
        self._left -= 1
        shown = self._show_node(branch)
        if branch.via is not None:
            shown.via = branch.via
            shown.out_of_force = _find_exceeded_limit(branch.via, self._now)
            if branch.via.policy and shown.policy is None:
                shown.policy = self._read_policy(branch.via)
        return shown

    def _show_node(self, branch: _Branch) -> ExplanationNode:
        node = branch.node
        if node is None:
            assert branch.via is not None
            return ExplanationNode(branch.via.names.render(), "", branch.limit)
        relation, value = node.relation, node.value
        assert value is not None
        if relation is None:
            named = self._read_named(node, value)
            return ExplanationNode("", _describe(node, branch), value, policy=named)
        return ExplanationNode(self._decided.names_on(node, relation).render(), "", value)

    def _read_named(self, node: CheckNode, value: Truth) -> PolicyTrace | None:
        """Returns the trace of the named policy that a rule evaluates."""
        leaf = node.plan.rule.leaf if isinstance(node.plan, Operation) else None
        named = None if leaf is None or leaf.policy is None else self._evaluation.model.policies.get(leaf.policy)
        if named is None:
            return None
        trace = self._trace(named.expression, [*named.parameters], value)
        if value not in (TRUE, FALSE):  # without all of its parameters, a named policy is always unknown
            trace.missing.extend(name for name in named.parameters if name not in self._check.context)
        return trace

    def _read_policy(self, warrant: Warrant) -> PolicyTrace:
        value = self._evaluation.policy_value(warrant)
        try:
            policy = read_policy(warrant.policy)
        except InvalidParameter:  # the language had more when it was written
            return self._trace(warrant.policy, (), value)
        if policy.reference is not None:
            return self._read_reference(warrant.policy, policy.reference, value)
        variables = list_variables(policy)
        trace = self._trace(warrant.policy, variables, value)
        if value not in (TRUE, FALSE) and not self._check.context.keys() >= {*variables}:
            self._unknown.append((trace, policy, warrant))
        return trace

    def _read_reference(self, text: str, reference: PolicyReference, value: Truth) -> PolicyTrace:
        """Returns the trace of a policy that names one of the model: its variables are the parameters for which the
        warrant has no value."""
        named = self._evaluation.model.policies.get(reference.name)
        parameters = [] if named is None else [name for name in named.parameters if name not in reference.values]
        trace = self._trace(text, parameters, value)
        if value not in (TRUE, FALSE):
            trace.missing.extend(name for name in parameters if name not in self._check.context)
        return trace

    def _trace(self, text: str, variables: Sequence[str], value: Truth) -> PolicyTrace:
        context = self._check.context
        self._work.spend(1 + len(variables))
        present = [name for name in variables if name in context]
        long = [name for name in present if len(msgspec.json.encode(context[name])) > MAX_VALUE_CHARACTERS]
        values = {name: context[name] for name in present if name not in long}
        return PolicyTrace(text, value, values, missing=[], long=long)


def _find_exceeded_limit(warrant: Warrant, now: int) -> OutOfForce | None:
    if warrant.is_in_force(now):
        return None
    return "expired" if warrant.has_expired(now) else "notStarted"


def _expand(edge: CheckEdge, rule: str = "") -> _Branch:
    return _Branch(edge.child, edge.warrant, edge.limit, rule)


def _describe(node: CheckNode, branch: _Branch) -> str:
    """Returns the rule of a node that has no relation of its own."""
    return node.plan.rule.describe() if isinstance(node.plan, Operation) else branch.rule


def _distance(edge: CheckEdge) -> int:
    """Returns how far a branch that does not hold is from holding, roughly: first those that only a policy prevents,
    then combinations, then those that were expanded further."""
    if edge.child.value is TRUE:
        return 0
    if isinstance(edge.child.plan, Operation):
        return 1
    return 2 if edge.child.edges else 3
