"""The quantifier keeps what its interface promises, whatever its links are worth."""

from itertools import product

from magistrate.engine.rules.for_all import ForAll
from magistrate.engine.truth import FALSE, TRUE, UNKNOWN, Truth

VALUES = tuple(Truth)
LIMITS = (FALSE, UNKNOWN, TRUE)


def value(links: tuple[tuple[Truth, Truth], ...]) -> Truth:
    """Of links with the value of their conditions, and that of the relation on the linked object."""
    begin = ForAll.begin(limit for limit, _ in links)
    return ForAll.combine([begin, *(ForAll.weigh(*link) for link in links)])


def links(most: int) -> list[tuple[tuple[Truth, Truth], ...]]:
    each = list(product(LIMITS, VALUES))
    return [found for count in range(most + 1) for found in product(each, repeat=count)]


def test_it_holds_if_there_is_a_link_and_the_relation_holds_on_every_linked_object() -> None:
    for given in links(3):
        linked = [there for limit, there in given if limit == TRUE]
        if all(limit != UNKNOWN for limit, _ in given):
            expected = min(linked) if linked else FALSE
            assert value(given) == expected, given


def test_what_it_decides_with_unknown_links_it_decides_whether_they_are_there_or_not() -> None:
    for given in links(3):
        if value(given) in (FALSE, TRUE):
            choices = [
                [(one, there) for one in (FALSE, TRUE)] if limit == UNKNOWN else [(limit, there)]
                for limit, there in given
            ]
            assert {value(one) for one in product(*choices)} == {value(given)}, given


def test_more_on_a_linked_object_never_takes_it_away() -> None:
    for given in links(2):
        for place, (limit, there) in enumerate(given):
            for more in (one for one in VALUES if one >= there):
                assert value((*given[:place], (limit, more), *given[place + 1 :])) >= value(given), given
