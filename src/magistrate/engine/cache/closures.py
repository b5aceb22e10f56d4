"""Computes the membership closure of a subject: every group it is in, found group by group as they are read.

It is computed in steps, because callers may nest any number of groups: it stops when the time slice is over or a group
has not been read yet, and later continues from there. No group is expanded twice.
"""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain

from magistrate.engine.byte_sizes import SEQUENCE_BYTES, measure_texts
from magistrate.engine.cache.entries import measure_names, state_name, together
from magistrate.engine.cache.packed_warrants import PackedKinds, PackedWarrants
from magistrate.engine.cache.segments import CacheSegment, Capacity, SparseSegment
from magistrate.engine.model.plans import PlanNames
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.warrants.reader import ReverseWarrantRead, WarrantsBySubject
from magistrate.engine.warrants.warrant import Warrant, WarrantPattern
from magistrate.engine.work import Work

Groups = tuple[str, ...]
"""Holds the names of the groups that a subject, or a group, is in by its own warrants; see `state_name`."""

UNUSABLE: Groups = ("",)
"""Marks members with too many groups, or with a conditional warrant. Their groups are expanded from the object's side
instead of the subject's."""


def weigh_groups(groups: Groups) -> int:
    return SEQUENCE_BYTES + measure_texts(groups)


class Kind:
    """Represents the subjects of one type, or of one relation on objects of one type.

    `views` maps the type and relation of a warrant to these subjects to the views it makes them members of. `own` has
    the views whose members these subjects are, and is empty for subjects that are no group.
    """

    def __init__(self, number: int, capacity: Capacity, packed: PackedWarrants) -> None:
        self.number = number
        self._packed = packed
        self.views: dict[PlanNames, list[int]] = {}
        self._packed_kinds: PackedKinds[PlanNames, Sequence[int]] = PackedKinds()
        self._member: tuple[TypeName, str] = (TypeName(""), "")
        self.own: list[int] = []
        self.requests: Sequence[WarrantsBySubject] = ()
        self._orphaned: Set[WarrantPattern] = frozenset()
        self.groups: SparseSegment[Groups] = SparseSegment(capacity, weigh_groups, ())
        self.ancestors: CacheSegment[Groups] = CacheSegment(capacity, weigh_groups)
        """Holds all groups that a member is in, however deeply nested, as Memberships found them in `groups`, until the
        groups of any group change. Members that are in no group are not in it."""

    def reads(self, ids: Iterable[ObjectId]) -> list[ReverseWarrantRead]:
        return [ReverseWarrantRead(request, tuple(ids)) for request in self.requests]

    def name_groups(self, warrants: Sequence[Warrant]) -> Groups:
        """Returns the groups of a member that has these warrants, as far as they make it a member."""
        names: dict[str, None] = {}
        previous: tuple[TypeName, RelationName] | None = None
        numbers: Sequence[int] = ()
        for warrant in warrants:
            relation = (warrant.object_type, warrant.relation)
            if relation != previous:  # most have the same
                previous, numbers = relation, self.views.get(relation, ())
            if not numbers:
                continue
            if warrant.policy or warrant.expires_at or warrant.starts_at:  # not a property: this runs very often
                return UNUSABLE
            for number in numbers:
                names[state_name((number, warrant.object_id))] = None
        return tuple(names)

    def find(self, member_id: ObjectId) -> Groups | None:
        """Returns the groups of this member, or None when they have not been read or were evicted."""
        groups = self.groups.young.get(member_id)
        if groups is None:
            groups = self.groups.find(member_id)
        return self._recall(member_id) if groups is None else groups

    def _recall(self, member_id: ObjectId) -> Groups | None:
        """Returns the groups of a member from packed warrants, and caches them; None if these are not enough."""
        packed = self._packed.to_subjects(*self._member)
        if packed is None or self._orphaned or not self.views.keys() <= packed.relations:
            return None
        warrants = packed.list_warrants(member_id)
        if warrants is None:
            return None
        kinds, names = self._packed_kinds, dict[str, None]()
        kinds.look_at(packed.kinds, self.views.get)
        for kind, object_id in warrants:
            if kind in kinds.marks:
                return None
            for number in kinds.values.get(kind, ()):
                names[state_name((number, object_id))] = None
        groups = tuple(names)
        self.groups.add(member_id, groups)
        return groups

    def is_like(self, other: "Kind") -> bool:
        """Returns whether both read the same warrants and map them to the same views."""
        mine = (self.views, self.own, self.requests, self._orphaned)
        return mine == (other.views, other.own, other.requests, other._orphaned)

    def read_from(self, member_type: TypeName, member_relation: str, orphaned: Iterable[WarrantPattern]) -> None:
        """Sets which warrants are read for these members, given their type and relation, and the patterns of those that
        do not count; `views` must be complete."""
        self._member = names = (member_type, member_relation)
        self._orphaned = {pattern for pattern in orphaned if (pattern.subject_type, pattern.subject_relation) == names}
        relations: dict[TypeName, list[RelationName]] = defaultdict(list)
        for of_type, relation in self.views:
            relations[of_type].append(relation)
        self.requests = [
            WarrantsBySubject(of_type, tuple(names), member_type, member_relation)
            for of_type, names in relations.items()
        ]


