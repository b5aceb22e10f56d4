"""Finds members of a body that nobody knows: misspelled ones of ours, which would change the answer without a word, and
in strict mode all of them (docs/api.md#requests).

Warrant's clients may send any member beside those of the API, so others are ignored. What Warrant has is a table here;
all other members of the request bodies, and all query parameters, are ours."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import msgspec.inspect

from magistrate.engine.names import suggest_name
from magistrate.errors import UnknownMember

_SUBJECT = ("objectType", "objectId", "relation")
WARRANT_MEMBERS: Mapping[str, Sequence[str]] = {
    "ObjectTypeBody": ("type", "source", "relations"),
    "SourceDefinition": ("dbType", "dbName", "table", "primaryKey", "foreignKeys"),
    "ForeignKeyDefinition": ("column", "relation", "type", "subject"),
    "ObjectBody": ("objectType", "objectId", "meta"),
    "ObjectRefBody": ("objectType", "objectId"),
    "MetaBody": ("meta",),
    "WarrantBody": (*_SUBJECT, "subject", "policy", "context"),
    "StoredRefBody": (*_SUBJECT, "subject", "policy", "context"),
    "SubjectBody": _SUBJECT,
    "CheckBody": ("op", "warrants", "context", "consistentRead"),
    "SingleCheckBody": (*_SUBJECT, "subject", "context"),
    "SessionBody": ("type", "userId", "tenantId", "ttl", "context", "selfServiceStrategy", "objectType", "objectId"),
}
"""Lists the members that the bodies of Warrant have, by the types of ours."""

_FOREIGN = ("magistrate.api.v1.", "magistrate.api.fga.", "magistrate.api.authzen.", "magistrate.api.openfga.")
"""Begin the modules of bodies whose members are all defined by others."""

WARRANT_PARAMETERS = frozenset(
    (
        *("limit", "sortBy", "sortOrder", "nextCursor", "prevCursor", "page", "q", "context", "type", "source"),
        *("since", "until", "objectType", "objectId", "relation", "subjectType", "subjectId", "subjectRelation"),
        *("resourceType", "resourceId", "afterId", "afterValue", "beforeId", "beforeValue", "lastId"),
    )
)
"""Lists the query parameters of Warrant."""

KNOWN_TO_CLIENTS = frozenset(name for names in WARRANT_MEMBERS.values() for name in names) | {
    *("createdAt", "updatedAt", "isImplicit", "warrantToken", "redirectUrl", "result", "decisionPath"),
}
"""Lists what clients of Warrant send, perhaps as rows of lists that they send back. None is taken for a misspelled
one."""


MIN_LETTERS = 6
"""Sets how many letters a name must have that is taken for one of ours without its last word."""

_LAST_WORD = re.compile("[A-Z][a-z]*$")
_NAME = re.compile(rb'"([^"\\]*+)"[ \t\r\n]*+:')


class _Members(NamedTuple):
    """Holds the types of the members of a body by their names, and the names that are ours."""

    types: Mapping[str, Any]
    ours: Sequence[str]


class _PlacedMember(NamedTuple):
    path: str
    name: str
    known: _Members


def has_known_names_only(body: bytes, of_type: type) -> bool:
    """Returns whether all that look like members of a body in JSON have names that a body of this type can have. Most
    bodies do, and need not be looked at member by member."""
    return {*_NAME.findall(body)} <= _list_names(of_type)


def require_known_members(value: Any, of_type: type, is_strict: bool) -> None:
    """Raises UnknownMember for the first member of a body, as decoded without a type, that is a misspelled one of
    ours or, if the request `is_strict`, that its type does not have."""
    for path, name, members in _list_unknown(value, of_type):
        nearest = find_misspelled(name, members.ours)
        if nearest is None and not is_strict:
            continue
        hint = f"; did you mean {nearest}?" if nearest else suggest_name(name, members.types)
        raise UnknownMember(f"{path}{name}", f"is not a member of this request{hint}")


def find_misspelled(name: str, ours: Iterable[str]) -> str | None:
    """Returns the name of ours that this one equals but for case, `_` and `-`, that it is one edit from, which is a
    letter more, less or other, or two swapped, or of which only the last word is missing: `contextual`."""
    if name in KNOWN_TO_CLIENTS:
        return None
    folded = _fold(name)
    return next((own for own in ours if name != own and _is_meant(folded, own)), None)


def _is_meant(folded: str, ours: str) -> bool:
    if len(ours) == 1:
        return folded == ours  # one edit makes any letter of it
    without_last_word = _LAST_WORD.sub("", ours).lower()
    return _is_near(folded, _fold(ours)) or (folded == without_last_word and len(folded) >= MIN_LETTERS)


def _fold(name: str) -> str:
    return re.sub("[-_]", "", name).lower()


def _is_near(text: str, other: str) -> bool:
    """Returns whether two texts are equal or one edit apart."""
    if abs(len(text) - len(other)) > 1:
        return False
    begin = 0
    while begin < min(len(text), len(other)) and text[begin] == other[begin]:
        begin += 1
    rest, other_rest = text[begin:], other[begin:]
    swapped = rest[1:2] + rest[:1] + rest[2:]
    return (
        rest[1:] == other_rest[1:]
        or rest[1:] == other_rest
        or rest == other_rest[1:]
        or (len(rest) > 1 and swapped == other_rest)
    )


def _list_unknown(body: Any, of_type: type) -> Iterable[_PlacedMember]:
    """Yields the unknown members of a body, those of an object before those of objects in it. Elements of arrays are
    named by their index in the outermost one only, as in other errors."""
    waiting: list[tuple[Any, msgspec.inspect.Type, str]] = [(body, _describe(of_type), "")]
    while waiting:
        value, described, path = waiting.pop()
        inner: list[tuple[Any, msgspec.inspect.Type, str]] = []
        for alternative in _list_alternatives(described):
            if isinstance(value, dict) and isinstance(alternative, msgspec.inspect.StructType):
                members = _describe_members(alternative.cls)
                yield from (_PlacedMember(path, name, members) for name in value if name not in members.types)
                inner += [
                    (value[name], part, f"{path}{name}.") for name, part in members.types.items() if name in value
                ]
            elif isinstance(value, dict) and isinstance(alternative, msgspec.inspect.DictType):
                inner += [(part, alternative.value_type, path) for part in value.values()]
            elif isinstance(value, list) and isinstance(alternative, msgspec.inspect.ListType):
                indexed = enumerate(value)
                inner += [(part, alternative.item_type, path or f"[{index}].") for index, part in indexed]
        waiting += reversed([part for part in inner if isinstance(part[0], dict | list)])


@lru_cache(1_024)  # the types are those of the routes
def _describe(of_type: type) -> msgspec.inspect.Type:
    return msgspec.inspect.type_info(of_type)


@lru_cache(1_024)
def _describe_members(struct: type) -> _Members:
    described = _describe(struct)
    assert isinstance(described, msgspec.inspect.StructType), struct
    types = {field.encode_name: field.type for field in described.fields}
    of_warrant = {name for base in struct.__mro__ for name in WARRANT_MEMBERS.get(base.__name__, ())}
    is_foreign = struct.__module__.startswith(_FOREIGN)
    return _Members(types, () if is_foreign else tuple(sorted({*types} - of_warrant)))


@lru_cache(1_024)
def list_types(of_type: type) -> Sequence[msgspec.inspect.Type]:
    """Returns the types of all values that a body of this type can have, those of objects once."""
    types: list[msgspec.inspect.Type] = []
    structs: set[type] = set()
    waiting = [_describe(of_type)]
    while waiting:
        for alternative in _list_alternatives(waiting.pop()):
            if isinstance(alternative, msgspec.inspect.StructType):
                if alternative.cls in structs:
                    continue
                structs.add(alternative.cls)
                waiting += _describe_members(alternative.cls).types.values()
            elif isinstance(alternative, msgspec.inspect.DictType):
                waiting.append(alternative.value_type)
            elif isinstance(alternative, msgspec.inspect.ListType):
                waiting.append(alternative.item_type)
            types.append(alternative)
    return tuple(types)


def list_structs(of_type: type) -> Sequence[type]:
    """Returns the types of all objects that a body of this type can have."""
    return [part.cls for part in list_types(of_type) if isinstance(part, msgspec.inspect.StructType)]


@lru_cache(1_024)
def has_ours(of_type: type) -> bool:
    """Returns whether a body of this type can have members that Warrant, or who else defines it, does not have."""
    return any(map(list_ours, list_structs(of_type)))


def list_ours(struct: type) -> Sequence[str]:
    """Returns the members of objects of this type that Warrant does not have."""
    return _describe_members(struct).ours


@lru_cache(1_024)
def _list_names(of_type: type) -> frozenset[bytes]:
    return frozenset(name.encode() for struct in list_structs(of_type) for name in _describe_members(struct).types)


def _list_alternatives(described: msgspec.inspect.Type) -> Sequence[msgspec.inspect.Type]:
    """Returns the types of which a value has one, without what is said of them."""
    while isinstance(described, msgspec.inspect.Metadata):
        described = described.type
    if not isinstance(described, msgspec.inspect.UnionType):
        return (described,)
    return [part for alternative in described.types for part in _list_alternatives(alternative)]
