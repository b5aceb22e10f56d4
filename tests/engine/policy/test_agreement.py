"""A policy grants where the server that policies are moved from grants, and nowhere else (docs/policies.md)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.policy.policy import read_new_policy
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

ACCEPTED_ONLY_HERE = {"t", "n", "s", "f ?? true"}
"""A policy whose result may be a bool, such as a variable alone, is accepted."""


def read_answers(name: str) -> Answers:
    answers: Answers = json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    return answers


WARRANT_ANSWERS = read_answers("warrant_answers.json")
EXPR_ANSWERS = read_answers("expr_answers.json")


def granted(policy: str, contexts: list[dict[str, Any]]) -> str:
    """T where the policy grants, F where it does not; `refused` for one that cannot be written."""
    try:
        read = read_new_policy(policy)
    except InvalidParameter:
        return "refused"
    return "".join("T" if read.outcome(context, DOOR, NOW).value else "F" for context in contexts)


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
