"""Makes a line of an import of each relationship of OpenFGA or SpiceDB."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from magistrate.engine.importers.conversion import ConvertedModel
from magistrate.engine.importers.names import NOT_EXPRESSIBLE, ForeignName, convert_name, show_name
from magistrate.engine.importers.schema import ForeignModel, Restriction
from magistrate.engine.names import WILDCARD, suggest_name
from magistrate.engine.terms import object_id
from magistrate.engine.text.faults import MAX_FAULTS
from magistrate.errors import InvalidParameter

_NO_CONTEXT: Mapping[str, Any] = {}
_PLAIN_ID = re.compile(r"[A-Za-z0-9_|=+-]{1,1024}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


class ForeignRelationship(NamedTuple):
    """Holds a relationship with the original names. `context` has values for the condition, `expires_at` is a time in
    RFC 3339 or empty."""

    object_type: str
    object_id: str
    relation: str
    subject_type: str
    subject_id: str
    subject_relation: str = ""
    condition: str = ""
    context: Mapping[str, Any] = _NO_CONTEXT
    expires_at: str = ""


class RelationshipRefusal(Exception):
    """Reports why a relationship cannot be imported."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""Lists what decoding of JSON raises."""


def read_context(text: str, code: str) -> Mapping[str, Any]:
    """Returns the values for a condition from their JSON, which may be empty. Raises RelationshipRefusal."""
    try:
        context: Mapping[str, Any] = msgspec.json.decode(text, type=dict[str, Any]) if text else {}
    except UNREADABLE:
        raise RelationshipRefusal(code, f"the context '{show_name(text)}' is no JSON object") from None
    return context


Placed = tuple[Callable[[], ForeignName], ForeignRelationship | RelationshipRefusal]
"""Holds a relationship, or what is wrong with it, and a function that returns its place."""


