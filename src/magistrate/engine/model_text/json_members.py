"""Reads parsed JSON into the bodies of a model: one type, relation and policy at a time, so that all faults are
seen."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from magistrate.engine.model_text.json_bodies import PolicyBody, RuleBody, TypeBody
from magistrate.engine.suggestions import suggest_name
from magistrate.errors import InvalidParameter

B = TypeVar("B")

_MEMBERS = ("objectTypes", "policies")
_PLACE = re.compile(r" - at `\$([^`]*)`")
_KEYS = re.compile(r"\[\.\.\.\]")


class ModelMembers(NamedTuple):
    """Holds the types and policies that have the right members, with their paths, and a fault for each other one."""

    types: list[tuple[str, TypeBody]]
    policies: list[tuple[str, PolicyBody]]
    faults: list[InvalidParameter]


def read_members(value: object) -> ModelMembers:
    """Returns what parsed JSON has. An array is one of object types. The parameters of the faults are paths."""
    if isinstance(value, Mapping):
        faults = [*_find_unknown(value)]
        types, policies = (_read_array(value, member, faults) for member in _MEMBERS)
    elif isinstance(value, list):
        types, policies, faults = value, [], []
    else:
        message = "must be an object with objectTypes and policies, or an array of object types"
        return ModelMembers([], [], [InvalidParameter("model", message)])
    return ModelMembers(
        _read_each(types, "objectTypes", _read_type, faults),
        _read_each(policies, "policies", _read_policy, faults),
        faults,
    )


def _find_unknown(value: Mapping[str, object]) -> Iterable[InvalidParameter]:
    for name in value:
        if name not in _MEMBERS:
            yield InvalidParameter(name[:64], f"is not a member of a model{suggest_name(name[:64], _MEMBERS)}")


def _read_array(value: Mapping[str, object], member: str, faults: list[InvalidParameter]) -> list[object]:
    array = value.get(member, [])
    if isinstance(array, list):
        return array
    faults.append(InvalidParameter(member, "must be an array"))
    return []


def _read_each(
    values: Sequence[object], name: str, read: Callable[[object, str], B], faults: list[InvalidParameter]
) -> list[tuple[str, B]]:
    bodies = []
    for place, value in enumerate(values):
        path = f"{name}[{place}]"
        try:
            bodies.append((path, read(value, path)))
        except InvalidParameter as fault:
            faults.append(fault)
    return bodies


def _read_type(value: object, path: str) -> TypeBody:
    relations = value.get("relations") if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(relations, Mapping):
        return _convert(value, TypeBody, path)
    body = _convert({**value, "relations": {}}, TypeBody, path)
    for key, rule in relations.items():
        body.relations[key] = None if rule is None else _convert(rule, RuleBody, f"{path}.relations.{key}")
    return body


def _read_policy(value: object, path: str) -> PolicyBody:
    return _convert(value, PolicyBody, path)


def _convert(value: object, kind: type[B], path: str) -> B:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        found = _PLACE.search(str(error))
        inner = _KEYS.sub("", found[1]) if found else ""
        message = _PLACE.sub("", str(error))
        raise InvalidParameter(f"{path}{inner}", message[0].lower() + message[1:]) from None
    except RecursionError:
        raise InvalidParameter(path, "is nested too deeply") from None
