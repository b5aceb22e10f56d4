"""Random expressions of CEL that are well typed, and contexts for them."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

PARAMETERS: Mapping[str, str] = {
    "s": "string",
    "t": "string",
    "i": "int",
    "j": "int",
    "u": "uint",
    "d": "double",
    "b": "bool",
    "c": "bool",
    "at": "timestamp",
    "by": "timestamp",
    "lasts": "duration",
    "texts": "list<string>",
    "ints": "list<int>",
    "rows": "list<list<int>>",
    "attributes": "map<any>",
    "counts": "map<int>",
    "thing": "any",
    "things": "list<map<any>>",
}

Scope = Mapping[str, str]
Draw = Callable[[st.SearchStrategy[Any]], Any]

_LITERALS: Mapping[str, tuple[str, ...]] = {
    "string": ('""', "'a'", '"b"', '"é"', r'"a\"b"', r"r'\d'", r'"\n"', "'key'", '"7"'),
    "int": ("0", "1", "2", "-3", "7", "0x10", "9223372036854775807", "-9223372036854775808"),
    "uint": ("0u", "1u", "5u"),
    "double": ("0.5", "2.0", "-1.5", "1e3"),
    "bool": ("true", "false"),
    "timestamp": ('timestamp("2026-03-01T10:20:30Z")', 'timestamp("1999-12-31T23:59:59.5-08:00")'),
    "duration": ('duration("1h30m")', 'duration("-5s")', 'duration("250ms")'),
}
_BINARY: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "string": (("+", "string", "string"),),
    "int": tuple((sign, "int", "int") for sign in "+-*/%"),
    "uint": tuple((sign, "uint", "uint") for sign in "+-*/%"),
    "double": tuple((sign, "double", "double") for sign in "+-*"),
    "timestamp": (("+", "timestamp", "duration"), ("-", "timestamp", "duration"), ("+", "duration", "timestamp")),
    "duration": (("-", "timestamp", "timestamp"), ("+", "duration", "duration"), ("-", "duration", "duration")),
}
_ORDERED = ("string", "int", "uint", "double", "timestamp", "duration")
_EQUAL = (*_ORDERED, "bool", "list<int>", "list<string>", "list<list<int>>", "any", "map<int>")
_PARTS = (
    *("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfYear", "getDayOfWeek"),
    *("getHours", "getMinutes", "getSeconds", "getMilliseconds"),
)
_ZONES = ("", "", "'UTC'", "'+05:30'", "'-02:15'", "'Europe/Berlin'", "'America/New_York'")


@st.composite
def expressions(draw: Draw) -> str:
    """Expressions that are bools."""
    return build(draw, "bool", draw(st.integers(1, 4)), {})


def build(draw: Draw, of_type: str, depth: int, scope: Scope) -> str:
    """An expression of the type; `scope` has the variables of the macros around it."""
    names = [name for name, declared in {**PARAMETERS, **scope}.items() if declared == of_type]
    leaves = [*names * 2, *_LITERALS.get(of_type, ())]
    choices = _list_choices(of_type) if depth > 0 else []
    if not choices or (leaves and draw(st.integers(0, 5)) == 0):
        return str(draw(st.sampled_from(leaves))) if leaves else _build_container(draw, of_type, depth, scope)
    choose: Build = draw(st.sampled_from(choices))
    return choose(draw, of_type, depth - 1, scope)


Build = Callable[[Draw, str, int, Scope], str]


def _list_choices(of_type: str) -> list[Build]:
    choices: list[Build] = [_build_conditional, _build_element]
    if of_type in _BINARY:
        choices += [_build_binary] * 3
    choices += _OF_TYPE.get(of_type, ())
    if "<" in of_type:
        choices += [_build_container]
    if of_type.startswith("list<"):
        choices += [_build_filter, _build_map, _build_sum]
    return choices


def _build_conditional(draw: Draw, of_type: str, depth: int, scope: Scope) -> str:
    condition = build(draw, "bool", depth, scope)
    return f"({condition} ? {build(draw, of_type, depth, scope)} : {build(draw, of_type, depth, scope)})"


def _build_element(draw: Draw, of_type: str, depth: int, scope: Scope) -> str:
    if of_type == "any":
        return f"attributes.{draw(st.sampled_from(('a', 'key', 'none', 'z', 'a.b', 'a.none')))}"
    if of_type == "int" and draw(st.booleans()):
        return f"counts[{build(draw, 'string', depth, scope)}]"
    if of_type.count("<") > 1:
        return build(draw, of_type, 0, scope)
    return f"{build(draw, f'list<{of_type}>', depth, scope)}[{build(draw, 'int', 0, scope)}]"


def _build_binary(draw: Draw, of_type: str, depth: int, scope: Scope) -> str:
    sign, left, right = draw(st.sampled_from(_BINARY[of_type]))
    return f"({build(draw, left, depth, scope)} {sign} {build(draw, right, depth, scope)})"


def _build_sum(draw: Draw, of_type: str, depth: int, scope: Scope) -> str:
    return f"({build(draw, of_type, depth, scope)} + {build(draw, of_type, depth, scope)})"


def _build_container(draw: Draw, of_type: str, depth: int, scope: Scope) -> str:
    if of_type == "any":
        return "thing"
    element = of_type[of_type.index("<") + 1 : -1]
    parts = [build(draw, element, max(depth, 0), scope) for _ in range(draw(st.integers(1, 3)))]
    if of_type.startswith("list<"):
        return f"[{', '.join(parts)}]"
    keys = ('"a"', '"b"', '"key"')
    return "{" + ", ".join(f"{key}: {part}" for key, part in zip(keys, parts, strict=False)) + "}"


def _bind(draw: Draw, depth: int, scope: Scope) -> tuple[str, str, Scope]:
    """A list to go over, the name of its element, and the scope with it."""
    element = draw(st.sampled_from(("string", "int", "list<int>", "map<any>", "keys")))
    name = draw(st.sampled_from(("e", "f", "i")))
    if element == "keys":
        return draw(st.sampled_from(("counts", "attributes"))), name, {**scope, name: "string"}
    source = "things" if element == "map<any>" else build(draw, f"list<{element}>", depth, scope)
    return source, name, {**scope, name: element}


def _build_filter(draw: Draw, of_type: str, depth: int, scope: Scope) -> str:
    source, name = build(draw, of_type, depth, scope), draw(st.sampled_from(("e", "f")))
    condition = build(draw, "bool", depth, {**scope, name: of_type[5:-1]})
    return f"{source}.filter({name}, {condition})"


def _build_map(draw: Draw, of_type: str, depth: int, scope: Scope) -> str:
    source, name, inner = _bind(draw, depth, scope)
    condition = f"{build(draw, 'bool', depth, inner)}, " if draw(st.booleans()) else ""
    return f"{source}.map({name}, {condition}{build(draw, of_type[5:-1], depth, inner)})"


def _build_macro(draw: Draw, of_type: str, depth: int, scope: Scope) -> str:
    source, name, inner = _bind(draw, depth, scope)
    macro = draw(st.sampled_from(("exists", "all", "exists", "all", "exists_one")))
    return f"{source}.{macro}({name}, {build(draw, 'bool', depth, inner)})"


def _build_logic(draw: Draw, of_type: str, depth: int, scope: Scope) -> str:
    sign = draw(st.sampled_from(("&&", "||")))
    operands = [build(draw, "bool", depth, scope) for _ in range(draw(st.integers(2, 3)))]
    return "(" + f" {sign} ".join(operands) + ")"


def _build_negation(draw: Draw, of_type: str, depth: int, scope: Scope) -> str:
    return f"!({build(draw, 'bool', depth, scope)})"


def _build_comparison(draw: Draw, of_type: str, depth: int, scope: Scope) -> str:
    compared = draw(st.sampled_from((*_EQUAL, *_ORDERED)))
    signs = ("==", "!=", "<", "<=", ">", ">=") if compared in _ORDERED else ("==", "!=")
    sign, left = draw(st.sampled_from(signs)), build(draw, compared, depth, scope)
    other = draw(st.sampled_from(("string", "int", "bool", "any", "null"))) if compared == "any" else compared
    right = "null" if other == "null" else build(draw, other, depth, scope)
    return f"({left} {sign} {right})"


def _build_search(draw: Draw, of_type: str, depth: int, scope: Scope) -> str:
    element = draw(st.sampled_from(("string", "int", "list<int>", "any")))
    if element == "string" and draw(st.booleans()):
        return f"({build(draw, 'string', depth, scope)} in {draw(st.sampled_from(('attributes', 'counts')))})"
    among = build(draw, f"list<{'int' if element == 'any' else element}>", depth, scope)
    return f"({build(draw, element, depth, scope)} in {among})"


def _build_text_search(draw: Draw, of_type: str, depth: int, scope: Scope) -> str:
    method = draw(st.sampled_from(("startsWith", "endsWith", "contains", "matches")))
    part = draw(st.sampled_from(("'^a'", "'b$'", "'[0-9]+'"))) if method == "matches" else None
    return f"{build(draw, 'string', depth, scope)}.{method}({part or build(draw, 'string', depth, scope)})"


def _build_presence(draw: Draw, of_type: str, depth: int, scope: Scope) -> str:
    # Of a value that is no map, the implementation in C++ has no answer, and that in Go false: see conditions.yaml.
    return f"has(attributes.{draw(st.sampled_from(('a', 'none', 'key', 'none.b')))})"


def _build_size(draw: Draw, of_type: str, depth: int, scope: Scope) -> str:
    sized = build(draw, draw(st.sampled_from(("string", "list<int>", "map<int>"))), depth, scope)
    return f"size({sized})" if draw(st.booleans()) else f"({sized}).size()"


def _build_part(draw: Draw, of_type: str, depth: int, scope: Scope) -> str:
    part, zone = draw(st.sampled_from(_PARTS)), draw(st.sampled_from(_ZONES))
    return f"({build(draw, 'timestamp', depth, scope)}).{part}({zone})"


def _build_conversion(draw: Draw, of_type: str, depth: int, scope: Scope) -> str:
    sources = {
        "int": ("uint", "double", "string", "timestamp"),
        "uint": ("int", "double", "string"),
        "double": ("int", "uint", "string"),
        "string": ("int", "uint", "bool"),
    }
    return f"{of_type}({build(draw, draw(st.sampled_from(sources[of_type])), depth, scope)})"


_OF_TYPE: Mapping[str, list[Build]] = {
    "bool": [
        *[_build_logic, _build_comparison, _build_macro] * 3,
        *[_build_negation, _build_search, _build_text_search, _build_presence],
    ],
    "int": [_build_size, _build_part, _build_conversion],
    "uint": [_build_conversion],
    "double": [_build_conversion],
    "string": [_build_conversion],
}

_VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "string": st.sampled_from(["", "a", "ab", "é", "key", "7", "a.b"]),
    "int": st.integers(-5, 9),
    "uint": st.integers(0, 9),
    "double": st.sampled_from([0.0, 0.5, -1.5, 2.0, 1e9]),
    "bool": st.booleans(),
    "timestamp": st.sampled_from(["2026-03-01T10:20:30Z", "2024-02-29T23:59:59.25+05:30", "1969-07-20T20:17:40Z"]),
    "duration": st.sampled_from(["1h30m", "-5s", "0s", "36h"]),
    "any": st.sampled_from([None, True, 5, 2.5, "a", "key", [1, 2], ["a"], {"b": 1}, {"b": {"c": 2}}, []]),
}


def _values(of_type: str) -> st.SearchStrategy[Any]:
    if of_type in _VALUES:
        return _VALUES[of_type]
    if of_type.startswith("list<"):
        return st.lists(_values(of_type[5:-1]), max_size=3)
    return st.dictionaries(st.sampled_from(["a", "b", "key", "z"]), _values(of_type[4:-1]), max_size=3)


contexts: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {}, optional={name: _values(of_type) for name, of_type in PARAMETERS.items()}
)
full_contexts: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {name: _values(of_type) for name, of_type in PARAMETERS.items()}
)


def show(context: Mapping[str, Any]) -> str:
    return json.dumps(context, ensure_ascii=False)
