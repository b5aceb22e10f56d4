"""Defines warrants, their names and warrant patterns (docs/compatibility.md#warrants)."""

import hashlib
from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple, NewType

import msgspec

from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject, render_subject


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

    @property
    def subject(self) -> Subject:
        return Subject(self.subject_type, self.subject_id, self.subject_relation)

    def render(self) -> str:
        """Returns the written form without a policy or context, `document:plan#viewer@team:eng#member`."""
        subject = render_subject(self.subject_type, self.subject_id, self.subject_relation)
        return f"{self.object_type}:{self.object_id}#{self.relation}@{subject}"


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


WarrantPattern = NewType("WarrantPattern", WarrantNames)
"""Has the names of a warrant without its ids, such as ('document', '', 'viewer', 'team', '*', 'member').

An id is `*` where the warrant has `*`, otherwise the empty text.
"""


def warrant_pattern(names: WarrantNames) -> WarrantPattern:
    """Returns the pattern of the warrants with these names."""
    object_id = names.object_id if names.object_id == WILDCARD else ObjectId("")
    subject_id = names.subject_id if names.subject_id == WILDCARD else ObjectId("")
    return WarrantPattern(names._replace(object_id=object_id, subject_id=subject_id))


class Warrant(msgspec.Struct, frozen=True, gc=False):
    """Represents ('document', 'plan', 'viewer', 'team', 'eng', 'member', 'amount < 10', 1763683200000000, 7340032).

    The first six columns state who has which relation on which object; `subject_relation` and `policy` are empty texts
    when absent, and the ids may be `*`. Times are in microseconds since 1970 UTC. `number` is unique, and ascends in
    the order of writing. The warrant counts from `starts_at` on and ends at `expires_at`; None means no such limit.
    """

    object_type: TypeName
    object_id: ObjectId
    relation: RelationName
    subject_type: TypeName
    subject_id: ObjectId
    subject_relation: str
    policy: str
    created_at: int
    number: int
    starts_at: int | None = None
    expires_at: int | None = None

    @property
    def is_conditional(self) -> bool:
        """Returns whether the warrant has a policy or a time limit, so that it does not count always."""
        return bool(self.policy or self.expires_at or self.starts_at)

    def is_in_force(self, now: int) -> bool:
        """Returns whether the warrant is within its time limits."""
        return (self.starts_at or 0) <= now and not self.has_expired(now)

    def has_expired(self, now: int) -> bool:
        return self.expires_at is not None and self.expires_at <= now

    @property
    def names(self) -> WarrantNames:
        """Returns the first six columns."""
        object_ref = (self.object_type, self.object_id)
        return WarrantNames(*object_ref, self.relation, self.subject_type, self.subject_id, self.subject_relation)

    def render(self) -> str:
        """Returns the warrant in written form, `document:plan#viewer@team:eng#member[amount < 10]`."""
        names_text = self.names.render()
        return f"{names_text}[{self.policy}]" if self.policy else names_text

    def pattern(self) -> WarrantPattern:
        return warrant_pattern(self.names)


class ChangedWarrant(NamedTuple):
    """Represents a warrant that was written (`exists`) or ended. `exists` is None if the warrant may be conditional, or
    if it is not known which of several changes of it came last."""

    names: WarrantNames
    exists: bool | None


creation_order: Callable[[Warrant], tuple[int, int]] = attrgetter("created_at", "number")
"""Returns the key by which warrants are sorted (docs/compatibility.md#warrants).

An import writes warrants that were created long before those with lower numbers.
"""


def policy_digest(text: str) -> str:
    """Returns the SHA-256 of a policy in hex, by which stores identify it; the empty text when there is no policy."""
    return hashlib.sha256(text.encode()).hexdigest() if text else ""


NO_WARRANT = Warrant(
    object_type=TypeName(""),
    object_id=ObjectId(""),
    relation=RelationName(""),
    subject_type=TypeName(""),
    subject_id=ObjectId(""),
    subject_relation="",
    policy="",
    created_at=0,
    number=0,
)
"""Stands for the warrant where an expression is evaluated that belongs to none."""
