"""Finds what caused each change of access, once for all rows that have the same cause."""

from collections.abc import Sequence
from typing import NamedTuple

from pyroaring import FrozenBitMap

from magistrate.engine.difference.comparison import AccessChange, Affected, Existence
from magistrate.engine.difference.origins import Change
from magistrate.engine.difference.reverse_expansion import NOTHING_REACHED, ObjectRelation
from magistrate.engine.names import WILDCARD, ObjectId, TypeName
from magistrate.engine.terms import ObjectRef


class Cause(NamedTuple):
    """Holds the changes between the states that caused a change of access, and the object or subject of it where
    nothing but its creation or deletion did."""

    changes: Sequence[Change]
    created: Sequence[ObjectRef] = ()
    deleted: Sequence[ObjectRef] = ()


class CauseFinder:
    """Finds causes. Rows with the same one get the same object; those of one relation on an object should follow each
    other."""

    def __init__(self, affected: Affected, existence: Existence) -> None:
        self._affected = affected
        self._existence = existence
        self._node: ObjectRelation | None = None
        self._reach = NOTHING_REACHED
        self._by_changes: dict[tuple[FrozenBitMap, TypeName, ObjectId], Cause | None] = {}
        self._by_existence: dict[tuple[tuple[ObjectRef, ...], tuple[ObjectRef, ...]], Cause] = {}

    def find(self, change: AccessChange) -> Cause:
        if change[:3] != self._node:
            self._node = change.node
            self._reach = self._affected.find_reach(self._node)
        reach = self._reach
        # A wildcard is also a subject of its own only as long as not all subjects have the relation without it.
        if change.is_raised is None or change.subject_id == WILDCARD:
            numbers = reach.all
        else:
            numbers = reach.raising if change.is_raised else reach.lowering
        key = numbers, change.subject_type, change.subject_id
        if key not in self._by_changes:
            changes = self._affected.list_changes(numbers, change.subject)
            self._by_changes[key] = Cause(changes) if changes else None
        return self._by_changes[key] or self._find_by_existence(change)

    def _find_by_existence(self, change: AccessChange) -> Cause:
        refs = dict.fromkeys((ObjectRef(change.type, change.id), change.subject))
        created = tuple(ref for ref in refs if ref in self._existence.created)
        deleted = tuple(ref for ref in refs if ref in self._existence.deleted)
        return self._by_existence.setdefault((created, deleted), Cause((), created, deleted))
