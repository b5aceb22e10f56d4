"""The membership closure of one subject: every group it is in, found group by group as they are read.

It is worked out in steps, because callers may write any number of groups in each other: it stops when the turn is over
or when something has not been read yet, and goes on from there. No group is expanded twice."""

from collections.abc import Callable, Container, Sequence

from magistrate.engine.graph.entries import together
from magistrate.engine.graph.kinds import UNUSABLE, Groups, Kind
from magistrate.engine.terms import ObjectId
from magistrate.engine.work import Work

Member = tuple[Kind, ObjectId]

MOST_GROUPS_ALTOGETHER = 5_000
"""In a closure that is used."""

GROUPS_FOR_A_NODE = 8
"""So many groups of a member are looked through in the time of one unit of work."""


class MembershipClosure:
    """`names`: the groups found so far, each as `state_name` has it. `missing`: the members whose groups have to be
    read before it can go on. `is_open` until all is found that can be, `is_complete` when that is all there is; it is
    not `is_usable` if that may not be all. `changes`: it is worked out from the memberships as they are after so many
    changes."""

    __slots__ = (
        "_found",
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
        self._found: set[str] = set()
        self.names: Container[str] = self._found
        self.missing: list[Member] = []
        self._waiting = list(members)
        self.is_open = True
        self.is_usable = True
        self.is_complete = False
        self.weight = 1

    @property
    def is_interrupted(self) -> bool:
        """Whether it can go on in the next turn, although nothing more is read until then."""
        return bool(self._waiting)

    @property
    def is_blocked(self) -> bool:
        """Whether it cannot go on, as what has to be read first has not been read."""
        return not self._waiting and bool(self.missing) and _groups_of(self.missing[0]) is None

    def grow(self, member_of: Callable[[str], Member | None], work: Work) -> None:
        """Goes on until the turn is over or nothing is left but what has to be read. `member_of` tells what a group is
        as a member of others, None if it can be none.

        Raises BudgetSpent; what was found until then is kept.
        """
        self._waiting += reversed(self.missing)
        self.missing = []
        while self._waiting and not work.turn_is_over:
            member = self._waiting.pop()
            groups = _groups_of(member)
            if groups is None:
                self.missing.append(member)
            elif groups is UNUSABLE or len(self._found) > MOST_GROUPS_ALTOGETHER:
                self.is_usable = False
                self._waiting, self.missing = [], []
            else:
                self._add(groups, member_of)
                work.spend(1 + len(groups) // GROUPS_FOR_A_NODE)
        if not self._waiting and not self.missing:
            self.is_open = False
            self.is_complete = self.is_usable
            self.names = together(list(self._found))
            self._found = set()

    def _add(self, groups: Sequence[str], member_of: Callable[[str], Member | None]) -> None:
        new = [name for name in groups if name not in self._found]
        self._found.update(new)
        self.weight += len(new)
        members = map(member_of, new)
        self._waiting += [member for member in members if member is not None]


def _groups_of(member: Member) -> Groups | None:
    kind, id = member
    return kind.find(id)
