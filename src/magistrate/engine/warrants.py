"""Warrants: what was granted, as facts (contract section 4)."""

import hashlib

import msgspec

from magistrate.engine.terms import ObjectId, RelationName, TypeName
from magistrate.engine.written import written_claim


class Warrant(msgspec.Struct, frozen=True):
    """('document', 'plan', 'viewer', 'team', 'eng', 'member', 'amount < 10', 1763683200000000, 7340032).

    The first six say who has what on which object; `subject_relation` and `policy` are empty texts when absent, the
    ids may be `*`. `created_at` is in microseconds since 1970 UTC. `number` is unique, and in order of creation.
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

    def written(self) -> str:
        """`document:plan#viewer@team:eng#member[amount < 10]`."""
        names = (self.object_type, self.object_id, self.relation)
        claim = written_claim(*names, self.subject_type, self.subject_id, self.subject_relation)
        return f"{claim}[{self.policy}]" if self.policy else claim


def policy_digest(text: str) -> str:
    """SHA-256 in hex of a policy, by which stores know it; the empty text for no policy."""
    return hashlib.sha256(text.encode()).hexdigest() if text else ""
