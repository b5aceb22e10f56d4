"""Defines subjects and their kinds: to whom a warrant gives a relation, and whom a check is about.

This is the one place that knows the kinds and how each is encoded. Other code calls what is defined here. Where a row
costs too much for a call, it looks at the names itself: `tests/engine/test_subjects.py` lists these places, each of
which has to tell every kind apart.

The encodings, and what each is for:

- Names: the type, the id and the relation of a subject, in Subject, WarrantNames, Warrant and the columns of the store.
  The relation is the empty text if the subject is no userset, because an index of a database cannot look up NULL
  with `=`.
- A subject type: `team#member`, or `user`, the key of a list, which has a set of ids for each kind of row.
- An allowed type: `team:*#member`, what a definition of an object type allows: the written form without an id.
- A selection: which subjects a request for warrants is about, each of which is one range of an index.
"""

from enum import Enum
from typing import TypeAlias

import msgspec

from magistrate.engine.names import WILDCARD, ObjectId, TypeName


class SubjectKind(Enum):
    """Lists the kinds of subjects, each with its written form."""

    OBJECT = "type:id"
    WILDCARD = "type:*"
    """Is every object of the type."""
    USERSET = "type:id#relation"
    """Is every subject that has the relation on the object."""
    WILDCARD_USERSET = "type:*#relation"
    """Is every subject that has the relation on any object of the type."""


# Structs are created five times as fast as dataclasses, and every check creates some. Without cycles, they are of no
# interest to the garbage collector.
class Subject(msgspec.Struct, frozen=True, order=True, gc=False):
    """Identifies one object, or with a relation the userset of all that have the relation on it. The id may be
    WILDCARD; the relation is the empty text if there is none."""

    type: TypeName
    id: ObjectId
    relation: str = ""

    def render(self) -> str:
        """Returns the written form, such as `team:eng#member`."""
        return render_subject(self.type, self.id, self.relation)


def classify_subject(subject_id: str, subject_relation: str) -> SubjectKind:
    """Returns the kind of the subject with this id and this relation."""
    if subject_relation:
        return SubjectKind.WILDCARD_USERSET if subject_id == WILDCARD else SubjectKind.USERSET
    return SubjectKind.WILDCARD if subject_id == WILDCARD else SubjectKind.OBJECT


def render_subject(of_type: str, subject_id: str, subject_relation: str) -> str:
    """Returns the written form of a subject, such as `team:eng#member`."""
    return f"{of_type}:{subject_id}#{subject_relation}" if subject_relation else f"{of_type}:{subject_id}"


def render_allowed_type(subject_type: str, subject_id: str, subject_relation: str) -> str:
    """Returns the type that a relation must allow for a warrant to this subject, such as `team:*#member`."""
    match classify_subject(subject_id, subject_relation):
        case SubjectKind.OBJECT:
            return subject_type
        case SubjectKind.WILDCARD:
            return f"{subject_type}:{WILDCARD}"
        case SubjectKind.USERSET:
            return f"{subject_type}#{subject_relation}"
        case SubjectKind.WILDCARD_USERSET:
            return f"{subject_type}:{WILDCARD}#{subject_relation}"


def split_allowed_type(allowed_type: str) -> tuple[str, str]:
    """Returns the type and the relation that an allowed type names; the relation may be the empty text."""
    subject, _, relation = allowed_type.partition("#")
    return subject.partition(":")[0], relation


def join_subject_type(of_type: TypeName, subject_relation: str) -> TypeName:
    """Returns the subject type of usersets, `team#member`, which stands in lists where the type of other subjects
    does. Without a relation it is the type itself."""
    return TypeName(f"{of_type}#{subject_relation}") if subject_relation else of_type


def split_subject_type(subject_type: TypeName) -> tuple[TypeName, str]:
    """Returns the type and the relation of usersets, the empty text for other subjects."""
    of_type, _, relation = subject_type.partition("#")
    return TypeName(of_type), relation


def is_userset_type(subject_type: str) -> bool:
    """Returns whether subjects of this subject type are usersets."""
    return "#" in subject_type


SubjectSelection: TypeAlias = Subject | TypeName | None
"""Selects the subjects of a request for warrants:

- a Subject: exactly this one, or every subject of its type with the same relation;
- the name of a type: each subject of this type that is no userset;
- None: each userset.
"""


def select_kind(of_type: TypeName, subject_relation: str) -> TypeName | None:
    """Returns the selection that has the subjects of this type with this relation: their type or, for usersets, those
    of all types."""
    return None if subject_relation else of_type


def widen_selection(selection: SubjectSelection) -> TypeName | None:
    """Returns the selection of all subjects of the kind and the type that are selected."""
    if isinstance(selection, Subject):
        return None if selection.relation else selection.type
    return selection


def selects(selection: SubjectSelection, subject_type: str, subject_id: str, subject_relation: str) -> bool:
    """Returns whether one of the selected subjects can be this one, or one of a warrant pattern with these names."""
    if selection is None:
        return subject_relation != ""
    if not isinstance(selection, Subject):
        return (subject_type, subject_relation) == (selection, "")
    is_alike = (subject_type, subject_relation) == (selection.type, selection.relation)
    return is_alike and (selection.id != WILDCARD or subject_id == WILDCARD)
