"""Derives models from that of an authorization model, by which the users of a list are found (docs/openfga.md#lists).

OpenFGA lists a user who is *named*: by a tuple, or by a userset of which one
is a member. Of a union, in a child that holds;
of an intersection, in one child at least, if all hold; of an exclusion, in the base. One who has access through
`user:*` alone is not listed. So each relation gets another one beside it, whose name begins with NAMED, with the rule
for that. Its warrants are those that are stored, without wildcards, and to the named members of usersets: a reader
renames them (`operations/openfga/users.py`).

A userset is listed if its members have the relation, also that of a relation on its own object, which nothing stored
says. So in the other model every relation may be given to itself, on its own object."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace

from msgspec.structs import replace as replace_struct

from magistrate.engine.model.object_types import AllowedType, ObjectType
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.nesting import fold
from magistrate.engine.rules.all_of import AllOf
from magistrate.engine.rules.any_of import AnyOf
from magistrate.engine.rules.arrow import Arrow
from magistrate.engine.rules.computed import Computed
from magistrate.engine.rules.none_of import NoneOf
from magistrate.engine.rules.rule import Rule
from magistrate.engine.subjects import Subject, join_subject_type, split_allowed_type
from magistrate.engine.warrants.reader import WarrantRead, WarrantsByObject
from magistrate.engine.warrants.warrant import Warrant, WarrantNames, WarrantPattern

NAMED = "named "
"""Begins the names of relations that no model can have, because of the blank."""


def name_named(relation: str) -> RelationName:
    """Returns the relation that those have who are named in another one."""
    return RelationName(f"{NAMED}{relation}")


def add_named_relations(of_type: ObjectType) -> ObjectType:
    """Returns a type with the relations of those who are named."""
    relations = {name_named(relation): _find_named(rule) for relation, rule in of_type.relations.items()}
    allowed = {name_named(relation): tuple(_name_allowed(types)) for relation, types in of_type.allowed_types.items()}
    return replace(
        of_type,
        relations={**of_type.relations, **relations},
        allowed_types={**of_type.allowed_types, **allowed},
    )


def _find_named(rule: Rule) -> Rule:
    def find(inner: Rule, named: Sequence[Rule]) -> Rule:
        match inner:
            case Computed():
                return Computed(name_named(inner.relation))
            case Arrow():
                return replace(inner, relation=name_named(inner.relation))
            case AnyOf():
                return AnyOf(tuple(named))
            case AllOf():
                positive = [each for each, own in zip(named, inner.rules, strict=True) if not isinstance(own, NoneOf)]
                return AllOf((*inner.rules, AnyOf(tuple(positive))))
            case _:
                return inner

    return fold(rule, lambda inner: inner.rules, find)


def _name_allowed(types: Sequence[AllowedType]) -> Iterator[AllowedType]:
    for allowed in types:
        of_type, relation = split_allowed_type(allowed)
        if relation:
            yield AllowedType(join_subject_type(TypeName(of_type), name_named(relation)))
        elif allowed == of_type:
            yield allowed


def add_named_patterns(patterns: Set[WarrantPattern]) -> Set[WarrantPattern]:
    """Returns the patterns of warrants with those of the warrants to named users."""
    named = (
        WarrantPattern(_rename(pattern)) for pattern in patterns if not pattern.subject_id and not pattern.object_id
    )
    return frozenset(patterns) | {*named}


def _rename(names: WarrantNames) -> WarrantNames:
    relation, userset = name_named(names.relation), names.subject_relation
    return names._replace(relation=relation, subject_relation=name_named(userset) if userset else userset)


def divide_read(read: WarrantRead) -> tuple[WarrantRead | None, WarrantRead | None]:
    """Returns the part of a read of the warrants as they are stored, and the read of those that are to be
    renamed for the rest of it."""
    request = read.request
    plain = tuple(relation for relation in request.relations if not relation.startswith(NAMED))
    if len(plain) == len(request.relations):
        return read, None
    named = (RelationName(relation.removeprefix(NAMED)) for relation in request.relations if relation not in plain)
    renamed = replace_struct(request, relations=tuple(named), subjects=_find_stored(request))
    return (
        WarrantRead(replace_struct(request, relations=plain), read.ids) if plain else None,
        WarrantRead(renamed, read.ids),
    )


def _find_stored(request: WarrantsByObject) -> Subject | TypeName | None:
    subjects = request.subjects
    if isinstance(subjects, Subject) and subjects.relation:
        return replace_struct(subjects, relation=subjects.relation.removeprefix(NAMED))
    return subjects


def rename_warrants(warrants: Sequence[Warrant]) -> Iterator[Warrant]:
    """Yields stored warrants as those of the relation of named users."""
    for warrant in warrants:
        if WILDCARD not in (warrant.subject_id, warrant.object_id):
            renamed = _rename(warrant.names)
            yield replace_struct(warrant, relation=renamed.relation, subject_relation=renamed.subject_relation)


def allow_own_usersets(of_type: ObjectType) -> ObjectType:
    """Returns a type each of whose relations may be given to itself."""
    allowed: Mapping[RelationName, Sequence[AllowedType]] = {
        relation: (
            *of_type.allowed_types.get(relation, ()),
            AllowedType(join_subject_type(of_type.name, relation)),
        )
        for relation in of_type.relations
    }
    return replace(of_type, allowed_types=allowed)


def list_own_patterns(types: Mapping[TypeName, ObjectType]) -> Iterator[WarrantPattern]:
    """Yields the patterns of the warrants by which relations are given to themselves."""
    for of_type in types.values():
        for relation in of_type.relations:
            nothing = ObjectId("")
            yield WarrantPattern(WarrantNames(of_type.name, nothing, relation, of_type.name, nothing, relation))


def build_own_warrants(read: WarrantRead, of_type: TypeName, relation: RelationName) -> Iterator[Warrant]:
    """Yields the warrants that a read would find if a relation were given to itself on each object that is read."""
    request = read.request
    if request.type != of_type or relation not in request.relations or request.subjects is not None:
        return
    for object_id in read.ids or ():
        if object_id != WILDCARD:
            yield Warrant(of_type, object_id, relation, of_type, object_id, relation, "", 0, 0)
