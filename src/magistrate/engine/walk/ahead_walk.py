"""Decides a plain check from the rows that were read ahead for it (engine/warrants/read_ahead.py).

It needs no nodes, edges and rounds of an Evaluation.

A walk starts at the object and follows every row that an Evaluation would follow, whatever it has found by then, except
that it does not go beyond a warrant to the subject itself. It knows true and false only. It raises GivenUp where an
Evaluation could have another value, read more, or exceed its budget: at a policy, a type that is not defined, a rule
that is decided otherwise than from its rules, a combination that depends on itself, a warrant to every object of a
type, a plan that is not compiled, and where the outline of the rows does not lead. An Evaluation then decides the
check.

What a plan and the requests of an outline amount to is computed once for each outline and kept with it.
"""

from collections.abc import Iterable, Mapping, Sequence
from weakref import WeakKeyDictionary

from magistrate.engine.evaluation.check import DENIED, EXPLICIT, IMPLICIT, Decision
from magistrate.engine.evaluation.truth import FALSE, TRUE
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import Branch, Operation, Plan
from magistrate.engine.names import WILDCARD, ObjectId, TypeName
from magistrate.engine.walk.walk import GivenUp
from magistrate.engine.warrants.read_ahead import MOST_BRANCHES, ReadOutline
from magistrate.engine.warrants.warrant import Warrant

MOST_STEPS = 1_000
"""Limits the steps of a walk, each to an object and what is asked about it: less than a millisecond."""
MOST_DIRECT_COST = 2 * (1 + MOST_BRANCHES)
"""Is more than an Evaluation is charged, besides the rows, until it has found a warrant to the subject: a node and an
edge for each plan on the object."""

_Names = tuple[int, str, str, str]
"""Names the place of a request, and of a warrant that it found the relation, the subject type and relation."""


class AheadNode:
    """Represents what an outline has for a plan or an operation.

    `direct` and `requests` have the places of its requests, each with whether warrants on every object count, too:
    those for warrants to the subject itself, and those for warrants to follow. `branches` are None until they are
    first needed, because they may lead back here; `targets` has where the warrants lead that were met so far.
    """

    __slots__ = ("branches", "direct", "operation", "plan", "requests", "targets")

    def __init__(
        self, plan: Plan | Operation, direct: Sequence[tuple[int, bool]], requests: Sequence[tuple[int, bool]]
    ) -> None:
        self.plan = plan
        self.operation = plan if isinstance(plan, Operation) else None
        self.direct = direct
        self.requests = requests
        self.branches: Sequence[AheadNode] | None = None
        self.targets: dict[_Names, Sequence[AheadNode]] = {}


_State = tuple[AheadNode, ObjectId]
_ByPlace = Mapping[tuple[int, ObjectId], Sequence[Warrant]]
_Explored = tuple[bool, Sequence[_State]]
"""Holds whether a warrant to the subject grants a relation, and the combinations that would grant it, too."""

_NODES: WeakKeyDictionary[ReadOutline, dict[Plan | Operation, AheadNode]] = WeakKeyDictionary()


def walk_ahead(
    model: Model,
    plan: Plan,
    id: ObjectId,
    outline: ReadOutline,
    warrants: Sequence[tuple[int, Warrant]],
    now: int,
    most_work: int,
) -> Decision:
    """Returns the decision of a check of this plan on this object. `warrants` must be complete: all that the reads
    of `outline.begin_on` find for the subject, and all that follows. `now` is in microseconds since 1970 UTC, and
    `most_work` the budget of the check.

    Raises GivenUp when an Evaluation has to decide it.
    """
    if id == WILDCARD:
        raise GivenUp
    by_place = _sort_warrants(model, warrants, now)
    nodes = _OutlineNodes(model, outline)
    root = nodes.find_first(plan)
    if root.direct and (direct := _select_direct(by_place, root, id)):
        if MOST_DIRECT_COST + len(warrants) > most_work:
            raise GivenUp
        return EXPLICIT if any(warrant.relation == plan.relation for warrant in direct) else IMPLICIT
    walk = _Walk(nodes, by_place)
    holds = walk.decide((root, id))
    if walk.most_cost + len(warrants) > most_work:
        raise GivenUp
    return IMPLICIT if holds else DENIED


