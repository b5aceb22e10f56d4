"""Finds the groups that subjects are in, from the subject's side.

For groups that consist of warrants alone, the membership closure of a subject has every group it is in, however deeply
nested (closures.py). Whether the subject has a relation on an object then takes one lookup of the groups named there,
at any nesting depth.

For example, ann is a member of the team eng, whose members are members of the team all, and view 3 has what users get
from `team#member`:

- `team:eng#member@user:ann`: in the kind of users, the groups of `ann` are `(" 3:eng ",)`.
- `team:all#member@team:eng#member`: in the kind of `team#member`, the groups of `eng` are `(" 3:all ",)`.

The `views` of both kinds map `("team", "member")` to `[3]`: such a warrant makes its subject a member in view 3. The
`own` of the second kind is `[3]`, because its members are the groups of view 3: so `" 3:eng "` stands for the groups of
`eng`, too. The closure of ann has `" 3:eng "` and `" 3:all "`.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from operator import attrgetter

from magistrate.engine.cache.closures import (
    CONDITIONAL,
    MAX_ANCESTORS,
    UNUSABLE,
    ExtendedClosure,
    GivenIds,
    Groups,
    Kind,
    Member,
    MembershipClosure,
)
from magistrate.engine.cache.entries import state_name
from magistrate.engine.cache.packed_warrants import PackedWarrants
from magistrate.engine.cache.segments import CacheSegment, Capacity
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import Plan
from magistrate.engine.names import WILDCARD, ObjectId, TypeName
from magistrate.engine.warrants.plain_warrants import KindIds, WarrantKind
from magistrate.engine.warrants.warrant import WarrantNames
from magistrate.engine.work import Work

CHANGES_REMEMBERED = 200
"""Limits the membership changes that a closure is updated by; a closure that is further behind is computed again."""


class Memberships:
    """Holds the memberships of the subjects of one type. `number_of` returns the number of the view of a plan for these
    subjects."""

    def __init__(
        self,
        model: Model,
        closed: Iterable[Plan],
        subject_type: TypeName,
        number_of: Callable[[Plan], int],
        capacity: Capacity,
        packed: PackedWarrants,
    ) -> None:
        self.kinds: list[Kind] = []
        self._subjects = Kind(0, capacity, packed)
        self._kinds_by_names: dict[tuple[str, str], Kind] = {(subject_type, ""): self._subjects}
        self._kinds_by_view: dict[str, Kind] = {}
        """Maps the number of a view, as it is written in names, to its members."""
        self._closures: CacheSegment[MembershipClosure] = CacheSegment(capacity, attrgetter("bytes"))
        self._groupless: CacheSegment[MembershipClosure] = CacheSegment(capacity.absent, attrgetter("bytes"))
        """Holds the closures in which no group was found, such as those of subjects that do not exist."""
        self._changes = 0
        self._changed: deque[tuple[Kind, ObjectId]] = deque(maxlen=CHANGES_REMEMBERED)
        self.kinds.append(self._subjects)
        numbers = {plan: number_of(plan) for plan in sorted(closed, key=lambda plan: (plan.type, plan.relation or ""))}
        for plan, number in numbers.items():
            self._add(model, plan, number, subject_type, lambda: Kind(len(self.kinds), capacity, packed))
        for plan, number in numbers.items():
            kind = self._kinds_by_names.get((plan.type, plan.relation or ""))
            if kind is not None:
                self._kinds_by_view[str(number)] = kind
                kind.own.append(number)
        for (kind_type, relation), kind in self._kinds_by_names.items():
            kind.read_from(TypeName(kind_type), relation, model.orphaned)
        to_subjects = (
            pattern
            for pattern in model.patterns
            if (pattern.subject_type, pattern.subject_relation) == (subject_type, "")
        )
        self._has_subject_wildcard = any(pattern.subject_id == WILDCARD for pattern in to_subjects)

    def _add(
        self, model: Model, plan: Plan, number: int, subject_type: TypeName, make_kind: Callable[[], Kind]
    ) -> None:
        to_subjects = [pattern for pattern in model.patterns_to_subjects(plan) if pattern.subject_type == subject_type]
        for pattern in (*to_subjects, *(pattern for pattern, _ in model.expand_patterns(plan))):
            names = (pattern.subject_type, pattern.subject_relation)
            if names not in self._kinds_by_names:
                self._kinds_by_names[names] = make_kind()
                self.kinds.append(self._kinds_by_names[names])
            views = self._kinds_by_names[names].views.setdefault((pattern.object_type, pattern.relation), [])
            if number not in views:
                views.append(number)

    def closure(self, subject_id: ObjectId, work: Work) -> MembershipClosure:
        """Returns the membership closure of a subject, as complete as it can be now.

        It stops when the time slice is over or something has to be read first; the next call continues from there.
        Raises BudgetExceeded.
        """
        closure = self._closures.young.get(subject_id) or self._find_closure(subject_id)
        if closure is not None and closure.changes == self._changes and not closure.is_open:
            return closure
        if closure is None or not self._is_current(closure):
            members = [
                (self._subjects, subject_id),
                *([(self._subjects, ObjectId(WILDCARD))] if self._has_subject_wildcard else []),
            ]
            self._evict_closure(subject_id)
            closure = MembershipClosure(subject_id, members, self._changes)
            self._groupless.keep(subject_id, closure)
        if closure.is_open and not closure.is_blocked:
            self._grow_closure(subject_id, closure, work)
        return closure

    def _grow_closure(self, subject_id: ObjectId, closure: MembershipClosure, work: Work) -> None:
        former_bytes = closure.bytes
        segment = self._closures if closure.weight > 1 else self._groupless
        try:
            closure.grow(self._list_members, work)
        finally:
            segment.note_growth(subject_id, closure.bytes - former_bytes)
            if segment is self._groupless and closure.weight > 1:
                self._groupless.evict(subject_id)
                self._closures.keep(subject_id, closure)

    def _find_closure(self, subject_id: ObjectId) -> MembershipClosure | None:
        """Returns the closure of a subject unless it is among the young ones that have groups."""
        return (
            self._closures.find(subject_id) or self._groupless.young.get(subject_id) or self._groupless.find(subject_id)
        )

    def _evict_closure(self, subject_id: ObjectId) -> None:
        self._closures.evict(subject_id)
        self._groupless.evict(subject_id)

    def extend_closure(self, closure: MembershipClosure, added: Mapping[Member, GivenIds]) -> MembershipClosure:
        """Returns the complete closure with these groups of members as well; nothing of it is cached. `grow` then
        grows it."""
        members = [member for member in added if self._is_in(closure, member)]
        return (
            ExtendedClosure(closure, members, added, self._find_kind, find_ancestors=self._find_ancestors)
            if members
            else closure
        )

    def grow(self, closure: MembershipClosure, work: Work) -> None:
        """Grows a closure that is not cached, as far as is possible now. Raises BudgetExceeded."""
        if closure.is_open and not closure.is_blocked:
            closure.grow(self._list_members, work)

    def _is_in(self, closure: MembershipClosure, member: Member) -> bool:
        """Returns whether the subject of the closure is this member, or is in this group."""
        kind, member_id = member
        if kind is self._subjects:
            return member_id in (closure.subject_id, WILDCARD)
        return any(state_name((number, member_id)) in closure.names for number in kind.own)

    def find_groups(self, added: Mapping[WarrantKind, KindIds]) -> Mapping[Member, GivenIds]:
        """Returns the groups that warrants with these ids alone give to their members; most kinds of warrants make no
        members."""
        groups: dict[Member, GivenIds] = {}
        for (object_type, relation, member_type, group), ids in added.items():
            kind = self._kinds_by_names.get((member_type, group))
            numbers = () if kind is None else kind.views.get((object_type, relation), ())
            if kind is None or not numbers:
                continue
            for subject_id, group_ids in ids.objects_by_subject.items():
                former = groups.get((kind, subject_id), ())
                is_certain = former is not CONDITIONAL and subject_id not in ids.conditional
                more = [(number, group_ids) for number in numbers]
                groups[kind, subject_id] = [*former, *more] if is_certain else CONDITIONAL
        return groups

    def _is_current(self, closure: MembershipClosure) -> bool:
        """Returns whether no member that the closure was computed from has joined or left a group since."""
        behind = self._changes - closure.changes
        if behind > len(self._changed):
            return False
        for kind, member_id in islice(reversed(self._changed), behind):
            if self._is_in(closure, (kind, member_id)):
                return False
        closure.changes = self._changes
        return True

    def _list_members(self, names: Iterable[str]) -> list[Member]:
        """Returns the members of other groups that these groups are; those that are known to be in no group are left
        out."""
        members: list[Member] = []
        for name in names:
            number, _, member_id = name[1:-1].partition(":")  # as parse_state, which would convert the number
            kind = self._kinds_by_view.get(number)
            if kind is not None and member_id not in kind.groups.absent.young:
                members.append((kind, ObjectId(member_id)))
        return members

    def _find_kind(self, number: int) -> Kind | None:
        return self._kinds_by_view.get(str(number))

    def _find_ancestors(self, kind: Kind, member_id: ObjectId) -> Groups | None:
        """Returns all groups that a member is in, and caches them. Returns None if they are more than MAX_ANCESTORS,
        or if some have not been read or are unusable."""
        names: dict[str, None] = {}
        waiting = [(kind, member_id)]
        while waiting:
            next_kind, next_id = waiting.pop()
            groups = next_kind.find(next_id)
            if groups is None or groups is UNUSABLE or len(names) + len(groups) > MAX_ANCESTORS:
                return None
            new = [name for name in groups if name not in names]
            names.update(dict.fromkeys(new))
            waiting += self._list_members(new)
        ancestors = tuple(names)
        if ancestors:
            kind.ancestors.keep(member_id, ancestors)
        return ancestors

    def invalidate(self, change: WarrantNames) -> bool:
        """Evicts the groups of the member that this warrant names. Returns whether that concerns the memberships of
        others than the subject that it names. Whether closures contain the member is not looked up: they may have
        outlived the groups that they were computed from."""
        kind = self._kinds_by_names.get((change.subject_type, change.subject_relation))
        if kind is None or (change.object_type, change.relation) not in kind.views:
            return False
        member_id = ObjectId(change.subject_id)
        kind.groups.evict(member_id)
        self._changes += 1
        self._changed.append((kind, member_id))
        if kind is not self._subjects:
            for other in self.kinds:
                other.ancestors.evict_all()
        return kind is not self._subjects or member_id == WILDCARD

    def adopt(self, former: "Memberships") -> "Memberships":
        """Returns the memberships to use after the model has changed.

        Entries of `former`, the memberships of the same subjects in another model, are kept where they mean the same in
        this one. The views of both must have the same numbers.
        """
        if self._is_like(former):
            self.release()
            return former
        for names, kind in self._kinds_by_names.items():
            other = former._kinds_by_names.get(names)
            if other is not None and kind.is_like(other):
                kind.groups, other.groups = other.groups, kind.groups
        former.release()
        return self

    def _is_like(self, other: "Memberships") -> bool:
        kinds, others = self._kinds_by_names, other._kinds_by_names
        is_like = self._has_subject_wildcard == other._has_subject_wildcard and list(kinds) == list(others)
        return is_like and all(kind.is_like(others[names]) for names, kind in kinds.items())

    @property
    def segments(self) -> "Sequence[CacheSegment[Groups] | CacheSegment[MembershipClosure]]":
        """Returns all segments of the cache that are used."""
        of_kinds = [segment for kind in self.kinds for segment in (kind.groups, kind.ancestors)]
        return self._closures, self._groupless, *of_kinds

    def release(self) -> None:
        """Releases the capacity that is used."""
        for segment in self.segments:
            segment.remove()
