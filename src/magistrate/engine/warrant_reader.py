"""What the engine asks of whoever holds the warrants: few kinds of reads, many at once, all at one revision.

The engine itself never calls a source. An evaluation names the reads it misses; the operation that drives it fetches
them in one go and hands the rows back.
"""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from magistrate.engine.terms import ObjectId, RelationName, Revision, Subject, TypeName
from magistrate.engine.warrants import Warrant


@dataclass(frozen=True, slots=True, eq=False)
class WarrantsByObject:
    """Which warrants of an object are wanted: those of any of `relations`, of objects of `type`, and

    - `subjects` is a Subject: given to exactly this one, or to every subject of its type with the same relation;
    - `subjects` is the name of a type: given to a subject of this type, no group;
    - `subjects` is None: given to any group.

    `on_all` and `to_all` are false if it is known that no such warrant says `*` in place of the object, or of a
    subject: then nobody need look for one. Compared by identity, which is what makes them fast keys.
    """

    type: TypeName
    relations: tuple[RelationName, ...]
    subjects: Subject | TypeName | None
    on_all: bool = True
    to_all: bool = True


class WarrantRead(NamedTuple):
    """The warrants of this shape on each of these objects; None stands for every object of the type there is, WILDCARD
    among the ids for the warrants that say `*` themselves."""

    shape: WarrantsByObject
    ids: tuple[ObjectId, ...] | None


@dataclass(frozen=True, slots=True)
class WarrantsBySubject:
    """Which warrants to a subject are wanted: those of any of `relations`, on objects of `type`, to a subject of
    `subject_type`; with a `subject_relation`, to the group of all that have it on that object."""

    type: TypeName
    relations: tuple[RelationName, ...]
    subject_type: TypeName
    subject_relation: str


class ReverseWarrantRead(NamedTuple):
    """The warrants of this shape to each of these subjects; None and WILDCARD as in Read."""

    shape: WarrantsBySubject
    ids: tuple[ObjectId, ...] | None


AnyRead = WarrantRead | ReverseWarrantRead


@dataclass(frozen=True, slots=True)
class Reading:
    """`rows` answers the reads one by one, in their order; the rows of one read are in no order. `newest` is the newest
    revision there is, and `model_revision` the one that last changed the model, as of `newest`."""

    revision: Revision
    newest: Revision
    model_revision: Revision
    rows: Sequence[Sequence[Warrant]]


class WarrantReader(Protocol):
    def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> Awaitable[Reading]:
        """All reads at one revision, the newest or `at`, in one round trip; without any read, one that tells the
        revisions. Of more than `most` rows, that many of them.

        Raises RevisionUnavailable, StoreUnavailable.
        """
        ...
