"""Defines what a mirror keeps: rows of access, and the position up to which they are true."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

WILDCARD = "*"
KEY_COLUMNS = ("object_type", "object_id", "relation", "subject_type", "subject_id")
COLUMNS = (*KEY_COLUMNS, "conditional")
POSITION_COLUMNS = ("of", "token", "id", "time", "wildcards")


class AccessKey(NamedTuple):
    """Represents the access of a subject to an object."""

    object_type: str
    object_id: str
    relation: str
    subject_type: str
    subject_id: str

    @property
    def has_wildcard(self) -> bool:
        """Returns whether it stands for subjects or objects that do not exist yet."""
        return WILDCARD in (self.subject_id, self.object_id)


class MirroredAccess(NamedTuple):
    """Represents a row of the table."""

    key: AccessKey
    is_conditional: bool


AccessChanges = Mapping[AccessKey, bool | None]
"""Maps each access that has changed to whether it is conditional now, or to None if there is none any more."""


@dataclass(frozen=True, slots=True)
class MirrorPosition:
    """Represents up to where a table is true. `of` says which access it has, and `has_wildcards` whether it has rows
    with `*`.

    `token` names the revision, `id` the place in the feed to go on from, which differs from it where time alone has
    changed access since, and `time` is that of the last change, as the feed has it."""

    of: str
    token: str
    id: str
    time: str
    has_wildcards: bool
