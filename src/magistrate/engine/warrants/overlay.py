"""Adds warrants to what a reader returns, and removes warrants from it, without a write.

An Overlay answers the requests of reader.py as a store would in which the same changes had been made: first the
deletions, then the creations. It does not depend on the object types: the model may be that of the store, or one made
of other definitions. `extend_model` adds the warrant patterns that the model lacks. An overlay of PlainWarrants knows
their kinds and ids without making each a Warrant.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import chain
from operator import attrgetter

from msgspec.structs import astuple, replace

from magistrate.engine.model.model import Model
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.policy.policy import read_policy
from magistrate.engine.subjects import Subject, select_kind, widen_selection
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.plain_warrants import KindIds, PlainWarrants, WarrantKind
from magistrate.engine.warrants.reader import AnyRead, ReverseWarrantRead, WarrantRead, WarrantsByObject
from magistrate.engine.warrants.warrant import Warrant, WarrantNames, WarrantPattern, warrant_pattern
from magistrate.errors import InvalidParameter

WarrantKey = tuple[WarrantNames, str]
"""Identifies a warrant by its names and the text of its policy."""

CountsWarrant = Callable[[Warrant], bool]
"""Returns whether a stored warrant counts."""

_KEY_LENGTH = 7
"""Counts the first columns of a warrant that identify it: its names and its policy."""

_ByObject = dict[ObjectId, list[Warrant]]

_kind_of = attrgetter("object_type", "relation", "subject_type", "subject_relation")


def warrant_key(warrant: Warrant) -> WarrantKey:
    return warrant.names, warrant.policy


class Overlay:
    """Holds warrants that count as if they were written, and deletions that count as if they were made.

    `added` come after all that is stored, in this order, with ascending numbers from FIRST_NUMBER on. Where a stored
    warrant has the same names and policy, it counts instead if it has the same time limits. Otherwise the added one
    does, with the creation time of the stored one; unless that one has expired, or its policy can hold no more, by the
    creation time of the added one, which then counts as it is.
    If it `replaces`, an added warrant counts instead of all stored ones with its names, whatever their policies are.
    Stored warrants are left out of which `counts_stored` returns False.
    `removed` identifies the deleted warrants; with each of `removed_objects`, all warrants end that name it. A read
    costs the ids that it names and the warrants that it finds, however many others there are.
    """

    def __init__(
        self,
        added: Iterable[Warrant] | PlainWarrants,
        removed: Iterable[WarrantKey] = (),
        removed_objects: Iterable[ObjectRef] = (),
        replaces: bool = False,
        counts_stored: CountsWarrant | None = None,
    ) -> None:
        self._counts_stored = counts_stored
        self._given = added if isinstance(added, PlainWarrants) else tuple(added)
        self._removed = frozenset(removed)
        self._removed_objects = frozenset(removed_objects)
        self._replaces = replaces
        self._by_object: dict[tuple[str, str, str | None], _ByObject] = {}
        self._by_subject: dict[WarrantKind, Mapping[ObjectId, _ByObject]] = {}
        if isinstance(added, PlainWarrants):  # these properties are known, perhaps from other requests
            runs = added.runs
            properties = {"ids_by_kind": runs.ids_by_kind, "relations": runs.relations, "patterns": runs.patterns}
            vars(self).update(properties, _has_limits=False)

    # What follows is computed when it is first needed, and only for the kinds of warrants that are read: a check
    # that the graph cache decides needs little of it.

    @cached_property
    def all_warrants(self) -> Sequence[Warrant]:
        """Returns the added warrants as they were given: they may repeat one."""
        return tuple(self._given.make()) if isinstance(self._given, PlainWarrants) else self._given

    @cached_property
    def warrants(self) -> Sequence[Warrant]:
        """Returns the added warrants in order, each once."""
        return _remove_repeated(self.all_warrants)

    @property
    def size(self) -> int:
        """Returns how many added warrants were given."""
        return self._given.runs.size if isinstance(self._given, PlainWarrants) else len(self._given)

    @cached_property
    def ids_by_kind(self) -> Mapping[WarrantKind, KindIds]:
        """Returns the ids in the added warrants of each kind, in order."""
        return {kind: _list_ids(warrants) for kind, warrants in self.by_kind.items()}

    @cached_property
    def _ids_of_changes(self) -> Set[tuple[ObjectId, ObjectId]]:
        """Returns the ids in all these warrants; most stored warrants have others, and need not be compared."""
        removed = {(names.object_id, names.subject_id) for names, _ in self._removed}
        return removed | {(warrant.object_id, warrant.subject_id) for warrant in self.warrants}

    @cached_property
    def by_kind(self) -> Mapping[WarrantKind, Sequence[Warrant]]:
        """Returns the added warrants of each kind, in order."""
        by_kind: dict[WarrantKind, list[Warrant]] = {}
        previous, alike = None, list[Warrant]()
        for warrant in self.warrants:
            kind = _kind_of(warrant)
            if kind != previous:  # most follow others of the same kind
                previous, alike = kind, by_kind.setdefault(kind, [])
            alike.append(warrant)
        return by_kind

    @cached_property
    def _subjects_by_relation(self) -> Mapping[tuple[str, str, str | None], list[WarrantKind]]:
        """Maps object type, relation and subject type, or None for any userset, to the kinds that have them."""
        kinds_by_relation: dict[tuple[str, str, str | None], list[WarrantKind]] = {}
        for kind in self.ids_by_kind:
            of_type, relation, subject_type, group = kind
            kinds_by_relation.setdefault((of_type, relation, select_kind(subject_type, group)), []).append(kind)
        return kinds_by_relation

    @cached_property
    def relations(self) -> Set[tuple[TypeName, RelationName]]:
        """Returns the relations of the added warrants, each with its object type."""
        return {(of_type, relation) for of_type, relation, _, _ in self.ids_by_kind}

    def _index_by_object(self, names: tuple[str, str, str | None]) -> _ByObject:
        """Returns the warrants on each object with this object type, this relation, and subjects of this type, or with
        None any userset."""
        if names not in self._by_object:
            by_object: _ByObject = {}
            kinds = self._subjects_by_relation.get(names, ())
            warrants = chain.from_iterable(self.by_kind[kind] for kind in kinds)
            for warrant in warrants if len(kinds) < 2 else sorted(warrants, key=_number_of):
                by_object.setdefault(warrant.object_id, []).append(warrant)
            self._by_object[names] = by_object
        return self._by_object[names]

    def _index_by_subject(self, kind: WarrantKind) -> Mapping[ObjectId, _ByObject]:
        """Returns the warrants of a kind to each subject, on each object."""
        if kind not in self._by_subject:
            by_subject: dict[ObjectId, _ByObject] = {}
            for warrant in self.by_kind.get(kind, ()):
                by_object = by_subject.setdefault(warrant.subject_id, {})
                by_object.setdefault(warrant.object_id, []).append(warrant)
            self._by_subject[kind] = by_subject
        return self._by_subject[kind]

    @property
    def only_adds(self) -> bool:
        removes = self._removed or self._removed_objects or self._replaces
        return not removes and self._counts_stored is None

    @cached_property
    def _has_limits(self) -> bool:
        return bool([1 for warrant in self.warrants if warrant.starts_at or warrant.expires_at])  # faster than any()

    def remove_limits(self, now: int) -> "Overlay | None":
        """Returns an overlay of the same warrants without their time limits, or None if one of them is not in force at
        this time: it gives nothing then, but still counts instead of a stored one. The overlay must remove nothing."""
        if not self._has_limits:
            return self
        if not all(warrant.is_in_force(now) for warrant in self.warrants):
            return None
        return Overlay(replace(warrant, starts_at=None, expires_at=None) for warrant in self.warrants)

    @cached_property
    def patterns(self) -> Set[WarrantPattern]:
        """Returns the patterns of the added warrants."""
        names: list[WarrantNames] = []
        for (object_type, relation, subject_type, group), ids in self.ids_by_kind.items():
            kind_names = WarrantNames(
                object_type, ObjectId(""), relation, subject_type, subject_id=ObjectId(""), subject_relation=group
            )
            if WILDCARD not in ids.object_ids and WILDCARD not in ids.subject_ids:
                names.append(kind_names)
                continue
            pairs = zip(ids.object_ids, ids.subject_ids, strict=True)
            names += [
                kind_names._replace(object_id=object_id, subject_id=subject_id) for object_id, subject_id in pairs
            ]
        return frozenset(map(warrant_pattern, names))

    def extend_model(self, model: Model) -> Model:
        """Returns a model that also has the patterns of the added warrants; the same one if it has them already."""
        return model.with_patterns(self.patterns)

    def merge(self, read: AnyRead, stored: Sequence[Warrant]) -> Sequence[Warrant]:
        """Returns the warrants that the read has with these changes, given those that are stored."""
        added = {warrant_key(warrant): warrant for warrant in self.find(read)}
        if not added and self.only_adds:
            return stored
        remaining = [warrant for warrant in stored if self._remains(warrant, added)]
        return [*remaining, *added.values()]

    def _remains(self, stored: Warrant, added: dict[WarrantKey, Warrant]) -> bool:
        """Returns whether a stored warrant still counts; removes the added one that it counts instead of, and makes
        the one that counts instead of it as old."""
        if self._removed_objects and not self._removed_objects.isdisjoint(_ends(stored)):
            return False
        if self._counts_stored is not None and not self._counts_stored(stored):
            return False
        if (stored.object_id, stored.subject_id) not in self._ids_of_changes:
            return True
        key = warrant_key(stored)
        if self._replaces and any(names == key[0] for names, _ in added):
            return False
        if key in self._removed:
            return False
        new = added.get(key)
        if new is None:
            return True
        if _has_run_out(stored, new.created_at):
            return False
        if (new.starts_at, new.expires_at) == (stored.starts_at, stored.expires_at):
            del added[key]
            return True
        added[key] = replace(new, created_at=stored.created_at)
        return False

    def merge_objects(self, of_type: TypeName, stored: Sequence[ObjectId]) -> Sequence[ObjectId]:
        """Returns the objects of a type that exist with these changes, given the ids of those that are stored, both in
        order: writing a warrant creates the objects that it names."""
        named = self.objects.get(of_type, ())
        removed = {ref.id for ref in self._removed_objects if ref.type == of_type}
        new = [object_id for object_id in named if object_id in removed or not _contains(stored, object_id)]
        kept = [object_id for object_id in stored if object_id not in removed] if removed else stored
        return sorted([*kept, *new]) if new else kept

    @cached_property
    def objects(self) -> Mapping[TypeName, Collection[ObjectId]]:
        """Returns by type the ids of the objects and subjects that the added warrants name."""
        ids_by_type: dict[TypeName, dict[ObjectId, None]] = {}
        for ref in chain.from_iterable(map(_ends, self.warrants)):
            if ref.id != WILDCARD:
                ids_by_type.setdefault(ref.type, {})[ref.id] = None
        return ids_by_type

    def affects(self, request: WarrantsByObject) -> bool:
        """Returns whether an added warrant, on any object, matches the request by its names and its kind of subject."""
        kind = widen_selection(request.subjects)
        kinds = self._subjects_by_relation
        return bool(
            [1 for relation in request.relations if (request.type, relation, kind) in kinds]
        )  # faster than any()

    def find_objects(self, request: WarrantsByObject) -> Iterator[ObjectId]:
        """Yields the objects of those warrants, WILDCARD included; one may occur more than once."""
        kind = widen_selection(request.subjects)
        for relation in request.relations:
            for key in self._subjects_by_relation.get((request.type, relation, kind), ()):
                yield from self.ids_by_kind[key].object_ids

    def find(self, read: AnyRead) -> Iterator[Warrant]:
        """Yields the added warrants that match the read."""
        return self._find_by_object(read) if isinstance(read, WarrantRead) else self._find_by_subject(read)

    def _find_by_object(self, read: WarrantRead) -> Iterator[Warrant]:
        request, ids = read
        for relation in request.relations:
            for by_object in self._select(request, relation):
                yield from _pick(by_object, ids)

    def _select(self, request: WarrantsByObject, relation: RelationName) -> Iterator[_ByObject]:
        """Yields the added warrants of a relation that match the subjects of the request."""
        subjects = request.subjects
        if not isinstance(subjects, Subject):
            yield self._index_by_object((request.type, relation, subjects))
            return
        by_subject = self._index_by_subject((request.type, relation, subjects.type, subjects.relation))
        ids = (subjects.id, WILDCARD) if request.has_subject_wildcard else (subjects.id,)
        for object_id in dict.fromkeys(ids):
            if object_id in by_subject:
                yield by_subject[object_id]

    def _find_by_subject(self, read: ReverseWarrantRead) -> Iterator[Warrant]:
        request, ids = read.request, read.ids
        for relation in request.relations:
            kind = (request.type, relation, request.subject_type, request.subject_relation)
            by_subject = self._index_by_subject(kind)
            for subject_id in by_subject if ids is None else ids:
                yield from _pick(by_subject.get(subject_id, {}), None)


_number_of = attrgetter("number")


def _list_ids(warrants: Sequence[Warrant]) -> KindIds:
    conditional = {warrant.subject_id for warrant in warrants if warrant.is_conditional}
    return KindIds(
        [warrant.object_id for warrant in warrants], [warrant.subject_id for warrant in warrants], conditional
    )


def _remove_repeated(warrants: Sequence[Warrant]) -> Sequence[Warrant]:
    """Returns each warrant once, the first with its names and its policy."""
    if len({warrant.object_id for warrant in warrants}) == len(warrants):
        return warrants  # such as the groups of one user
    by_key: dict[tuple[object, ...], Warrant] = {}
    for warrant in warrants:
        by_key.setdefault(astuple(warrant)[:_KEY_LENGTH], warrant)
    return tuple(by_key.values())


NO_CHANGES = Overlay(())


def _has_run_out(stored: Warrant, at: int) -> bool:
    """Returns whether a warrant can count no more at this time: it has expired, or its policy has, by `expiresIn`."""
    if stored.expires_at is not None and stored.expires_at <= at:
        return True
    if not stored.policy:
        return False
    try:
        lifetime = read_policy(stored.policy).lifetime
    except InvalidParameter:
        return False  # the language had more when it was written
    return lifetime is not None and stored.created_at + lifetime <= at


def _pick(by_object: _ByObject, ids: Sequence[ObjectId] | None) -> Iterator[Warrant]:
    """Yields the warrants on these objects, or on all."""
    for object_id in by_object if ids is None else ids:
        yield from by_object.get(object_id, ())


def _ends(warrant: Warrant) -> tuple[ObjectRef, ObjectRef]:
    """Returns the object and the subject of a warrant."""
    object_ref = ObjectRef(warrant.object_type, warrant.object_id)
    return object_ref, ObjectRef(warrant.subject_type, warrant.subject_id)


def _contains(ids: Sequence[ObjectId], object_id: ObjectId) -> bool:
    """Returns whether the id is among these, which are in order."""
    place = bisect_left(ids, object_id)
    return place < len(ids) and ids[place] == object_id
