"""Reads YAML that says what JSON could say. It is imported where it is used, because importing PyYAML takes a
moment."""

import re
from collections.abc import Callable
from typing import Any, ClassVar

import yaml

from magistrate.errors import InvalidRequest

_TAG = "tag:yaml.org,2002:"
_JSON_TAGS = ("map", "seq", "str", "bool", "null", "int", "float")


class UniqueMembers(yaml.constructor.SafeConstructor):
    """Constructs values, and refuses objects with a member that is given twice, or whose name is not a text."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            raise yaml.constructor.ConstructorError(
                None, None, "a member is given twice in one object", node.start_mark
            )
        if not all(isinstance(name, str) for name in mapping):
            raise yaml.constructor.ConstructorError(
                None, None, "the name of a member must be a text; write it in quotes", node.start_mark
            )
        return mapping


class JsonLoader(UniqueMembers, yaml.SafeLoader):
    """Loads only values that JSON has. Plain scalars are read as in YAML 1.2: `no` and `2026-11-22` are texts.

    Repeated members are refused, as in JSON, because it is not defined which one counts; so are aliases, because a
    short file could stand for a huge value."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - the base class declares it
    yaml_constructors: ClassVar[dict[Any, Any]] = {
        None: yaml.SafeLoader.yaml_constructors[None],
        **{_TAG + name: yaml.SafeLoader.yaml_constructors[_TAG + name] for name in _JSON_TAGS},
    }

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            alias = self.get_event()  # type: ignore[no-untyped-call] # the stubs leave it open
            raise yaml.composer.ComposerError(None, None, "aliases are not supported", alias.start_mark)
        return super().compose_node(parent, index)


_NUMBER = r"-?(?:0|[1-9][0-9]*)"
JsonLoader.add_implicit_resolver(_TAG + "bool", re.compile(r"(?:true|false)$"), ["t", "f"])
JsonLoader.add_implicit_resolver(_TAG + "null", re.compile(r"(?:null|~|)$"), ["n", "~", ""])
JsonLoader.add_implicit_resolver(_TAG + "int", re.compile(rf"{_NUMBER}$"), list("-0123456789"))
JsonLoader.add_implicit_resolver(
    _TAG + "float", re.compile(rf"{_NUMBER}(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$"), list("-0123456789")
)


_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Reads YAML with libyaml where PyYAML was built with it, ten times as fast."""


class LongJsonLoader(UniqueMembers, _Parser):  # type: ignore[misc] # which class it is depends on how PyYAML was built
    """Loads the same values as JsonLoader, of a text that `_check_events` has accepted."""

    yaml_implicit_resolvers = JsonLoader.yaml_implicit_resolvers
    yaml_constructors = JsonLoader.yaml_constructors


MAX_DEPTH = 100
"""Limits the nesting of a long document; libyaml would recurse over it without any limit."""


def read_long_yaml(text: str, origin: str, max_values: int | None = None) -> Any:
    """Returns the value of a YAML document like `read_yaml`, as fast as possible. It may have `max_values`, names of
    members and empty lists included, or any number."""
    return _load(text, origin, lambda: _check_events(text, max_values), LongJsonLoader)


def _check_events(text: str, max_values: int | None) -> None:
    """Raises MarkedYAMLError for an alias, and for a document that is nested too deeply or has too many values."""
    depth = values = 0
    for event in yaml.parse(text, _Parser):
        if isinstance(event, yaml.AliasEvent):
            raise _refuse("aliases are not supported", event)
        values += isinstance(event, yaml.NodeEvent)
        if max_values is not None and values > max_values:
            raise _refuse(f"it has more than {max_values} values", event)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise _refuse(f"nests {MAX_DEPTH} deep at most", event)


def _refuse(problem: str, event: Any) -> yaml.MarkedYAMLError:
    return yaml.composer.ComposerError(None, None, problem, event.start_mark)


def read_yaml(text: str, origin: str) -> Any:
    """Returns the value of a YAML document. Raises InvalidRequest with the line and the column of the fault."""
    return _load(text, origin, lambda: None, JsonLoader)


def _load(text: str, origin: str, check: Callable[[], None], loader: Any) -> Any:
    try:
        check()
        return yaml.load(text, loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise InvalidRequest(f"{origin} is not valid YAML: {error.problem}{place}") from error
    except (yaml.YAMLError, ValueError, LookupError, RecursionError) as error:  # explicit tags: LookupError
        raise InvalidRequest(f"{origin} is not valid YAML: {error}") from error
