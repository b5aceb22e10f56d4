"""Defines the graph of one decision: what has to be decided, what it waits for, and what its value depends on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from magistrate.engine.model.plans import Operation, Plan
from magistrate.engine.names import ObjectId, RelationName
from magistrate.engine.rules.operand_counts import OperandCounts
from magistrate.engine.truth import FALSE, TRUE, UNDEFINED, UNKNOWN, Truth
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Container, Linked

MAX_EDGES_FREED_AT_ONCE = 20
"""Limits the edges that are freed together with their node."""


@dataclass(eq=False, slots=True)
class CheckEdge:
    """Passes the value of `child` to `node`, limited to `limit`.

    `limit` is the value of the policy of `warrant`, which leads from one to the other; `warrant` is None within one
    object.
    """

    node: "CheckNode"
    child: "CheckNode"
    limit: Truth
    warrant: Warrant | None


class CheckNode(Linked):
    """Represents whether the subject has what `plan` grants on the object `id` of the plan's type; WILDCARD stands for
    any.

    `value` is None until it is decided. `floor` is the value of the node by itself and by those children that are
    decided; `open_children` counts the others. For a combination it is that of a leaf, or that with which a quantifier
    begins. `direct` is the warrant to the subject itself by which the node holds, if one does. `operands` are those of
    a combination once the first of its children is decided; the others count as UNKNOWN.
    """

    __slots__ = ("direct", "edges", "floor", "id", "is_needed", "open_children", "operands", "parents", "plan", "value")

    def __init__(self, plan: Plan | Operation, object_id: ObjectId) -> None:
        self.plan = plan
        self.id = object_id
        self.value: Truth | None = None
        self.floor = FALSE
        self.edges: list[CheckEdge] = []
        self.parents: list[CheckEdge] = []
        self.open_children = 0
        self.operands: OperandCounts | None = None
        self.direct: Warrant | None = None
        self.is_needed = False

    @property
    def relation(self) -> RelationName | None:
        """Returns the relation of the node, or None within a combination."""
        return self.plan.relation if isinstance(self.plan, Plan) else None

    @property
    def is_awaited(self) -> bool:
        """Returns whether an undecided node waits for this one."""
        return any(edge.node.value is None for edge in self.parents)

    @property
    def may_be_on_path(self) -> bool:
        """Returns whether a node that holds may depend on this one."""
        return any(edge.node.value is TRUE for edge in self.parents)

    def unlink(self) -> Sequence[Container]:
        containers = (self.edges, self.parents)
        if len(self.edges) + len(self.parents) <= MAX_EDGES_FREED_AT_ONCE:
            self.edges.clear()
            self.parents.clear()
            return ()
        self.edges, self.parents = [], []
        return containers

    def apply_child(self, edge: CheckEdge) -> bool:
        """Applies the value of a child that has been decided, and returns whether this node is decided now."""
        self.open_children -= 1
        child_value = edge.child.value
        assert child_value is not None
        if isinstance(self.plan, Operation):
            operands = self.operands or self._begin_operands(self.plan)
            operands.replace(edge.limit, UNKNOWN, child_value)
            if child_value is self.plan.rule.decisive or not self.open_children:
                value = operands.compute_value()
                if value in (TRUE, FALSE) or not self.open_children:
                    self.value = value
        else:
            self.floor = max(self.floor, min(child_value, edge.limit))
            if self.floor is TRUE or not self.open_children:
                self.value = self.floor
        return self.value is not None

    def _begin_operands(self, plan: Operation) -> OperandCounts:
        operands = self.operands = plan.rule.count_operands(self.floor)
        for edge in self.edges:
            operands.add(edge.limit, UNKNOWN)
        return operands

    def missing_type(self) -> str:
        """Returns the name of the undefined object type that makes the node UNDEFINED.

        It is the first in written order, and by warrants in order of their creation.
        """
        seen = {id(self)}
        waiting = [self]
        while waiting:
            node = waiting.pop()
            if isinstance(node.plan, Plan) and not node.plan.is_defined:
                return node.plan.type
            children = [edge.child for edge in reversed(node.edges) if edge.child.value is UNDEFINED]
            waiting += [child for child in children if id(child) not in seen]
            seen.update(map(id, children))
        raise AssertionError("a node is UNDEFINED, and no type is")


class EvaluationScope(NamedTuple):
    """Says what is evaluated besides what decides.

    - `with_paths`: what comes before the first warrant found, as paths.py needs it.
    - `with_all_rules`: what an explanation shows besides, the other rules of a combination that is decided, and
      warrants whose policy does not hold.
    - `with_reports`: what may come before the warrant that a row of a query reports (engine/lists/candidates.py).
    """

    with_paths: bool = False
    with_all_rules: bool = False
    with_reports: bool = False

    def covers(self, node: CheckNode) -> bool:
        """Returns whether a node is evaluated although no undecided node needs its value."""
        if (self.with_paths or self.with_reports) and node.may_be_on_path:
            return True
        return self.with_all_rules and any(isinstance(edge.node.plan, Operation) for edge in node.parents)


DECISION_ALONE = EvaluationScope()
WITH_ALL_RULES = EvaluationScope(with_all_rules=True)
