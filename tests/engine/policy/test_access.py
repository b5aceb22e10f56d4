"""Variables, members, elements, slices, closures."""

from typing import Any

import pytest
from msgspec import structs

from tests.engine.policy.asking import NOW, WARRANT, answer

TRUE = [
    # members and elements
    "order.total == 25",
    "order.buyer.name == 'Ada'",
    "order['buyer']['name'] == 'Ada'",
    "order['bu' + 'yer'].name == 'Ada'",
    "order.in == 1",
    "order.none == nil",
    "order['none'] == nil",
    "{a: 1}.a == 1",
    "{'a b': 1}['a b'] == 1",
    "{('a' + 'b'): 1}.ab == 1",
    "{1: 2}['1'] == 2",
    "{true: 1}['true'] == 1",
    "{a: 1, a: 2}.a == 2",
    "ids[0] == 1",
    "ids[-1] == 3",
    "order.buyer.name[0] == 65",
    "order.buyer.name[-1] == 97",
    "(1..9)[3] == 4",
    "[[1], [2]][1][0] == 2",
    "items[0].tags[0] == 'a'",
    # nil on the way
    "missing?.a == nil",
    "missing?.a.b.c == nil",
    "order.note?.text.length == nil",
    "order?.buyer?.name == 'Ada'",
    "(missing?.a ?? 1) == 1",
    # slices
    "ids[0:2] == [1.0, 2.0]",
    "ids[1:] == [2.0, 3.0]",
    "ids[:1] == [1.0]",
    "ids[:] == ids",
    "ids[-2:] == [2.0, 3.0]",
    "ids[:-1] == [1.0, 2.0]",
    "ids[2:1] == []",
    "ids[1:99] == [2.0, 3.0]",
    "ids[-99:1] == [1.0]",
    "name[0:2] == 'Ad'",
    "name[1:] == 'da'",
    "(1..9)[2:4] == 3..4",
    "len((1..900000)[1:]) == 899999",
    "ids[yes ? 0 : 1:2] == [1.0, 2.0]",
    # closures
    "all(items, {.price > 1})",
    "all(items, .price > 1)",
    "all(ids, {# > 0})",
    "all(ids, # > 0)",
    "all([], false)",
    "all(1..3, # < 4)",
    "any(items, {.price > 10})",
    "not any([], true)",
    "none(ids, # > 3)",
    "one(ids, # == 2)",
    "not one(ids, # > 1)",
    "filter(ids, # > 1) == [2.0, 3.0]",
    "map(ids, # * 2) == [2.0, 4.0, 6.0]",
    "map(items, .tags) == [['a'], []]",
    "map(ids, {{a: #}})[0].a == 1",
    "count(items, .price < 10) == 1",
    "find(ids, # > 1) == 2",
    "find(ids, # > 9) == nil",
    "findIndex(ids, # > 1) == 1",
    "findIndex(ids, # > 9) == nil",
    "findLast(ids, # < 3) == 2",
    "findLast(ids, # > 9) == nil",
    "findLastIndex(ids, # < 3) == 1",
    "groupBy(items, .price > 10)[true][0].price == 20",
    "groupBy(items, .price)[1] == nil",
    "reduce(ids, #acc + #) == 6",
    "reduce(ids, #acc + # * #index, 10) == 18",
    "map(names, #index) == [0, 1]",
    "ids | filter(# > 1) | map(# * 2) | len() == 2",
    "yes | string() == 'true'",
    # variables of let
    "let one_id = ids[0]; let other = ids[1]; one_id + other == 3",
    "(let n = len(ids); n * n) == 9",
    "let n = len(ids); -n == -3",
    "all(ids, {let part = # / 2; part < 2})",
    "yes ? let a = 1; a == 1 : false",
    # all variables
    "$env['ten'] == 10 and $env.ten == ten and $env.gone == nil",
    "get($env, 'name') == 'Ada'",
    # the sides of a negation
    "a not == 1",
    "any(items, any(.tags, # == 'a'))",
    "all(items, {all(.tags, {# == 'a'})})",
    "map(ids, len(filter(ids, # > 1)) + #) == [3.0, 4.0, 5.0]",
    "all(filter(items, .price > 10), .price == 20)",
    "any(ids, # in ids and # == ten / 5)",
    "any(ids, {# == 2 ? true : false})",
    "all([order], .buyer.name == name)",
    "all([{when: now()}], .when.Year() == 2025)",
]

