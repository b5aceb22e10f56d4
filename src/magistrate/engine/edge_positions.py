"""Finds where the edges of a decided node stand among the alternatives of its plan, in written order."""

from magistrate.engine.expansion import Branch, Operation, Plan
from magistrate.engine.nodes import CheckEdge
from magistrate.engine.plans import Model
from magistrate.engine.warrants import Warrant


class EdgePositions:
    """Looks up positions for the nodes of one evaluation, which was made with `model`."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._of_branches: dict[Plan, dict[Plan | Operation, int]] = {}

    def of_warrant(self, plan: Plan, edge: CheckEdge, warrant: Warrant) -> tuple[int, bool]:
        """Returns the first position at which the warrant leads to the child of the edge, and whether an arrow stands
        there."""
        return min(
            (branch.position(plan, warrant), not branch.is_explicit)
            for branch in plan.expand(warrant)
            if self._model.plan(*branch.target(warrant)) is edge.child.plan
        )

    def of_branch(self, plan: Plan, branch: Plan | Operation) -> int:
        """Returns the first position at which the plan continues with `branch` on the same object."""
        positions = self._of_branches.get(plan)
        if positions is None:
            one: Branch
            positions = self._of_branches[plan] = {}
            for one in reversed(plan.branches):
                positions[self._model.branch(plan.type, one)] = plan.positions[one]
        return positions[branch]
