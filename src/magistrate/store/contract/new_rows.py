"""Defines the rows that writes store."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import msgspec

from magistrate.engine.names import ObjectId, PolicyName, RelationName, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant, WarrantNames
from magistrate.store.contract.revisions import RevisionId


@dataclass(frozen=True, slots=True)
class Once:
    """Makes a write happen only once for this key of this owner within `IDEMPOTENCY_HOURS`.

    A second write with the same `fingerprint` changes nothing and returns what the first one returned, revision
    included; one with a different fingerprint raises KeyReused."""

    key: str
    fingerprint: str
    owner: str = ""


IDEMPOTENCY_HOURS = 24


@dataclass(frozen=True, slots=True)
class Stamp:
    """Records who writes, when (in microseconds since 1970 UTC; the `created_at` of new rows), whether the write
    happens only once, and the id of the request; None if there was no request."""

    actor: str
    at: int
    once: Once | None = None
    request_id: str | None = None


class NewObject(msgspec.Struct, frozen=True):
    """Holds an object to be stored. `fresh` says that the id was generated just now, so that no such object can
    exist."""

    type: TypeName
    id: ObjectId
    meta: str | None
    fresh: bool = False


class NewObjectType(msgspec.Struct, frozen=True):
    name: TypeName
    definition: str


@dataclass(frozen=True, slots=True)
class NewModel:
    """Holds a whole model to be stored: its object types, and the names and definitions of its policies. With
    `expected`, the stored model must not have changed since that revision."""

    types: Sequence[NewObjectType]
    policies: Sequence[tuple[PolicyName, str]]
    expected: RevisionId | None = None


class NewWarrant(msgspec.Struct, frozen=True, gc=False):
    """Holds a warrant to be stored, or one to be deleted.

    `policy` is its text, empty if it has none. The ids may be `*`. Times are in microseconds since 1970 UTC.
    `created_at` is the time at which it was created elsewhere; only `import_batch` uses it. `starts_at` and
    `expires_at` are the limits between which it counts. `lifetime` is how long after its creation the policy may hold,
    in microseconds; None if it is not known that it ever ends."""

    object: ObjectRef
    relation: RelationName
    subject: Subject
    policy: str = ""
    created_at: int | None = None
    starts_at: int | None = None
    expires_at: int | None = None
    lifetime: int | None = None

    @property
    def names(self) -> WarrantNames:
        on_object, subject = self.object, self.subject
        subject_names = subject.type, subject.id, subject.relation
        return WarrantNames(on_object.type, on_object.id, self.relation, *subject_names)


def build_new_warrant(
    names: WarrantNames,
    policy: str,
    *,
    created_at: int | None = None,
    starts_at: int | None = None,
    expires_at: int | None = None,
) -> NewWarrant:
    """Returns what stores a warrant with these names."""
    on_object = ObjectRef(names.object_type, names.object_id)
    return NewWarrant(on_object, names.relation, names.subject, policy, created_at, starts_at, expires_at)


@dataclass(frozen=True, slots=True)
class ImportBatch:
    """Holds what one write of an import stores: fewer than a million warrants. `policies` have their names and
    definitions."""

    types: Sequence[NewObjectType] = ()
    objects: Sequence[NewObject] = ()
    warrants: Sequence[NewWarrant] = ()
    policies: Sequence[tuple[PolicyName, str]] = ()


ValidateTypes = Callable[[Mapping[TypeName, str]], None]
"""Validates the definitions of object types as a write would leave them, inside that write; raising an exception
undoes the write."""


class ImportProgress(msgspec.Struct, frozen=True):
    """Records how far an import has come: ('/data/all.jsonl', 20000, 2519000, '9f86d0...') means that the first
    `lines` lines of this source, which is `size_bytes` long, are stored.

    `mark` lets the source find the place again. `is_done` means that the source has been imported completely; no
    progress is then kept."""

    source: str
    lines: int
    size_bytes: int
    mark: str
    is_done: bool = False


class Imported(msgspec.Struct, frozen=True):
    """Counts the rows of each kind that were created or replaced."""

    types: int
    objects: int
    warrants: int
    policies: int = 0


MAX_WARRANTS_IN_A_WRITE = 1_048_576
"""Limits the warrants of one write to 2^20: the place of a warrant in its write takes the last 20 bits of its number.
"""

FIRST_REPLACEMENT = MAX_WARRANTS_IN_A_WRITE // 2
"""Sets the first place for warrants of `put_warrants` that replace others; those that replace none have lower places.
So the numbers show what the write did, also when its request is repeated."""

WarrantOutcome = Literal["created", "updated", "unchanged"]


def write_outcome(warrant: Warrant, revision: Revision) -> WarrantOutcome:
    """Returns what the `put_warrants` of this revision did to a warrant that it returned."""
    place = warrant.number - revision * MAX_WARRANTS_IN_A_WRITE
    if place < 0:
        return "unchanged"
    return "created" if place < FIRST_REPLACEMENT else "updated"


class DeletedChunk(NamedTuple):
    """Counts the warrants that one write of a delete by filter deleted. `blocking_seconds` is about how long no other
    writer could write: from when this write began until it was answered."""

    deleted: int
    blocking_seconds: float
