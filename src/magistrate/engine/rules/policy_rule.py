"""Defines `{"policy": NAME}`: a named policy of the store holds with the context of the check.

It says nothing of the object or the subject. If it is unknown, because a variable is missing or because there is no
policy of this name, the rule neither grants nor excludes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from magistrate.engine.names import ObjectId, PolicyName, TypeName
from magistrate.engine.rules.rule import CheckedNames, LeafRule, LeafValues, NamedConditions, RuleDefinition
from magistrate.engine.truth import Truth


@dataclass(frozen=True, slots=True)
class PolicyRule(LeafRule):
    name: PolicyName

    @property
    def policy(self) -> PolicyName:
        return self.name

    def decide(self, checked: CheckedNames, conditions: NamedConditions) -> Truth:
        return conditions.evaluate_named(self.name)

    def list_objects(
        self, of_type: TypeName, subject_type: TypeName, subject_id: ObjectId, conditions: NamedConditions
    ) -> LeafValues:
        return LeafValues(conditions.evaluate_named(self.name))

    def list_subjects(
        self, object_type: TypeName, object_id: ObjectId, subject_type: TypeName | None, conditions: NamedConditions
    ) -> LeafValues:
        return LeafValues(conditions.evaluate_named(self.name))

    def render(self, rules: Sequence[RuleDefinition]) -> RuleDefinition:
        return RuleDefinition(policy=self.name)

    def describe(self) -> str:
        return f"policy {self.name}"
