"""What anyOf, allOf and noneOf share: a keyword over one rule or more."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from magistrate.engine.rules.rule import Dependency, Rule, RuleForm


@dataclass(frozen=True, slots=True)
class Combination:
    """`rules` holds one rule or more, in written order; an empty list is refused when the model is read."""

    keyword: ClassVar[str]
    rules: tuple[Rule, ...]

    def form(self) -> RuleForm:
        return RuleForm(inherit_if=self.keyword, rules=[rule.form() for rule in self.rules])

    def dependencies(self) -> Iterator[Dependency]:
        for rule in self.rules:
            yield from rule.dependencies()
