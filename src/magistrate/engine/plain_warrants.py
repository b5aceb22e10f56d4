"""Holds warrants that have no policy, no time limits and no `*`, without making each of them a Warrant.

A request may have a hundred of them, such as the groups in a user's token, of which a check needs the ids alone.
"""

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.warrants import Warrant

FIRST_NUMBER = 1 << 63
"""Sets the number of the first added warrant. Those of stored warrants have 63 bits, so they come before it."""

WarrantKind = tuple[TypeName, RelationName, TypeName, str]
"""Holds the object type, the relation, the subject type and the subject relation of a warrant."""


class KindIds(NamedTuple):
    """Holds the ids in warrants of one kind, a place in both sequences for each, and the ids of the subjects that
    conditional ones of them are to."""

    object_ids: Sequence[ObjectId]
    subject_ids: Sequence[ObjectId]
    conditional: Set[ObjectId] = frozenset()


class PlainWarrants:
    """Holds plain warrants as runs of the same kind, each with the ids in it; together they are in order. All are
    created at the time `now`, in microseconds since 1970 UTC."""

    __slots__ = ("_runs", "now")

    def __init__(self, runs: Sequence[tuple[WarrantKind, KindIds]], now: int) -> None:
        self._runs = runs
        self.now = now

    def __len__(self) -> int:
        return sum(len(ids.object_ids) for _, ids in self._runs)

    def group_ids(self) -> Mapping[WarrantKind, KindIds]:
        found: dict[WarrantKind, KindIds] = {}
        for kind, ids in self._runs:
            former = found.get(kind)
            if former is not None:
                ids = KindIds([*former.object_ids, *ids.object_ids], [*former.subject_ids, *ids.subject_ids])
            found[kind] = ids
        return found

    def make(self) -> Sequence[Warrant]:
        """Returns the warrants, in order, with ascending numbers from FIRST_NUMBER on."""
        made: list[Warrant] = []
        for (object_type, relation, subject_type, group), ids in self._runs:
            for number, (id, subject_id) in enumerate(zip(ids.object_ids, ids.subject_ids, strict=True), len(made)):
                names = (object_type, id, relation, subject_type, subject_id, group)
                made.append(Warrant(*names, "", self.now, FIRST_NUMBER + number))
        return made
