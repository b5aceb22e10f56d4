"""Reads YAML that says what JSON could say. It is imported where it is used, because importing PyYAML takes a moment.

Plain scalars are read as in YAML 1.2: `no` and `2026-11-22` are texts. Aliases are refused, because a short file could
stand for a huge value, and so are repeated members, as in JSON, because it is not defined which one counts."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from magistrate.engine.nesting import fold
from magistrate.errors import InvalidRequest

MAX_DEPTH = 100
"""Limits the nesting of a document."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where libyaml is installed
_TAG = "tag:yaml.org,2002:"
_COLLECTIONS: Mapping[str, type] = {_TAG + "map": dict, _TAG + "seq": list}
_SCALARS = frozenset(_TAG + name for name in ("str", "bool", "null", "int", "float"))
_LITERALS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(rf"{_INTEGER.pattern}(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


class YamlNode(NamedTuple):
    """Holds a value and where it was written: a scalar, a list of nodes, or a dict of nodes. `text` is what a scalar
    was written as, and `is_block` whether it was written in lines of its own."""

    value: Any
    line: int
    column: int
    text: str = ""
    is_block: bool = False

    @property
    def members(self) -> "Mapping[str, YamlNode]":
        """Returns the members; none if this is no mapping."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def elements(self) -> "Sequence[YamlNode]":
        """Returns the elements; none if this is no sequence."""
        return self.value if isinstance(self.value, list) else ()

    def to_plain(self) -> Any:
        """Returns the value without places."""
        return fold(self, lambda node: [*node.members.values(), *node.elements], _strip)


def _strip(node: YamlNode, values: Sequence[Any]) -> Any:
    if isinstance(node.value, dict):
        return dict(zip(node.value, values, strict=True))
    return [*values] if isinstance(node.value, list) else node.value


class YamlFault(Exception):
    """Reports what is wrong with a document, and where, if that is known. `is_syntax` is false for what is YAML, but
    not supported."""

    def __init__(self, problem: str, line: int, column: int, is_syntax: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line
        self.column = column
        self.is_syntax = is_syntax


def read_yaml(text: str, origin: str, max_values: int | None = None) -> Any:
    """Returns the value of the only document, whose members have texts as names. It may have `max_values`, names of
    members and empty lists included, or any number. Raises InvalidRequest with the place of the fault."""
    try:
        return _build(text, _NodeBuilder(max_values, is_strict=True)).to_plain()
    except YamlFault as fault:
        place = f" (line {fault.line}, column {fault.column})" if fault.line else ""
        raise InvalidRequest(f"{origin} is not valid YAML: {fault.problem}{place}") from None


def read_yaml_nodes(text: str) -> YamlNode:
    """Returns the value of the first document. Raises YamlFault."""
    return _build(text, _NodeBuilder(None, is_strict=False))


def read_one_document(text: str, max_values: int) -> YamlNode:
    """Returns the value of the only document with the places of all values, like `read_yaml`. Raises YamlFault."""
    return _build(text, _NodeBuilder(max_values, is_strict=True))


def find_text(document: str, node: YamlNode) -> tuple[int, int]:
    """Returns the line and the column where the text of a scalar begins: that of a block in the line behind its sign,
    at its margin."""
    if not node.is_block:
        return node.line, node.column
    lines = document.split("\n")[node.line : node.line + 1_000]
    first = next((line for line in lines if line.strip()), "")
    return node.line + 1, len(first) - len(first.lstrip(" ")) + 1


def _build(text: str, builder: "_NodeBuilder") -> YamlNode:
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if builder.add(event):
                break
    except (yaml.YAMLError, ValueError, LookupError) as error:  # explicit tags: LookupError
        mark = getattr(error, "problem_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise YamlFault(str(getattr(error, "problem", error)), line, column, is_syntax=True) from None
    return builder.root


class _NodeBuilder:
    """Builds the value of the events of a parser, without recursion."""

    def __init__(self, max_values: int | None, is_strict: bool) -> None:
        self._max_values = max_values
        self._is_strict = is_strict
        self._values = 0
        self._opened: list[YamlNode] = []
        self._keys: list[YamlNode | None] = []
        self.root = YamlNode(None, 1, 1)

    def add(self, event: Any) -> bool:
        """Adds an event; returns whether no further one counts."""
        mark = event.start_mark
        at = YamlNode(None, mark.line + 1, mark.column + 1)
        if isinstance(event, yaml.NodeEvent):
            self._add_node(event, at)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._opened.pop()
            self._keys.pop()
        elif isinstance(event, yaml.DocumentStartEvent) and self._values:
            raise _refuse("but found another document", at)
        return isinstance(event, yaml.DocumentEndEvent) and not self._is_strict

    def _add_node(self, event: Any, at: YamlNode) -> None:
        if isinstance(event, yaml.AliasEvent):
            raise _refuse("aliases are not supported", at)
        self._values += 1
        if self._max_values is not None and self._values > self._max_values:
            raise _refuse(f"it has more than {self._max_values} values", at)
        if isinstance(event, yaml.ScalarEvent):
            value = _read_scalar(event, at)
            self._add_value(at._replace(value=value, text=event.value, is_block=event.style in ("|", ">")))
            return
        node = at._replace(value={} if isinstance(event, yaml.MappingStartEvent) else [])
        if event.tag not in (None, "!") and _COLLECTIONS.get(event.tag) is not type(node.value):
            raise _refuse_tag(event.tag, at)
        if len(self._opened) == MAX_DEPTH:
            raise _refuse(f"nests {MAX_DEPTH} deep at most", at)
        self._add_value(node)
        self._opened.append(node)
        self._keys.append(None)

    def _add_value(self, node: YamlNode) -> None:
        if not self._opened:
            self.root = node
            return
        parent, key = self._opened[-1], self._keys[-1]
        if isinstance(parent.value, list):
            parent.value.append(node)
        elif key is not None:
            parent.value[key.text] = node
            self._keys[-1] = None
        elif isinstance(node.value, dict | list) or (self._is_strict and not isinstance(node.value, str)):
            message = "the name of a member must be a text; write it in quotes"
            raise _refuse(message, parent if self._is_strict else node)
        elif node.text in parent.value:
            raise _refuse("a member is given twice in one object", parent if self._is_strict else node)
        else:
            self._keys[-1] = node


def _refuse(problem: str, at: YamlNode) -> YamlFault:
    return YamlFault(problem, at.line, at.column)


def _refuse_tag(tag: str, at: YamlNode) -> YamlFault:
    return _refuse(f"could not determine a constructor for the tag {tag!r}", at)


def _read_scalar(event: Any, at: YamlNode) -> Any:
    text, tag = event.value, event.tag
    if tag not in (None, "!"):
        if tag not in _SCALARS:
            raise _refuse_tag(tag, at)
        return yaml.SafeLoader.yaml_constructors[tag](yaml.constructor.SafeConstructor(), yaml.ScalarNode(tag, text))
    if not event.implicit[0]:
        return text
    if text in _LITERALS:
        return _LITERALS[text]
    return int(text) if _INTEGER.fullmatch(text) else float(text) if _FLOAT.fullmatch(text) else text
