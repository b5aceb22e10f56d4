"""Reads the tuples of OpenFGA: from CSV, from JSON, also line by line, and from YAML.

Each reader yields places and relationships, or what is wrong with one of them."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import msgspec

from magistrate.engine.importers.names import ForeignName, ForeignRefusal, show_name
from magistrate.engine.importers.relationships import (
    UNREADABLE,
    ForeignRelationship,
    Placed,
    RelationshipRefusal,
    read_context,
)
from magistrate.engine.names import WILDCARD
from magistrate.engine.testing.yaml_documents import YamlNode
from magistrate.engine.text.positions import JsonPositions

_ID = re.compile(r"[^\s:#\x00-\x1f\x7f-\x9f]+")
"""Matches every id that OpenFGA has."""
_COLUMNS = ("user_type", "user_id", "relation", "object_type", "object_id")
_FURTHER_COLUMNS = ("user_relation", "condition_name", "condition_context")


class WrittenConditionBody(msgspec.Struct, gc=False):
    """Represents the condition of a tuple."""

    name: str = ""
    context: dict[str, Any] | None = None


class RelationshipBody(msgspec.Struct, gc=False):
    """Represents a tuple as the tools write it, or with its key in a member as the API answers it."""

    user: str = ""
    relation: str = ""
    object: str = ""
    condition: WrittenConditionBody | None = None
    key: "RelationshipBody | None" = None


_DECODER = msgspec.json.Decoder(RelationshipBody)


def read_written(user: str, relation: str, object_name: str, condition: str, context: Any) -> ForeignRelationship:
    """Returns the relationship of a tuple such as `group:eng#member`, `viewer`, `document:plan`. Raises
    RelationshipRefusal."""
    object_type, colon, object_id = object_name.partition(":")
    subject, _, subject_relation = user.partition("#")
    subject_type, subject_colon, subject_id = subject.partition(":")
    if not (colon and subject_colon and relation):
        described = f"user '{show_name(user)}', relation '{show_name(relation)}', object '{show_name(object_name)}'"
        raise RelationshipRefusal("invalid_tuple", f"{described}: expected user:ann, viewer and document:plan")
    if context is not None and not isinstance(context, Mapping):
        raise RelationshipRefusal("invalid_tuple", "the context of a condition must be an object")
    return _build(
        ForeignRelationship(
            object_type,
            object_id,
            relation,
            subject_type,
            subject_id=subject_id,
            subject_relation=subject_relation,
            condition=condition,
            context=context or {},
        )
    )


def _build(written: ForeignRelationship) -> ForeignRelationship:
    """Returns a relationship whose ids OpenFGA can have. Raises RelationshipRefusal."""
    for written_id in (written.object_id, written.subject_id):
        if not _ID.fullmatch(written_id):
            message = f"id {show_name(written_id)}: OpenFGA has ids without white space, : and #"
            raise RelationshipRefusal("invalid_id", message)
    if written.object_id == WILDCARD:
        raise RelationshipRefusal("invalid_id", "id *: OpenFGA has no wildcard for objects")
    return written


def read_csv(lines: Iterable[str], file: str) -> Iterator[Placed]:
    """Yields the tuples of a CSV file with a line of headings. Raises ForeignRefusal if that line is wrong, or the file
    is not CSV."""
    reader = csv.reader(lines, strict=True)
    line = 1
    try:
        headings = next((values for values in reader if values), None)
        if headings is None:  # there is nothing but blank lines
            return
        columns = _read_headings(headings, file)
        line = reader.line_num + 1
        for values in reader:
            if values:
                at = partial(ForeignName, "", file, line=line, column=1)
                try:
                    yield at, _read_values(values, columns)
                except RelationshipRefusal as refusal:
                    yield at, refusal
            line = reader.line_num + 1
    except csv.Error as error:
        raise ForeignRefusal(ForeignName("", file, line, 1), "invalid_csv", f"is not valid CSV: {error}") from None


def _read_headings(headings: list[str], file: str) -> dict[str, int]:
    columns = {heading.strip(): place for place, heading in enumerate(headings)}
    missing = [name for name in _COLUMNS if name not in columns]
    unknown = [name for name in columns if name not in (*_COLUMNS, *_FURTHER_COLUMNS)]
    if missing or unknown or len(columns) < len(headings):
        message = f"the first line must name the columns {', '.join((*_COLUMNS, *_FURTHER_COLUMNS))}"
        raise ForeignRefusal(ForeignName("", file, 1, 1), "invalid_csv", message)
    return columns


def _read_values(values: list[str], columns: Mapping[str, int]) -> ForeignRelationship:
    if len(values) != len(columns):
        raise RelationshipRefusal("invalid_tuple", f"has {len(values)} values for {len(columns)} columns")
    user_type, user_id, relation, object_type, object_id = [values[columns[name]] for name in _COLUMNS]
    if not (user_type and user_id and relation and object_type and object_id):
        raise RelationshipRefusal("invalid_tuple", "a value is empty that must not be")
    further = [values[columns[name]] if name in columns else "" for name in _FURTHER_COLUMNS]
    user_relation, condition, written = further
    context = read_context(written, "invalid_tuple")
    return _build(
        ForeignRelationship(
            object_type,
            object_id,
            relation,
            user_type,
            subject_id=user_id,
            subject_relation=user_relation,
            condition=condition,
            context=context,
        )
    )


def read_json_lines(lines: Iterable[bytes], file: str) -> Iterator[Placed]:
    """Yields the tuples of a file with one in each line."""
    for number, line in enumerate(lines, 1):
        if not line.isspace():
            yield partial(ForeignName, "", file, line=number, column=1), read_body(line)


def read_body(text: bytes | msgspec.Raw) -> ForeignRelationship | RelationshipRefusal:
    """Returns the relationship of a tuple in JSON, or what is wrong with it."""
    try:
        body = _DECODER.decode(text)
    except UNREADABLE as error:
        return RelationshipRefusal("invalid_tuple", f"is no tuple: {error}")
    body = body.key or body
    condition = body.condition or WrittenConditionBody()
    try:
        return read_written(body.user, body.relation, body.object, condition.name, context=condition.context)
    except RelationshipRefusal as refusal:
        return refusal


def read_json_array(bodies: Iterable[msgspec.Raw], path: str, text: str, file: str) -> Iterator[Placed]:
    """Yields the tuples of an array, which is at a path of a JSON text."""
    find_positions = cache(partial(JsonPositions, text))  # only those of faults are needed

    def locate(number: int) -> ForeignName:
        return ForeignName("", file, *find_positions().locate(f"{path}[{number}]"))

    for number, body in enumerate(bodies):
        yield partial(locate, number), read_body(body)


def read_yaml_sequence(node: YamlNode, file: str) -> Iterator[Placed]:
    """Yields the tuples of a YAML sequence."""
    for element in node.elements:
        at = partial(ForeignName, "", file, line=element.line, column=element.column)
        try:
            yield at, _read_node(element)
        except RelationshipRefusal as refusal:
            yield at, refusal


def _read_node(node: YamlNode) -> ForeignRelationship:
    members = node.members
    if "key" in members:
        members = members["key"].members
    user, relation, object_name = (
        members[name].text if name in members else "" for name in ("user", "relation", "object")
    )
    condition = members["condition"].members if "condition" in members else {}
    context = condition["context"].to_plain() if "context" in condition else None
    name = condition["name"].text if "name" in condition else ""
    return read_written(user, relation, object_name, name, context=context)
