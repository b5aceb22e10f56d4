"""Object types that are hard to compile, or many."""

from collections.abc import Iterator
from functools import partial

import msgspec

from benchmarks.fairness.asking import Answer, fresh
from benchmarks.fairness.stage import Act, Attack, Stage, claim

Rule = dict[str, object]
RULE_OPERATORS = (b"anyOf", b"allOf")


def _chain_of(combination: str, length: int) -> dict[str, Rule]:
    """Each relation is a combination of the next one and of another."""
    relations: dict[str, Rule] = {
        f"r{number}": {"inheritIf": combination, "rules": [{"inheritIf": f"r{number + 1}"}, {"inheritIf": "other"}]}
        for number in range(length)
    }
    return relations | {f"r{length}": {}, "other": {}}


def _nested(depth: int) -> msgspec.Raw:
    """Written by hand: what encodes JSON here does not nest as deep."""
    opened = b"".join(b'{"inheritIf":"%b","rules":[' % RULE_OPERATORS[number % 2] for number in range(depth))
    return msgspec.Raw(b'{"r0":' + opened + b'{"inheritIf":"other"}' + b"]}" * depth + b',"other":{}}')


def combinations(stage: Stage) -> Iterator[tuple[str, Act]]:
    cases: dict[str, dict[str, Rule] | msgspec.Raw] = {
        "a chain of 162 allOf": _chain_of("allOf", 162),
        "a chain of 162 noneOf": _chain_of("noneOf", 162),
        "a chain of 600 anyOf": _chain_of("anyOf", 600),
        "rules nested 60 deep": _nested(60),
        "rules nested 2,000 deep": _nested(2_000),
    }
    for about, relations in cases.items():
        name = fresh("chain")
        body = {"type": name, "relations": relations}
        yield f"{about}: the object type", partial(stage.ask, "POST", "/v2/object-types", body)
        yield f"{about}: a check", partial(stage.check, [claim(name, "x", "r0", "ann")])
        question = f"/v2/query?q=select%20{name}%20where%20user:ann%20is%20r0"
        yield f"{about}: a query", partial(stage.ask, "GET", question)


def through_types(stage: Stage) -> Iterator[tuple[str, Act]]:
    """5,000 relations in 50 types, each inherited from the next type: longer than one definition can be."""
    prefix, types, each = fresh("link"), 50, 100

    def definition(number: int) -> Rule:
        inner: dict[str, Rule] = {
            f"r{place}": {"inheritIf": "allOf", "rules": [{"inheritIf": f"r{place + 1}"}, {"inheritIf": "other"}]}
            for place in range(each)
        }
        last: Rule = {"inheritIf": "r0", "ofType": f"{prefix}-{number + 1}", "withRelation": "other"}
        return {"type": f"{prefix}-{number}", "relations": inner | {f"r{each}": last, "other": {}}}

    def define() -> list[Answer]:
        end: Rule = {"type": f"{prefix}-{types}", "relations": {"r0": {}, "other": {}}}
        bodies = [end, *[definition(number) for number in reversed(range(types))]]
        return [stage.caller.ask("POST", "/v2/object-types", body) for body in bodies]

    yield f"{types * each:,} allOf through {types} types, defined", define
    yield (
        f"{types * each:,} allOf through {types} types: a check",
        partial(stage.check, [claim(f"{prefix}-0", "x", "r0", "ann")]),
    )


def very_many(stage: Stage) -> Iterator[tuple[str, Act]]:
    """100 types of 60 KB in one request; then a check of a type that did not change."""
    prefix = fresh("wide")

    def put(width: int) -> list[Answer]:
        relations = {f"relation-{number:03}": {"inheritIf": f"relation-{number + 1:03}"} for number in range(width)}
        relations[f"relation-{width:03}"] = {}
        names = [f"{prefix}-{number}" for number in range(100)]
        small = [stage.caller.ask("POST", "/v2/object-types", {"type": name, "relations": {}}) for name in names]
        bodies = [{"type": name, "relations": relations} for name in names]
        return small + stage.ask("PUT", "/v2/object-types", bodies)

    yield "100 object types of 60 KB in one request", partial(put, 800)
    yield "a check after that", partial(stage.check, [claim("paper", "chain5-0", "editor", "in-chain5")])
    yield "a check of the largest of them", partial(stage.check, [claim(f"{prefix}-0", "x", "relation-000", "ann")])


def one_after_the_other(stage: Stage) -> Iterator[tuple[str, Act]]:
    """Each write of a type is followed by a check that the graph would have known."""
    groups = claim("paper", "tree10000-0", "editor", "in-tree10000")

    def write() -> list[Answer]:
        answers = []
        for _ in range(40):
            answers += stage.ask("POST", "/v2/object-types", {"type": fresh("many"), "relations": {"a": {}}})
            answers += stage.check([groups])
        return answers

    yield "40 object types, a check after each", write


def as_text(stage: Stage) -> Iterator[tuple[str, Act]]:
    """Whole models as text, and as JSON that becomes text."""
    relations = b"".join(
        b"    relation r%d [user]\n    inherit r%d if relation r%d\n" % (n, n, n + 1) for n in range(15_000)
    )
    policies = b"".join(b"policy p%d(a integer) { %s }\n" % (n, b"a + a > 3 && " * 200 + b"true") for n in range(380))
    texts = {
        "a text of 1 MB": b"type user\ntype t\n" + relations,
        "380 long policies as text": policies,
        "a text of errors": b"type t\n" + b"    relaton r [\n" * 55_000,
        "one line of 1 MB": b"type t\n    relation r [" + b"t," * 520_000,
        "one comment of 1 MB": b"// " + b"x" * 1_000_000,
    }
    for about, text in texts.items():
        body = msgspec.Raw(b"version 1.0\n" + text)
        yield f"{about}: validated", partial(stage.ask, "POST", "/v2/model/validate", body)
        yield f"{about}: converted", partial(stage.ask, "POST", "/v2/model/convert", body)
    types = [{"type": f"t{n}", "relations": {f"r{place}": {} for place in range(150)}} for n in range(250)]
    for path in ("validate", "convert"):
        yield f"37,500 relations in JSON: {path}", partial(stage.ask, "POST", f"/v2/model/{path}", types)


MODELS: dict[str, Attack] = {
    "combinations": combinations,
    "through-types": through_types,
    "wide-types": very_many,
    "types": one_after_the_other,
    "models-as-text": as_text,
}
