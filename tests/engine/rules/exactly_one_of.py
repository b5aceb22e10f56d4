"""An operator that the service does not have, as docs/extending.md says to write one: exactly one rule holds.

It is neither monotone nor antitone, and its value depends on how many rules hold, so that code which takes operators
for one of the present ones answers wrongly.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar

from pyroaring import BitMap

from magistrate.engine.rules import RULE_OPERATORS, build_registry
from magistrate.engine.rules.operator_words import OperatorWords
from magistrate.engine.rules.rule import Bounds, Requirement
from magistrate.engine.rules.rule_operator import RuleOperator
from magistrate.engine.truth import FALSE, TRUE, Truth, negate
from tests import oracle

USES: Counter[str] = Counter()
"""How often each part of the operator was used."""


class ExactlyOneOf(RuleOperator):
    __slots__ = ()
    keyword: ClassVar[str] = "exactlyOneOf"
    words: ClassVar[OperatorWords] = OperatorWords(
        text="exactly_one_of", fga=None, between=None, before="", phrase="exactly one of these"
    )
    decisive: ClassVar[Truth] = TRUE
    is_monotone: ClassVar[bool] = False
    is_antitone: ClassVar[bool] = False

    @staticmethod
    def combine(values: Iterable[Truth]) -> Truth:
        USES["combine"] += 1
        first, second = greatest_two(values)
        return negate(second) if first is TRUE else first

    @staticmethod
    def combine_sets(sets: Sequence[BitMap], within: BitMap) -> BitMap:
        USES["combine_sets"] += 1
        once, twice = BitMap(), BitMap()
        for one in sets:
            twice |= once & one
            once |= one
        return once - twice

    def bounds(self, lows: Sequence[Truth], highs: Sequence[Truth]) -> Bounds:
        USES["bounds"] += 1
        possible = {(FALSE, FALSE)}
        for low, high in zip(lows, highs, strict=True):
            between = [value for value in Truth if low <= value <= high]
            possible = {greatest_two((*two, value)) for two in possible for value in between}
        values = {self.combine(two) for two in possible}
        return min(values), max(values)

    def explain(self, values: Sequence[Truth | None]) -> Sequence[int]:
        """Returns every place, of a denial those that hold if they are several."""
        USES["explain"] += 1
        holding = [place for place, value in enumerate(values) if value is TRUE]
        return holding if len(holding) > 1 else range(len(values))

    @staticmethod
    def require(holds: bool, count: int) -> Sequence[Requirement]:
        USES["require"] += 1
        if holds:
            return [Requirement(1, count - 1)]
        return [Requirement(2, 0), Requirement(0, count)] if count > 1 else [Requirement(0, 1)]


def greatest_two(values: Iterable[Truth]) -> tuple[Truth, Truth]:
    first, second, *_ = sorted((*values, FALSE, FALSE), reverse=True)
    return first, second


def exactly_one(values: Sequence[oracle.Truth]) -> oracle.Truth:
    """The meaning, for the oracle: two that hold exclude each other; else what is not decided is the value."""
    holding = [value for value in values if value == oracle.Truth.TRUE]
    undecided = [value for value in values if value in (oracle.Truth.UNKNOWN, oracle.Truth.UNDEFINED)]
    if len(holding) > 1:
        return oracle.Truth.FALSE
    return max(undecided) if undecided else oracle.Truth.TRUE if holding else oracle.Truth.FALSE


def register() -> None:
    RULE_OPERATORS.update(build_registry([*RULE_OPERATORS.values(), ExactlyOneOf]))
    oracle.OPERATORS[ExactlyOneOf.keyword] = oracle.Operator(exactly_one, is_monotone=False)


@contextmanager
def registered() -> Iterator[None]:
    """Registers the operator for a while."""
    register()
    try:
        yield
    finally:
        del RULE_OPERATORS[ExactlyOneOf.keyword], oracle.OPERATORS[ExactlyOneOf.keyword]
