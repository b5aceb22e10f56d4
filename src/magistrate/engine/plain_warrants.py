"""Holds warrants that have no policy, no time limits and no `*`, without making each of them a Warrant.

A request may have a hundred of them, such as the groups in a user's token, of which a check needs the ids alone.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from magistrate.engine.names import ObjectId, RelationName, TypeName, WarrantNames
from magistrate.engine.warrants import Warrant, WarrantPattern, warrant_pattern

FIRST_NUMBER = 1 << 63
"""Sets the number of the first added warrant. Those of stored warrants have 63 bits, so they come before it."""

WarrantKind = tuple[TypeName, RelationName, TypeName, str]
"""Holds the object type, the relation, the subject type and the subject relation of a warrant."""


@dataclass(frozen=True)
class KindIds:
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
        found: dict[ObjectId, set[ObjectId]] = {}
        for id, subject_id in zip(self.object_ids, self.subject_ids, strict=True):
            found.setdefault(subject_id, set()).add(id)
        return found


class PlainRuns:
    """Holds plain warrants as runs of the same kind, each with the ids in it; together they are in order."""

    def __init__(self, runs: Sequence[tuple[WarrantKind, KindIds]]) -> None:
        self.runs = runs

    @cached_property
    def size(self) -> int:
        """Returns how many warrants there are."""
        return sum(len(ids.object_ids) for _, ids in self.runs)

    @cached_property
    def ids_by_kind(self) -> Mapping[WarrantKind, KindIds]:
        found: dict[WarrantKind, KindIds] = {}
        for kind, ids in self.runs:
            former = found.get(kind)
            if former is not None:
                ids = KindIds([*former.object_ids, *ids.object_ids], [*former.subject_ids, *ids.subject_ids])
            found[kind] = ids
        return found

    @cached_property
    def relations(self) -> Set[tuple[TypeName, RelationName]]:
        """Returns the relations of the warrants, each with its object type."""
        return {(of_type, relation) for of_type, relation, _, _ in self.ids_by_kind}

    @cached_property
    def patterns(self) -> Set[WarrantPattern]:
        """Returns the patterns of the warrants."""
        no_id = ObjectId("")
        return frozenset(
            warrant_pattern(WarrantNames(of_type, no_id, relation, subject_type, no_id, group))
            for of_type, relation, subject_type, group in self.ids_by_kind
        )


class PlainWarrants(NamedTuple):
    """Holds plain warrants that are created at the time `now`, in microseconds since 1970 UTC."""

    runs: PlainRuns
    now: int

    def make(self) -> Sequence[Warrant]:
        """Returns the warrants, in order, with ascending numbers from FIRST_NUMBER on."""
        made: list[Warrant] = []
        for (object_type, relation, subject_type, group), ids in self.runs.runs:
            for number, (id, subject_id) in enumerate(zip(ids.object_ids, ids.subject_ids, strict=True), len(made)):
                names = (object_type, id, relation, subject_type, subject_id, group)
                made.append(Warrant(*names, "", self.now, FIRST_NUMBER + number))
        return made
