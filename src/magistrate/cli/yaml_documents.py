"""Reads YAML that says what JSON could say. It is imported where it is used, because importing PyYAML takes a
moment."""

import re
from typing import Any, ClassVar

import yaml

from magistrate.errors import InvalidRequest

_TAG = "tag:yaml.org,2002:"
_JSON_TAGS = ("map", "seq", "str", "bool", "null", "int", "float")


class JsonLoader(yaml.SafeLoader):
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

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            raise yaml.constructor.ConstructorError(
                None, None, "a member is given twice in one object", node.start_mark
            )
        return mapping


_NUMBER = r"-?(?:0|[1-9][0-9]*)"
JsonLoader.add_implicit_resolver(_TAG + "bool", re.compile(r"(?:true|false)$"), ["t", "f"])
JsonLoader.add_implicit_resolver(_TAG + "null", re.compile(r"(?:null|~|)$"), ["n", "~", ""])
JsonLoader.add_implicit_resolver(_TAG + "int", re.compile(rf"{_NUMBER}$"), list("-0123456789"))
JsonLoader.add_implicit_resolver(
    _TAG + "float", re.compile(rf"{_NUMBER}(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$"), list("-0123456789")
)


def read_yaml(text: str, origin: str) -> Any:
    """Returns the value of a YAML document. Raises InvalidRequest with the line and the column of the fault."""
    try:
        return yaml.load(text, JsonLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise InvalidRequest(f"{origin} is not valid YAML: {error.problem}{place}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"{origin} is not valid YAML: {error}") from error
