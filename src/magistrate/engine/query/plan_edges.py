"""Lists what a plan leads to, by the warrants on one object and on the same object, for lists of subjects with bitmaps.

What it lists depends on the model only, so that many lists can use it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from magistrate.engine.expansion import Operation, Plan
from magistrate.engine.graph.adjacency import AdjacencyKey, read_key
from magistrate.engine.plans import Model
from magistrate.engine.query.search import Checkpoints, prepare_plans
from magistrate.engine.terms import WILDCARD
from magistrate.engine.work import Work

TARGETS_FOR_A_NODE = 4
"""Counts the plans that are noted in the time of one unit of work."""


class SubjectEdge(NamedTuple):
    """Represents that warrants of this key on an object give the subjects they name what the plan grants there, or with
    a `target` those that have it on the named objects.

    `position` is that among the alternatives of the plan. With `is_reported`, the warrant itself is reported for them;
    of an arrow it is what the target reports. `is_explicit`: see Explicit.
    """

    key: AdjacencyKey
    target: Plan | None
    position: int
    is_reported: bool
    is_explicit: bool
    names_any_object: bool


@dataclass(frozen=True, slots=True, eq=False)
class PlanEdges:
    """Holds what one plan leads to. `direct` has the edges without a target; `same` the plans and operations on the
    same object, each with its position."""

    direct: Sequence[SubjectEdge]
    followed: Sequence[SubjectEdge]
    same: Sequence[tuple[int, Plan | Operation]]


def list_edges(model: Model, plan: Plan, work: Work) -> Checkpoints[PlanEdges]:
    """Returns what a plan of the model leads to, with all following plans compiled."""
    while not model.prepare_following(plan, work):
        yield None
    direct: dict[tuple[AdjacencyKey, int], SubjectEdge] = {}
    followed: dict[tuple[AdjacencyKey, Plan, int], SubjectEdge] = {}
    for pattern in model.patterns_to_subjects(plan):
        key, position = read_key(pattern), plan.positions[pattern.relation]
        known = direct.get((key, position))
        any_object = pattern.object_id == WILDCARD or (known is not None and known.names_any_object)
        is_own = pattern.relation == plan.relation
        direct[key, position] = SubjectEdge(key, None, position, True, is_own, any_object)
    for pattern, branch in model.expand_patterns(plan):
        yield from prepare_plans(model, [branch.target(pattern)], work)
        key, position, target = read_key(pattern), branch.position(plan, pattern), model.plan(*branch.target(pattern))
        edge = followed.get((key, target, position))
        any_object = pattern.object_id == WILDCARD or (edge is not None and edge.names_any_object)
        is_own = branch.is_explicit and pattern.relation == plan.relation
        followed[key, target, position] = SubjectEdge(key, target, position, branch.is_explicit, is_own, any_object)
        work.spend(1)
        if work.needs_checkpoint:
            yield None
    same = [(plan.positions[branch], model.branch(plan.type, branch)) for branch in plan.branches]
    return PlanEdges([*direct.values()], [*followed.values()], same)


def list_dependents(edges: Mapping[Plan, PlanEdges], work: Work) -> Checkpoints[Mapping[Plan, Sequence[Plan]]]:
    """Returns the plans that each plan gives its subjects to. With them, a change is propagated without looking at all
    plans, which would take quadratic time in a chain."""
    dependents: dict[Plan, list[Plan]] = defaultdict(list)
    for plan, one in edges.items():
        targets = [edge.target for edge in one.followed] + [branch for _, branch in one.same]
        for target in targets:
            if isinstance(target, Plan):
                dependents[target].append(plan)
        work.spend(1 + len(targets) // TARGETS_FOR_A_NODE)
        if work.needs_checkpoint:
            yield None
    return dependents