class SubjectLine(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """Represents the subject of a line."""

    object_type: str
    object_id: str
    relation: str | None = None


class WarrantLine(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """Represents the line, with its members in the order in which the import writes them: it is read fastest then."""

    object_type: str
    object_id: str
    relation: str
    subject: SubjectLine
    policy: str | None = None
    expires_at: str | None = None


class _ResolvedNames(NamedTuple):
    object_type: str
    relation: str
    subject_type: str
    subject_relation: str | None


_ENCODER = msgspec.json.Encoder()


class RelationshipConverter:
    """Converts relationships of one model."""

    def __init__(self, model: ForeignModel, converted: ConvertedModel) -> None:
        self._model = model
        self._converted = converted
        self._names: dict[tuple[str, ...], _ResolvedNames] = {}
        self._suggestions = MAX_FAULTS  # finding a similar name takes milliseconds

    def convert(self, relationship: ForeignRelationship) -> bytes:
        """Returns the JSON of the line, with a line feed. Raises RelationshipRefusal."""
        return _ENCODER.encode(self.build_line(relationship)) + b"\n"

    def build_line(self, relationship: ForeignRelationship) -> WarrantLine:
        """Returns the line. Raises RelationshipRefusal."""
        wildcard = WILDCARD if relationship.subject_id == WILDCARD else ""
        limit = "expires" if relationship.expires_at else ""
        kind = (
            relationship.object_type,
            relationship.relation,
            relationship.subject_type,
            relationship.subject_relation,
        )
        key = (*kind, wildcard, relationship.condition, limit)
        names = self._names.get(key)
        if names is None:
            names = self._names[key] = self._resolve(relationship)
        if not _PLAIN_ID.fullmatch(relationship.object_id):
            _check_id(relationship.object_id)
        if not wildcard and not _PLAIN_ID.fullmatch(relationship.subject_id):
            _check_id(relationship.subject_id)
        subject = SubjectLine(names.subject_type, relationship.subject_id, names.subject_relation)
        line = WarrantLine(names.object_type, relationship.object_id, names.relation, subject)
        if relationship.condition:
            line.policy = self._render_policy(relationship)
        if relationship.expires_at:
            line.expires_at = _check_time(relationship.expires_at)
        return line

    def _resolve(self, relationship: ForeignRelationship) -> _ResolvedNames:
        """Returns the names here. They are the same for all relationships of the same types and relations."""
        declared = self._model.types.get(relationship.object_type)
        if declared is None:
            raise self._refuse_unknown("type", relationship.object_type, self._model.types)
        if relationship.relation not in declared.relations:
            raise self._refuse_unknown("relation", relationship.relation, declared.relations)
        key, described = (
            (relationship.object_type, relationship.relation),
            f"{relationship.object_type}#{relationship.relation}",
        )
        if key in self._converted.left_out:
            raise RelationshipRefusal(NOT_EXPRESSIBLE, f"{described} cannot be expressed")
        if key not in self._converted.allowed:
            raise RelationshipRefusal("not_allowed", f"{described} is computed; no relationship can give it")
        self._check_restrictions(relationship, described)
        if relationship.condition and relationship.condition not in self._converted.conditions:
            raise RelationshipRefusal(NOT_EXPRESSIBLE, f"condition {relationship.condition} cannot be expressed")
        type_names = self._converted.type_names
        subject = (relationship.subject_type, relationship.subject_relation)
        if subject in self._converted.left_out:
            raise RelationshipRefusal(NOT_EXPRESSIBLE, f"{'#'.join(subject)} cannot be expressed")
        object_type, subject_type = type_names[relationship.object_type], type_names[relationship.subject_type]
        subject_relation = convert_name(relationship.subject_relation) or None
        return _ResolvedNames(object_type, self._converted.direct[key], subject_type, subject_relation)

    def _check_restrictions(self, relationship: ForeignRelationship, described: str) -> None:
        """Raises RelationshipRefusal unless one of the restrictions of the relation fits exactly."""
        restrictions = self._converted.allowed[relationship.object_type, relationship.relation]
        is_wildcard, expires = relationship.subject_id == WILDCARD, bool(relationship.expires_at)
        for restriction in restrictions:
            relation = restriction.relation.text if restriction.relation is not None else ""
            condition = restriction.condition.text if restriction.condition is not None else ""
            permitted = (restriction.type.text, relation, restriction.is_wildcard, condition, restriction.expires)
            if permitted == (
                relationship.subject_type,
                relationship.subject_relation,
                is_wildcard,
                relationship.condition,
                expires,
            ):
                return
        allowed = ", ".join(_describe_restriction(restriction) for restriction in restrictions)
        raise RelationshipRefusal("not_allowed", f"{described} allows {allowed}")

    def _refuse_unknown(self, kind: str, name: str, names: Mapping[str, object]) -> RelationshipRefusal:
        self._suggestions -= 1
        hint = suggest_name(name[:64], names) if self._suggestions >= 0 else ""
        return RelationshipRefusal(f"unknown_{kind}", f"{kind} {show_name(name)} is not defined{hint}")

    def _render_policy(self, relationship: ForeignRelationship) -> str:
        try:
            return self._converted.conditions[relationship.condition].render_policy(relationship.context)
        except InvalidParameter as fault:
            message = fault.message.partition("\n")[0]
            raise RelationshipRefusal(NOT_EXPRESSIBLE, message) from None


def _describe_restriction(restriction: Restriction) -> str:
    limits = [restriction.condition.text] if restriction.condition is not None else []
    limits += ["expiration"] if restriction.expires else []
    return restriction.describe() + (f" with {' and '.join(limits)}" if limits else "")


def _check_id(written_id: str) -> None:
    try:
        object_id(written_id, "id")
    except InvalidParameter as fault:
        raise RelationshipRefusal("invalid_id", f"id {show_name(written_id)}: {fault.message}") from None


def _check_time(text: str) -> str:
    try:
        if not _TIME.fullmatch(text):
            raise ValueError
        datetime.fromisoformat(text)
    except ValueError:
        raise RelationshipRefusal("invalid_time", f"'{show_name(text)}' is no time in RFC 3339") from None
    return text
