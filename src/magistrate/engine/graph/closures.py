"""Computes the membership closure of a subject: every group it is in, found group by group as they are read.

It is computed in steps, because callers may nest any number of groups: it stops when the time slice is over or a group
has not been read yet, and later continues from there. No group is expanded twice.
"""

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from itertools import chain

from magistrate.engine.graph.entries import EitherNames, list_names, state_name, together
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
            self._collected = set()

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
            self._add(dict.fromkeys(found), list_members)
            if len(self._collected) > MOST_GROUPS_ALTOGETHER:
                self._stop()
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


GivenIds = Sequence[tuple[int, Sequence[ObjectId]]]
"""Holds the groups that a member is in by warrants that are not stored: numbers of views, each with ids."""

CONDITIONAL: GivenIds = ((-1, ()),)
"""Marks members with such a warrant that does not count always; see UNUSABLE."""

FindKind = Callable[[int], Kind | None]
"""Returns the members of other groups that the groups of a view are, given its number; None if they are in no group."""

EXPANDED_AT_ONCE = 500
"""Limits the names of groups that are taken from what is known of given groups, without yielding in between."""


class ExtendedClosure(MembershipClosure):
    """Holds the groups of `closure`, which is complete, and those that follow from memberships that are not stored.

    The subject is each of `members`; `added` has the groups of these, and of the other members. `closure` has the
    groups that follow from what is stored.
    """

    __slots__ = ("_begun", "_find_kind", "_further", "_known", "_others")

    def __init__(
        self,
        closure: MembershipClosure,
        members: Sequence[Member],
        added: Mapping[Member, GivenIds],
        find_kind: FindKind,
    ) -> None:
        super().__init__(closure.subject_id, (), closure.changes)
        self._begun = [added[member] for member in members]
        self._others = {
            state_name((number, id)): added[kind, id]
            for kind, id in added
            if (kind, id) not in members
            for number in kind.own
        }
        self._find_kind = find_kind
        self._known = list_names(closure.names)
        self._further: list[str] = []
        """Has groups that given groups are known to be in, until they are added."""
        self.names = EitherNames(self._known, self._collected)

    def grow(self, list_members: ListMembers, work: Work) -> None:
        if self._begun:
            self._add((), list_members)
            work.spend(1 + self.weight // GROUPS_FOR_A_NODE)
        super().grow(list_members, work)

    def _pack_names(self) -> Container[str]:
        return self._known | self._collected

    def _begin_groups(self) -> None:
        while self._begun:
            given = self._begun.pop()
            if given is CONDITIONAL:
                self._begun, self._further = [], []
                self._stop()
            else:
                for number, ids in given:
                    self._add_alike(number, ids)

    def _add_alike(self, number: int, ids: Sequence[ObjectId]) -> None:
        """Adds the groups of one view that are not known yet."""
        new = dict(zip([f" {number}:{id} " for id in ids], ids, strict=True))  # as state_name, without calls
        for name in (*self._known.intersection(new), *self._collected.intersection(new)):
            new.pop(name, None)
        self._take(new)
        kind = self._find_kind(number)
        if kind is None:
            return
        # Most groups are known to be in few others, or none: they need not wait to be expanded one by one.
        groups = list(map(kind.groups.young.get, new.values()))
        further = list(chain.from_iterable(filter(None, groups)))
        if UNUSABLE[0] in further or len(further) > EXPANDED_AT_ONCE:
            self._waiting += [(kind, id) for id in new.values()]
            return
        self._further += further
        if None in groups:
            self._waiting += [(kind, id) for id, one in zip(new.values(), groups, strict=True) if one is None]

    def _add(self, groups: Iterable[str], list_members: ListMembers) -> None:
        known, collected = self._known, self._collected
        while True:
            new = [name for name in groups if name not in known and name not in collected]
            self._take(new)
            self._waiting += list_members(new)
            self._begin_groups()
            if not self._further:
                return
            groups, self._further = dict.fromkeys(self._further), []

    def _take(self, new: Collection[str]) -> None:
        """Collects groups; those that are members of others by warrants that are not stored begin next."""
        self._collected.update(new)
        self.weight += len(new)
        if self._others:
            self._begun += [self._others[name] for name in new if name in self._others]
