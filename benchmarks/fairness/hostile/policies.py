"""Policies that are long to parse or to evaluate."""

from collections.abc import Iterator
from functools import partial

from benchmarks.fairness.asking import Answer, fresh
from benchmarks.fairness.stage import Act, Attack, Stage, claim

LARGEST = 4_096


def _long_policy(number: int) -> str:
    text = f"n == {number}"
    piece = " || (a.b.c + 1 > 2 && [1, 2, x] == y)"
    while len(text) + len(piece) <= LARGEST:
        text += piece
    return text


def _warrants(object_id: str, policies: list[str]) -> list[dict[str, object]]:
    return [claim("paper", object_id, "viewer", "ann") | {"policy": policy} for policy in policies]


def many_long(stage: Stage) -> Iterator[tuple[str, Act]]:
    type_id = fresh("policies")
    warrants = _warrants(type_id, [_long_policy(number) for number in range(100)])
    asked = [claim("paper", type_id, "viewer", "ann")]
    context = {"n": -1, "x": 3, "y": [1, 2, 4], "a": {"b": {"c": 0}}}
    yield "100 distinct policies of 4 KB in one request", partial(stage.ask, "POST", "/v2/warrants", warrants)
    yield "their first check", partial(stage.check, asked, context=context)
    yield "their second check", partial(stage.check, asked, context=context)
    yield "100 checks of them in one batch", partial(stage.check, asked * 100, context=context)


def expensive(stage: Stage) -> Iterator[tuple[str, Act]]:
    type_id = fresh("expensive")
    policies = [f"none(list, {{# == {number}.5 || any(inner, {{# == 7}})}})" for number in range(50)]
    asked = [claim("paper", type_id, "viewer", "ann")]
    context = {"list": list(range(10_000)), "inner": list(range(10, 110))}
    yield "50 policies with loops in loops", partial(stage.ask, "POST", "/v2/warrants", _warrants(type_id, policies))
    yield "their check, with a list of 10,000", partial(stage.check, asked, context=context)
    yield "1,000 of these checks", partial(stage.check, asked * 1_000, context=context)


def patterns(stage: Stage) -> Iterator[tuple[str, Act]]:
    type_id = fresh("patterns")
    repeats = ["(a?){300}b", "(.*a){20}", "([a-z]+)+$", "(x+x+)+y", r"\pL{200}"]
    policies = [f'text matches "{pattern}" || n == {number}' for number, pattern in enumerate(repeats)]
    asked = [claim("paper", type_id, "viewer", "ann")]
    context = {"text": "a" * 60_000}

    def write() -> list[Answer]:
        """One by one: some are refused."""
        return [stage.caller.ask("POST", "/v2/warrants", one) for one in _warrants(type_id, policies)]

    yield "patterns with repeats in repeats", write
    yield "their check, with a text of 60 KB", partial(stage.check, asked, context=context)
    yield "100 of these checks", partial(stage.check, asked * 100, context=context)


def nested(stage: Stage) -> Iterator[tuple[str, Act]]:
    texts = ["(" * 2_000 + "1" + ")" * 2_000, "!" * 4_000 + "a", "a ? " * 1_000 + "b" + " : c" * 1_000 + ""]
    texts += ["[" * 2_000 + "]" * 2_000, "-" * 4_000 + "1", "a" + ".b" * 2_000, "1" + "**1" * 1_300]
    for text in texts:
        body = _warrants(fresh("nested"), [text[:LARGEST]])
        yield f"a policy of {text[:6]!r} over and over", partial(stage.ask, "POST", "/v2/warrants", body)


POLICIES: dict[str, Attack] = {
    "policies": many_long,
    "expensive-policies": expensive,
    "patterns": patterns,
    "nested-policies": nested,
}
