"""What a store promises. Everyone above this layer knows stores by these words only; every sentence here has a test
in tests/store, which runs on all stores.

Revisions. Each write that returns has exactly one revision, an integer one above that of the write committed before
it. Nobody sees revision 8 before 7 is visible. A row is *alive* from the revision that wrote it until the one that
replaced or deleted it; a read is answered at one revision, the newest committed one or, where `at` is given, that
one.

Writes are all or nothing: whatever a write raises, at whatever point, the store is as it was. What a returned write
wrote is on disk.

Order. Text compares bytewise (UTF-8), upper case before lower case, the same on all stores.

Errors. StoreUnavailable when the database cannot be reached or gives no answer in time: a write in flight may then be
committed or not, but never by half. RevisionUnavailable when `at` is above the newest revision or collected.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal, Protocol

import msgspec

from magistrate.engine.terms import ObjectId, ObjectRef, RelationName, Revision, Subject, TypeName
from magistrate.engine.warrant_reader import AnyRead, Reading, WarrantReader
from magistrate.engine.warrants import Warrant, WarrantPattern
from magistrate.store.events import EventStore
from magistrate.store.following import Mark, Staleness, Touches
from magistrate.store.session_keys import SessionKeyStore
from magistrate.store.slices import Portion as Portion
from magistrate.store.slices import Slice as Slice
from magistrate.store.slices import Snapshot as Snapshot

ALIVE = 9_223_372_036_854_775_807
"""In the column `deleted_revision`: this row is part of the newest revision (the largest 64-bit integer)."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Drawn at random when the store is made, and never changed.

    `store_id` is 16 hex digits and goes into tokens; `cursor_key` is 32 hex digits, secret, and signs cursors.
    """

    store_id: str
    cursor_key: str


class StoredObject(msgspec.Struct, frozen=True):
    """('document', 'plan', '{"title":"Plan"}', 1763683200000000). `meta` is compact JSON of a non-empty object, or
    None; `created_at` in microseconds since 1970 UTC."""

    type: TypeName
    id: ObjectId
    meta: str | None
    created_at: int


class StoredObjectType(msgspec.Struct, frozen=True):
    """('document', '{"relations":{"viewer":{}}}', 1763683200000000). `definition` is compact JSON."""

    name: TypeName
    definition: str
    created_at: int


ObjectName = tuple[TypeName, ObjectId]
"""As an ObjectRef has them; there may be very many."""


@dataclass(frozen=True, slots=True)
class ObjectFilter:
    """`of_type`: exactly this type. `text`: the id or the JSON text of meta contains it, the case of ASCII letters
    ignored.

    A NUL character must not be in either: PostgreSQL cannot hold it.
    """

    of_type: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class ObjectTypeFilter:
    """`text`: the name contains it, the case of ASCII letters ignored."""

    text: str | None = None


@dataclass(frozen=True, slots=True)
class Once:
    """The write happens once for this key of this actor within `IDEMPOTENCY_HOURS`.

    A second write with the same `fingerprint` changes nothing and returns what the first one returned, revision
    included; with another one it raises KeyReused."""

    key: str
    fingerprint: str


IDEMPOTENCY_HOURS = 24


@dataclass(frozen=True, slots=True)
class Stamp:
    """Who writes, when (microseconds since 1970 UTC, the `created_at` of what is new), and whether once only."""

    actor: str
    at: int
    once: Once | None = None


class NewObject(msgspec.Struct, frozen=True):
    """An object to be stored. `fresh` claims that the id was generated just now, so that no such object can exist."""

    type: TypeName
    id: ObjectId
    meta: str | None
    fresh: bool = False


class NewObjectType(msgspec.Struct, frozen=True):
    name: TypeName
    definition: str


class NewWarrant(msgspec.Struct, frozen=True):
    """A warrant to be stored, or named to be deleted. `policy` is its text; empty for none. The ids may be `*`.
    `created_at`: when it was created elsewhere, in microseconds since 1970 UTC; only `import_batch` heeds it."""

    object: ObjectRef
    relation: RelationName
    subject: Subject
    policy: str = ""
    created_at: int | None = None


@dataclass(frozen=True, slots=True)
class ImportBatch:
    """What one write of an import brings; fewer than a million warrants."""

    types: Sequence[NewObjectType] = ()
    objects: Sequence[NewObject] = ()
    warrants: Sequence[NewWarrant] = ()


class ImportProgress(msgspec.Struct, frozen=True):
    """('/data/all.jsonl', 20000, 2519000, '9f86d0...'): the first `lines` lines of this source, `size_bytes` long, are
    stored. `mark` is for the source, to find the place again. With `is_done` nothing is left of it, and nothing is
    kept."""

    source: str
    lines: int
    size_bytes: int
    mark: str
    is_done: bool = False


class Imported(msgspec.Struct, frozen=True):
    """How many rows of each kind were created or replaced."""

    types: int
    objects: int
    warrants: int


@dataclass(frozen=True, slots=True)
class WarrantFilter:
    """`equal`: by column of `Warrant`, exactly this. `among`: likewise, any of these."""

    equal: Mapping[str, str] = field(default_factory=dict)
    among: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredModel:
    """Every object type at one revision, the definitions by name; and every form a warrant ever had, by then or later.
    `written_at` is the revision that last changed any of it."""

    written_at: Revision
    definitions: Mapping[TypeName, str]
    forms: Set[WarrantPattern] = frozenset()


Kind = Literal["object", "object-type", "warrant"]


Judge = Callable[[Mapping[TypeName, str]], None]
"""Is given the definitions of object types as a write would leave them, inside that write; what it raises undoes it."""


class Store(WarrantReader, SessionKeyStore, EventStore, Protocol):
    """One database. Use it from one event loop; `close` it once. After that every call raises StoreUnavailable."""

    @property
    def identity(self) -> Identity: ...

    async def check(self) -> Revision:
        """The newest revision. Raises SchemaMismatch unless the schema is the one this version was written for."""
        ...

    async def seed(self, types: Sequence[NewObjectType], stamp: Stamp) -> bool:
        """Writes revision 1 with these types if nothing has been written yet; answers whether it did."""
        ...

    async def get_object(self, ref: ObjectRef, at: Revision | None = None) -> Snapshot[StoredObject | None]: ...

    async def list_objects(
        self, wanted: Slice, only: ObjectFilter, at: Revision | None = None
    ) -> Snapshot[Portion[StoredObject]]:
        """Sorts: objectId (then type), createdAt (then id, type), objectType (then id); with `of_type` also email and
        name (then id, type), for which a boundary has `1` and the text of this member of meta, or `0` if it is none or
        meta has a NUL character.

        Cost: the rows returned; with `text`, the rows looked at until enough are found; sorted by a member, all objects
        of the type. `at` a revision also an index entry for each object that ended since, of whichever type (half a
        microsecond), and the rows of those that pass the filter.
        """
        ...

    async def find_objects(self, refs: Sequence[ObjectRef], at: Revision) -> Snapshot[tuple[StoredObject, ...]]:
        """Those of the objects that exist at this revision, in no order. At least one reference, at most some
        thousands."""
        ...

    async def list_names(
        self, of_type: TypeName | None, after: ObjectName | None, limit: int, at: Revision
    ) -> Snapshot[tuple[ObjectName, ...]]:
        """The names of the objects of a type, or of all, in their order, from the first behind `after`."""
        ...

    async def put_objects(self, objects: Sequence[NewObject], stamp: Stamp) -> Snapshot[tuple[StoredObject, ...]]:
        """Creates or replaces each, in order; answers one row for each, in the same order, as it is after the write.

        A replaced object keeps its `created_at`. Of several with one reference the last wins, and is what all of them
        answer. An object that is stored already with the same meta is left as it is and not logged."""
        ...

    async def replace_meta(self, ref: ObjectRef, meta: str | None, stamp: Stamp) -> Snapshot[tuple[StoredObject, ...]]:
        """One row. Raises NotFound unless the object exists."""
        ...

    async def delete_objects(self, refs: Sequence[ObjectRef], stamp: Stamp) -> Revision:
        """Deletes them and every warrant in which one of them is the object or the subject; those for every object or
        every subject of the type stay. Cost: these warrants.

        Raises NotFound, naming the first that does not exist (any more, when named twice), and deletes none."""
        ...

    async def put_warrants(
        self, new: Sequence[NewWarrant], judge: Judge, stamp: Stamp
    ) -> Snapshot[tuple[Warrant, ...]]:
        """Stores each, in order, unless the same is stored already, policy included; answers one row for each. The
        objects and subjects named are created where they are missing, `*` excepted.

        `judge` is given the types of the objects, as far as they are defined."""
        ...

    async def import_batch(
        self, batch: ImportBatch, judge: Judge, stamp: Stamp, progress: ImportProgress | None = None
    ) -> Snapshot[Imported]:
        """Does what `put_object_types`, `put_objects` and `put_warrants` do, in this order, as one write, and keeps the
        progress. What is stored already in the same form stays and is not logged. A new warrant is as old as it says.
        `judge` is given all types."""
        ...

    async def import_progress(self, source: str) -> ImportProgress | None:
        """What was kept last for this source, unless it is done."""
        ...

    async def delete_warrants(self, named: Sequence[NewWarrant], stamp: Stamp) -> Revision:
        """Raises NotFound, naming the first that does not exist (any more, when named twice), and deletes none.
        Objects stay."""
        ...

    async def list_warrants(
        self, wanted: Slice, only: WarrantFilter, at: Revision | None = None
    ) -> Snapshot[Portion[Warrant]]:
        """Sorts: createdAt (then number).

        Cost: with a filter by object_id or subject_id, all warrants with one of these ids; without, the rows looked
        at until enough are found."""
        ...

    async def read_model(self, at: Revision | None = None) -> Snapshot[StoredModel]: ...

    async def get_object_type(
        self, name: TypeName, at: Revision | None = None
    ) -> Snapshot[StoredObjectType | None]: ...

    async def list_object_types(
        self, wanted: Slice, only: ObjectTypeFilter, at: Revision | None = None
    ) -> Snapshot[Portion[StoredObjectType]]:
        """Sorts: typeId, createdAt (then typeId)."""
        ...

    async def put_object_types(
        self, types: Sequence[NewObjectType], judge: Judge, stamp: Stamp, must_exist: bool = False
    ) -> Snapshot[tuple[StoredObjectType, ...]]:
        """Like `put_objects`. `judge` is given all types. With `must_exist` raises NotFound for the first that does
        not exist."""
        ...

    async def delete_object_type(self, name: TypeName, stamp: Stamp) -> Revision:
        """Raises NotFound unless the type exists. Objects and warrants of the type stay."""
        ...

    @property
    def statements(self) -> int:
        """How many this process has run on the database."""
        ...

    def mark(self) -> Mark:
        """To be taken before something is read. Costs a microsecond or two. Raises StoreUnavailable."""
        ...

    def staleness(self, mark: Mark) -> Staleness:
        """Of what was read after the mark. Costs no more. Raises StoreUnavailable."""
        ...

    async def list_touches(self, after: Revision, most: int) -> Touches:
        """What came or went behind a revision."""
        ...

    async def collect(self, before: int, most: int) -> int:
        """Forgets rows that were replaced or deleted at or before the time `before` (microseconds since 1970), and
        idempotency keys that have run out by then; at most about `most` rows, oldest first. Answers how many; 0 says
        that nothing is left.

        Whose revision comes after one that is stamped later than `before` stays, whatever its own stamp: of clocks
        that differ none makes rows go too early, and one that is ahead makes later ones stay until its own time.

        Revisions that are now incomplete raise RevisionUnavailable from here on. So do more than `most` revisions in
        a row by `before` that ended nothing, but for the last; they are then what is answered.
        """
        ...

    async def key_digests(self) -> Iterable[str]:
        """SHA-256 in hex of every key that was made by `keep_key_digest`."""
        ...

    async def keep_key_digest(self, digest: str, at: int) -> bool:
        """Keeps it if the store has none yet; answers whether it did."""
        ...

    async def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> Reading: ...

    async def close(self) -> None: ...
