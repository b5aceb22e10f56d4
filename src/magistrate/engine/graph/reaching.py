"""Determines which plans can lead to subjects of a type, and which consist of groups alone, from the warrant
patterns."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from magistrate.engine.expansion import Operation, Plan, PlanNames
from magistrate.engine.plans import Model
from magistrate.engine.terms import WILDCARD, RelationName, TypeName
from magistrate.engine.work import Work


def group_names(model: Model) -> Iterable[PlanNames]:
    """Returns the names of the plans that `find_closed_plans` examines."""
    return {(form.subject_type, RelationName(form.subject_relation)) for form in model.forms if form.subject_relation}


def find_closed_plans(model: Model) -> frozenset[Plan]:
    """Returns the plans of groups whose members are given by warrants alone, to subjects or to other such groups by
    name.

    The membership in such a group can be determined from the subject's side.
    """
    plans = {model.plan(*names) for names in group_names(model)}
    closed = {plan for plan in plans if plan.is_defined and not plan.links and not plan.parts}
    closed = {plan for plan in closed if not any(form.object_id for form in model.forms_on(plan.type, plan.relations))}
    while others := {plan for plan in closed if not closed.issuperset(_inner(model, plan))}:
        closed -= others
    return frozenset(closed)


def _inner(model: Model, plan: Plan) -> Iterator[Plan | None]:
    """Yields the groups that a group has as members; None stands for every group of a type."""
    for form, branch in model.expand_patterns(plan):
        yield None if form.subject_id == WILDCARD else model.plan(*branch.target(form))


PlanKey = PlanNames | Plan
"""Identifies a plan by its names, or by itself when it has none of its own."""


class LeadingSearch:
    """Determines whether a plan, and each that it leads to, may grant something to a subject of a type.

    A plan that leaves this open counts as one that does. Plans are compiled as they are reached. The result is added to
    `known` when it is complete.
    """

    def __init__(self, model: Model, names: PlanNames, subject_type: TypeName, known: dict[PlanKey, bool]) -> None:
        self._model = model
        self._subject_type = subject_type
        self._known = known
        self._waiting: list[PlanKey] = [names]
        self._seen: dict[PlanKey, bool] = {}
        """Maps each plan that was examined to whether it grants such a subject something by itself."""
        self._reverse: dict[PlanKey, list[PlanKey]] = defaultdict(list)

    def go_on(self, work: Work) -> bool:
        """Continues the search and returns whether it is complete; if not, the turn is over. Raises BudgetSpent."""
        while self._waiting:
            key = self._waiting[-1]
            if not isinstance(key, Plan) and not self._model.prepare(*key, work):
                return False
            self._waiting.pop()
            if key not in self._seen and key not in self._known:
                self._look_at(key)
            work.spend(1)
            if work.turn_is_over:
                return False
        self._conclude()
        return True

    def _look_at(self, key: PlanKey) -> None:
        plan = key if isinstance(key, Plan) else self._model.plan(*key)
        self._seen[key] = _gives(self._model, plan, self._subject_type)
        for target in _targets(self._model, plan):
            self._reverse[target].append(key)
            self._waiting.append(target)

    def _conclude(self) -> None:
        leading = [key for key, gives in self._seen.items() if gives]
        leading += [origin for key, origins in self._reverse.items() if self._known.get(key) for origin in origins]
        self._known.update(dict.fromkeys(self._seen, False))
        while leading:
            key = leading.pop()
            if not self._known[key]:
                self._known[key] = True
                leading += self._reverse[key]


def _gives(model: Model, plan: Plan, subject_type: TypeName) -> bool:
    """Returns whether a plan may grant something by itself. A combination may, because it may hold when its part
    does not."""
    has_gate = any(isinstance(part, Operation) for part in plan.parts)
    return has_gate or not plan.is_defined or model.shape(plan.type, plan.relations, subject_type) is not None


def _targets(model: Model, plan: Plan) -> Iterator[PlanKey]:
    """Yields what a plan leads to: plans without a name of their own, and the names of others."""
    yield from {branch.target(form): None for form, branch in model.expand_patterns(plan)}
    waiting = [*plan.parts]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Operation):
            waiting += part.parts
        else:
            yield part if isinstance(part, Plan) else (plan.type, part)
