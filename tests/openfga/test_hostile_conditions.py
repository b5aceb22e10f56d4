"""No condition with any context works for long, or holds the event loop: what grows is offloaded, and ends unknown."""

from typing import Any

import pytest
from msgspec.structs import replace

from magistrate.engine.evaluation.conditions import POLICY_STEPS_FOR_A_NODE, PolicyEvaluator
from magistrate.engine.openfga.conditions import MAX_EXPRESSION_BYTES
from magistrate.engine.openfga.documents import OpenFgaDocument, read_document
from magistrate.engine.policy.run import MAX_STEPS, STEPS_AT_ONCE
from magistrate.engine.truth import UNKNOWN
from magistrate.engine.warrants.warrant import NO_WARRANT
from magistrate.engine.work import Work
from magistrate.errors import OpenFgaRefusal

PLENTY = 1_000_000_000
TYPES = {
    "ints": {"type_name": "TYPE_NAME_LIST", "generic_types": [{"type_name": "TYPE_NAME_INT"}]},
    "texts": {"type_name": "TYPE_NAME_LIST", "generic_types": [{"type_name": "TYPE_NAME_STRING"}]},
    "text": {"type_name": "TYPE_NAME_STRING"},
    "other": {"type_name": "TYPE_NAME_STRING"},
    "map": {"type_name": "TYPE_NAME_MAP", "generic_types": [{"type_name": "TYPE_NAME_ANY"}]},
    "thing": {"type_name": "TYPE_NAME_ANY"},
}


def read(expression: str, *names: str) -> OpenFgaDocument:
    parameters = {name: TYPES[name] for name in names}
    condition = {"name": "hostile", "expression": expression, "parameters": parameters}
    return read_document("1.1", [{"type": "user"}], {"hostile": condition})


LONG = "a" * 60_000
INTS = [*range(9_000)]
NESTED: list[Any] = []
for _ in range(100):
    NESTED = [NESTED] * 2

HOSTILE: dict[str, tuple[str, dict[str, Any]]] = {
    "two macros": ("ints.exists(a, ints.exists(b, a + b < 0))", {"ints": INTS}),
    "three macros": ("ints.all(a, ints.all(b, ints.all(c, a + b + c >= 0)))", {"ints": INTS}),
    "a list of lists": ("ints.map(a, ints.map(b, ints)).size() == 0", {"ints": INTS}),
    "lists that are joined": ("ints.exists(a, (ints + ints + ints).size() == a - 1)", {"ints": INTS}),
    "lists that are compared": ("ints.exists(a, ints + [a] == ints + [0 - 1])", {"ints": INTS}),
    "a search in a list": ("ints.exists(a, (a + 10000) in ints)", {"ints": INTS}),
    "texts that are joined": ("ints.exists(a, text + text == '')", {"ints": INTS, "text": LONG}),
    "a search in a text": (
        "ints.exists(a, text.contains(other))",
        {"ints": INTS, "text": LONG, "other": "a" * 9_000 + "b"},
    ),
    "a regular expression of the request": (
        "ints.exists(a, text.matches(other))",
        {"ints": INTS, "text": LONG, "other": "(a?){300}b"},
    ),
    "a regular expression": ("ints.exists(a, text.matches('(a?){300}b'))", {"ints": INTS, "text": LONG}),
    "times": ("texts.exists(t, timestamp(t) < timestamp(t))", {"texts": ["2026-01-02T03:04:05Z"] * 9_000}),
    "texts of numbers": ("ints.exists(a, string(a) + string(a) == 'x')", {"ints": INTS * 8}),
    "members": ("ints.exists(a, map.x == thing)", {"ints": INTS * 3, "map": {"x": INTS}, "thing": [*INTS[:-1], -1]}),
}


@pytest.mark.parametrize(("expression", "context"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_condition_is_offloaded_and_ends_unknown(expression: str, context: dict[str, Any]) -> None:
    document = read(expression, *context)
    work = Work(PLENTY)
    evaluator = PolicyEvaluator(context, 0, work, {policy.name: policy for policy in document.policies})
    warrant = replace(NO_WARRANT, policy=document.conditions["hostile"].render({}), number=1)

    attempts = 0
    while not evaluator.attempt(warrant):
        attempts += 1
        cost = work.cost
        step = work.take_offloaded_step()
        assert cost <= 2 * STEPS_AT_ONCE // POLICY_STEPS_FOR_A_NODE + len(warrant.policy)
        if step is not None:
            step()
        work.pass_checkpoint()
        assert attempts < 10

    assert attempts > 0
    assert evaluator.value(warrant) is UNKNOWN
    assert work.cost >= MAX_STEPS // POLICY_STEPS_FOR_A_NODE


DEEP = {
    "brackets": ("(" * 250, "true", ")" * 250),
    "lists": ("[" * 240, "1", "]" * 240 + " == []"),
    "maps": ("{'a': " * 60, "1", "}" * 60 + " == {}"),
    "negations": ("!" * 500, "true", ""),
    "signs": ("-" * 480, "1", " < 3"),
    "choices": ("true ? " * 30, "true", " : false" * 30),
    "macros": ("[1].all(a, " * 40, "true", ")" * 40),
    "calls": ("string(" * 60, "'a'", ")" * 60 + " == 'a'"),
    "sums": ("1 + " * 120, "1", " > 0"),
    "alternatives": ("true || " * 60, "true", ""),
    "members": ("thing", ".a" * 200, " == 1"),
    "elements": ("thing", "[0]" * 150, " == 1"),
}


@pytest.mark.parametrize("pieces", DEEP.values(), ids=DEEP)
def test_expressions_that_nest_are_read_or_refused(pieces: tuple[str, str, str]) -> None:
    expression = "".join(pieces)
    assert len(expression) <= MAX_EXPRESSION_BYTES
    document = read_or_refuse(expression)
    if document is None:
        return
    evaluator = PolicyEvaluator({"thing": NESTED}, 0, Work(PLENTY), {each.name: each for each in document.policies})
    evaluator.value(replace(NO_WARRANT, policy=document.conditions["hostile"].render({}), number=1))


def read_or_refuse(expression: str) -> OpenFgaDocument | None:
    """The model, None if it is refused as one that has no meaning."""
    try:
        return read(expression, *(["thing"] if "thing" in expression else []))
    except OpenFgaRefusal as refusal:
        if refusal.code != "invalid_authorization_model":
            raise
    return None
