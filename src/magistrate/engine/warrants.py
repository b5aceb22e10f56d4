"""Defines warrants and warrant patterns (docs/compatibility.md#warrants)."""

import hashlib
from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

import msgspec

from magistrate.engine.terms import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.written import render_claim


class WarrantPattern(NamedTuple):
    """Holds a warrant without its ids, such as ('document', '', 'viewer', 'team', '*', 'member').

    An id is `*` where the warrant has `*`, otherwise the empty text.
    """

    object_type: TypeName
    object_id: str
    relation: RelationName
    subject_type: TypeName
    subject_id: str
    subject_relation: str


def warrant_pattern(*names: str) -> WarrantPattern:
    """Returns the pattern of a warrant, given its first six columns."""
    object_type, object_id, relation, subject_type, subject_id, subject_relation = names
    return WarrantPattern(
        TypeName(object_type),
        object_id if object_id == WILDCARD else "",
        RelationName(relation),
        TypeName(subject_type),
        subject_id if subject_id == WILDCARD else "",
        subject_relation,
    )


class Warrant(msgspec.Struct, frozen=True):
    """Represents ('document', 'plan', 'viewer', 'team', 'eng', 'member', 'amount < 10', 1763683200000000, 7340032).

    The first six columns state who has which relation on which object; `subject_relation` and `policy` are empty texts
    when absent, and the ids may be `*`. `created_at` is in microseconds since 1970 UTC. `number` is unique, and ascends
    in the order of writing.
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

    def render(self) -> str:
        """Returns the warrant in written form, `document:plan#viewer@team:eng#member[amount < 10]`."""
        names = (self.object_type, self.object_id, self.relation)
        claim = render_claim(*names, self.subject_type, self.subject_id, self.subject_relation)
        return f"{claim}[{self.policy}]" if self.policy else claim

    def form(self) -> WarrantPattern:
        names = (self.object_type, self.object_id, self.relation)
        return warrant_pattern(*names, self.subject_type, self.subject_id, self.subject_relation)


creation_order: Callable[[Warrant], tuple[int, int]] = attrgetter("created_at", "number")
"""Returns the key by which warrants are sorted (docs/compatibility.md#warrants).

An import writes warrants that were created long before those with lower numbers.
"""


def policy_digest(text: str) -> str:
    """Returns the SHA-256 of a policy in hex, by which stores identify it; the empty text when there is no policy."""
    return hashlib.sha256(text.encode()).hexdigest() if text else ""
