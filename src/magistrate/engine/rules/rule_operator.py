"""Defines what operators over rules share: a keyword over one rule or more.

Everything that depends on the operator is a member of its class, so that no other code has to know it: checks, both
lists, the graph cache, cycles, explanations, texts and the command line use the operator. What has no value here is a
part that each operator must define; the registry refuses one that lacks it (engine/rules/__init__.py).
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from pyroaring import BitMap

from magistrate.engine.rules.operator_words import OperatorWords
from magistrate.engine.rules.rule import Combined, Requirement, Rule, RuleDefinition
from magistrate.engine.truth import Truth


@dataclass(frozen=True, slots=True)
class RuleOperator(Combined):
    """Holds one rule or more in `rules`, in written order; an empty list is refused when the model is read."""

    quantifier: ClassVar[None] = None  # walks look at both for every rule: a property takes longer
    leaf: ClassVar[None] = None
    keyword: ClassVar[str]
    """Names the operator in JSON and in explanations."""
    words: ClassVar[OperatorWords]
    decisive: ClassVar[Truth]
    """Holds the value of a rule upon which the combination may be decided before all of its rules are."""
    is_monotone: ClassVar[bool]
    """Says whether a rule that gains value never makes the combination lose any, and whether it holds depends only on
    which rules hold. A combination that is not monotone is decided after all of its rules."""
    is_antitone: ClassVar[bool]
    """Says whether a rule that gains value never makes the combination gain any, as with noneOf."""
    is_associative: ClassVar[bool] = False
    """Says whether the rules of the same operator within it count as its own."""

    rules: tuple[Rule, ...] = field()  # not the default of `Rule`
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
            rule, another = waiting.pop()
            if rule is another:
                continue
            if not isinstance(rule, RuleOperator):
                if rule != another:
                    return False
            elif isinstance(another, RuleOperator) and rule._likens(another):
                waiting += zip(rule.rules, another.rules, strict=True)
            else:
                return False
        return True

    def _likens(self, other: "RuleOperator") -> bool:
        mine = (self.keyword, self._hash, len(self.rules))
        return mine == (other.keyword, other._hash, len(other.rules))

    @staticmethod
    @abstractmethod
    def combine(values: Iterable[Truth]) -> Truth:
        """Returns the value of the combination, given that of each of its rules, in any order.

        With UNKNOWN for some of them it is TRUE or FALSE only if it is so whatever their values are.
        """

    @staticmethod
    @abstractmethod
    def combine_sets(sets: Sequence[BitMap], within: BitMap) -> BitMap:
        """Returns the ids for which the combination is TRUE, given those for which each of its rules is, in written
        order. The rules are TRUE or FALSE for each of the ids `within`, among which all of these are."""

    @abstractmethod
    def explain(self, values: Sequence[Truth | None]) -> Sequence[int]: ...

    @staticmethod
    @abstractmethod
    def require(holds: bool, count: int) -> Sequence[Requirement]: ...

    @classmethod
    def is_union(cls) -> bool:
        """Returns whether each of its rules alone is enough, so that they are alternatives."""
        return Requirement(1, 0) in cls.require(True, 2)

    def describe(self) -> str:
        return self.keyword

    def render(self, rules: Sequence[RuleDefinition]) -> RuleDefinition:
        return RuleDefinition(inherit_if=self.keyword, rules=[*rules])
