"""Random policies and contexts for the fuzz tests.

Expressions are drawn from templates by what their slots should hold, so that most of them can be read; a slot now and
then holds something else.
"""

import re
from typing import Any

from hypothesis import strategies as st

NAMES = ("a", "b", "c", "warrant", "now")

TEMPLATES: dict[str, tuple[str, ...]] = {
    "any": ("{bool}", "{number}", "{text}", "{list}", "{map}", "{time}", "{place}", "nil"),
    "place": (
        *NAMES,
        "{place}.a",
        "{place}?.b",
        "{place}[{number}]",
        "{map}[{text}]",
        "{list}[{number}]",
        "first({list})",
        "get({place}, {number})",
        "at({place}, {any})",
        "at({place}, {text}, {number})",
        "find({list}, {closure})",
        "findLast({list}, {closure})",
        "reduce({list}, #acc + #)",
        "reduce({list}, {any}, {any})",
        "groupBy({list}, {any})[{any}]",
        "fromJSON(toJSON({any}))",
        "$env[{text}]",
        "let v = {any}; v",
        "{any} ?? {any}",
        "{bool} ? {any} : {any}",
    ),
    "bool": (
        "true",
        "false",
        "{place}",
        "{any} == {any}",
        "{any} != {any}",
        "{number} < {number}",
        "{text} >= {text}",
        "{time} > {time}",
        "{any} in {list}",
        "{text} not in {map}",
        "{text} contains {text}",
        "{text} startsWith {text}",
        "{text} not endsWith {text}",
        "{text} matches {text}",
        "{text} matches '^[a-c]+$'",
        "!{bool}",
        "not {bool}",
        "{bool} && {bool}",
        "{bool} or {bool}",
        "{bool} ?: {bool}",
        "all({list}, {closure})",
        "any({list}, {closure})",
        "none({list}, {closure})",
        "one({list}, {closure})",
        "hasPrefix({text}, {text})",
        "{number} in 1..3",
        "{list} | any({closure})",
        "let w = {any}; w == {any}",
        "anyOf({bool}, {bool}, {bool})",
        "allOf({bool}, {bool})",
        "some({list}, {closure})",
        "every({list}, {closure})",
        "has({map}, {text})",
        "includes({list}, {any})",
        "equals({any}, {any})",
        "isSubtree({map}, {map})",
        "inCIDR({text}, '10.0.0.0/8')",
        "as({place}, 'bool')",
        "as({place}, 'bool?')",
        "as({place}, 'timestamp') < {time}",
        "expiresIn('1h')",
        "expiresIn({text})",
    ),
    "closure": ("{{bool}}", "{bool}", "# == {any}", "{.a == {any}}", "# in {list}", ".b < {number}"),
    "number": (
        "0",
        "1",
        "2.5",
        "1e300",
        "9223372036854775807",
        "{place}",
        "-{number}",
        "{number} + {number}",
        "{number} - {number}",
        "{number} * {number}",
        "{number} / {number}",
        "{number} % {number}",
        "{number} ** {number}",
        "as({place}, 'int')",
        "as({any}, 'double?')",
        "convert({any}, 'int')",
        "datePart({time}, 'hour', {text})",
        "div({number}, {number})",
        "size({list})",
        "len({list})",
        "len({text})",
        "int({text})",
        "float({number})",
        "round({number})",
        "abs({number})",
        "max({number}, {list})",
        "sum({list})",
        "mean({list})",
        "count({list}, {closure})",
        "findIndex({list}, {closure})",
        "findLastIndex({list}, {closure})",
        "median({list})",
        "lastIndexOf({text}, {text})",
        "sum(map({list}, #index))",
        "indexOf({text}, {text})",
        "{time}.Hour()",
        "({time} - {time}).Seconds()",
    ),
    "text": (
        "''",
        "'a'",
        '"b\\n"',
        "{place}",
        "{text} + {text}",
        "{text}[{number}:]",
        "{text}[:{number}]",
        "lower({text})",
        "upper({text})",
        "trim({text})",
        "trimSuffix({text}, {text})",
        "replace({text}, {text}, {text})",
        "join({list}, {text})",
        "as({place}, 'string')",
        "convert({any}, 'string')",
        "string({number})",
        "type({any})",
        "string({any})",
        "toJSON({any})",
        "toBase64({text})",
        "fromBase64({text})",
        "repeat({text}, {number})",
        "{time}.Format({text})",
        "{time}.Weekday().String()",
    ),
    "list": (
        "[]",
        "[1, 2]",
        "['a', 'b']",
        "[{any}, {any}]",
        "concat({list}, {list})",
        "elements({map})",
        "as({place}, 'list<int>')",
        "{place}",
        "{number}..{number}",
        "{list}[{number}:{number}]",
        "map({list}, {any})",
        "map({list}, {#})",
        "filter({list}, {closure})",
        "split({text}, {text})",
        "splitAfter({text}, {text})",
        "take({list}, {number})",
        "sort({list})",
        "sortBy({list}, {text})",
        "toPairs({map})",
        "keys({map})",
        "values({map})",
    ),
    "map": (
        "{}",
        "{a: {any}, 'b': {any}}",
        "{({text}): {any}}",
        "{place}",
        "warrant",
        "fromPairs({list})",
        "groupBy({list}, {any})",
        "$env",
    ),
    "time": (
        "now()",
        "warrant.createdAt",
        "date('2025-11-21')",
        "{time} + duration('1h')",
        "{place}",
        "date({text})",
        "date({text}, {text})",
        "{time}.AddDate({number}, {number}, {number})",
    ),
}

_SLOT = re.compile(r"\{(" + "|".join(TEMPLATES) + r")\}")

TOKENS = re.findall(
    r"\S+",
    """ a b true false nil 1 0 2.5 1e9 0x1 'a' "b" '[' == != < <= > >= && || ! and or not in contains startsWith
    endsWith matches + - * / % ** ^ ? : ?? ?. . .a .. [ ] ( ) { } , # = & | ; @ $ ' " \\ len( max( all( map( any( find(
    duration( let = ; | reduce( #index $env 'x' '1h' expiresIn( now( .Hour() // /* */ é """,
)


@st.composite
def expressions(draw: st.DrawFn, wanted: str = "bool", depth: int = 4) -> str:
    """An expression with up to `depth` templates within each other; brackets are often missing."""

    def filled(slot: re.Match[str]) -> str:
        kind = slot[1]
        if kind != "closure" and draw(st.integers(0, 30)) == 0:
            kind = "any"
        inner = draw(expressions(kind, depth - 1))
        return inner if kind == "closure" or draw(st.booleans()) else f"({inner})"

    templates = TEMPLATES[wanted]
    if depth <= 0:
        templates = tuple(template for template in templates if not _SLOT.search(template)) or ("true", "#", "nil")
    return _SLOT.sub(filled, draw(st.sampled_from(templates)))


_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.integers(),
    st.integers(2**63 - 2, 10**400),
    st.floats(),
    st.sampled_from(["", "a", "ab", "1", "1h", "2025-11-21", "^a", "("]),
    st.text(st.characters(), max_size=8),
)
_keys = st.sampled_from(["a", "b", "c"]) | st.text(max_size=3)
values: st.SearchStrategy[Any] = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_keys, inner, max_size=4),
    max_leaves=8,
)
contexts = st.dictionaries(st.sampled_from(["a", "b", "c", "now", "warrant"]), values, max_size=4)
token_runs = st.lists(st.sampled_from(TOKENS), max_size=25).flatmap(
    lambda tokens: st.sampled_from(["", " ", "\n"]).map(lambda blank: blank.join(tokens))
)
