"""Reads the parameters `of`, `subject`, `object` and `q`, which narrow a difference (docs/difference.md)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from magistrate.engine.difference.comparison import AccessChange
from magistrate.engine.difference.origins import list_targets
from magistrate.engine.lists.language import Query, SubjectsQuery, read_query
from magistrate.engine.lists.reverse_graph import Target
from magistrate.engine.model.model import Model
from magistrate.engine.names import RelationName, TypeName, suggest_name, unquote_id
from magistrate.engine.subjects import is_userset_type
from magistrate.engine.terms import ObjectRef, object_id, relation_name, type_name
from magistrate.errors import InvalidParameter

OF, SUBJECT, OBJECT, Q = "of", "subject", "object", "q"
"""Name the parameters."""
MAX_PATTERNS = 100
"""Limits the access patterns of one request."""

_MUST_BE = "must be a list of type#relation@type, such as document#viewer@user"


class AccessPattern(msgspec.Struct, frozen=True):
    """Selects the access of subjects of one type to a relation on objects of one type; None stands for any."""

    type: TypeName
    relation: RelationName | None = None
    subject_type: TypeName | None = None

    def covers(self, of_type: str, relation: str, subject_type: str) -> bool:
        return self.type == of_type and self.relation in (None, relation) and self.subject_type in (None, subject_type)


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Selects access: that of one of the patterns, of one subject, and on one object; None stands for any. `query`
    selects its rows as well. That of the subject `besides` is not selected."""

    patterns: Sequence[AccessPattern] | None = None
    subject: ObjectRef | None = None
    object: ObjectRef | None = None
    query: Query | None = None
    besides: ObjectRef | None = None

    @property
    def is_explicit(self) -> bool:
        return self.query is not None and self.query.is_explicit

    def find_subject(self) -> ObjectRef | None:
        """Returns the only subject that can be selected, or None if it can be any."""
        of_query = None if self.query is None or isinstance(self.query, SubjectsQuery) else self.query.subject
        return self.subject or of_query

    def find_object(self) -> ObjectRef | None:
        """Returns the only object that can be selected, or None if it can be any."""
        return self.object or (self.query.object if isinstance(self.query, SubjectsQuery) else None)

    def covers(self, change: AccessChange) -> bool:
        return self.covers_names(change.type, change.relation, change.subject_type) and self.covers_ids(change)

    def covers_names(self, of_type: TypeName, relation: RelationName, subject_type: TypeName) -> bool:
        """Returns whether a change with these names is covered, as far as the ids in it do not matter."""
        if isinstance(self.query, SubjectsQuery) and subject_type not in (self.query.types or (subject_type,)):
            return False
        return self.covers_target((of_type, relation), subject_type)

    @property
    def selects_ids(self) -> bool:
        """Returns whether the ids in a change matter."""
        return any(part is not None for part in (self.subject, self.object, self.query, self.besides))

    def covers_ids(self, change: AccessChange) -> bool:
        """Returns whether a change with these ids is covered, as far as the other names in it do not matter."""
        object_ref = ObjectRef(change.type, change.id)
        if isinstance(self.query, SubjectsQuery):
            if self.query.object != object_ref:
                return False
        elif self.query is not None and self.query.subject != change.subject:
            return False
        is_subject = self.subject in (None, change.subject) and self.besides != change.subject
        return is_subject and self.object in (None, object_ref)

    def covers_target(self, target: Target, subject_type: TypeName | None = None) -> bool:
        """Returns whether access to a relation, of subjects of this type or of any, can be selected."""
        of_type, relation = target
        if self.patterns is not None and not any(
            pattern.covers(of_type, relation, subject_type or pattern.subject_type or "") for pattern in self.patterns
        ):
            return False
        query = self.query
        if query is not None and query.relations is not None and relation not in query.relations:
            return False
        if query is not None and not isinstance(query, SubjectsQuery):
            return query.types is None or of_type in query.types
        return True

    def list_targets(self, models: Sequence[Model]) -> Iterator[Target]:
        """Yields the relations of these models that can be selected."""
        only = self.find_object()
        for target in list_targets(models):
            if self.covers_target(target) and (only is None or only.type == target[0]):
                yield target

    def require_defined(self, models: Sequence[Model]) -> None:
        """Raises InvalidParameter for the first type or relation of the patterns that no model defines."""
        for pattern in self.patterns or ():
            types = {name: object_type for model in models for name, object_type in model.types.items()}
            if pattern.type not in types:
                hint = suggest_name(pattern.type, types)
                raise InvalidParameter(OF, f"object type {pattern.type} is not defined{hint}")
            relations = [
                relation
                for model in models
                if pattern.type in model.types
                for relation in model.types[pattern.type].relations
            ]
            if pattern.relation is not None and pattern.relation not in relations:
                hint = suggest_name(pattern.relation, relations)
                raise InvalidParameter(OF, f"relation {pattern.relation} is not defined on {pattern.type}{hint}")


def read_narrowing(of: str | None, subject: str | None, on_object: str | None, q: str | None) -> Narrowing:
    """Returns what the parameters select. Raises InvalidParameter for the first that is not valid."""
    return Narrowing(
        None if not of else _read_patterns(of.split(",")),
        None if not subject else _read_ref(subject, SUBJECT),
        None if not on_object else _read_ref(on_object, OBJECT),
        None if not q else _read_query(q),
    )


def _read_query(q: str) -> Query:
    """Returns a query of one condition. Raises InvalidParameter."""
    query = read_query(q)
    if not isinstance(query, SubjectsQuery) and query.further:
        raise InvalidParameter(Q, "a difference is narrowed by one condition; leave out those behind 'and'")
    if isinstance(query, SubjectsQuery) and any(map(is_userset_type, query.types or ())):
        raise InvalidParameter(Q, "the access of groups is not compared; select a type of subjects without '#'")
    return query


def _read_patterns(texts: Sequence[str]) -> tuple[AccessPattern, ...]:
    if len(texts) > MAX_PATTERNS:
        raise InvalidParameter(OF, f"must have at most {MAX_PATTERNS} elements")
    return tuple(map(_read_pattern, texts))


def _read_pattern(text: str) -> AccessPattern:
    target, _, subject_type = text.strip().partition("@")
    of_type, _, relation = target.partition("#")
    try:
        return AccessPattern(
            type_name(of_type, OF),
            relation_name(relation, OF) if relation else None,
            type_name(subject_type, OF) if subject_type else None,
        )
    except InvalidParameter:
        raise InvalidParameter(OF, _MUST_BE) from None


def _read_ref(text: str, parameter: str) -> ObjectRef:
    of_type, colon, quoted_id = text.partition(":")
    if not colon:
        raise InvalidParameter(parameter, "must be type:id")
    return ObjectRef(type_name(of_type, parameter), object_id(unquote_id(quoted_id), parameter))


def list_subject_types(narrowing: Narrowing, models: Iterable[Model]) -> list[TypeName]:
    """Returns the types that subjects can have by the models, as far as they can be selected."""
    names = {name for model in models for name in model.types}
    names |= {pattern.subject_type for model in models for pattern in model.patterns}
    patterns = narrowing.patterns
    if patterns is not None and all(pattern.subject_type is not None for pattern in patterns):
        names &= {pattern.subject_type for pattern in patterns if pattern.subject_type is not None}
    return sorted(names)
