"""Caches the groups that the members of one kind are in by their own warrants, and defines how these are read."""

from collections import defaultdict
from collections.abc import Iterable, Sequence, Set

from magistrate.engine.byte_sizes import SEQUENCE_BYTES, measure_texts
from magistrate.engine.graph.entries import state_name
from magistrate.engine.segments import CacheSegment, Capacity, SparseSegment
from magistrate.engine.terms import ObjectId, RelationName, TypeName
from magistrate.engine.warrant_reader import ReverseWarrantRead, WarrantsBySubject
from magistrate.engine.warrants import Warrant, WarrantPattern

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

    def __init__(self, number: int, capacity: Capacity) -> None:
        self.number = number
        self.views: dict[tuple[TypeName, RelationName], list[int]] = {}
        self.own: list[int] = []
        self.requests: Sequence[WarrantsBySubject] = ()
        self._stranded: Set[WarrantPattern] = frozenset()
        self.groups: SparseSegment[Groups] = SparseSegment(capacity, weigh_groups, ())
        self.ancestors: CacheSegment[Groups] = CacheSegment(capacity, weigh_groups)
        """Holds all groups that a member is in, however deeply nested, as Memberships found them in `groups`, until the
        groups of any group change. Members that are in no group are not in it."""

    def reads(self, ids: Iterable[ObjectId]) -> list[ReverseWarrantRead]:
        return [ReverseWarrantRead(request, tuple(ids)) for request in self.requests]

    def keep(self, id: ObjectId, warrants: Sequence[Warrant]) -> None:
        self.groups.keep(id, self.name_groups(warrants))

    def name_groups(self, warrants: Sequence[Warrant]) -> Groups:
        """Returns the groups of a member that has these warrants, as far as they make it a member."""
        names: dict[str, None] = {}
        known: tuple[TypeName, RelationName] | None = None
        numbers: Sequence[int] = ()
        for warrant in warrants:
            relation = (warrant.object_type, warrant.relation)
            if relation != known:  # most have the same
                known, numbers = relation, self.views.get(relation, ())
            if not numbers:
                continue
            if warrant.policy or warrant.expires_at or warrant.starts_at:  # not a property: this runs very often
                return UNUSABLE
            for number in numbers:
                names[state_name((number, warrant.object_id))] = None
        return tuple(names)

    def find(self, id: ObjectId) -> Groups | None:
        """Returns the groups of this member, or None when they have not been read or were evicted."""
        groups = self.groups.young.get(id)
        return self.groups.find(id) if groups is None else groups

    def is_like(self, other: "Kind") -> bool:
        """Returns whether both read the same warrants and map them to the same views."""
        mine = (self.views, self.own, self.requests, self._stranded)
        return mine == (other.views, other.own, other.requests, other._stranded)

    def read_from(self, member_type: TypeName, member_relation: str, stranded: Iterable[WarrantPattern]) -> None:
        """Sets which warrants are read for these members, given their type and relation, and the patterns of those that
        do not count; `views` must be complete."""
        names = (member_type, member_relation)
        self._stranded = {one for one in stranded if (one.subject_type, one.subject_relation) == names}
        relations: dict[TypeName, list[RelationName]] = defaultdict(list)
        for of_type, relation in self.views:
            relations[of_type].append(relation)
        self.requests = [
            WarrantsBySubject(of_type, tuple(names), member_type, member_relation)
            for of_type, names in relations.items()
        ]
