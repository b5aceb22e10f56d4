"""A policy grants where the server that policies are moved from grants, and nowhere else (docs/policies.md)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from magistrate.engine.policy import read_policy
from magistrate.engine.terms import ObjectId, RelationName, TypeName
from magistrate.errors import InvalidParameter
from tests.engine.policy.asking import WARRANT

NOW = 1_795_000_000_000_000  # 2026-11-18
DOOR = structs.replace(
    WARRANT,
    object_type=TypeName("door"),
    object_id=ObjectId("d1"),
    relation=RelationName("opener"),
    subject_type=TypeName("user"),
    subject_id=ObjectId("ann"),
    subject_relation="",
    created_at=NOW - 1_000,
)

Answers = Mapping[str, Any]

GRANTED_ONLY_HERE = {'warrant.objectType == "door"'}
"""The members of `warrant` have the spelling of JSON, too."""

ACCEPTED_ONLY_HERE = {
    # the result may be a bool
    *("t", "n", "s", "f ?? true"),
    # `??` may stand before other operators
    *('missing ?? "d" == "d"', "missing ?? 1 == a", "m.k ?? 1 == l", "1 ?? 1 == t"),
    '2.0 == l[0] ? s ?? 1 == ["a"] : [1, 2] ?? 1 == role',
    '(role < users[0].name) and ("a" ?? 1 == l[0])',
    "(true == m.k) || (x ?? 1 == m.k)",
    '({"k": 1} ?? 1 == m.k) and (a >= l)',
    "(m.k ?? 1 == t) and (l[0] < b)",
    '({"k": 1} ?? 1 == x) || (email * 2 > a)',
    "b != m ? role ?? 1 == a : n + 1 == len(l)",
    '(n ?? 1 == b) or (x != {"k": 1})',
}


def read_answers(name: str) -> Answers:
    answers: Answers = json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    return answers


WARRANT_ANSWERS = read_answers("warrant_answers.json")
EXPR_ANSWERS = read_answers("expr_answers.json")


def granted(policy: str, contexts: list[dict[str, Any]]) -> str:
    """T where the policy grants, F where it does not; `refused` for one that cannot be written."""
    try:
        read = read_policy(policy)
    except InvalidParameter:
        return "refused"
    return "".join("T" if read.holds(context, DOOR, NOW) else "F" for context in contexts)


@pytest.mark.parametrize("policy", WARRANT_ANSWERS["policies"])
def test_a_policy_grants_where_the_source_server_grants(policy: str) -> None:
    expected = WARRANT_ANSWERS["policies"][policy]
    answer = granted(policy, WARRANT_ANSWERS["contexts"])

    if policy in GRANTED_ONLY_HERE:
        assert (answer, expected) == ("TTTT", "FFFF")
    elif policy in ACCEPTED_ONLY_HERE:
        assert answer != "refused" == expected
    else:
        assert answer == expected


@pytest.mark.parametrize("policy", EXPR_ANSWERS["policies"])
def test_a_generated_policy_grants_where_go_expr_grants(policy: str) -> None:
    assert granted(policy, EXPR_ANSWERS["contexts"]) == EXPR_ANSWERS["policies"][policy]


def test_there_are_answers_of_all_kinds() -> None:
    answers = [*EXPR_ANSWERS["policies"].values()]

    assert len(WARRANT_ANSWERS["policies"]) == 275
    assert sum("T" in answer for answer in answers) > 200
    assert sum("F" in answer for answer in answers) > 200
