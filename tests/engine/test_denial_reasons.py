"""What a denial says: the reasons that a test names, the keys that are missing, and the sentences."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import pytest

from magistrate.engine.model.model import Model
from magistrate.engine.rules import RULE_OPERATORS
from magistrate.engine.testing.suite_run import SuiteRun
from magistrate.engine.testing.suites import ModelSuite, Reason, read_suite
from magistrate.engine.truth import TRUE
from magistrate.engine.warrants.notation import read_written
from magistrate.engine.warrants.warrant import WarrantNames
from tests.memory_source import evaluated, explained
from tests.properties.denial_sentences import require_true

Json = dict[str, Any]

CAUSE = "document:plan#cause@user:kim"

RULES: Mapping[str, Json] = {
    "warrants alone": {"inheritIf": "cause"},
    "computed twice": {"inheritIf": "between"},
    "arrow": {"inheritIf": "cause", "ofType": "document", "withRelation": "itself"},
    "forAll": {"forAll": "cause", "ofType": "document", "withRelation": "itself"},
    **{
        keyword: {"inheritIf": keyword, "rules": [{"inheritIf": "cause"}]}
        for keyword, operator in RULE_OPERATORS.items()
        if operator.is_monotone
    },
    "nested": {
        "inheritIf": "anyOf",
        "rules": [
            {"inheritIf": "never"},
            {"inheritIf": "allOf", "rules": [{"inheritIf": "always"}, {"inheritIf": "between"}]},
        ],
    },
    "twice negated": {
        "inheritIf": "noneOf",
        "rules": [{"inheritIf": "noneOf", "rules": [{"inheritIf": "cause"}]}, {"inheritIf": "never"}],
    },
    "with self": {"inheritIf": "anyOf", "rules": [{"inheritIf": "self"}, {"inheritIf": "cause"}]},
    "with policy": {"inheritIf": "allOf", "rules": [{"policy": "office"}, {"inheritIf": "cause"}]},
}
"""Rules of a relation that holds because of `cause`."""

DEPTH = 70
"""More groups within each other than an explanation shows levels."""

WAYS: Mapping[str, list[str | Json]] = {
    "direct": ["document:plan#cause@user:kim"],
    "userset": ["document:plan#cause@group:g#member", "group:g#member@user:kim"],
    "nested usersets": [
        "document:plan#cause@group:0#member",
        *(f"group:{number}#member@group:{number + 1}#member" for number in range(DEPTH)),
        f"group:{DEPTH}#member@user:kim",
    ],
    "inherited userset": ["document:plan#cause@group:g#member", "group:g#lead@user:kim"],
    "wildcard": ["document:plan#cause@user:*"],
    "wildcard in a userset": ["document:plan#cause@group:g#member", "group:g#member@user:*"],
    "wildcard object": ["document:*#cause@user:kim"],
    "policy": ['document:plan#cause@user:kim[network == "office"]'],
    "policy on the way": ["document:plan#cause@group:g#member", 'group:g#member@user:kim[network == "office"]'],
    "time limit": [{"warrant": "document:plan#cause@user:kim", "expires_at": "2027-01-01T00:00:00Z"}],
    "time limit on the way": [
        {"warrant": "document:plan#cause@group:g#member", "starts_at": "2026-01-01T00:00:00Z"},
        "group:g#member@user:kim",
    ],
}
OTHER_WAYS: Mapping[str, list[str | Json]] = {
    "another group": ["document:plan#cause@group:g#member", "group:h#member@user:kim"],
    "policy": ['document:plan#cause@user:kim[network == "home"]'],
    "unknown policy": ["document:plan#cause@user:kim[level > 3]"],
    "policy on the way": ["document:plan#cause@group:g#member", 'group:g#member@user:kim[network == "home"]'],
    "expired": [{"warrant": "document:plan#cause@user:kim", "expires_at": "2026-01-01T00:00:00Z"}],
    "not started": [{"warrant": "document:plan#cause@group:g#member", "starts_at": "2027-01-01T00:00:00Z"}],
}
"""Ways in which nobody gets it."""
EXCLUDING = [
    pair if place % 3 == 0 else pytest.param(*pair, marks=pytest.mark.nightly)
    for place, pair in enumerate(product(RULES, WAYS))
]
"""Pairs each rule with each way: by day a third of the pairs, in which every rule and every way is."""


def suite_of(rule: Json, warrants: list[str | Json], denied: Json, reason: str, *, is_negated: bool = True) -> Json:
    blocked = {"inheritIf": "noneOf", "rules": [{"inheritIf": "effect"}]}
    document = {
        "itself": {},
        "never": {},
        "always": {},
        "cause": {},
        "between": {"inheritIf": "cause"},
        "effect": rule,
        "member": {},
        "reader": {"inheritIf": "allOf", "rules": [{"inheritIf": "always"}, blocked if is_negated else rule]},
    }
    model = [
        {"type": "user", "relations": {}},
        {"type": "group", "relations": {"lead": {}, "member": {"inheritIf": "lead"}}},
        {"type": "document", "relations": document},
    ]
    policies = [{"name": "office", "parameters": {"network": "string"}, "expression": 'network == "office"'}]
    always = ["document:plan#always@user:*", "document:plan#itself@document:plan"]
    return {
        "model": json.dumps({"objectTypes": model, "policies": policies}),
        "now": "2026-11-20T10:00:00Z",
        "setup": {"warrants": [*always, *warrants]},
        "tests": [{"check": "document:plan#reader@user:kim", "denied_because": reason, **denied}],
    }


def run(file: Json) -> str:
    def refuse(name: str) -> str:
        raise AssertionError(name)

    [outcome] = SuiteRun(read_suite(file, refuse, 0)).list_outcomes()
    return outcome.failure


@pytest.mark.parametrize(("rule", "way"), EXCLUDING)
def test_a_denial_is_because_of_what_excludes_the_subject_however_it_does(rule: str, way: str) -> None:
    context = {"context": {"network": "office"}}
    warrants = WAYS[way]

    assert run(suite_of(RULES[rule], warrants, context, CAUSE)) == ""
    assert run(suite_of(RULES[rule], warrants, context, "document:plan#effect@user:kim")) == ""
    wrong = f"it is denied, but not because of {CAUSE}, which holds"
    assert run(suite_of(RULES[rule], warrants, context, f"not {CAUSE}")) == wrong
    for one in warrants:
        text = one if isinstance(one, str) else one["warrant"]
        assert run(suite_of(RULES[rule], warrants, context, text.partition("[")[0])) == ""


@pytest.mark.parametrize(("rule", "way"), [*product(RULES, OTHER_WAYS)])
def test_a_denial_is_because_of_what_the_subject_lacks(rule: str, way: str) -> None:
    context = {"context": {"network": "office"}}
    warrants = OTHER_WAYS[way]

    assert run(suite_of(RULES[rule], warrants, context, f"not {CAUSE}", is_negated=False)) == ""
    wrong = f"it is denied, but not because of {CAUSE}, which does not hold"
    assert run(suite_of(RULES[rule], warrants, context, CAUSE, is_negated=False)) == wrong


@pytest.mark.parametrize("rule", RULES)
def test_a_denial_is_not_because_of_what_it_does_not_come_to(rule: str) -> None:
    for reason in ("document:plan#member@user:kim", "document:other#cause@user:kim", "document:plan#cause@user:ann"):
        for file in (
            suite_of(RULES[rule], WAYS["direct"], {"context": {"network": "office"}}, reason),
            suite_of(RULES[rule], [], {}, f"not {reason}", is_negated=False),
        ):
            assert run(file) == f"it is denied, but not because of {reason}: it does not come to that check"


LEAVES: Sequence[Json] = (
    {"inheritIf": "cause"},
    {"inheritIf": "between"},
    {"inheritIf": "cause", "ofType": "document", "withRelation": "itself"},
    {"forAll": "cause", "ofType": "document", "withRelation": "itself"},
    {"inheritIf": "self"},
    {"policy": "office"},
)


def nest(depth: int) -> Iterator[Json]:
    """Every nesting of the operators over each leaf, beside one that never holds."""
    if not depth:
        yield from LEAVES
        return
    for keyword, inner in product(RULE_OPERATORS, [*nest(depth - 1)]):
        yield {"inheritIf": keyword, "rules": [inner]}
        yield {"inheritIf": keyword, "rules": [{"inheritIf": "never"}, inner]}


WARRANTS = [
    pytest.param(warrants, id=f"{outcome}-{way}")
    for outcome, ways in (("holds", WAYS), ("does not hold", OTHER_WAYS))
    for way, warrants in ways.items()
    if way != "nested usersets"
]
PART = 10
"""A run without `-m nightly` takes every tenth of the nested rules, beginning with another one for each way."""


def list_nested(warrants: list[str | Json], context: Json) -> list[Json]:
    """Nested rules; with a context, only those for which it may count."""
    has_policy = any(str(one).endswith("]") for one in warrants)
    return [rule for rule in nest(2) if not context or has_policy or "policy" in json.dumps(rule)]


@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["part", "whole"])
@pytest.mark.parametrize("warrants", WARRANTS)
@pytest.mark.parametrize("context", [{}, {"network": "office"}, {"network": 1}])
def test_no_sentence_about_nested_rules_says_what_is_not_so(
    warrants: list[str | Json], context: Json, is_whole: bool
) -> None:
    first = [one.values[0] for one in WARRANTS].index(warrants) % PART
    for rule in list_nested(warrants, context)[slice(None) if is_whole else slice(first, None, PART)]:
        file = suite_of(rule, warrants, {"context": context}, CAUSE, is_negated=False)
        suite = read_suite(file, lambda name: name, 0)
        memory = SuiteRun(suite).memory

        def decide(names: WarrantNames, model: Model = memory.model, suite: ModelSuite = suite) -> bool:
            [node], _ = evaluated(model, suite.warrants, [Reason(names, holds=True).to_check(context)], suite.now)
            return node.value is TRUE

        for user in ("kim", "ann"):
            check = Reason(read_written(f"document:plan#reader@user:{user}").names, holds=True).to_check(context)
            explanation, _ = explained(memory.model, suite.warrants, check, suite.now)
            if not explanation.is_allowed:
                require_true(explanation, suite.warrants, suite.now, decide)
