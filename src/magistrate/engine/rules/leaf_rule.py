"""Defines what the leaf rules share: they are decided from the check alone, without warrants and other rules.

A leaf decides three things, all in its own file: whether it holds for one object and one subject, on which objects
it holds for a subject, and for which subjects on an object. It has no rules to combine, and nothing that is written or
deleted changes it.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from magistrate.engine.names import ObjectId, PolicyName, TypeName
from magistrate.engine.rules.operand_counts import DistinctOperands
from magistrate.engine.rules.rule import (
    Bounds,
    BranchCollector,
    CheckedNames,
    LeafValues,
    NamedConditions,
    OperandCounter,
    Requirement,
    Rule,
)
from magistrate.engine.truth import FALSE, TRUE, Truth


class LeafRule:
    __slots__ = ()

    rules: ClassVar[tuple[Rule, ...]] = ()
    is_monotone: ClassVar[bool] = True
    is_antitone: ClassVar[bool] = False
    size: ClassVar[int] = 1
    quantifier: ClassVar[None] = None
    decisive: ClassVar[Truth] = TRUE

    @property
    def policy(self) -> PolicyName | None:
        """Returns the name of the policy that the rule evaluates, or None."""
        return None

    @property
    def leaf(self) -> "LeafRule":
        return self

    @abstractmethod
    def decide(self, checked: CheckedNames, conditions: NamedConditions) -> Truth:
        """Returns the value of the rule for one object and one subject."""

    @abstractmethod
    def list_objects(
        self, of_type: TypeName, subject_type: TypeName, subject_id: ObjectId, conditions: NamedConditions
    ) -> LeafValues:
        """Returns the values on all objects of a type, `*` among them, for a subject that is no userset."""

    @abstractmethod
    def list_subjects(
        self, object_type: TypeName, object_id: ObjectId, subject_type: TypeName | None, conditions: NamedConditions
    ) -> LeafValues:
        """Returns the values on one object for all subjects of a type, `*` among them; None stands for a type that is
        named nowhere."""

    @abstractmethod
    def describe(self) -> str: ...

    @staticmethod
    def combine(values: Iterable[Truth]) -> Truth:
        return max(values, default=FALSE)

    def count_operands(self, floor: Truth) -> OperandCounter:
        """Returns a counter for no operands, which a leaf has none of."""
        return DistinctOperands(self.combine)

    def list_operands(self, floor: Truth, limits: Sequence[Truth], values: Sequence[Truth]) -> Sequence[Truth]:
        return values

    def bounds(self, lows: Sequence[Truth], highs: Sequence[Truth]) -> Bounds:
        return self.combine(lows), self.combine(highs)

    def reasons(self, values: Sequence[Truth | None]) -> Sequence[int]:
        return ()

    def explain(self, values: Sequence[Truth | None]) -> Sequence[int]:
        return ()

    def require(self, holds: bool, count: int) -> Sequence[Requirement]:
        return ()

    def dependency(self) -> None:
        return None

    def join(self, branches: BranchCollector) -> None:
        branches.add_operation(self)
