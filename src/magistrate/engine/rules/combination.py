"""Defines what anyOf, allOf and noneOf share: a keyword over one rule or more."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from magistrate.engine.rules.rule import Alternatives, Rule, RuleForm
from magistrate.engine.truth import Truth


@dataclass(frozen=True, slots=True)
class Combination:
    """Holds one rule or more in `rules`, in written order; an empty list is refused when the model is read."""

    keyword: ClassVar[str]
    decisive: ClassVar[Truth]
    """Holds the value of one rule that decides the combination, whatever the values of the others are."""
    negates: ClassVar[bool] = False
    """Tells whether the combination may hold because a rule does not."""

    rules: tuple[Rule, ...]
    size: int = field(init=False, compare=False, repr=False)
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", 1 + sum(rule.size for rule in self.rules))
        object.__setattr__(self, "_hash", hash((self.keyword, self.rules)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Returns whether both are equal, without recursion, like all code that goes into nested rules."""
        waiting: list[tuple[object, object]] = [(self, other)]
        while waiting:
            one, another = waiting.pop()
            if one is another:
                continue
            if not isinstance(one, Combination):
                if one != another:
                    return False
            elif isinstance(another, Combination) and one._likens(another):
                waiting += zip(one.rules, another.rules, strict=True)
            else:
                return False
        return True

    def _likens(self, other: "Combination") -> bool:
        mine = (self.keyword, self._hash, len(self.rules))
        return mine == (other.keyword, other._hash, len(other.rules))

    @staticmethod
    @abstractmethod
    def combine(values: Iterable[Truth]) -> Truth:
        """Returns the value of the combination, given those of its rules."""

    @staticmethod
    @abstractmethod
    def witness(lengths: Sequence[int]) -> int | None:
        """Returns the place of the rule that explains why the combination holds, or None when no warrant does.

        `lengths` has the number of warrants that explain each rule.
        """

    def form(self, rules: Sequence[RuleForm]) -> RuleForm:
        return RuleForm(inherit_if=self.keyword, rules=[*rules])

    def dependency(self) -> None:
        return None

    def join(self, alternatives: Alternatives) -> None:
        alternatives.add_combination(self)
