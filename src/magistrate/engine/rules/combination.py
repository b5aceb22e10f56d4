"""What anyOf, allOf and noneOf share: a keyword over one rule or more."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from magistrate.engine.rules.rule import Alternatives, Dependency, Rule, RuleForm
from magistrate.engine.truth import Truth


@dataclass(frozen=True, slots=True)
class Combination:
    """`rules` holds one rule or more, in written order; an empty list is refused when the model is read."""

    keyword: ClassVar[str]
    decisive: ClassVar[Truth]
    """The value of one rule that decides the combination, whatever the others are."""
    negates: ClassVar[bool] = False
    """Whether the combination may hold because a rule does not."""

    rules: tuple[Rule, ...]

    @staticmethod
    @abstractmethod
    def combined(values: Iterable[Truth]) -> Truth:
        """The value of the combination, given those of its rules."""

    @staticmethod
    @abstractmethod
    def witness(lengths: Sequence[int]) -> int | None:
        """Which of the rules explains why the combination holds, given how many warrants explain each of them; None
        if no warrant does."""

    def form(self) -> RuleForm:
        return RuleForm(inherit_if=self.keyword, rules=[rule.form() for rule in self.rules])

    def dependencies(self) -> Iterator[Dependency]:
        for rule in self.rules:
            yield from rule.dependencies()

    def join(self, alternatives: Alternatives) -> None:
        alternatives.add_combination(self)
