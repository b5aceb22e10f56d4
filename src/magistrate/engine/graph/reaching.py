"""Which plans can lead to subjects of a type at all, and which are made of nothing but groups: both as far as the forms
of a model tell."""

from collections import defaultdict
from collections.abc import Iterator

from magistrate.engine.plans import Gate, Model, Plan
from magistrate.engine.terms import WILDCARD, RelationName, TypeName


def closed_plans(model: Model) -> frozenset[Plan]:
    """Those of groups that only warrants make members of: to subjects, and to other such groups, by name. Who is in
    such a group can be told from the subject's side."""
    named = {(form.subject_type, form.subject_relation) for form in model.forms if form.subject_relation}
    plans = {model.plan(of_type, RelationName(relation)) for of_type, relation in named}
    closed = {plan for plan in plans if plan.is_defined and not plan.links and not plan.parts}
    closed = {plan for plan in closed if not any(form.object_id for form in model.forms_on(plan.type, plan.relations))}
    while others := {plan for plan in closed if not closed.issuperset(_inner(model, plan))}:
        closed -= others
    return frozenset(closed)


def _inner(model: Model, plan: Plan) -> Iterator[Plan | None]:
    """The groups in a group; None for every group there is."""
    for form in model.forms_on(plan.type, plan.group_relations):
        if form.subject_relation:
            relation = RelationName(form.subject_relation)
            yield None if form.subject_id == WILDCARD else model.plan(form.subject_type, relation)


def tell_leading(model: Model, plan: Plan, subject_type: TypeName, known: dict[Plan, bool]) -> None:
    """Adds to `known` whether this plan may give a subject of the type something, or leaves open whether it does; and
    the same of every plan that it leads to."""
    reverse: dict[Plan, list[Plan]] = defaultdict(list)
    new = {plan: None}
    waiting = [plan]
    while waiting:
        one = waiting.pop()
        for target in _targets(model, one):
            reverse[target].append(one)
            if target not in new and target not in known:
                new[target] = None
                waiting.append(target)
    waiting = [one for one in new if _gives(model, one, subject_type)]
    waiting += [one for target, origins in reverse.items() if known.get(target) for one in origins]
    known.update(dict.fromkeys(new, False))
    while waiting:
        one = waiting.pop()
        if not known[one]:
            known[one] = True
            waiting += reverse[one]


def _gives(model: Model, plan: Plan, subject_type: TypeName) -> bool:
    """By itself. A combination may hold because something does not."""
    has_gate = any(isinstance(part, Gate) for part in plan.parts)
    return has_gate or not plan.is_defined or model.shape(plan.type, plan.relations, subject_type) is not None


def _targets(model: Model, plan: Plan) -> Iterator[Plan]:
    for form in model.forms_on(plan.type, plan.group_relations):
        if form.subject_relation:
            yield model.plan(form.subject_type, RelationName(form.subject_relation))
    for link in plan.links:
        yield model.plan(link.of_type, link.relation)
    waiting = [*plan.parts]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Gate):
            waiting += part.parts
        else:
            yield part if isinstance(part, Plan) else model.plan(plan.type, part)
