"""A model as text: how long it takes to read, check, convert and compile."""

import time
from collections.abc import Callable

import msgspec

from benchmarks.cores import SERVER_CORE, on_core
from benchmarks.table import markdown_table
from magistrate.engine.model.model import Model
from magistrate.engine.model.object_types import ObjectType, SourceDefinition, read_object_type
from magistrate.engine.model.stratification import find_negation_loop
from magistrate.engine.names import Revision, TypeName
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.text.document import ModelDocument
from magistrate.engine.text.json_documents import render_body
from magistrate.engine.text.lint import lint_text
from magistrate.engine.text.parser import parse_model
from magistrate.engine.text.rendering import format_model, render_model

TYPES = 200
TARGET_MS = 200
ROUNDS = 5

PERMISSIONS = ("view", "edit", "delete", "share")


def measure_models(seconds: int) -> str:
    """A table, a row for each step; the best of some rounds. `seconds` has no effect."""
    text = large_model()
    with on_core(SERVER_CORE):
        parsed = parse_model(text)
        assert not parsed.faults
        steps: dict[str, Callable[[], object]] = {
            "parse": lambda: parse_model(text),
            "parse and compile": lambda: compile_document(parse_model(text).document),
            "the same, and a plan of every relation": lambda: compile_plans(
                compile_document(parse_model(text).document)
            ),
            "lint": lambda: lint_text(parsed),
            "format": lambda: format_model(parsed),
            "convert to JSON": lambda: msgspec.json.encode(render_body(parsed.document)),
            "write as text": lambda: render_model(parsed.document),
        }
        rows = [
            (name, f"{best_ms(step):.0f}", f"<= {TARGET_MS} ms" if name == "parse and compile" else "")
            for name, step in steps.items()
        ]
    lines = text.count("\n")
    return markdown_table(f"A model of {TYPES} types as text ({lines} lines)", ("", "CPU ms", "target"), rows)


def best_ms(step: Callable[[], object]) -> float:
    """Returns the CPU time of the fastest of some rounds in milliseconds."""
    times = []
    for _ in range(ROUNDS):
        before = time.process_time()
        step()
        times.append(time.process_time() - before)
    return min(times) * 1000


def compile_document(document: ModelDocument) -> Model:
    """Returns the model of a document, as after a write: read as object types, and without loops through negation."""
    types: dict[TypeName, ObjectType] = {}
    for body in render_body(document).object_types:
        relations = msgspec.convert(msgspec.to_builtins(body.relations), dict[str, RuleDefinition | None])
        source = msgspec.convert(body.source, SourceDefinition | None)
        read = read_object_type(body.type, source, relations)
        types[read.name] = read
    assert find_negation_loop(types.get, types) is None
    return Model(types, Revision(1), frozenset())


def compile_plans(model: Model) -> None:
    """Compiles the plans of all relations, each of which the first check that needs it would compile."""
    for name, read in model.types.items():
        for relation in read.relations:
            model.plan(name, relation)


def large_model() -> str:
    """Returns a model of TYPES types with nine relations each, four of them with nested rules."""
    lines = ["version 1.0", "", "type user", "", "type group", "    relation member [user, group#member]"]
    for number in range(TYPES - 2):
        lines += _large_type(number, (number + 1) % (TYPES - 2))
    return "\n".join(lines) + "\n"


def _large_type(number: int, parent: int) -> list[str]:
    lines = [
        "",
        f"/// Number {number}.",
        f"type document{number}",
        f"    relation parent [document{parent}]",
        "    relation owner [user]",
        "    relation editor [user, group#member]",
        "    relation viewer [user, user:*, group#member]",
        "    relation blocked [user]",
    ]
    for permission in PERMISSIONS:
        lines += [
            "",
            f"    relation can_{permission} []",
            f"    inherit can_{permission} if",
            "        all_of",
            "            any_of // one is enough",
            "                relation owner",
            "                relation viewer",
            f"                relation can_{permission} on parent [document{parent}]",
            "            none_of",
            "                relation blocked",
        ]
    return lines
