"""Defines the port through which the engine reads warrants: few kinds of requests, many in a batch, all at one
revision.

The engine itself never calls a reader. An evaluation names the reads it misses; the operation that drives it fetches
them in one batch and passes the rows back.
"""

from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import msgspec

from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.subjects import SubjectSelection, selects
from magistrate.engine.warrants.warrant import Warrant, WarrantPattern


# A struct, because it is created five times as fast as a dataclass, and every check creates some.
class WarrantsByObject(msgspec.Struct, frozen=True, eq=False, gc=False):
    """Requests warrants by object: those of any of `relations`, on objects of `type`, to `subjects`.

    `has_object_wildcard` and `has_subject_wildcard` are false when no such warrant has `*` in place of the object, or
    of a subject; wildcards then need not be read. Requests are compared by identity, which makes them fast keys.
    """

    type: TypeName
    relations: tuple[RelationName, ...]
    subjects: SubjectSelection
    has_object_wildcard: bool = True
    has_subject_wildcard: bool = True


class WarrantRead(NamedTuple):
    """Requests the warrants of these patterns on each of these objects.

    None stands for every object of the type; WILDCARD among the ids stands for the warrants that have `*` themselves.
    """

    request: WarrantsByObject
    ids: tuple[ObjectId, ...] | None


@dataclass(frozen=True, slots=True)
class WarrantsBySubject:
    """Requests warrants by subject: those of any of `relations`, on objects of `type`, to a subject of `subject_type`.

    With a `subject_relation`, these are the warrants to the group of all that have it on that object.
    """

    type: TypeName
    relations: tuple[RelationName, ...]
    subject_type: TypeName
    subject_relation: str


class ReverseWarrantRead(NamedTuple):
    """Requests the warrants of these patterns to each of these subjects; None and WILDCARD have the meaning of
    WarrantRead. With `beyond`, one row is returned if there are more than `beyond` rows, and none otherwise."""

    request: WarrantsBySubject
    ids: tuple[ObjectId, ...] | None
    beyond: int | None = None


AnyRead = WarrantRead | ReverseWarrantRead


@dataclass(frozen=True, slots=True)
class ReadResult:
    """Holds the result of a batch of reads.

    `warrants` has one list for each read, in the order of the reads; the rows of one read have no order. `newest` is
    the newest revision there is, and `model_revision` the one that last changed the model, as of `newest`;
    of reads as of a known revision, both may be that revision.
    """

    revision: Revision
    newest: Revision
    model_revision: Revision
    warrants: Sequence[Sequence[Warrant]]


class WarrantReader(Protocol):
    def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> Awaitable[ReadResult]:
        """Executes all reads at one revision, the newest or `at`, in one round trip.

        Without any read it returns the revisions alone. When there are more than `most` rows, it returns that many of
        them. Raises RevisionUnavailable and StoreUnavailable.
        """
        ...


def build_request(
    of_type: TypeName, patterns: Iterable[WarrantPattern], subjects: SubjectSelection
) -> WarrantsByObject | None:
    """Returns the request for warrants to such subjects, or None when no pattern is to such subjects.

    It names no relation and no `*` that does not occur in these patterns.
    """
    possible = [pattern for pattern in patterns if selects(subjects, *pattern[3:])]
    if not possible:
        return None
    named = tuple(dict.fromkeys(pattern.relation for pattern in possible))
    has_object_wildcard, has_subject_wildcard = (
        any(pattern.object_id for pattern in possible),
        any(pattern.subject_id for pattern in possible),
    )
    return WarrantsByObject(of_type, named, subjects, has_object_wildcard, has_subject_wildcard=has_subject_wildcard)
