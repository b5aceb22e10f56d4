"""Models of other products as text and JSON: what they become, and what is refused with its place."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from magistrate.engine.importers.conversion import ConvertedModel, convert_model
from magistrate.engine.importers.names import Faults
from magistrate.engine.importers.openfga_models import OpenFgaModelReader, read_openfga_json
from magistrate.engine.importers.schema import ForeignModel
from magistrate.engine.text.rendering import render_model
from magistrate.engine.text.reports import render_json, report_text
from tests.importers.models import OPENFGA, read_openfga, read_spicedb

HERE = Path(__file__).parent


def convert(model: ForeignModel, faults: Faults) -> ConvertedModel:
    converted = convert_model(model, faults)
    assert faults.kept == []
    return converted


def cases(name: str) -> list[Any]:
    found: list[Any] = yaml.safe_load((HERE / f"{name}-errors.yaml").read_text())
    return [pytest.param(case, id=f"{name}-{number}") for number, case in enumerate(found)]


def demand_faults(case: Any, model: ForeignModel, faults: Faults) -> None:
    if not faults.errors:
        convert_model(model, faults)
    found = [(f"{fault.at.line}:{fault.at.column} {fault.code}", fault.message) for fault in faults.kept]
    wanted = [(" ".join(fault.split(" ")[:2]), fault.split(" ", 2)[2]) for fault in case["faults"]]
    assert [place for place, _ in found] == [place for place, _ in wanted], found
    for (_, message), (_, piece) in zip(found, wanted, strict=True):
        assert piece in message


@pytest.mark.parametrize("case", cases("openfga"))
def test_a_model_of_openfga_that_is_wrong_is_refused_with_its_place(case: Any) -> None:
    faults = Faults()

    demand_faults(case, read_openfga(case["text"], faults), faults)


@pytest.mark.parametrize("case", cases("spicedb"))
def test_a_schema_of_spicedb_that_is_wrong_is_refused_with_its_place(case: Any) -> None:
    faults = Faults()

    demand_faults(case, read_spicedb(case["text"], faults), faults)


OPENFGA_JSON = {
    "schema_version": "1.1",
    "type_definitions": [
        {"type": "user"},
        {
            "type": "team",
            "relations": {"member": {"this": {}}},
            "metadata": {
                "relations": {
                    "member": {
                        "directly_related_user_types": [
                            {"type": "user"},
                            {"type": "user", "wildcard": {}},
                            {"type": "team", "relation": "member"},
                        ]
                    }
                }
            },
        },
        {
            "type": "doc",
            "relations": {
                "parent": {"this": {}},
                "owner": {"this": {}},
                "viewer": {
                    "union": {
                        "child": [
                            {"this": {}},
                            {"computedUserset": {"relation": "owner"}},
                            {
                                "intersection": {
                                    "child": [
                                        {
                                            "tupleToUserset": {
                                                "tupleset": {"relation": "parent"},
                                                "computedUserset": {"relation": "viewer"},
                                            }
                                        },
                                        {"computedUserset": {"relation": "member_of"}},
                                    ]
                                }
                            },
                        ]
                    }
                },
                "member_of": {
                    "difference": {"base": {"this": {}}, "subtract": {"computedUserset": {"relation": "owner"}}}
                },
                "reader": {
                    "difference": {
                        "base": {"computedUserset": {"relation": "viewer"}},
                        "subtract": {"computedUserset": {"relation": "owner"}},
                    }
                },
            },
            "metadata": {
                "relations": {
                    "parent": {"directly_related_user_types": [{"type": "doc"}]},
                    "owner": {
                        "directly_related_user_types": [
                            {"type": "user", "condition": "fresh"},
                            {"type": "team", "relation": "member"},
                        ]
                    },
                    "viewer": {"directly_related_user_types": [{"type": "user"}]},
                    "member_of": {"directly_related_user_types": [{"type": "team"}]},
                    "reader": {"directly_related_user_types": []},
                }
            },
        },
    ],
    "conditions": {
        "fresh": {
            "name": "fresh",
            "expression": 'at > timestamp("2026-01-01T00:00:00Z") && level > 2',
            "parameters": {"at": {"type_name": "TYPE_NAME_TIMESTAMP"}, "level": {"type_name": "TYPE_NAME_INT"}},
        }
    },
}
OURS = """version 1.0

type user

