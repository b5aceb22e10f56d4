"""Extends the membership closure of a subject by memberships that are not stored, such as the groups in a user's token.

The groups that a member is given stay as ids in sets: a check asks about few of them by name.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from itertools import chain

from magistrate.engine.graph.closures import ListMembers, Member, MembershipClosure
from magistrate.engine.graph.entries import state_name
from magistrate.engine.graph.kinds import Groups, Kind
from magistrate.engine.terms import ObjectId
from magistrate.engine.work import Work

GivenIds = Sequence[tuple[int, Set[ObjectId]]]
"""Holds the groups that a member is in by warrants that are not stored: numbers of views, each with ids."""

CONDITIONAL: GivenIds = ((-1, frozenset()),)
"""Marks members with such a warrant that does not count always; see UNUSABLE."""

FindKind = Callable[[int], Kind | None]
"""Returns the members of other groups that the groups of a view are, given its number; None if they are in no group."""

FindAncestors = Callable[[Kind, ObjectId], Groups | None]
"""Returns all groups that a member is in, however deeply nested; None if that is not known, or they are many."""

MOST_ANCESTORS = 32
"""Limits the groups that a group is in, however deeply nested, if they are cached together."""
STEPS_AT_ONCE = 500
"""Limits the groups that are visited to find ancestors, without yielding in between."""

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

    __slots__ = ("_begun", "_find_ancestors", "_find_kind", "_given", "_known", "_others", "_steps_left")

    def __init__(
        self,
        closure: MembershipClosure,
        members: Sequence[Member],
        added: Mapping[Member, GivenIds],
        find_kind: FindKind,
        find_ancestors: FindAncestors,
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
        self._find_ancestors = find_ancestors
        self._known = closure.names
        self._given: dict[str, Set[ObjectId]] = {}
        self.names = ExtendedNames(self._known, self._collected, self._given)

    def grow(self, list_members: ListMembers, work: Work) -> None:
        if self._begun:
            work.spend(1 + self._begin_groups())
        super().grow(list_members, work)

    def _pack_names(self) -> Container[str]:
        return self.names

    def _begin_groups(self) -> int:
        """Adds what the members that begin are given, and returns the work that it took."""
        weight = self.weight
        self._steps_left = STEPS_AT_ONCE
        while self._begun:
            given = self._begun.pop()
            if given is CONDITIONAL:
                self._begun = []
                self._stop()
                break
            for number, ids in given:
                self._add_alike(number, ids)
        return (self.weight - weight) // GROUPS_FOR_A_NODE

    def _add_alike(self, number: int, ids: Set[ObjectId]) -> None:
        """Adds given groups of one view, and the groups that these are known to be in."""
        known = self._given.get(str(number))
        new = ids if known is None else ids - known
        self._given[str(number)] = new if known is None else known | new
        self.weight += len(new)
        if self._others:
            self._begin_others([state_name((number, id)) for id in new])
        kind = self._find_kind(number)
        if kind is None:
            return
        nested = new - kind.groups.absent.young
        groups = list(filter(None, map(kind.ancestors.young.get, nested)))
        if len(groups) < len(nested):
            groups = self._find_groups(kind, nested)
        collected = len(self._collected)
        self._collected.update(*groups)
        self.weight += len(self._collected) - collected
        if self._others:
            self._begin_others(chain.from_iterable(groups))

    def _find_groups(self, kind: Kind, ids: Iterable[ObjectId]) -> list[Groups]:
        """Returns the groups that these members are in, as far as they are known; the other members wait."""
        known: list[Groups] = []
        ancestors = kind.ancestors
        for id in ids:
            groups = ancestors.young.get(id) or ancestors.find(id)
            if groups is None and self._steps_left > 0 and kind.find(id) is not None:
                groups = self._find_ancestors(kind, id)
                self._steps_left -= MOST_ANCESTORS if groups is None else 1 + len(groups)
            if groups is None:
                self._waiting.append((kind, id))
            else:
                known.append(groups)
        return known

    def _add(self, groups: Iterable[str], list_members: ListMembers) -> int:
        new = [name for name in groups if name not in self._known and name not in self._collected]
        self._collected.update(new)
        self.weight += len(new)
        self._waiting += list_members(new)
        self._begin_others(new)
        return self._begin_groups()

    def _begin_others(self, names: Iterable[str]) -> None:
        """Has those of these groups begin next that are members of others by warrants that are not stored."""
        if self._others:
            self._begun += [self._others[name] for name in names if name in self._others]
