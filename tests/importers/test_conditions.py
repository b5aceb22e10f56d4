"""Conditions of OpenFGA and caveats of SpiceDB as policies: they have the same answers, or are unknown."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from magistrate.engine.importers.cel.pieces import CelRefusal
from magistrate.engine.importers.conditions import ConditionConverter
from magistrate.engine.importers.conversion import ConvertedModel, convert_model
from magistrate.engine.importers.names import Faults, ForeignName
from magistrate.engine.importers.openfga_models import read_openfga_json
from magistrate.engine.importers.schema import ForeignCondition, ForeignModel
from magistrate.engine.policy.named_policies import read_named_policy
from magistrate.engine.policy.policy import read_policy
from magistrate.engine.text.rendering import render_model
from magistrate.engine.text.reports import report_text
from magistrate.engine.warrants.warrant import NO_WARRANT
from magistrate.errors import InvalidParameter
from tests.importers.condition_cases import CASES
from tests.importers.models import read_openfga, read_spicedb

NOW = 1_767_225_600_000_000
TYPES = {"s": "string", "t": "string", "i": "int", "d": "double", "b": "bool", "l": "list<string>"}
TYPES |= {"at": "timestamp", "lasts": "duration", "m": "map<any>", "x": "any", "u": "uint", "ip": "ipaddress"}


def converter(expression: str, requires_all: bool = False, **types: str) -> ConditionConverter:
    name = ForeignName("c", "m.fga", 1, 1)
    parameters = types or TYPES
    condition = ForeignCondition(name, parameters, expression, name, requires_all=requires_all)
    return ConditionConverter(condition, "c", {parameter: parameter for parameter in parameters})


def decide(expression: str, values: dict[str, Any], context: dict[str, Any]) -> bool | None:
    policy = converter(expression).render_policy(values)
    return read_policy(policy).outcome(context, NO_WARRANT, NOW).value


def write_openfga(case: Any) -> str:
    parameters = ", ".join(f"{name}: {of_type}" for name, of_type in case["parameters"].items())
    return f"model\n  schema 1.1\ntype user\ncondition c({parameters}) {{\n  {case['expression']}\n}}\n"


def write_spicedb(case: Any) -> str:
    parameters = ", ".join(f"{name} {of_type}" for name, of_type in case["parameters"].items())
    return f"caveat c({parameters}) {{\n  {case['expression']}\n}}\ndefinition user {{}}\n"


def write_json(case: Any) -> dict[str, Any]:
    def describe(of_type: str) -> dict[str, Any]:
        name, _, element = of_type.partition("<")
        described: dict[str, Any] = {"type_name": f"TYPE_NAME_{name.upper()}"}
        return described | ({"generic_types": [describe(element[:-1])]} if element else {})

    parameters = {name: describe(of_type) for name, of_type in case["parameters"].items()}
    condition = {"name": "c", "expression": case["expression"], "parameters": parameters}
    return {"schema_version": "1.1", "type_definitions": [{"type": "user"}], "conditions": {"c": condition}}


def read_product(case: Any, product: str, faults: Faults) -> ForeignModel:
    if product == "openfga":
        return read_openfga(write_openfga(case), faults)
    if product == "spicedb":
        return read_spicedb(write_spicedb(case), faults)
    value = write_json(case)
    return read_openfga_json(value, json.dumps(value), "m.json", faults)


def convert_case(case: Any, product: str) -> ConvertedModel:
    faults = Faults()
    converted = convert_model(read_product(case, product, faults), faults)
    assert [fault.describe() for fault in faults.kept] == []
    return converted


PRODUCTS = ("openfga", "json", "spicedb")


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_condition_has_the_answers_that_it_has_there(case: Any, product: str) -> None:
    if product not in case.get("products", PRODUCTS):
        product = case["products"][0]
    converted = convert_case(case, product)

    policy = read_policy(converted.conditions["c"].render_policy(case.get("given", {})))

    for context, *answers in case["checks"]:
        expected = answers[-1] if product == "spicedb" else answers[0]
        answer = policy.outcome(converted.rename_context(context), NO_WARRANT, NOW).value
        assert answer is expected, (context, policy.text)


def test_a_parameter_that_json_has_twice_is_an_error_with_its_place() -> None:
    value = write_json({"parameters": {"x": "int", "y": "string"}, "expression": "x > 1"})
    text = json.dumps(value, indent=2).replace('"y": {', '"x": {')
    faults = Faults()

    read_openfga_json(json.loads(text), text, "m.json", faults)

    [line] = [number for number, one in enumerate(text.splitlines(), 1) if '"x": {' in one][1:]
    described = f"m.json:{line}:9: repeated_declaration: parameter x is declared twice"
    assert [fault.describe() for fault in faults.kept] == [described]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_condition_has_the_same_answers_whichever_side_gives_the_values(case: Any) -> None:
    """Values of a relationship are literals of the policy, and those of a check are read from its context."""
    converted = convert_case(case, case.get("products", ["openfga"])[0])
    condition = converted.conditions["c"]

    for context, answer, *_ in case["checks"]:
        joined: Mapping[str, Any] = {**context, **case.get("given", {})}
        by_check = (
            read_policy(condition.render_policy({})).outcome(converted.rename_context(joined), NO_WARRANT, NOW).value
        )
        assert by_check is answer
        try:
            by_relationship = read_policy(condition.render_policy(joined)).outcome({}, NO_WARRANT, NOW).value
        except InvalidParameter:
            by_relationship = None
        assert by_relationship is answer


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_named_policy_of_a_condition_is_read_back_from_its_text(case: Any) -> None:
    converted = convert_case(case, case.get("products", ["openfga"])[0])
    declaration = converted.conditions["c"].declaration
    assert (declaration is None) is ("any" in case["parameters"].values())

    report = report_text(render_model(converted.document))

    assert report.errors == []
    assert [*report.document.policies] == ([] if declaration is None else ["c"])
    for context, answer, *_ in case["checks"] if declaration is not None else ():
        read = report.document.policies["c"]
        named = read_named_policy("c", read.parameters, read.expression)
        values = named.select(converted.rename_context({**context, **case.get("given", {})}))
        if values is not None:
            assert read_policy(named.expression).outcome(values, NO_WARRANT, NOW).value is answer


@pytest.mark.parametrize("value", ["x", 'a"b', "a\\nb", "it's", "é\n\t", "] || true || [", "${x}"])
def test_a_value_of_a_relationship_is_that_text_and_nothing_else(value: str) -> None:
    assert decide("s == t", {"s": value}, {"t": value}) is True
    assert decide("s == t", {"s": value}, {"t": value + "!"}) is False
    assert decide("m[s] == t", {"m": {value: value}, "s": value}, {"t": value}) is True


def test_values_of_a_relationship_win_over_those_of_a_check() -> None:
    assert decide('s == "x" && i == 1 && b', {"s": "x", "b": True}, {"s": "y", "i": 1, "b": False}) is True
    assert decide("s in l", {"l": ["x"]}, {"s": "y", "l": ["y"]}) is False
    assert decide("i > -1", {"i": -2}, {}) is False
    assert decide("i == -9223372036854775808", {"i": "-9223372036854775808"}, {}) is True


@pytest.mark.parametrize(
    "values",
    [
        {"nothing": 1},
        {"s": 1},
        {"i": "one"},
        {"i": True},
        {"i": 1.5},
        {"i": 2**63},
        {"i": 10**400},
        {"u": -1},
        {"d": "many"},
        {"l": [["x"]]},
        {"l": "x"},
        {"b": None},
        {"m": []},
        {"at": "yesterday"},
        {"at": "2026-01-01"},
        {"lasts": "1d"},
        {"ip": "10.0.0"},
        {"s": "x" * 5_000},
    ],
)
def test_a_value_that_does_not_fit_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        converter("b && s == t").render_policy(values)


@pytest.mark.parametrize(
    ("expression", "offset"),
    [
        ("s == 5", 2),
        ("b && s + i == s", 7),
        ("i + x > 5", 2),
        ("x % 2 == 0", 2),
        ("i + d > 5", 2),
        ("b < b", 2),
        ("b ? s : i", 8),
        ("b + b", 2),
        ("s && b", 0),
        ("!s", 1),
        ("-s == s", 0),
        ("-u == u", 0),
        ("s.x == s", 2),
        ("l.x", 2),
        ("l['x'] == s", 2),
        ("m[1] == 1", 2),
        ("s[0] == s", 1),
        ("has(s)", 0),
        ("has(m['a'])", 0),
        ("b && s.lower() == t", 7),
        ("s.size(1) == 1", 2),
        ("i.size() == 1", 2),
        ("size(l, l) == 1", 0),
        ("int(b) == 1", 0),
        ("int(l) == 1", 0),
        ("type(i) == int", 0),
        ("b'abc' == s", 0),
        ("bytes(s) == s", 0),
        ("now() > at", 0),
        ("expiresIn('1h')", 0),
        ("as(s, 'int') == 1", 0),
        ("at.getHours(1) == 1", 3),
        ("s.getHours() == 1", 2),
        ("lasts.getFullYear() == 1", 6),
        ("ip.in_cidr(1)", 3),
        ("s.in_cidr('10.0.0.0/8')", 2),
        ("timestamp('yesterday') < at", 10),
        ("duration('1d') < lasts", 9),
        ("ipaddress('10.0.0') == ip", 10),
        ("s.matches('(')", 10),
        ("l.exists(x)", 9),
        ("l.exists(x, y, z)", 12),
        ("l.exists(1, true)", 9),
        ("l.exists(x, x)", 12),
        ("l.all(x, b).size()", 12),
        ("l.fold(x, x)", 2),
        ("s.exists(x, true)", 0),
        ("{1: 2}[1] == 2", 1),
        ("{'a': 1, 'a': 2}.a == 2", 1),
        ("warrant.objectId == s", 0),
        ("s == $env", 5),
        ('"\\d" == s', 0),
        ('"\\ud800" == s', 0),
        ("i == 9223372036854775808", 5),
        ("u == 18446744073709551615u", 5),
        ("i == 1.", 7),
        ("i == 1x", 5),
        ("Message{a: 1}.a == 1", 0),
        (".s == s", 0),
        ("s.", 2),
        ("s ==", 4),
        ("b ? b", 5),
        ("b : b", 2),
        ("(b", 2),
        ("b)", 1),
        ("", 0),
        ("(b]", 2),
        ("[b", 2),
        ("{'a'}", 4),
        ("{'a': b", 7),
        ("size(", 5),
        ("size(,)", 5),
        ("size(l,)", 7),
        ("l.all(x, )", 9),
        ("b b", 2),
        ("s == 'a\nb'", 5),
        ("b " + "&& b " * 3_000, 5_000),
    ],
)
def test_what_cannot_be_expressed_is_refused_at_its_place(expression: str, offset: int) -> None:
    with pytest.raises(CelRefusal) as caught:
        converter(expression)

    assert caught.value.offset == offset, caught.value.message


@pytest.mark.parametrize("nested", ["(", "[", "!", "-", "size(", "b ? ", "{'a': ", "l.all(x, "])
def test_no_nesting_is_too_deep_to_be_refused(nested: str) -> None:
    with pytest.raises((CelRefusal, InvalidParameter)):
        converter(nested * 900 + "b")
    assert converter("(" * 300 + "b" + ")" * 300).render_policy({}) == 'as(b, "bool?")'


@pytest.mark.parametrize(("begin", "more"), [('"""', '\\"""'), ("r'''", "\\''"), ('"', '\\"'), ("", "'")])
@pytest.mark.parametrize("write", [write_openfga, write_spicedb])
def test_a_string_without_an_end_is_looked_at_once(write: Any, begin: str, more: str) -> None:
    text = write({"parameters": {"s": "string"}, "expression": "s == " + begin + more * 20_000})
    faults = Faults()

    convert_model(read_openfga(text, faults) if write is write_openfga else read_spicedb(text, faults), faults)

    assert [fault.code for fault in faults.kept] in (["unexpected_token"], ["not_expressible"])


def test_a_condition_of_openfga_needs_a_value_for_each_parameter() -> None:
    types = {"a": "bool", "b": "bool", "unread": "list<int>"}
    policies = [converter("a || b", requires_all=needs, **types).render_policy({"b": True}) for needs in (True, False)]

    assert policies[0] == '[as(unread, "list<int>")] != nil && (as(a, "bool") || true)'
    assert policies[1] == 'anyOf(as(a, "bool?"), true)'


def test_a_parameter_of_any_type_is_no_parameter_of_a_named_policy() -> None:
    assert converter("x == 1.0").declaration is None
    declared = converter("i in m.l && s == s", i="int", m="map<any>", s="string").declaration
    assert declared is not None
    assert declared.parameters == {"i": "integer", "m": "map", "s": "string"}
    assert declared.expression == 'allOf(includes(at(as(m, "map<any>"), "l"), as(i, "int")), s == s)'
