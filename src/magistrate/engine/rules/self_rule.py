"""Defines `{"inheritIf": "self"}`: the subject is the object itself.

On an object type with a relation that is called `self`, the same text names that relation (see engine/model/model.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from magistrate.engine.names import WILDCARD, ObjectId, TypeName
from magistrate.engine.rules.rule import CheckedNames, LeafRule, LeafValues, NamedConditions, RuleDefinition
from magistrate.engine.truth import FALSE, TRUE, Truth


@dataclass(frozen=True, slots=True)
class SelfRule(LeafRule):
    """Represents the rule. A userset on the object is not the object. On any object, the id `*`, it holds for every
    subject of the type, because each of them is one of the objects."""

    keyword: ClassVar[str] = "self"

    def decide(self, checked: CheckedNames, conditions: NamedConditions) -> Truth:
        if checked.subject_relation or checked.subject_type != checked.object_type:
            return FALSE
        return TRUE if checked.object_id in (checked.subject_id, WILDCARD) else FALSE

    def list_objects(
        self, of_type: TypeName, subject_type: TypeName, subject_id: ObjectId, conditions: NamedConditions
    ) -> LeafValues:
        return LeafValues(FALSE, {subject_id: TRUE, WILDCARD: TRUE} if of_type == subject_type else {})

    def list_subjects(
        self, object_type: TypeName, object_id: ObjectId, subject_type: TypeName | None, conditions: NamedConditions
    ) -> LeafValues:
        if object_type != subject_type:
            return LeafValues(FALSE)
        return LeafValues(TRUE) if object_id == WILDCARD else LeafValues(FALSE, {object_id: TRUE})

    def render(self, rules: Sequence[RuleDefinition]) -> RuleDefinition:
        return RuleDefinition(inherit_if=self.keyword)

    def describe(self) -> str:
        return "self: the object itself"
