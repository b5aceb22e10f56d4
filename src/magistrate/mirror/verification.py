"""Compares the table of a mirror with full queries as of its position.

Queries say which access there is without a context. Conditional access is no result of them, so of a conditional row it
is verified that the queries do not have it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, repeat
from typing import NamedTuple

from magistrate.client import PAGE_SIZE, Client, Json
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
    """Says how a table differs: rows that it lacks, rows that it should not have, and rows that are conditional in it
    but not in truth. `total` counts all of them, `rows` those of the table, and some are named."""

    position: MirrorPosition
    rows: int = 0
    total: int = 0
    missing: list[AccessKey] = field(default_factory=list)
    unexpected: list[AccessKey] = field(default_factory=list)
    not_conditional: list[AccessKey] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        return not self.total

    def compare(self, mirrored: Sequence[MirroredAccess], queried: set[AccessKey]) -> None:
        """Adds how the rows of one object differ from what queries have."""
        conditional = {row.key for row in mirrored if row.is_conditional}
        unconditional = {row.key for row in mirrored} - conditional
        self.rows += len(mirrored)
        for named, keys in (
            (self.missing, queried - unconditional - conditional),
            (self.unexpected, unconditional - queried),
            (self.not_conditional, queried & conditional),
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
        as_of = position.token if position.id == position.token else position.time
        expected = _query_objects(client, position, as_of)
        for _, (mirrored, queried) in _join_objects(rows, expected):
            verification.compare(mirrored, queried)
        return verification


_Object = tuple[str, str]
_Expected = tuple[_Object, set[AccessKey]]


def _join_objects(
    rows: Iterator[MirroredAccess], expected: Iterator[_Expected]
) -> Iterator[tuple[_Object, tuple[list[MirroredAccess], set[AccessKey]]]]:
    """Yields each object with its rows in the table and in queries, both of which are sorted by object."""
    mirrored = ((named, [*group]) for named, group in groupby(rows, lambda row: row.key[:2]))
    kept, queried = next(mirrored, None), next(expected, None)
    while kept is not None or queried is not None:
        if queried is None or (kept is not None and kept[0] < queried[0]):
            assert kept is not None
            yield kept[0], (kept[1], set())
            kept = next(mirrored, None)
        elif kept is None or queried[0] < kept[0]:
            yield queried[0], ([], queried[1])
            queried = next(expected, None)
        else:
            yield kept[0], (kept[1], queried[1])
            kept, queried = next(mirrored, None), next(expected, None)


def _query_objects(client: Client, position: MirrorPosition, as_of: str) -> Iterator[_Expected]:
    """Yields each object with its access, sorted by object."""
    patterns = [_read_pattern(text) for text in position.of.split(",")]
    for object_type in sorted({pattern.object_type for pattern in patterns}):
        own = [pattern for pattern in patterns if pattern.object_type == object_type]
        for row in client.objects({"objectType": object_type, "asOf": as_of}, PAGE_SIZE):
            named = (object_type, str(row["objectId"]))
            keys = {key for pattern in own for key in _query_object(client, pattern, named, as_of)}
            yield named, keys if position.has_wildcards else {key for key in keys if not key.has_wildcard}


def _query_object(client: Client, pattern: MirroredPattern, named: _Object, as_of: str) -> Iterator[AccessKey]:
    object_type, object_id = named
    query = f'select {pattern.relation} of type {pattern.subject_type} for {object_type}:"{object_id}"'
    pages: Iterator[Json] = client.query({"q": query, "asOf": as_of}, repeat(PAGE_SIZE))
    for row in (row for page in pages for row in page["results"]):
        yield AccessKey(object_type, object_id, row["relation"], row["objectType"], row["objectId"])


def _read_pattern(text: str) -> MirroredPattern:
    access, _, subject_type = text.partition("@")
    object_type, _, relation = access.partition("#")
    return MirroredPattern(object_type, relation or "*", subject_type or "*")