Member = tuple[Kind, ObjectId]

ListMembers = Callable[[Iterable[str]], list[Member]]
"""Returns the members of other groups that some groups are; those that are known to be in no group are left out."""

MAX_GROUPS_ALTOGETHER = 5_000
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
        kind, member_id = self.missing[0]
        return kind.find(member_id) is None

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
        cost, groups_found, waiting = 0, list[str](), self._waiting
        while waiting and cost < WORK_AT_ONCE:
            kind, member_id = waiting.pop()
            groups = kind.groups.young.get(member_id)  # a call less for almost every member
            if groups is None:
                groups = kind.find(member_id)
            if groups:
                if groups is UNUSABLE:
                    self._stop()
                    return cost
                groups_found += groups
                cost += 1 + len(groups) // GROUPS_FOR_A_NODE
            elif groups is None:
                self.missing.append((kind, member_id))
            else:
                cost += 1
        if groups_found:
            cost += self._add(dict.fromkeys(groups_found), list_members)
            if len(self._collected) > MAX_GROUPS_ALTOGETHER:
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


GivenIds = Sequence[tuple[int, Set[ObjectId]]]
"""Holds the groups that a member is in by warrants that are not stored: numbers of views, each with ids."""

CONDITIONAL: GivenIds = ((-1, frozenset()),)
"""Marks members with such a warrant that does not count always; see UNUSABLE."""

FindKind = Callable[[int], Kind | None]
"""Returns the members of other groups that the groups of a view are, given its number; None if they are in no group."""

FindAncestors = Callable[[Kind, ObjectId], Groups | None]
"""Returns all groups that a member is in, however deeply nested; None if that is not known, or they are many."""

MAX_ANCESTORS = 32
"""Limits the groups that a group is in, however deeply nested, if they are cached together."""
STEPS_AT_ONCE = 500
"""Limits the groups that are visited to find ancestors, without yielding in between."""

EXTENDED_GROUPS_FOR_A_NODE = 32
"""Counts the given groups that are added in the time of one unit of work."""


@dataclass(eq=False, slots=True)
class ExtendedNames:
    """Contains the names of groups in `names` or `collected`, and those with the `added` ids, which are by the
    number of the view."""

    names: Container[str]
    collected: Container[str]
    added: Mapping[str, Container[str]]

    def __contains__(self, name: object) -> bool:
        if name in self.names or name in self.collected:
            return True
        number, _, member_id = str(name)[1:-1].partition(":")  # as parse_state, which would convert the number
        return member_id in self.added.get(number, ())


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
                state_name((number, member_id)): added[kind, member_id]
                for kind, member_id in added
                if (kind, member_id) not in members
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
            group_ids = self._begun.pop()
            if group_ids is CONDITIONAL:
                self._begun = []
                self._stop()
                break
            for number, ids in group_ids:
                self._add_alike(number, ids)
        return (self.weight - weight) // EXTENDED_GROUPS_FOR_A_NODE

    def _add_alike(self, number: int, ids: Set[ObjectId]) -> None:
        """Adds given groups of one view, and the groups that these are known to be in."""
        added = self._given.get(str(number))
        new = ids if added is None else ids - added
        self._given[str(number)] = new if added is None else added | new
        self.weight += len(new)
        if self._others:
            self._begin_others([state_name((number, member_id)) for member_id in new])
        kind = self._find_kind(number)
        if kind is None:
            return
        nested = set(new).difference(kind.groups.absent.young)
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
        groups_of_members: list[Groups] = []
        ancestors = kind.ancestors
        for member_id in ids:
            groups = ancestors.young.get(member_id) or ancestors.find(member_id)
            if groups is None and self._steps_left > 0 and kind.find(member_id) is not None:
                groups = self._find_ancestors(kind, member_id)
                self._steps_left -= MAX_ANCESTORS if groups is None else 1 + len(groups)
            if groups is None:
                self._waiting.append((kind, member_id))
            else:
                groups_of_members.append(groups)
        return groups_of_members

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
