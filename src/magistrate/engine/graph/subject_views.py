"""Holds what a graph keeps for the subjects of each type besides entries, within bytes: it grows with the product of
relations and types, and whoever may check chooses among these.

A view leads only to views for subjects of the same type. So these are evicted together, and no entry that remains has
their numbers. Types that were not used go first. What a graph has evicted it no longer finds, but frees it in steps.
"""

from collections.abc import Iterator

from magistrate.engine.byte_sizes import SEQUENCE_BYTES, SLOT_BYTES
from magistrate.engine.expansion import PlanNames
from magistrate.engine.graph.memberships import Memberships
from magistrate.engine.graph.reachability import PlanKey, ReachabilitySearch
from magistrate.engine.graph.views import ViewKey
from magistrate.engine.terms import TypeName

VIEW_BYTES = 4_000
"""Counts a view with its places, its requests and those of its plan; most take 3,000 to 3,700."""
NAMES_BYTES = SEQUENCE_BYTES + 2 * SLOT_BYTES
SEARCHED_BYTES = 4 * NAMES_BYTES
"""Counts a plan that a search has reached."""
FREED_SHARE = 4
"""Divides the bytes: when they are exceeded, a quarter of them is freed."""


class SubjectViews:
    """Holds what a graph keeps for the subjects of one type.

    `roots` maps relations to the views that checks start from, `reachable` plans to whether they lead to such a
    subject. `search` finds this out, for all checks that wait for it. `numbers` has those of all views. `used_at`
    tells which were used last: it is the number that the next new view had then.
    """

    __slots__ = ("counted", "memberships", "numbers", "reachable", "roots", "search", "used_at")

    def __init__(self) -> None:
        self.numbers: dict[ViewKey, int] = {}
        self.used_at = 0
        self.counted = 0
        self.reset()

    def reset(self) -> None:
        """Drops what depends on the model."""
        self.roots: dict[PlanNames, int] = {}
        self.reachable: dict[PlanKey, bool] = {}
        self.search: ReachabilitySearch | None = None
        self.memberships: Memberships | None = None

    @property
    def bytes(self) -> int:
        kinds = len(self.memberships.kinds) if self.memberships is not None else 0
        searched = len(self.search) if self.search is not None else 0
        names = NAMES_BYTES * (len(self.roots) + len(self.reachable)) + SEARCHED_BYTES * searched
        return VIEW_BYTES * (1 + len(self.numbers) + kinds) + names


class ViewsBySubjectType(dict[TypeName, SubjectViews]):
    """Maps the types of subjects to what a graph keeps for them, and counts its bytes."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__()
        self.most_bytes = most_bytes
        self.bytes = 0

    def __missing__(self, subject_type: TypeName) -> SubjectViews:
        found = self[subject_type] = SubjectViews()
        return found

    def count(self, views: SubjectViews) -> None:
        """Counts what has been added to the views of a type."""
        self.bytes += views.bytes - views.counted
        views.counted = views.bytes

    def evict_unused(self, kept: TypeName, pending_bytes: int) -> Iterator[SubjectViews]:
        """Yields the views of types that have not been used for longest, until there is room again; those of one type
        are kept. `pending_bytes` are those of views that are still to be freed."""
        if self.bytes + pending_bytes <= self.most_bytes:
            return
        for subject_type, views in sorted(self.items(), key=lambda item: item[1].used_at):
            if self.bytes <= self.most_bytes - self.most_bytes // FREED_SHARE:
                return
            if subject_type != kept:
                del self[subject_type]
                self.bytes -= views.counted
                yield views