type team
    relation member [user, user:*, team#member]

type doc
    relation parent [doc]
    relation owner [user, team#member]

    relation viewer [user]
    inherit viewer if
        any_of
            relation owner
            all_of
                relation viewer on parent [doc]
                relation member_of

    relation direct_member_of [team]

    relation member_of []
    inherit member_of if
        all_of
            relation direct_member_of
            none_of
                relation owner

    relation reader []
    inherit reader if
        all_of
            relation viewer
            none_of
                relation owner

policy fresh(at string, level integer) {
    as(at, "timestamp") > date("2026-01-01T00:00:00Z") && as(level, "int") > 2
}
"""


def test_a_model_of_openfga_becomes_text_that_says_the_same() -> None:
    faults = Faults()

    converted = convert(read_openfga(OPENFGA, faults), faults)

    assert render_model(converted.document) == OURS
    report = report_text(OURS)
    assert report.errors == []
    assert render_json(report.document) == render_json(converted.document)
    assert [renaming.describe() for renaming in converted.renamings] == [
        "doc#member_of of relationships becomes doc#direct_member_of: "
        "warrants give this, and a rule computes the relation"
    ]


def test_json_and_text_of_openfga_are_read_alike() -> None:
    faults = Faults()

    converted = convert(read_openfga_json(OPENFGA_JSON, "{}", "m.json", faults), faults)

    assert render_model(converted.document) == OURS


def test_modules_extend_the_types_of_others_in_any_order() -> None:
    faults = Faults()
    reader = OpenFgaModelReader(faults)
    reader.read_text("module wiki\nextend type org\n  relations\n    define writer: [user]\n", "wiki.fga")
    reader.read_text("module core\ntype user\ntype org\n  relations\n    define member: [user]\n", "core.fga")

    converted = convert(reader.finish(), faults)

    assert [*converted.document.types["org"].relations] == ["member", "writer"]


def test_operators_of_spicedb_are_read_in_its_order_where_that_is_clear() -> None:
    faults = Faults()
    schema = """definition user {}
        definition doc {
          relation a: user relation b: user relation c: user
          permission one = a + b & c - a
          permission two = a - b - c
          permission three = (a - b) + c
        }"""

    document = convert(read_spicedb(schema, faults), faults).document

    rules = {row["type"]: row["relations"] for row in render_json(document)["objectTypes"]}["doc"]

    def rule(operator: str, *operands: Any) -> Any:
        return {"inheritIf": operator, "rules": [*operands]}

    a, b, c = ({"inheritIf": name} for name in "abc")
    assert rules["one"] == rule("allOf", rule("allOf", rule("anyOf", a, b), c), rule("noneOf", a))
    assert rules["two"] == rule("allOf", rule("allOf", a, rule("noneOf", b)), rule("noneOf", c))
    assert rules["three"] == rule("anyOf", rule("allOf", a, rule("noneOf", b)), c)


@pytest.mark.parametrize("depth", [10, 3_000])
def test_deeply_nested_models_need_no_stack(depth: int) -> None:
    faults = Faults()
    nested = "(" * depth + "a" + " or b)" * depth
    text = f"type user\ntype doc\n  relations\n    define a: [user]\n    define b: [user]\n    define c: {nested}\n"

    assert [*convert(read_openfga(text, faults), faults).document.types] == ["user", "doc"]


def test_a_model_that_is_too_large_is_refused_at_once() -> None:
    faults = Faults()

    read_openfga("type user\n" + "#" * 10_000_000, faults)
    read_spicedb("definition user {}\n" + "/" * 10_000_000, faults)

    assert [fault.code for fault in faults.kept] == ["model_too_large", "model_too_large"]


def test_arrows_that_lead_to_very_many_types_are_refused() -> None:
    faults = Faults()
    types = "".join(f"type t{number}\n  relations\n    define a: [t0]\n" for number in range(400))
    up = ",".join(f"t{number}" for number in range(400))
    arrows = "".join(f"    define r{number}: a from up\n" for number in range(400))

    convert_model(read_openfga(f"{types}type doc\n  relations\n    define up: [{up}]\n{arrows}", faults), faults)

    assert {fault.code for fault in faults.kept} == {"model_too_large"}


def test_mistakes_are_reported_up_to_a_limit() -> None:
    faults = Faults()

    read_openfga("type user\n" + "define : x\n" * 1_000, faults)

    assert len(faults.kept) == 100