UNKNOWN = [
    "ids[1.0] == 2",
    "name[0] == 65",
    "a?.b[0] == nil",
    "1 + ten not in [11]",
    "-ten not in [10]",
    "2 == findLast(ids, # < 3)",
    "findIndex(ids, # > 9) == 0",
    "warrant.subject != warrant.createdAt",
    "let ten = 1; ten == 1",
    "reduce(missing, #acc) == nil",
    "reduce([], #acc) == nil",
    "missing.a == nil",
    "missing['a'] == nil",
    "missing[0] == nil",
    "missing[0:1] == nil",
    "order?.none.deeper == nil",
    "ten.a == nil",
    "ids.a == nil",
    "now.a == nil",
    "ids[3] == nil",
    "ids[-4] == nil",
    "ids[0.5] == nil",
    "ids['a'] == nil",
    "ids[missing] == nil",
    "ids[yes] == nil",
    "order[0] == nil",
    "name[3] == nil",
    "ids[name:] == nil",
    "ids[missing:] == nil",
    "ten[1:] == nil",
    "{(missing): 1} == {}",
    "all(missing, true)",
    "all(name, true)",
    "any(order, true)",
    "all(ids, #)",
    "all(ids, missing)",
    "any(items, .price.cents > 1)",
    "count(items, .missing > 1) == 0",
]


@pytest.mark.parametrize("text", TRUE)
def test_it_is_true(text: str) -> None:
    assert answer(text) is True


@pytest.mark.parametrize("text", UNKNOWN)
def test_a_run_time_error_is_neither_true_nor_false(text: str) -> None:
    assert answer(text) is None


def test_what_is_decided_early_looks_no_further() -> None:
    assert answer("any([1, 2, 'x'], # + 1 == 3)") is True
    assert answer("all([1, 2, 'x'], # + 1 == 2)") is False
    assert answer("any([1, 'x', 2], # + 1 == 3)") is None


@pytest.mark.parametrize(
    "text",
    [
        'warrant.objectType == "document"',
        'warrant.objectId == "plan"',
        'warrant.relation == "viewer"',
        'warrant.subject.objectType + warrant.subject.objectId + warrant.subject.relation == "teamengmember"',
        'warrant.createdAt == date("2025-11-21")',
        'now() - warrant.createdAt < duration("11h")',
        '"objectId" in warrant and "policy" not in warrant',
        'warrant.ObjectType + warrant.ObjectId + warrant.Relation == "documentplanviewer"',
        'warrant.Subject.ObjectType + warrant.Subject.ObjectId + warrant.Subject.Relation == "teamengmember"',
        "warrant.CreatedAt.Year() == 2025",
    ],
)
def test_the_warrant_is_a_variable(text: str) -> None:
    assert answer(text) is True


def test_the_subject_of_a_warrant_has_a_relation_only_if_it_is_a_group() -> None:
    direct = structs.replace(WARRANT, subject_relation="")

    assert answer("warrant.subject.relation != nil") is True
    assert answer("warrant.subject.relation == nil", warrant=direct) is True
    assert answer('warrant.Subject.Relation == ""', warrant=direct) is True


def test_a_member_that_the_warrant_does_not_have_is_unknown() -> None:
    assert answer("warrant.owner == nil") is None
    assert answer('true or warrant["owner"] == nil') is None


@pytest.mark.parametrize(
    ("text", "context", "expected"),
    [
        ('warrant == "mine"', {"warrant": "mine"}, None),
        ("now == 5", {"now": 5}, True),
        ("now == nil", {"now": None}, True),
        ("'a' in $env and 'gone' not in $env and 'warrant' in $env and len($env) == 2", {"a": 1}, True),
        ("a == 1", {"a": 1, "$env": 2}, None),
        ("len == 5 and len('ab') == 2", {"len": 5}, True),
        ("count > 1", {"count": 2}, True),
        ("all == any", {"all": 1, "any": 1}, True),
        ("Überstunden < 3", {"Überstunden": 2}, True),
        ("_a1 == 1", {"_a1": 1}, True),
    ],
)
def test_which_variable_a_name_means(text: str, context: dict[str, Any], expected: bool | None) -> None:
    assert answer(text, context, now=NOW) is expected


def test_a_context_is_only_read() -> None:
    context = {"list": [3, 1], "map": {"a": [1]}}

    for text in ("map(list, #) == filter(list, true)", "list[:] == list", "keys(map) == values(map)"):
        answer(text, context)

    assert context == {"list": [3, 1], "map": {"a": [1]}}


def test_a_literal_list_is_the_same_at_every_turn() -> None:
    assert answer("all(ids, # in [1, 2, 3] and len([1, [2]]) == 2)") is True
