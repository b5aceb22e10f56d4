"""The quantifier keeps what its interface promises, whatever its links are worth."""

from collections.abc import Sequence
from itertools import product

import pytest

from magistrate.engine.evaluation import Check
from magistrate.engine.graph import Graph
from magistrate.engine.rules.for_all import ForAll
from magistrate.engine.terms import ObjectId, RelationName, Revision, Subject, TypeName, object_ref
from magistrate.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from tests.memory_source import model_of
from tests.properties.test_graph import decided
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


TYPES = {
    "user": {},
    "team": {"member": {}},
    "folder": {"viewer": {}},
    "document": {"parent": {}, "can-read": {"forAll": "viewer", "ofType": "folder", "withRelation": "parent"}},
}
BOTH = ("document:plan#parent@folder:a", "document:plan#parent@folder:b")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ((*BOTH, "folder:a#viewer@user:ann", "folder:b#viewer@team:eng#member", "team:eng#member@user:ann"), True),
        ((*BOTH, "folder:a#viewer@user:ann"), False),
        (("folder:a#viewer@user:ann",), False),
        (("document:plan#parent@folder:a#viewer", "folder:a#viewer@user:*"), True),
        ((BOTH[0], f"{BOTH[1]}[1 == 2]", "folder:a#viewer@user:ann"), True),
        ((f"{BOTH[0]}[1 == 2]", "folder:a#viewer@user:ann"), False),
        ((BOTH[0], "document:plan#parent@folder:*", "folder:a#viewer@user:ann"), None),
        ((BOTH[0], f"{BOTH[1]}[missing < 1]", "folder:a#viewer@user:ann"), None),
    ],
)
def test_the_graph_cache_decides_it_unless_something_is_unknown(written: Sequence[str], expected: bool | None) -> None:
    stored = [stored_warrant(text, number, 0) for number, text in enumerate(written, 1)]
    graph = Graph(model_of(TYPES, stored), Revision(1), most=1_000)
    ann = Subject(TypeName("user"), ObjectId("ann"))

    decision = decided(graph, stored, Check(object_ref("document", "plan"), RelationName("can-read"), ann))

    assert (decision and decision.is_authorized) == expected


def test_the_graph_cache_follows_changes_of_links() -> None:
    written = (*BOTH, "folder:a#viewer@user:ann")
    before = [stored_warrant(text, number, 0) for number, text in enumerate(written, 1)]
    after = [before[0], before[2]]
    graph = Graph(model_of(TYPES, before), Revision(1), most=1_000)
    asked = Check(object_ref("document", "plan"), RelationName("can-read"), Subject(TypeName("user"), ObjectId("ann")))

    decisions = [decided(graph, before, asked)]
    graph.apply([before[1].names], Revision(2))
    decisions.append(decided(graph, after, asked))

    assert [decision and decision.is_authorized for decision in decisions] == [False, True]
