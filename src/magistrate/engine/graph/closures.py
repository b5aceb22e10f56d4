"""Computes the membership closure of a subject: every group it is in, found group by group as they are read.

It is computed in steps, because callers may nest any number of groups: it stops when the time slice is over or a group
has not been read yet, and later continues from there. No group is expanded twice.
"""

from collections.abc import Callable, Container, Iterable, Sequence

from magistrate.engine.byte_sizes import measure_texts
from magistrate.engine.graph.entries import measure_names, together
from magistrate.engine.graph.kinds import UNUSABLE, Kind
from magistrate.engine.terms import ObjectId
from magistrate.engine.work import Work

Member = tuple[Kind, ObjectId]

ListMembers = Callable[[Iterable[str]], list[Member]]
"""Returns the members of other groups that some groups are; those that are known to be in no group are left out."""

MOST_GROUPS_ALTOGETHER = 5_000
"""Limits the groups in a closure that is used."""

WORK_AT_ONCE = 16
"""Limits the units of work after which they are charged."""

OPEN_BYTES, CLOSED_BYTES = 800, 240
"""Count a closure without its groups, as long as it is open and afterwards."""

GROUPS_FOR_A_NODE = 8
"""Counts the groups of a member that are examined in the time of one unit of work."""


_NO_NAMES: set[str] = set()
_NO_MEMBERS: list[Member] = []
"""Take the place of what a closure has collected once it is not open any more: most have found nothing."""


class MembershipClosure:
    """Holds the groups that one subject was found to be in.

    `names` has the groups found so far, in the form of `state_name`, and `missing` the members whose groups have to be
    read before it can continue. It `is_open` until every group that can be found is found; it `is_complete` when these
    are all groups there are, and not `is_usable` when some may be missing. `changes` is the number of membership
    changes that it takes into account; `bytes` says what it takes in memory.
    """

    __slots__ = (
        "_collected",
        "_waiting",
        "bytes",
        "changes",
        "is_complete",
        "is_open",
        "is_usable",
        "missing",
        "names",
        "subject_id",
        "weight",
    )

    def __init__(self, subject_id: ObjectId, members: Sequence[Member], changes: int) -> None:
        self.subject_id = subject_id
        self.changes = changes
        self._collected: set[str] = set()
        self.names: Container[str] = self._collected
        self.missing: list[Member] = []
        self._waiting = list(members)
        self.is_open = True
        self.is_usable = True
        self.is_complete = False
        self.weight = 1
        self.bytes = OPEN_BYTES

    @property
    def is_interrupted(self) -> bool:
        """Returns whether it can continue in the next time slice without any more reads."""
        return bool(self._waiting)

    @property
    def is_blocked(self) -> bool:
        """Returns whether it cannot continue because the groups it needs next have not been read."""
        if self._waiting or not self.missing:
            return False
        kind, id = self.missing[0]
        return kind.find(id) is None

    def grow(self, list_members: ListMembers, work: Work) -> None:
        """Continues until the time slice is over or only groups that have to be read are left. Raises BudgetExceeded;
        the groups found until then are kept."""
        self._waiting += reversed(self.missing)
        self.missing = []
        while self._waiting and not work.needs_checkpoint:
            work.spend(self._expand_some(list_members))
        if not self._waiting and not self.missing:
            self.is_open = False
            self.is_complete = self.is_usable
            self.names = self._pack_names()
            self._collected, self._waiting, self.missing = _NO_NAMES, _NO_MEMBERS, _NO_MEMBERS
            self.bytes = CLOSED_BYTES + measure_names(self.names)

    def _pack_names(self) -> Container[str]:
        return together(list(self._collected))

    def _expand_some(self, list_members: ListMembers) -> int:
        """Finds the groups of some members, and returns the work that it took."""
        cost, found, waiting = 0, list[str](), self._waiting
        while waiting and cost < WORK_AT_ONCE:
            kind, id = waiting.pop()
            groups = kind.groups.young.get(id)  # a call less for almost every member
            if groups is None:
                groups = kind.find(id)
            if groups:
                if groups is UNUSABLE:
                    self._stop()
                    return cost
                found += groups
                cost += 1 + len(groups) // GROUPS_FOR_A_NODE
            elif groups is None:
                self.missing.append((kind, id))
            else:
                cost += 1
        if found:
            cost += self._add(dict.fromkeys(found), list_members)
            if len(self._collected) > MOST_GROUPS_ALTOGETHER:
                self._stop()
        return cost

    def _stop(self) -> None:
        """Leaves out the groups that are not found yet."""
        self.is_usable = False
        self._waiting, self.missing = [], []

    def _add(self, groups: Iterable[str], list_members: ListMembers) -> int:
        """Adds groups, and returns the work that it took besides looking at each."""
        new = [name for name in groups if name not in self._collected]
        self._collected.update(new)
        # Each takes as much as one that was found and, at worst, as one that is missing.
        self.weight, self.bytes = self.weight + len(new), self.bytes + 2 * measure_texts(new)
        self._waiting += list_members(new)
        return 0
