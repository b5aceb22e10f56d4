"""Compares the table of a mirror with full queries as of its position.

Queries say which access there is without a context. Which access is conditional, the feed and the difference say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, repeat
from typing import NamedTuple

from magistrate.client import PAGE_SIZE, Client, Json
from magistrate.mirror.conditional_access import MirroredObject, ObjectRows, read_conditional_access
from magistrate.mirror.mirroring import MirrorOptions
from magistrate.mirror.rows import AccessKey, MirroredAccess, MirrorPosition
from magistrate.mirror.target import MirrorTarget

SHOWN_ROWS = 20
"""Limits the rows of each kind that are named."""


class MirroredPattern(NamedTuple):
    """Represents one part of what a mirror has: `relation` and `subject_type` are `*` where it has all."""

    object_type: str
    relation: str
    subject_type: str


@dataclass(slots=True)
class Verification:
    """Says how a table differs: rows that it lacks, rows that it should not have, rows that are conditional in it but
    not in truth, and rows that are so in truth but not in it. `total` counts all of them, `rows` those of the table,
    and some are named."""

    position: MirrorPosition
    rows: int = 0
    total: int = 0
    missing: list[AccessKey] = field(default_factory=list)
    unexpected: list[AccessKey] = field(default_factory=list)
    not_conditional: list[AccessKey] = field(default_factory=list)
    only_conditional: list[AccessKey] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        return not self.total

    def compare(self, mirrored: Sequence[MirroredAccess], expected: Sequence[MirroredAccess]) -> None:
        """Adds how the rows of one object differ from those that it should have."""
        kept, true = dict(mirrored), dict(expected)
        differing = {key for key in kept.keys() & true.keys() if kept[key] is not true[key]}
        self.rows += len(mirrored)
        for named, keys in (
            (self.missing, true.keys() - kept.keys()),
            (self.unexpected, kept.keys() - true.keys()),
            (self.not_conditional, {key for key in differing if kept[key]}),
            (self.only_conditional, {key for key in differing if true[key]}),
        ):
            self.total += len(keys)
            named += sorted(keys)[: SHOWN_ROWS - len(named)]


def verify_mirror(client: Client, target: MirrorTarget, options: MirrorOptions) -> Verification | None:
    """Returns how a table differs from full queries as of its position, None if nothing was loaded yet. It may be kept
    by a mirror meanwhile.

    Raises TargetUnavailable, TargetRefused if the table has other access, and what the client raises, RequestRefused if
    the position is too old to be queried as of it."""
    with target.read() as (position, rows):
        if position is None:
            return None
        options.require_same(position)
        verification = Verification(position)
        with read_conditional_access(client, position) as conditional:
            mirrored = ((named, [*group]) for named, group in groupby(rows, lambda row: row.key[:2]))
            queried = _query_objects(client, position, position.id)
            for kept, without_context, with_context in _join_objects(mirrored, queried, conditional):
                verification.compare(kept, [*with_context, *without_context])
        return verification


def _join_objects(*streams: Iterator[ObjectRows]) -> Iterator[list[Sequence[MirroredAccess]]]:
    """Yields the rows of each object in each of the streams, which are sorted by object."""
    waiting = [next(stream, None) for stream in streams]
    while present := [each for each in waiting if each is not None]:
        first = min(each[0] for each in present)
        yield [() if each is None or each[0] != first else each[1] for each in waiting]
        for place, each in enumerate(waiting):
            if each is not None and each[0] == first:
                waiting[place] = next(streams[place], None)


def _query_objects(client: Client, position: MirrorPosition, as_of: str) -> Iterator[ObjectRows]:
    """Yields each object with its access without a context, sorted by object."""
    patterns = [_read_pattern(text) for text in position.of.split(",")]
    for object_type in sorted({pattern.object_type for pattern in patterns}):
        own = [pattern for pattern in patterns if pattern.object_type == object_type]
        for row in client.objects({"objectType": object_type, "asOf": as_of}, PAGE_SIZE):
            named = (object_type, str(row["objectId"]))
            keys = {key for pattern in own for key in _query_object(client, pattern, named, as_of)}
            yield named, [MirroredAccess(key, False) for key in keys if position.has_wildcards or not key.has_wildcard]


def _query_object(client: Client, pattern: MirroredPattern, named: MirroredObject, as_of: str) -> Iterator[AccessKey]:
    object_type, object_id = named
    query = f'select {pattern.relation} of type {pattern.subject_type} for {object_type}:"{object_id}"'
    pages: Iterator[Json] = client.query({"q": query, "asOf": as_of}, repeat(PAGE_SIZE))
    for row in (row for page in pages for row in page["results"]):
        yield AccessKey(object_type, object_id, row["relation"], row["objectType"], row["objectId"])


def _read_pattern(text: str) -> MirroredPattern:
    access, _, subject_type = text.partition("@")
    object_type, _, relation = access.partition("#")
    return MirroredPattern(object_type, relation or "*", subject_type or "*")
