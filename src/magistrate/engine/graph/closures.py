"""Computes the membership closure of a subject: every group it is in, found group by group as they are read.

It is computed in steps, because callers may nest any number of groups: it stops when the time slice is over or a group
has not been read yet, and later continues from there. No group is expanded twice.
"""

from collections.abc import Callable, Container, Mapping, Sequence

from magistrate.engine.graph.entries import EitherNames, join_names, together
from magistrate.engine.graph.kinds import UNUSABLE, Groups, Kind
from magistrate.engine.terms import ObjectId
from magistrate.engine.work import Work

Member = tuple[Kind, ObjectId]

MOST_GROUPS_ALTOGETHER = 5_000
"""Limits the groups in a closure that is used."""

WORK_AT_ONCE = 16
"""Limits the units of work after which they are charged."""

GROUPS_FOR_A_NODE = 8
"""Counts the groups of a member that are examined in the time of one unit of work."""


class MembershipClosure:
    """Holds the groups that one subject was found to be in.

    `names` has the groups found so far, in the form of `state_name`, and `missing` the members whose groups have to be
    read before it can continue. It `is_open` until every group that can be found is found; it `is_complete` when these
    are all groups there are, and not `is_usable` when some may be missing. `changes` is the number of membership
    changes that it takes into account.
    """

    __slots__ = (
        "_collected",
        "_waiting",
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

    @property
    def is_interrupted(self) -> bool:
        """Returns whether it can continue in the next time slice without any more reads."""
        return bool(self._waiting)

    @property
    def is_blocked(self) -> bool:
        """Returns whether it cannot continue because the groups it needs next have not been read."""
        return not self._waiting and bool(self.missing) and self._groups_of(self.missing[0]) is None

    def grow(self, member_of: Callable[[str], Member | None], work: Work) -> None:
        """Continues until the time slice is over or only groups that have to be read are left.

        `member_of` returns the member of other groups that a group is, or None when it can be in no group. Raises
        BudgetExceeded; the groups found until then are kept.
        """
        self._waiting += reversed(self.missing)
        self.missing = []
        while self._waiting and not work.needs_checkpoint:
            work.spend(self._expand_some(member_of))
        if not self._waiting and not self.missing:
            self.is_open = False
            self.is_complete = self.is_usable
            self.names = together(list(self._collected))
            self._collected = set()

    def _expand_some(self, member_of: Callable[[str], Member | None]) -> int:
        """Finds the groups of some members, and returns the work that it took."""
        cost = 0
        while self._waiting and cost < WORK_AT_ONCE:
            member = self._waiting.pop()
            groups = self._groups_of(member)
            if groups is None:
                self.missing.append(member)
            elif groups is UNUSABLE or len(self._collected) > MOST_GROUPS_ALTOGETHER:
                self.is_usable = False
                self._waiting, self.missing = [], []
            else:
                if groups:  # most groups are in no other
                    self._add(groups, member_of)
                cost += 1 + len(groups) // GROUPS_FOR_A_NODE
        return cost

    def _add(self, groups: Sequence[str], member_of: Callable[[str], Member | None]) -> None:
        new = [name for name in groups if name not in self._collected]
        self._collected.update(new)
        self.weight += len(new)
        members = map(member_of, new)
        self._waiting += [member for member in members if member is not None]

    def _groups_of(self, member: Member) -> Groups | None:
        kind, id = member
        return kind.find(id)


class ExtendedClosure(MembershipClosure):
    """Holds the groups of `closure`, which is complete, and those that follow from memberships that are not stored.

    `members` are members of groups in `added`, and the subject is each of them.
    """

    __slots__ = ("_added", "_known")

    def __init__(self, closure: MembershipClosure, members: Sequence[Member], added: Mapping[Member, Groups]) -> None:
        super().__init__(closure.subject_id, members, closure.changes)
        self._added = added
        self._known = closure.names
        self.names = EitherNames(self._known, self._collected)

    def grow(self, member_of: Callable[[str], Member | None], work: Work) -> None:
        super().grow(member_of, work)
        if not self.is_open:
            self.names = join_names(self._known, self.names)

    def _add(self, groups: Sequence[str], member_of: Callable[[str], Member | None]) -> None:
        super()._add([name for name in groups if name not in self._known], member_of)

    def _groups_of(self, member: Member) -> Groups | None:
        kind, id = member
        groups, more = kind.find(id), self._added.get(member)
        if groups is None or more is None:
            return groups
        return UNUSABLE if groups is UNUSABLE or more is UNUSABLE else groups + more
