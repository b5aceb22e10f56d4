"""Holds warrants by the id at one of their ends, packed into texts, from which the graph cache makes its entries.

What the store has of a million warrants takes some tens of bytes for each. It does not depend on the model, and a
change is applied to the one text that has it. A warrant that may be conditional is only marked: what needs it is read
from the store (docs/decisions/0134-the-filled-cache-packs-warrants.md).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Generic, NamedTuple, TypeVar

from magistrate.engine.byte_sizes import OBJECT_BYTES, SLOT_BYTES, CacheBytes
from magistrate.engine.cache.text_table import TextTable
from magistrate.engine.model.plans import PlanNames
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.warrants.warrant import ChangedWarrant, WarrantNames
from magistrate.engine.work import Container

MAX_TEXT = 2_000
"""Limits the characters of the warrants with the same id, each of which a change copies. What has more is read from the
store."""
MAX_KINDS = 1_000
"""Limits the kinds of warrants by the ids of one type: callers may invent any number of relations."""
MAX_CHANGES = 1_000
"""Limits the changes that are applied or marked together, which takes some milliseconds."""
GROWTH_SHARE = 8
"""Divides the bytes: by an eighth of them, changes may exceed the limit before everything is evicted."""

KindOnObject = tuple[RelationName, TypeName, str]
"""Has what tells the warrants on an object apart besides the id of the subject: the relation, and the type and relation
of the subject."""

PackedWarrant = tuple[str, ObjectId]
"""Has the number of the kind of a warrant, and its other id."""

K = TypeVar("K", bound=tuple[str, ...])
V = TypeVar("V")

TOO_MANY = " !"
"""Is packed in place of warrants that are too many."""


class IdRange(NamedTuple):
    """Has the ids behind `after`, up to `last`, and WILDCARD. None stands for the first id, and for the last of all."""

    after: ObjectId | None
    last: ObjectId | None

    def has(self, object_id: ObjectId) -> bool:
        is_behind = self.after is None or object_id > self.after
        return (is_behind and (self.last is None or object_id <= self.last)) or object_id == WILDCARD


EVERY_ID = IdRange(None, None)


class PackedKinds(Generic[K, V]):
    """Selects the kinds of warrants that somebody needs of a PackedById, each with a value. Each is looked at once."""

    __slots__ = ("_count", "_kinds", "marks", "values")

    def __init__(self) -> None:
        self._kinds: Sequence[K] = ()
        self._count = 0
        self.values: dict[str, V] = {}
        """Maps the numbers of these kinds to the values."""
        self.marks: Set[str] = frozenset()
        """Has the numbers of marked warrants of these kinds."""

    def look_at(self, kinds: Sequence[K], select: Callable[[K], V | None]) -> None:
        """Selects among these kinds, which may be more than those before, or others. `select` returns the value of a
        kind that is needed, and None for another."""
        if kinds is self._kinds and len(kinds) == self._count:
            return
        if kinds is not self._kinds:
            self._kinds, self._count, self.values = kinds, 0, {}
        for number, kind in enumerate(kinds[self._count :], self._count):
            if (value := select(kind)) is not None:
                self.values[str(number)] = value
        self.marks = {TOO_MANY[1:], *(f"?{number}" for number in self.values)}
        self._count = len(kinds)


class PackedById(Generic[K]):
    """Holds warrants by one of their two ids.

    For example, the warrants on the document `plan` are the text ` 0:ann 0:bob 1:eng `, where 0 is the number of the
    kind `("viewer", "user", "")`; a marked warrant of this kind would be `?0:ann`. The warrants with an id are here if
    the id is covered: those up to some id are, in the order of Unicode, and WILDCARD. An id without a text has none.
    """

    __slots__ = (
        "_numbers",
        "_recent",
        "_recent_id",
        "_texts",
        "counted",
        "has_marks",
        "is_complete",
        "is_open",
        "kinds",
        "last",
    )

    def __init__(self) -> None:
        self._numbers: dict[K, str] = {}
        self.kinds: list[K] = []
        """Has the kinds by number."""
        self._texts = TextTable()
        self._recent_id: ObjectId | None = None
        self._recent: Sequence[PackedWarrant] = ()
        self.counted = 0
        """Says how many of its bytes PackedWarrants has counted."""
        self.last: ObjectId | None = None
        """Is the id up to which all are covered."""
        self.is_complete = False
        """Says whether all ids are covered."""
        self.is_open = True
        """Says whether more may be packed."""
        self.has_marks = False
        """Says whether a warrant was marked."""

    @property
    def bytes(self) -> int:
        return OBJECT_BYTES + self._texts.bytes + 2 * (SLOT_BYTES + OBJECT_BYTES) * len(self.kinds)

    @property
    def has_too_many_kinds(self) -> bool:
        return len(self.kinds) > MAX_KINDS

    def close(self) -> Container:
        """Covers no id from now on, and returns what may take long to free."""
        removed, self._texts, self._numbers, self.kinds = self._texts.container, TextTable(), {}, []
        self._recent_id = None
        self.last, self.is_complete, self.is_open = None, False, False
        return removed

    def covers(self, object_id: ObjectId) -> bool:
        """Returns whether all warrants with this id are here, marked or not."""
        return self.covers_up_to(object_id) or (self.last is not None and object_id == WILDCARD)

    def covers_up_to(self, object_id: ObjectId) -> bool:
        """Returns whether all warrants with this id, or one before it, are here."""
        return self.is_complete or (self.last is not None and object_id <= self.last)

    def is_next(self, after: ObjectId | None) -> bool:
        """Returns whether it may be extended by the ids behind this one; None stands for all."""
        return self.is_open and not self.is_complete and self.last == after

    def list_warrants(self, object_id: ObjectId) -> Sequence[PackedWarrant] | None:
        """Returns all warrants with this id, or None if it is not covered. Those of the last id are remembered: several
        views need them in turn."""
        if object_id == self._recent_id:
            return self._recent
        if not (self.is_complete or self.covers(object_id)):
            return None
        text = self._texts.find(object_id)
        warrants = (
            [(number, ObjectId(other)) for number, _, other in [each.partition(":") for each in text.split()]]
            if text
            else ()
        )
        self._recent_id, self._recent = object_id, warrants
        return warrants

    def needs_store(self, object_id: ObjectId) -> bool:
        """Returns whether some warrants with this id have to be read from the store."""
        if not self.covers(object_id):
            return True
        text = self._texts.find(object_id) if self.has_marks else None
        return text is not None and (" ?" in text or text.startswith(TOO_MANY))

    def pack(self, kind: K, other_id: ObjectId, is_certain: bool) -> str:
        """Returns the text of a warrant, to be joined with others of the same id. It is marked unless `is_certain`."""
        number = self._numbers.get(kind) or self._number(kind)
        return f" {number}:{other_id}" if is_certain else f" ?{number}:{other_id}"

    def _number(self, kind: K) -> str:
        number = self._numbers[kind] = str(len(self.kinds))
        self.kinds.append(kind)
        return number

    def cover(self, texts: Mapping[ObjectId, str], last: ObjectId | None) -> None:
        """Covers the ids behind the last one, up to this one, or all that follow if it is None. `texts` has the
        warrants of each that has any."""
        self._recent_id = None
        for object_id, text in texts.items():
            self._texts.add(object_id, self._close(text))
        self.last, self.is_complete = last or self.last, last is None

    def change(self, object_id: ObjectId, kind: K, other_id: ObjectId, exists: bool | None) -> None:
        """Applies the change of a warrant whose id is covered; see ChangedWarrant."""
        self._recent_id = None
        warrant, text = f"{self.pack(kind, other_id, is_certain=True)} ", self._texts.find(object_id) or " "
        if text.startswith(TOO_MANY):
            return
        changed = text.replace(warrant, " ", 1) if warrant in text else text
        if exists:
            changed = changed[:-1] + warrant
        elif exists is None and (mark := f"{self.pack(kind, other_id, is_certain=False)} ") not in changed:
            changed = changed[:-1] + mark
        self._texts.put(object_id, self._close(changed[:-1]) if changed != " " else "")

    def _close(self, text: str) -> str:
        """Returns a text as it is kept, given the warrants in it."""
        closed = f"{text} " if len(text) <= MAX_TEXT else f"{TOO_MANY} "
        self.has_marks = self.has_marks or " ?" in closed or closed.startswith(TOO_MANY)
        return closed


class PackedBySubject(PackedById[PlanNames]):
    """Holds warrants by the id of their subject: those of `relations` only, each with its object type."""

    __slots__ = ("relations",)

    def __init__(self, relations: frozenset[PlanNames]) -> None:
        super().__init__()
        self.relations = relations


class PackedWarrants:
    """Holds the packed warrants of a graph, in about `max_bytes`: by object those on the objects of a type, by subject
    those to the subjects of a type with a relation, or without one. `discard` gets what may take long to free."""

    def __init__(self, max_bytes: int, discard: Callable[[Container], None]) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        self.evictions = 0
        """Counts how often everything was evicted."""
        self._by_object: dict[TypeName, PackedById[KindOnObject]] = {}
        self._by_subject: dict[tuple[TypeName, str], PackedBySubject] = {}
        self._discard = discard

    def measure(self) -> CacheBytes:
        return CacheBytes("packed", self.bytes, self.max_bytes)

    def resize(self, max_bytes: int) -> None:
        """Sets the limit, and evicts everything if it is exceeded by far."""
        self.max_bytes = max_bytes
        self._evict_overflow()

    def on_objects(self, of_type: TypeName) -> PackedById[KindOnObject] | None:
        return self._by_object.get(of_type)

    def to_subjects(self, of_type: TypeName, relation: str) -> PackedBySubject | None:
        return self._by_subject.get((of_type, relation))

    def prepare_objects(self, of_type: TypeName) -> PackedById[KindOnObject]:
        """Returns what is to be extended by the warrants on the objects of this type."""
        packed = self._by_object.get(of_type)
        if packed is None:
            packed = self._by_object[of_type] = PackedById()
            self._count(packed)
        return packed

    def prepare_subjects(self, of_type: TypeName, relation: str, relations: frozenset[PlanNames]) -> PackedBySubject:
        """Returns what is to be extended by the warrants of these relations to such subjects. It is empty if it lacked
        some of them, or would have some for a part of the ids only."""
        packed = self._by_subject.get((of_type, relation))
        has_all = packed is not None and packed.is_complete and relations <= packed.relations
        if packed is None or not (has_all or relations == packed.relations):
            if packed is not None:
                self._close(packed)
            packed = self._by_subject[of_type, relation] = PackedBySubject(relations)
            self._count(packed)
        return packed

    def select_unpacked(self, of_type: TypeName, ids: Sequence[ObjectId]) -> list[ObjectId]:
        """Returns the objects of a type of which some warrants have to be read from the store. The ids are in order."""
        if not ids:
            return []
        every: list[PackedById[Any]] = [packed for (each, _), packed in self._by_subject.items() if each == of_type]
        every.append(self.prepare_objects(of_type))
        some = [packed for packed in every if packed.has_marks or not packed.covers_up_to(ids[-1])]
        return [object_id for object_id in ids if any(packed.needs_store(object_id) for packed in some)]

    def add_page(self, packed: PackedById[K], texts: Mapping[ObjectId, str], last: ObjectId | None) -> None:
        """Adds the warrants of a page; see `cover` of PackedById."""
        packed.cover(texts, last)
        self._count(packed)

    def apply(self, changes: Sequence[ChangedWarrant]) -> None:
        """Applies changes, in their order. If they would take too long, everything is evicted."""
        if len(changes) > MAX_CHANGES:
            self.clear()
        else:
            self._apply(changes, EVERY_ID)
            self._evict_overflow()

    def mark(self, changes: Iterable[WarrantNames], ids: IdRange) -> None:
        """Marks these warrants where they are packed by one of these ids."""
        self._apply((ChangedWarrant(names, None) for names in changes), ids)

    def _apply(self, changes: Iterable[ChangedWarrant], ids: IdRange) -> None:
        changed: dict[PackedById[Any], None] = {}
        for names, exists in changes:
            by_object = self._by_object.get(names.object_type)
            if by_object is not None and by_object.covers(names.object_id) and ids.has(names.object_id):
                changed[by_object] = None
                kind = (names.relation, names.subject_type, names.subject_relation)
                by_object.change(names.object_id, kind, names.subject_id, exists)
            by_subject = self._by_subject.get((names.subject_type, names.subject_relation))
            if by_subject is not None and by_subject.covers(names.subject_id) and ids.has(names.subject_id):
                relation = (names.object_type, names.relation)
                if relation in by_subject.relations:
                    changed[by_subject] = None
                    by_subject.change(names.subject_id, relation, names.object_id, exists)
        for packed in changed:
            self._count(packed)

    def _count(self, packed: PackedById[Any]) -> None:
        """Counts the bytes that it takes now. If it has too many kinds of warrants, these are evicted."""
        if packed.has_too_many_kinds:
            self._discard(packed.close())
        self.bytes += packed.bytes - packed.counted
        packed.counted = packed.bytes

    def _evict_overflow(self) -> None:
        if self.bytes > self.max_bytes + self.max_bytes // GROWTH_SHARE:
            self.clear()

    def clear(self) -> None:
        """Evicts everything."""
        self.evictions += 1
        every: list[PackedById[Any]] = [*self._by_object.values(), *self._by_subject.values()]
        for packed in every:
            self._close(packed)
        self._by_object, self._by_subject = {}, {}

    def _close(self, packed: PackedById[Any]) -> None:
        """Evicts some of them, which nobody uses from then on."""
        self._discard(packed.close())
        self.bytes -= packed.counted
        packed.counted = 0
