"""Extends the membership closure of a subject by memberships that are not stored, such as the groups in a user's token.

The groups that a member is given stay as ids in sets: a check asks about few of them by name.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import chain

from magistrate.engine.graph.closures import ListMembers, Member, MembershipClosure
from magistrate.engine.graph.entries import state_name
from magistrate.engine.graph.kinds import UNUSABLE, Kind
from magistrate.engine.terms import ObjectId
from magistrate.engine.work import Work

GivenIds = Sequence[tuple[int, Sequence[ObjectId]]]
"""Holds the groups that a member is in by warrants that are not stored: numbers of views, each with ids."""

CONDITIONAL: GivenIds = ((-1, ()),)
"""Marks members with such a warrant that does not count always; see UNUSABLE."""

FindKind = Callable[[int], Kind | None]
"""Returns the members of other groups that the groups of a view are, given its number; None if they are in no group."""

EXPANDED_AT_ONCE = 500
"""Limits the names of groups that are taken from what is known of given groups, without yielding in between."""

GROUPS_FOR_A_NODE = 32
"""Counts the given groups that are added in the time of one unit of work."""


class ExtendedNames:
    """Contains the names of groups that are `known` or `collected`, and those with the `given` ids, which are by the
    number of the view."""

    __slots__ = ("_collected", "_given", "_known")

    def __init__(self, known: Container[str], collected: Container[str], given: Mapping[str, Container[str]]) -> None:
        self._known = known
        self._collected = collected
        self._given = given

    def __contains__(self, name: object) -> bool:
        if name in self._known or name in self._collected:
            return True
        number, _, id = str(name)[1:-1].partition(":")  # as parse_state, which would convert the number
        return id in self._given.get(number, ())


class ExtendedClosure(MembershipClosure):
    """Holds the groups of `closure`, which is complete, and those that follow from memberships that are not stored.

    The subject is each of `members`; `added` has the groups of these, and of the other members. `closure` has the
    groups that follow from what is stored.
    """

    __slots__ = ("_begun", "_find_kind", "_given", "_known", "_others")

    def __init__(
        self,
        closure: MembershipClosure,
        members: Sequence[Member],
        added: Mapping[Member, GivenIds],
        find_kind: FindKind,
    ) -> None:
        super().__init__(closure.subject_id, (), closure.changes)
        self._begun = [added[member] for member in members]
        self._others: dict[str, GivenIds] = {}
        if len(added) > len(members):
            self._others = {
                state_name((number, id)): added[kind, id]
                for kind, id in added
                if (kind, id) not in members
                for number in kind.own
            }
        self._find_kind = find_kind
        self._known = closure.names
        self._given: dict[str, set[ObjectId]] = {}
        self.names = ExtendedNames(self._known, self._collected, self._given)

    def grow(self, list_members: ListMembers, work: Work) -> None:
        if self._begun:
            work.spend(1 + self._add((), list_members))
        super().grow(list_members, work)

    def _pack_names(self) -> Container[str]:
        return self.names

    def _begin_groups(self) -> list[str]:
        """Adds what the members that begin are given, and returns the names of the groups that it is known to be in."""
        further: list[str] = []
        while self._begun:
            given = self._begun.pop()
            if given is CONDITIONAL:
                self._begun = []
                self._stop()
                return []
            for number, ids in given:
                further += self._add_alike(number, ids)
        return further

    def _add_alike(self, number: int, ids: Sequence[ObjectId]) -> Sequence[str]:
        """Adds given groups of one view, and returns the names of the groups that these are known to be in."""
        known = self._given.setdefault(str(number), set())
        new = set(ids).difference(known)
        known |= new
        self.weight += len(new)
        if self._others:
            self._begin_others([state_name((number, id)) for id in new])
        kind = self._find_kind(number)
        if kind is None:
            return ()
        groups = list(map(kind.groups.young.get, new))
        further = list(chain.from_iterable(filter(None, groups)))
        if UNUSABLE[0] in further or len(further) > EXPANDED_AT_ONCE:
            self._waiting += [(kind, id) for id in new]
            return ()
        if None in groups:
            self._waiting += [(kind, id) for id, one in zip(new, groups, strict=True) if one is None]
        return further

    def _add(self, groups: Iterable[str], list_members: ListMembers) -> int:
        # Level by level: most groups are known to be in few others, or none, and need not wait to be expanded alone.
        known, collected, weight, taken = self._known, self._collected, self.weight, 0
        while True:
            new = [name for name in groups if name not in known and name not in collected]
            collected.update(new)
            taken += len(new)
            self.weight += len(new)
            if self._others:
                self._begin_others(new)
            further: list[str] = []
            for kind, id in list_members(new):
                names = kind.groups.young.get(id)
                if names is None or names is UNUSABLE or taken + len(further) > EXPANDED_AT_ONCE:
                    self._waiting.append((kind, id))
                else:
                    further += names
            further += self._begin_groups()
            if not further or not self.is_usable:
                return (self.weight - weight) // GROUPS_FOR_A_NODE
            groups = dict.fromkeys(further)

    def _begin_others(self, names: Iterable[str]) -> None:
        """Has those of these groups begin next that are members of others by warrants that are not stored."""
        if self._others:
            self._begun += [self._others[name] for name in names if name in self._others]
