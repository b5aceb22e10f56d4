"""How the cost of a query grows with its data, in calls of functions: no clock is as even as they are."""

from collections.abc import Callable, Sequence

import pytest

from magistrate.engine.lists.language import read_query
from magistrate.engine.lists.query_search import begin_search
from magistrate.engine.lists.results import QueryRow, RelationResult
from magistrate.engine.names import TypeName
from magistrate.engine.work import Work, never
from tests.calls import count_calls
from tests.engine.lists.policies import always
from tests.memory_source import PLENTY, Relations, model_of, rows_of
from tests.scenario_files import stored_warrant

Case = tuple[dict[str, Relations], list[str], str]
"""Types, warrants and a query."""

DOCUMENTS = "select document where user:ann is r0"
FOLDERS: dict[str, Relations] = {
    "user": {},
    "folder": {"parent": {}, "viewer": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}},
}


def rule(keyword: str, *relations: str) -> dict[str, object]:
    return {"inheritIf": keyword, "rules": [{"inheritIf": relation} for relation in relations]}


def chained(rules: Relations) -> Case:
    """`rules` are those of r0, r1 and so on; the relation behind the last of them is given."""
    last = f"r{len(rules)}"
    return {"user": {}, "document": {**rules, last: {}}}, [f"document:a#{last}@user:ann"], DOCUMENTS


def both_times(size: int) -> Case:
    return chained({f"r{i}": rule("allOf", f"r{i + 1}", f"r{i + 1}") for i in range(size)})


def one_in_another(size: int) -> Case:
    return chained({f"r{i}": rule("allOf", f"r{i + 1}") for i in range(size)})


def none_of_none_of(size: int) -> Case:
    return chained({f"r{i}": rule("noneOf", f"r{i + 1}") for i in range(size)})


def empty_ring(size: int) -> Case:
    ring = [f"folder:f{i}#parent@folder:f{(i + 1) % size}" for i in range(size)]
    return FOLDERS, ring, "select viewer of type user for folder:f0"


def ring(size: int) -> Case:
    types, warrants, query = empty_ring(size)
    return types, [*warrants, "folder:f1#viewer@user:ann"], query


def many_parents(size: int) -> Case:
    parents = [f"folder:top#parent@folder:f{i}" for i in range(size)]
    users = [f"folder:f{i}#viewer@user:u{i}" for i in range(size)]
    return FOLDERS, [*parents, *users], "select viewer of type user for folder:top"


def wide_gate(size: int) -> Case:
    """`size` relations, of which each of ten times as many users has one."""
    names = [f"r{i}" for i in range(size)]
    warrants = [f"document:a#r{i % size}@user:u{i}" for i in range(10 * size)]
    rules: Relations = {**{name: {} for name in names}, "viewer": rule("allOf", *names)}
    return {"user": {}, "document": rules}, warrants, "select viewer of type user for document:a"


def wide_gate_backwards(size: int) -> Case:
    types, warrants, _ = wide_gate(size)
    documents = [f"document:d{i}#r{i % size}@user:ann" for i in range(len(warrants))]
    return types, documents, "select document where user:ann is viewer"


@pytest.mark.parametrize("case", [both_times, one_in_another, none_of_none_of, empty_ring, ring, many_parents])
def test_twice_as_much_takes_about_twice_as_long(case: Callable[[int], Case]) -> None:
    assert sum(calls_a_turn(case(32))) < 2.5 * sum(calls_a_turn(case(16)))


def test_rules_may_rest_on_each_other_as_deep_as_a_definition_may_be() -> None:
    assert sum(calls_a_turn(one_in_another(600)))


@pytest.mark.parametrize(("case", "size"), [(many_parents, 3_000), (wide_gate, 250), (wide_gate_backwards, 250)])
def test_no_step_is_long(case: Callable[[int], Case], size: int) -> None:
    calls = calls_a_turn(case(size))

    assert max(calls) < 300_000
    assert max(calls) < sum(calls) / 2


def many_documents(size: int) -> Case:
    return FOLDERS, [f"folder:f{i}#viewer@user:ann" for i in range(size)], "select * where user:ann is *"


def many_users(size: int) -> Case:
    return FOLDERS, [f"folder:top#viewer@user:u{i}" for i in range(size)], "select * of type * for folder:top"


@pytest.mark.parametrize(
    ("case", "size"), [(many_documents, 8_000), (many_users, 8_000), (many_parents, 5_000), (wide_gate, 400)]
)
def test_a_turn_is_short_however_many_rows_there_are_when_its_time_is_up(
    case: Callable[[int], Case], size: int
) -> None:
    """It is up at each look at the clock."""
    assert max(calls_a_turn(case(size), always)[:-1]) < 14_000


def calls_a_turn(case: Case, is_time_up: Callable[[], bool] = never) -> list[int]:
    """Of Python's functions and built-in ones, in each time slice of the search, and in finding the warrants of all
    rows."""
    types, written, text = case
    warrants = [stored_warrant(one, number, 0) for number, one in enumerate(written)]
    search = begin_search(model_of(types, warrants), read_query(text), {}, 0, Work(PLENTY, is_time_up))
    turns: list[int] = []
    while (findings := search.outcome()) is None:
        reads, calls = count_calls(search.advance)
        turns.append(calls)
        if reads:
            search.take([rows_of(warrants, read) for read in reads])
    return [*turns, *(count_calls(lambda: rows_listed(findings.relation_results or ()))[1:])]


def rows_listed(listed: Sequence[RelationResult]) -> list[QueryRow]:
    return [one.row(TypeName("any"), object_id) for one in listed for object_id in one.ids(())]
