"""Defines the types of validated names, and what six of them make; terms.py has the functions that validate them.

They have a module of their own because the rule operators need the names, and the names of relations depend on the
operators: a relation cannot be called like one.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from typing import NamedTuple, NewType

TypeName = NewType("TypeName", str)
RelationName = NewType("RelationName", str)
ObjectId = NewType("ObjectId", str)
PolicyName = NewType("PolicyName", str)
Revision = NewType("Revision", int)

WILDCARD = ObjectId("*")
"""Stands for every object, or every subject, of the type in place of an id. No object can have this id."""


class WarrantNames(NamedTuple):
    """Holds the names in a warrant, such as ('document', 'plan', 'viewer', 'team', 'eng', 'member').

    They say who has which relation on which object. `subject_relation` is the empty text when absent, and the ids may
    be `*`.
    """

    object_type: TypeName
    object_id: ObjectId
    relation: RelationName
    subject_type: TypeName
    subject_id: ObjectId
    subject_relation: str

    def render(self) -> str:
        """Returns the written form without a policy or context, `document:plan#viewer@team:eng#member`."""
        group = f"#{self.subject_relation}" if self.subject_relation else ""
        return f"{self.object_type}:{self.object_id}#{self.relation}@{self.subject_type}:{self.subject_id}{group}"


def warrant_names(*names: str) -> WarrantNames:
    """Returns these six names, which are not validated here, as those of a warrant."""
    object_type, object_id, relation, subject_type, subject_id, subject_relation = names
    return WarrantNames(
        TypeName(object_type),
        ObjectId(object_id),
        RelationName(relation),
        TypeName(subject_type),
        ObjectId(subject_id),
        subject_relation,
    )


MAX_COMPARED = 200
"""Limits the names that are compared, each of which takes about 20 microseconds."""


def suggest_name(wrong: str, names: Iterable[str]) -> str:
    """Returns `; did you mean X?` with the most similar of the first MAX_COMPARED names, or an empty text if none is
    similar. Case does not count."""
    nearest = nearest_name(wrong, names)
    return f"; did you mean {nearest}?" if nearest else ""


def nearest_name(wrong: str, names: Iterable[str]) -> str:
    """Returns the most similar of the first MAX_COMPARED names, or an empty text if none is similar. Case does not
    count."""
    by_lower_case = {name.lower(): name for name in islice(names, MAX_COMPARED)}
    nearest = get_close_matches(wrong.lower(), by_lower_case, n=1)
    return by_lower_case[nearest[0]] if nearest else ""
