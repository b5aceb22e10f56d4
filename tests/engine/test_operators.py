"""Every operator over rules keeps what its interface promises (engine/rules/rule_operator.py), whatever it means."""

from itertools import product

import pytest
from pyroaring import BitMap

from magistrate.engine.evaluation.truth import FALSE, TRUE, UNDEFINED, UNKNOWN, Truth
from magistrate.engine.rules import RULE_OPERATORS
from magistrate.engine.rules.direct import Direct
from magistrate.engine.rules.rule_operator import RuleOperator

VALUES = (FALSE, UNKNOWN, UNDEFINED, TRUE)
DECIDED = (FALSE, TRUE)
SIZES = (1, 2, 3)

operators = pytest.mark.parametrize(
    "operator", [pytest.param(one, id=keyword) for keyword, one in RULE_OPERATORS.items()]
)


def of_size(operator: type[RuleOperator], size: int) -> RuleOperator:
    return operator((Direct(),) * size)


def between(low: Truth, high: Truth) -> list[Truth]:
    return [value for value in VALUES if low <= value <= high]


@operators
def test_what_it_decides_with_unknown_rules_it_decides_whatever_they_are(operator: type[RuleOperator]) -> None:
    for size in SIZES:
        for values in product(VALUES, repeat=size):
            found = operator.combine(values)
            if found in DECIDED:
                completions = product(*(VALUES if value == UNKNOWN else (value,) for value in values))
                assert {operator.combine(one) for one in completions} == {found}, values


@operators
def test_only_a_decisive_value_decides_it_early(operator: type[RuleOperator]) -> None:
    for size in SIZES:
        for values in product(VALUES, repeat=size):
            for place in range(size):
                before = [UNKNOWN if at == place else value for at, value in enumerate(values)]
                is_early = UNKNOWN in values and operator.combine(values) in DECIDED
                if is_early and operator.combine(before) not in DECIDED:
                    assert values[place] == operator.decisive, values


@operators
def test_its_bounds_are_the_least_and_the_greatest_of_what_is_possible(operator: type[RuleOperator]) -> None:
    ends = [(low, high) for low in VALUES for high in VALUES if low <= high]
    for size in SIZES:
        for given in product(ends, repeat=size):
            lows, highs = zip(*given, strict=True)
            possible = [operator.combine(values) for values in product(*(between(*one) for one in given))]
            assert of_size(operator, size).bounds(lows, highs) == (min(possible), max(possible)), given


@operators
def test_if_it_is_monotone_more_never_makes_it_less_and_only_what_holds_matters(operator: type[RuleOperator]) -> None:
    def is_kept(values: tuple[Truth, ...], more: tuple[Truth, ...]) -> bool:
        return operator.combine(values) <= operator.combine(more)

    def holds_alike(values: tuple[Truth, ...]) -> bool:
        crisp = [TRUE if value == TRUE else FALSE for value in values]
        return (operator.combine(values) == TRUE) == (operator.combine(crisp) == TRUE)

    all_values = [values for size in SIZES for values in product(VALUES, repeat=size)]
    pairs = [
        (values, (*values[:place], *more, *values[place + 1 :]))
        for values in all_values
        for place in range(len(values))
        for more in [(value,) for value in VALUES if value >= values[place]]
    ]
    keeps = all(is_kept(*pair) for pair in pairs) and all(map(holds_alike, all_values))

    assert keeps or not operator.is_monotone
    if operator.is_monotone:
        assert all(operator.combine((FALSE,) * size) == FALSE for size in SIZES), "a list begins with nothing"


@operators
def test_the_rules_it_gives_as_reasons_hold(operator: type[RuleOperator]) -> None:
    for size in SIZES:
        for values in product(VALUES, repeat=size):
            if operator.combine(values) == TRUE:
                reasons = of_size(operator, size).reasons(values)
                assert all(values[place] == TRUE for place in reasons), values


@operators
def test_it_combines_sets_as_it_combines_the_values_of_each_id(operator: type[RuleOperator]) -> None:
    for size in SIZES:
        every = list(product(DECIDED, repeat=size))
        within = BitMap(range(len(every)))
        sets = [BitMap(id for id, values in enumerate(every) if values[place] is TRUE) for place in range(size)]

        found = operator.combine_sets(sets, within)

        assert [*found] == [id for id, values in enumerate(every) if operator.combine(values) is TRUE]
