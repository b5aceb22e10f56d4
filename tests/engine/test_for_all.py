"""The quantifier keeps what its interface promises, whatever its links are worth."""

from collections.abc import Sequence
from itertools import product

import pytest

from magistrate.engine.evaluation.check import Check
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.rules.for_all import ForAll
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from tests.calls import count_calls
from tests.memory_source import Relations, evaluated, model_of
from tests.scenario_files import stored_warrant

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


NEEDS_ALL: dict[str, Relations] = {
    "user": {},
    "step": {
        "after": {},
        "starter": {},
        "done": {
            "inheritIf": "anyOf",
            "rules": [{"forAll": "done", "ofType": "step", "withRelation": "after"}, {"inheritIf": "starter"}],
        },
    },
}


CIRCLE = ("step:last#after@step:{}", "step:{}#after@step:last", "step:{}#starter@user:ann[{}]")
"""Each step and the last one wait for each other; nobody knows whether they may start."""
UNKNOWN_LINKS = ("step:last#after@step:{}[{}]",)
"""Nobody knows whether the last step is after any of the others, none of which is done."""


@pytest.mark.parametrize("written", [pytest.param(CIRCLE, id="circle"), pytest.param(UNKNOWN_LINKS, id="links")])
def test_the_work_for_a_quantifier_grows_no_faster_than_its_links(written: Sequence[str]) -> None:
    few, many = (calls_for(links, written) for links in (200, 800))

    assert many < 5 * few


def calls_for(links: int, written: Sequence[str]) -> int:
    """The calls that it takes to find that it is unknown whether the last step is done."""
    texts = [text.format(number, "risk > 3") for text in written for number in range(links)]
    stored = [stored_warrant(text, number, 0) for number, text in enumerate(texts, 1)]
    asked = Check(
        ObjectRef(TypeName("step"), ObjectId("last")), RelationName("done"), Subject(TypeName("user"), ObjectId("ann"))
    )
    ([node], _), calls = count_calls(lambda: evaluated(model_of(NEEDS_ALL, stored), stored, [asked]))
    assert node.value is UNKNOWN
    return calls
