"""Holds warrants that have no policy, no time limits and no `*`, without making each of them a Warrant.

A request may have a hundred of them, such as the groups in a user's token, of which a check needs the ids alone.
"""

from collections.abc import Mapping, Sequence, Set
from functools import cached_property, lru_cache
from typing import NamedTuple

import msgspec

from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.warrants.warrant import Warrant, WarrantNames, WarrantPattern, warrant_pattern

FIRST_NUMBER = 1 << 63
"""Sets the number of the first added warrant. Those of stored warrants have 63 bits, so they come before it."""

MAX_KINDS_TOGETHER = 4
"""Limits the kinds of warrants for which patterns are kept together."""

WarrantKind = tuple[TypeName, RelationName, TypeName, str]
"""Holds the object type, the relation, the subject type and the subject relation of a warrant."""


class KindIds(msgspec.Struct, frozen=True, dict=True):
    """Holds the ids in warrants of one kind, a place in both sequences for each, and the ids of the subjects that
    conditional ones of them are to."""

    object_ids: Sequence[ObjectId]
    subject_ids: Sequence[ObjectId]
    conditional: Set[ObjectId] = frozenset()

    @cached_property
    def objects_by_subject(self) -> Mapping[ObjectId, Set[ObjectId]]:
        """Returns the ids of the objects that the warrants to each subject are on."""
        first = self.subject_ids[0]
        if self.subject_ids.count(first) == len(self.subject_ids):  # such as the groups of one user
            return {first: frozenset(self.object_ids)}
        objects: dict[ObjectId, set[ObjectId]] = {}
        for object_id, subject_id in zip(self.object_ids, self.subject_ids, strict=True):
            objects.setdefault(subject_id, set()).add(object_id)
        return objects


def ids_to_subject(object_ids: Sequence[ObjectId], unique: Set[ObjectId], subject_id: ObjectId) -> KindIds:
    """Returns the ids in warrants to one subject; `unique` has those of the objects, each once."""
    ids = KindIds(object_ids, [subject_id] * len(object_ids))
    vars(ids)["objects_by_subject"] = {subject_id: unique}
    return ids


class PlainRuns:
    """Holds plain warrants as runs of the same kind, each with the ids in it; together they are in order.

    `size` is how many there are. `ids_by_kind` has the ids in all runs of each kind, `relations` the relations of the
    warrants, each with its object type, and `patterns` their patterns."""

    __slots__ = ("ids_by_kind", "patterns", "relations", "runs", "size")

    def __init__(self, runs: Sequence[tuple[WarrantKind, KindIds]]) -> None:
        self.runs = runs
        self.size = sum([len(ids.object_ids) for _, ids in runs])
        self.ids_by_kind: Mapping[WarrantKind, KindIds] = dict(runs)
        if len(self.ids_by_kind) < len(runs):
            self.ids_by_kind = _join_runs(runs)
        kinds = tuple(self.ids_by_kind)
        self.relations, self.patterns = (
            _describe_few(kinds) if len(kinds) <= MAX_KINDS_TOGETHER else _describe_kinds(kinds)
        )


def _join_runs(runs: Sequence[tuple[WarrantKind, KindIds]]) -> Mapping[WarrantKind, KindIds]:
    joined: dict[WarrantKind, KindIds] = {}
    for kind, ids in runs:
        former = joined.get(kind)
        if former is not None:
            ids = KindIds([*former.object_ids, *ids.object_ids], [*former.subject_ids, *ids.subject_ids])
        joined[kind] = ids
    return joined


Relations = Set[tuple[TypeName, RelationName]]


def _describe_kinds(kinds: Sequence[WarrantKind]) -> tuple[Relations, Set[WarrantPattern]]:
    """Returns the relations and the patterns of warrants of these kinds without `*`."""
    no_id = ObjectId("")
    patterns = [
        warrant_pattern(WarrantNames(of_type, no_id, relation, subject_type, subject_id=no_id, subject_relation=group))
        for of_type, relation, subject_type, group in kinds
    ]
    return frozenset([(of_type, relation) for of_type, relation, _, _ in kinds]), frozenset(patterns)


_describe_few = lru_cache(maxsize=1_024)(_describe_kinds)  # requests of one application have the same


class PlainWarrants(NamedTuple):
    """Holds plain warrants that are created at the time `now`, in microseconds since 1970 UTC."""

    runs: PlainRuns
    now: int

    def make(self) -> Sequence[Warrant]:
        """Returns the warrants, in order, with ascending numbers from FIRST_NUMBER on."""
        made: list[Warrant] = []
        for (object_type, relation, subject_type, group), ids in self.runs.runs:
            for number, (object_id, subject_id) in enumerate(
                zip(ids.object_ids, ids.subject_ids, strict=True), len(made)
            ):
                names = (object_type, object_id, relation, subject_type, subject_id, group)
                made.append(Warrant(*names, "", self.now, FIRST_NUMBER + number))
        return made