def _sort_warrants(model: Model, warrants: Iterable[tuple[int, Warrant]], now: int) -> _ByPlace:
    """Returns the warrants that count, by place and object."""
    by_place: dict[tuple[int, ObjectId], list[Warrant]] = {}
    has_stranded = bool(model.stranded)
    for place, warrant in warrants:
        if warrant.policy:
            raise GivenUp
        if (warrant.expires_at or warrant.starts_at) and not warrant.is_in_force(now):
            continue
        if has_stranded and not model.counts(warrant):
            continue
        key = (place, warrant.object_id)
        if key in by_place:
            by_place[key].append(warrant)
        else:
            by_place[key] = [warrant]
    return by_place


def _select_direct(by_place: _ByPlace, node: AheadNode, id: ObjectId) -> Sequence[Warrant]:
    """Returns the warrants on an object to the subject itself."""
    here = [by_place.get((place, id), ()) for place, _ in node.direct]
    of_all = [by_place.get((place, WILDCARD), ()) for place, has_wildcard in node.direct if has_wildcard]
    return [warrant for warrants in (*here, *of_all) for warrant in warrants]


class _OutlineNodes:
    """Makes the nodes of an outline, and finds where they lead. Raises GivenUp where the outline does not."""

    def __init__(self, model: Model, outline: ReadOutline) -> None:
        self._model = model
        self._outline = outline
        nodes = _NODES.get(outline)
        if nodes is None:
            nodes = _NODES[outline] = {}
        self._nodes = nodes

    def find_first(self, plan: Plan) -> AheadNode:
        """Returns the node of the plan of the check."""
        node = self._nodes.get(plan)
        if node is None:
            if not self._places_on_object(plan).issubset(self._outline.first):
                raise GivenUp
            node = self._find(plan)
        return node

    def find_targets(self, node: AheadNode, names: _Names, warrant: Warrant) -> Sequence[AheadNode]:
        """Returns where a warrant leads. Its names are those of others, too, so they are looked up from then on."""
        assert isinstance(node.plan, Plan)
        steps = self._outline.following[names[0]]
        followed = {step.request for step in steps if step.follows(warrant)}
        plans = [self._find_compiled(*branch.target(warrant)) for branch in node.plan.expand(warrant)]
        if not all(self._places_on_object(plan) <= followed for plan in plans):
            raise GivenUp
        targets = node.targets[names] = [self._find(plan) for plan in plans]
        return targets

    def find_branches(self, node: AheadNode) -> Sequence[AheadNode]:
        node.branches = [self._find(self._resolve(node.plan, branch)) for branch in node.plan.branches]
        return node.branches

    def _find(self, plan: Plan | Operation) -> AheadNode:
        return self._nodes.get(plan) or self._make(plan)

    def _make(self, plan: Plan | Operation) -> AheadNode:
        if isinstance(plan, Operation):
            if plan.rule.leaf is not None or plan.rule.quantifier is not None:
                raise GivenUp
            node = AheadNode(plan, (), ())
        elif plan.is_defined and plan in self._outline.plans:
            direct = self._outline.direct.get(plan)
            node = AheadNode(
                plan, self._place(() if direct is None else (direct,)), self._place(self._find_followed(plan))
            )
        else:
            raise GivenUp
        self._nodes[plan] = node
        return node

    def _place(self, places: Iterable[int]) -> Sequence[tuple[int, bool]]:
        return [(place, self._outline.requests[place].has_object_wildcard) for place in places]

    def _find_followed(self, plan: Plan | Operation) -> Sequence[int]:
        """Returns the places of the requests for warrants that the plan follows."""
        requests = plan.requests if isinstance(plan, Plan) else [one for link in plan.links for one in link.requests]
        places = [self._outline.places.get(request) for request in requests]
        known = [place for place in places if place is not None]
        if len(known) < len(places):
            raise GivenUp
        return known

    def _places_on_object(self, plan: Plan) -> set[int]:
        """Returns the places of all requests that this plan and its branches make on an object."""
        places: set[int] = set()
        plans: dict[Plan | Operation, None] = {plan: None}
        for one in (waiting := [*plans]):  # grows during the loop
            if max(len(plans), len(one.branches)) > MOST_BRANCHES:
                raise GivenUp  # an outline has no more of them
            places.update(self._find_followed(one))
            direct = self._outline.direct.get(one) if isinstance(one, Plan) else None
            if direct is not None:
                places.add(direct)
            branches = (self._resolve(one, branch) for branch in one.branches)
            new = [branch for branch in branches if branch not in plans]
            plans.update(dict.fromkeys(new))
            waiting += dict.fromkeys(new)
        return places

    def _resolve(self, plan: Plan | Operation, branch: Branch) -> Plan | Operation:
        return self._find_compiled(plan.type, branch) if isinstance(branch, str) else branch

    def _find_compiled(self, of_type: TypeName, relation: str) -> Plan:
        plan = self._model.plans.get((of_type, relation))
        if plan is None:
            raise GivenUp
        return plan


