"""Warrants: what was granted, as facts (contract section 4)."""

import hashlib

import msgspec

from magistrate.engine.terms import ObjectId, RelationName, Subject, TypeName


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
        """`document:plan#viewer@team:eng#member[<SHA-256 of the policy in hex>]`."""
        return written_claim(self.object_type, self.object_id, self.relation, self.subject) + (
            f"[{policy_digest(self.policy)}]" if self.policy else ""
        )

    @property
    def subject(self) -> Subject:
        relation = RelationName(self.subject_relation) if self.subject_relation else None
        return Subject(self.subject_type, self.subject_id, relation)


def written_claim(object_type: str, object_id: str, relation: str, subject: Subject) -> str:
    """`document:plan#viewer@team:eng#member`: the written form without a policy or context."""
    group = f"#{subject.relation}" if subject.relation else ""
    return f"{object_type}:{object_id}#{relation}@{subject.type}:{subject.id}{group}"


def policy_digest(text: str) -> str:
    """SHA-256 in hex of a policy, by which stores know it; the empty text for no policy."""
    return hashlib.sha256(text.encode()).hexdigest() if text else ""
