"""Determines which plans can reach subjects of a type, and which are given by warrants alone, from the warrant
patterns."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import Operation, Plan, PlanNames
from magistrate.engine.names import WILDCARD, RelationName, TypeName
from magistrate.engine.work import Work


def group_names(model: Model) -> Iterable[PlanNames]:
    """Returns the names of the plans that `find_closed_plans` examines."""
    return {
        (pattern.subject_type, RelationName(pattern.subject_relation))
        for pattern in model.patterns
        if pattern.subject_relation
    }


def find_closed_plans(model: Model) -> frozenset[Plan]:
    """Returns the plans of groups whose members are given by warrants alone, to subjects or to other such groups by
    name.

    The membership in such a group can be determined from the subject's side.
    """
    plans = {model.plan(*names) for names in group_names(model)}
    closed = {plan for plan in plans if plan.is_defined and not plan.links and not plan.branches}
    closed = {
        plan
        for plan in closed
        if not any(pattern.object_id for pattern in model.patterns_on(plan.type, plan.relations))
    }
    containing: dict[Plan | None, list[Plan]] = defaultdict(list)
    for plan in closed:
        for inner in _inner(model, plan):
            containing[inner].append(plan)
    others: list[Plan] = [plan for inner, plans in containing.items() if inner not in closed for plan in plans]
    while others:
        plan = others.pop()
        if plan in closed:
            closed.remove(plan)
            others += containing[plan]
    return frozenset(closed)


def _inner(model: Model, plan: Plan) -> Iterator[Plan | None]:
    """Yields the groups that a group has as members; None stands for every group of a type."""
    for pattern, branch in model.expand_patterns(plan):
        yield None if pattern.subject_id == WILDCARD else model.plan(*branch.target(pattern))


PlanKey = PlanNames | Plan
"""Identifies a plan by its names, or by itself when it has none of its own."""


class ReachabilitySearch:
    """Determines whether plans, and each that they reach, may grant something to a subject of a type.

    A plan that leaves this open counts as one that does. Plans are compiled as they are reached. The result is added to
    `reachable` when it is complete.
    """

    def __init__(self, model: Model, subject_type: TypeName, reachable: dict[PlanKey, bool]) -> None:
        self._model = model
        self._subject_type = subject_type
        self._known = reachable
        self._wanted: set[PlanKey] = set()
        self._waiting: list[PlanKey] = []
        self._seen: dict[PlanKey, bool] = {}
        """Maps each plan that was examined to whether it grants such a subject something by itself."""
        self._reverse: dict[PlanKey, list[PlanKey]] = defaultdict(list)

    def __len__(self) -> int:
        """Returns how many plans have been reached and are not known yet."""
        return len(self._seen) + len(self._waiting)

    def add(self, names: PlanNames) -> None:
        """Adds a plan to those that are searched from."""
        if names not in self._wanted:
            self._wanted.add(names)
            self._waiting.append(names)

    def go_on(self, work: Work) -> bool:
        """Continues the search and returns whether it is complete; if not, the time slice is over. Raises
        BudgetExceeded."""
        while self._waiting:
            key = self._waiting[-1]
            if not isinstance(key, Plan) and not self._model.prepare(*key, work):
                return False
            self._waiting.pop()
            if key not in self._seen and key not in self._known:
                self._examine(key)
            work.spend(1)
            if work.needs_checkpoint:
                return False
        self._conclude()
        return True

    def _examine(self, key: PlanKey) -> None:
        plan = key if isinstance(key, Plan) else self._model.plan(*key)
        self._seen[key] = _gives(self._model, plan, self._subject_type)
        for target in _targets(self._model, plan):
            self._reverse[target].append(key)
            self._waiting.append(target)

    def _conclude(self) -> None:
        targets = [key for key, gives in self._seen.items() if gives]
        targets += [origin for key, origins in self._reverse.items() if self._known.get(key) for origin in origins]
        self._known.update(dict.fromkeys(self._seen, False))
        while targets:
            key = targets.pop()
            if not self._known[key]:
                self._known[key] = True
                targets += self._reverse[key]


def _gives(model: Model, plan: Plan, subject_type: TypeName) -> bool:
    """Returns whether a plan may grant something by itself. A combination may, because it may hold when its part
    does not."""
    has_operation = any(isinstance(branch, Operation) for branch in plan.branches)
    return has_operation or not plan.is_defined or model.request(plan.type, plan.relations, subject_type) is not None


def _targets(model: Model, plan: Plan) -> Iterator[PlanKey]:
    """Yields what a plan reaches: plans without a name of their own, and the names of others."""
    yield from {branch.target(pattern): None for pattern, branch in model.expand_patterns(plan)}
    waiting = [*plan.branches]
    while waiting:
        branch = waiting.pop()
        if isinstance(branch, Operation):
            waiting += branch.branches
            yield from ((link.of_type, link.relation) for link in branch.links)
        else:
            yield branch if isinstance(branch, Plan) else (plan.type, branch)
