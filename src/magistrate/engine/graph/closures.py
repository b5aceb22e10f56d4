"""Computes the membership closure of a subject: every group it is in, found group by group as they are read.

It is computed in steps, because callers may nest any number of groups: it stops when the time slice is over or a group
has not been read yet, and later continues from there. No group is expanded twice.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from magistrate.engine.graph.entries import EitherNames, join_names, together
from magistrate.engine.graph.kinds import UNUSABLE, Groups, Kind
from magistrate.engine.terms import ObjectId
from magistrate.engine.work import Work

Member = tuple[Kind, ObjectId]

ListMembers = Callable[[Iterable[str]], list[Member]]
"""Returns the members of other groups that some groups are; those that can be in no group are left out."""

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
        "_added",
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
        self._added: Mapping[Member, Groups] = {}
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
            self.names = together(list(self._collected))
            self._collected = set()

    def _expand_some(self, list_members: ListMembers) -> int:
        """Finds the groups of some members, and returns the work that it took."""
        cost, found = 0, dict[str, None]()
        if len(self._collected) > MOST_GROUPS_ALTOGETHER:
            self._stop()
        while self._waiting and cost < WORK_AT_ONCE:
            member = self._waiting.pop()
            kind, id = member
            groups = None if self._added else kind.groups.young.get(id)  # a call less for almost every member
            if groups is None:
                groups = self._groups_of(member)
            if groups is None:
                self.missing.append(member)
            elif groups is UNUSABLE:
                self._stop()
            elif groups:
                found.update(dict.fromkeys(groups))
                cost += 1 + len(groups) // GROUPS_FOR_A_NODE
            else:
                cost += 1
        if found and self.is_usable:
            self._add(found, list_members)
        return cost

    def _stop(self) -> None:
        """Leaves out the groups that are not found yet."""
        self.is_usable = False
        self._waiting, self.missing = [], []

    def _add(self, groups: Iterable[str], list_members: ListMembers) -> None:
        new = [name for name in groups if name not in self._collected]
        self._collected.update(new)
        self.weight += len(new)
        self._waiting += list_members(new)

    def _groups_of(self, member: Member) -> Groups | None:
        kind, id = member
        return kind.find(id)


class ExtendedClosure(MembershipClosure):
    """Holds the groups of `closure`, which is complete, and those that follow from memberships that are not stored.

    `members` are members of groups in `added`, and the subject is each of them. `closure` has their other groups.
    """

    __slots__ = ("_begun", "_known")

    def __init__(self, closure: MembershipClosure, members: Sequence[Member], added: Mapping[Member, Groups]) -> None:
        super().__init__(closure.subject_id, (), closure.changes)
        self._begun = [added[member] for member in members]
        self._added = {member: groups for member, groups in added.items() if member not in members}
        self._known = closure.names
        self.names = EitherNames(self._known, self._collected)

    def grow(self, list_members: ListMembers, work: Work) -> None:
        while self._begun:
            groups = self._begun.pop()
            if groups is UNUSABLE:
                self._begun = []
                self._stop()
            else:
                self._add(groups, list_members)
            work.spend(1 + len(groups) // GROUPS_FOR_A_NODE)
        super().grow(list_members, work)
        if not self.is_open:
            self.names = join_names(self._known, self.names)

    def _add(self, groups: Iterable[str], list_members: ListMembers) -> None:
        super()._add([name for name in groups if name not in self._known], list_members)

    def _groups_of(self, member: Member) -> Groups | None:
        kind, id = member
        groups = kind.find(id)
        if not self._added or groups is None:
            return groups
        more = self._added.get(member, ())
        return UNUSABLE if groups is UNUSABLE or more is UNUSABLE else groups + more
