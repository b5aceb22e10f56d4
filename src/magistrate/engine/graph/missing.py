"""Collects the warrants that a walk misses in the graph cache."""

from magistrate.engine.graph.entries import State
from magistrate.engine.terms import ObjectId, TypeName


class MissingEntries:
    """Collects what has to be read, each key once.

    `entries` is keyed by state, `points` by view, object and subject, and `groups` by subject type, kind and id. The
    entries in `bare` are read without their subjects.
    """

    __slots__ = ("bare", "entries", "groups", "points")

    def __init__(self) -> None:
        self.entries: dict[State, None] = {}
        self.bare: dict[State, None] = {}
        self.points: dict[tuple[int, ObjectId, ObjectId], None] = {}
        self.groups: dict[tuple[TypeName, int, ObjectId], None] = {}

    def keys(self) -> frozenset[object]:
        return frozenset((*self.entries, *self.bare, *self.points, *self.groups))

    def of_groups(self) -> "MissingEntries":
        """Returns the missing groups alone."""
        missing = MissingEntries()
        missing.groups = self.groups
        return missing

    def __bool__(self) -> bool:
        return bool(self.entries or self.bare or self.points or self.groups)