class _Walk:
    """Decides what a node grants on an object, and all combinations that it depends on."""

    def __init__(self, nodes: _OutlineNodes, by_place: _ByPlace) -> None:
        self._nodes = nodes
        self._warrants = by_place
        self._steps = 0
        self._combined = 0

    @property
    def most_cost(self) -> int:
        """Returns more than an Evaluation is charged for the same, besides the rows: it makes at most one node and one
        edge for each step, and settles those that depend on each other at most once for each combination."""
        return 2 * self._steps * (2 + self._combined)

    def decide(self, start: _State) -> bool:
        holds, operations = self._explore(start)
        return holds if not operations else self._combine(start, (holds, operations))

    def _combine(self, start: _State, begun: _Explored) -> bool:
        """Returns the value of a node that combinations may grant, deciding what they depend on first."""
        explored: dict[_State, _Explored] = {start: begun}
        values: dict[_State, bool] = {}
        entered: set[_State] = set()
        waiting = [start]
        while waiting:
            state = waiting[-1]
            if state in values:
                waiting.pop()
                continue
            node, id = state
            if node.operation is not None:
                operands: Sequence[_State] = [(branch, id) for branch in self._branches(node)]
            else:
                if state not in explored:
                    explored[state] = self._explore(state)
                operands = explored[state][1]
            self._take_steps(1 + len(operands))
            missing = [operand for operand in operands if operand not in values]
            if not missing:
                values[state] = self._value(node, explored.get(state), [values[operand] for operand in operands])
                continue
            if not entered.isdisjoint(missing) or state in missing:
                raise GivenUp  # it depends on itself
            entered.add(state)
            waiting += missing
        return values[start]

    def _value(self, node: AheadNode, known: _Explored | None, values: Sequence[bool]) -> bool:
        """Returns the value of a node, given those of the combinations that it depends on."""
        if node.operation is None:
            return (known is not None and known[0]) or any(values)
        self._combined += 1
        return node.operation.rule.combine([TRUE if value else FALSE for value in values]) is TRUE

    def _explore(self, start: _State) -> _Explored:
        """Returns what grants the relation of a node by alternatives, on whatever object."""
        by_place, waiting, seen = self._warrants, [start], {start}
        operations: list[_State] = []
        holds = False
        while waiting:
            node, id = waiting.pop()
            if node.direct and self._has_direct(node, id):
                self._take_steps(1)
                holds = True
                continue
            following = [(branch, id) for branch in self._branches(node)]
            for place, has_wildcard in node.requests:
                self._follow(node, place, by_place.get((place, id), ()), following)
                if has_wildcard:
                    self._follow(node, place, by_place.get((place, WILDCARD), ()), following)
            self._take_steps(1 + len(following))
            for state in following:
                if state not in seen:
                    seen.add(state)
                    (waiting if state[0].operation is None else operations).append(state)
        return holds, operations

    def _has_direct(self, node: AheadNode, id: ObjectId) -> bool:
        by_place = self._warrants
        for place, has_wildcard in node.direct:
            if (place, id) in by_place or (has_wildcard and (place, WILDCARD) in by_place):
                return True
        return False

    def _take_steps(self, number: int) -> None:
        self._steps += number
        if self._steps > MOST_STEPS:
            raise GivenUp

    def _follow(self, node: AheadNode, place: int, warrants: Sequence[Warrant], following: list[_State]) -> None:
        """Adds what these warrants lead to."""
        for warrant in warrants:
            names = (place, warrant.relation, warrant.subject_type, warrant.subject_relation)
            targets = node.targets.get(names)
            if targets is None:
                targets = self._nodes.find_targets(node, names, warrant)
            if targets and warrant.subject_id == WILDCARD:
                raise GivenUp
            following += [(target, warrant.subject_id) for target in targets]

    def _branches(self, node: AheadNode) -> Sequence[AheadNode]:
        return self._nodes.find_branches(node) if node.branches is None else node.branches
