"""Reads YAML into values that know where they were written.

Only what JSON could say is read: aliases are refused, because a short file could stand for a huge value, and so are
repeated members, because it is not defined which one counts."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from magistrate.engine.importers.names import ForeignName, ForeignRefusal
from magistrate.engine.nesting import fold

MAX_YAML_BYTES = 33_554_432
"""Limits a YAML file (32 MiB): all of it is in memory, each value with its place."""
MAX_YAML_DEPTH = 100

_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where libyaml is installed
_LITERALS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]{0,18})(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,3})?")


class YamlNode(NamedTuple):
    """Holds a value: a scalar, a list of nodes, or a dict of nodes. `text` is what a scalar was written as, and
    `is_block` whether it was written in lines of its own."""

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


def read_yaml_nodes(text: str, file: str) -> YamlNode:
    """Returns the value of the first document. Raises ForeignRefusal."""
    if len(text) > MAX_YAML_BYTES:
        at = ForeignName("", file, 1, 1)
        message = f"a YAML file has at most {MAX_YAML_BYTES} characters; use CSV or JSON"
        raise ForeignRefusal(at, "file_too_large", message)
    builder = _NodeBuilder(file)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if builder.add(event):
                break
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        at = ForeignName("", file, mark.line + 1, mark.column + 1) if mark else ForeignName("", file)
        raise ForeignRefusal(at, "invalid_yaml", f"is not valid YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        message = f"is not valid YAML: {error}".replace("\n", " ")
        raise ForeignRefusal(ForeignName("", file), "invalid_yaml", message) from None
    return builder.root


class _NodeBuilder:
    """Builds the value of the events of a parser, without recursion."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._opened: list[YamlNode] = []
        self._keys: list[YamlNode | None] = []
        self.root = YamlNode(None, 1, 1)

    def add(self, event: Any) -> bool:
        """Adds an event; returns whether it ends the document."""
        if isinstance(event, yaml.ScalarEvent):
            self._add_value(self._read_scalar(event))
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            node = _build_node(event, {} if isinstance(event, yaml.MappingStartEvent) else [])
            if len(self._opened) == MAX_YAML_DEPTH:
                raise self._refuse(node, f"nests deeper than {MAX_YAML_DEPTH}")
            self._add_value(node)
            self._opened.append(node)
            self._keys.append(None)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._opened.pop()
            self._keys.pop()
        elif isinstance(event, yaml.AliasEvent):
            raise self._refuse(_build_node(event, None), "aliases are not supported")
        return isinstance(event, yaml.DocumentEndEvent)

    def _add_value(self, node: YamlNode) -> None:
        if not self._opened:
            self.root = node
            return
        parent, key = self._opened[-1], self._keys[-1]
        if isinstance(parent.value, list):
            parent.value.append(node)
        elif key is None:
            if isinstance(node.value, dict | list):
                raise self._refuse(node, "the name of a member must be a text")
            if node.text in parent.value:
                raise self._refuse(node, "a member is given twice in one object")
            self._keys[-1] = node
        else:
            parent.value[key.text] = node
            self._keys[-1] = None

    def _refuse(self, node: YamlNode, message: str) -> ForeignRefusal:
        return ForeignRefusal(ForeignName("", self._file, node.line, node.column), "invalid_yaml", message)

    @staticmethod
    def _read_scalar(event: Any) -> YamlNode:
        text = event.value
        value: Any = text
        if event.implicit[0]:
            if text in _LITERALS:
                value = _LITERALS[text]
            elif _INTEGER.fullmatch(text):
                value = int(text)
            elif _FLOAT.fullmatch(text):
                value = float(text)
        return _build_node(event, value)._replace(text=text, is_block=event.style in ("|", ">"))


def _build_node(event: Any, value: Any) -> YamlNode:
    mark = event.start_mark
    return YamlNode(value, mark.line + 1, mark.column + 1)
