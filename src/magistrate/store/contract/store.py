"""Defines what a store promises. Every layer above knows stores by this contract only, and every sentence here has a
test in tests/store, which runs on all stores.

Revisions. Each write that returns has exactly one revision: an integer one above that of the write committed before
it. Nobody sees revision 8 before revision 7 is visible. A row is *alive* from the revision that wrote it until the
one that replaced or deleted it. A read is answered at one revision: the newest committed one or, if `at` is given,
that one.

Atomicity and durability. Writes are all or nothing: whatever a write raises, and at whatever point, the store is as
it was before. Everything that a returned write wrote is on disk.

Order. Text is compared bytewise (UTF-8), upper case before lower case, the same on all stores.

Errors. StoreUnavailable is raised when the database cannot be reached or gives no answer in time: a write in flight
may then be committed or not, but never in part. RevisionUnavailable is raised when `at` is above the newest revision
or has been collected."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from magistrate.engine.names import PolicyName, Revision, TypeName
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.read_ahead import AheadReader
from magistrate.engine.warrants.reader import AnyRead, ReadResult, WarrantReader
from magistrate.engine.warrants.warrant import Warrant, WarrantPattern
from magistrate.store.contract.backups import BackupStore
from magistrate.store.contract.events import EventStore
from magistrate.store.contract.keys import KeyStore, SessionKeyStore
from magistrate.store.contract.lists import ObjectFilter, ObjectTypeFilter, PageSlice, Slice, Snapshot, WarrantFilter
from magistrate.store.contract.new_rows import (
    DeletedChunk,
    ImportBatch,
    Imported,
    ImportProgress,
    NewModel,
    NewObject,
    NewObjectType,
    NewWarrant,
    Stamp,
    ValidateTypes,
)
from magistrate.store.contract.openfga import OpenFgaStore
from magistrate.store.contract.revisions import (
    HistoryStore,
    Mark,
    RevisionId,
    RevisionStore,
    StoreState,
    WarrantChanges,
)
from magistrate.store.contract.saved_queries import SavedQueryStore
from magistrate.store.contract.stored_rows import ObjectName, StoredModel, StoredObject, StoredObjectType, StoredPolicy
from magistrate.store.contract.tickets import TicketStore
from magistrate.store.contract.webhooks import WebhookStore


class PolicyStore(Protocol):
    """Describes the named policies of a store, which are versioned like object types and part of the model."""

    async def get_policy(self, name: PolicyName, at: Revision | None = None) -> Snapshot[StoredPolicy | None]: ...

    async def list_policies(self, part: Slice, at: Revision | None = None) -> Snapshot[PageSlice[StoredPolicy]]:
        """Lists a slice of the named policies. Sorts: name."""
        ...

    async def put_policies(
        self,
        new: Sequence[tuple[PolicyName, str]],
        stamp: Stamp,
        must_exist: bool = False,
        is_whole_set: bool = False,
    ) -> Snapshot[tuple[StoredPolicy, ...]]:
        """Creates or replaces each policy, given by its name and definition, and returns one row for each, in the same
        order. A replaced policy keeps its `created_at`. With `must_exist`, raises NotFound for the first that does not
        exist; with `is_whole_set`, deletes all others."""
        ...

    async def delete_policy(self, name: PolicyName, stamp: Stamp) -> Revision:
        """Deletes the policy. Raises NotFound unless it exists."""
        ...


@dataclass(frozen=True, slots=True)
class Precondition:
    """Requires that an object or a warrant exists, or with `is_absent` that it does not; or that no caller has written
    anything since a revision. A warrant exists if the same one, policy included, is stored; in place of a warrant,
    OtherPolicies requires that its names have no policy but its own."""

    required: "ObjectRef | NewWarrant | RevisionId | OtherPolicies"
    is_absent: bool = False


@dataclass(frozen=True, slots=True)
class OtherPolicies:
    """Stands for the warrants with the names of this one, and another policy or none."""

    warrant: NewWarrant


@dataclass(frozen=True, slots=True)
class AtomicWrite:
    """Holds what one write requires, deletes and creates. Warrants to be deleted that do not exist are an error, unless
    it `ignores_missing`. With `deletes_any_policy`, those are deleted that have the same names, whatever their policies
    are. With `creates_only_absent`, a warrant to be created that exists once the others are deleted is a precondition
    that does not hold, of its place among them; that takes no lookup of its own."""

    preconditions: Sequence[Precondition] = ()
    warrants_to_delete: Sequence[NewWarrant] = ()
    objects_to_delete: Sequence[ObjectRef] = ()
    objects: Sequence[NewObject] = ()
    warrants: Sequence[NewWarrant] = ()
    ignores_missing: bool = False
    deletes_any_policy: bool = False
    creates_only_absent: bool = False


class WriteCounts(msgspec.Struct, frozen=True):
    """Counts the elements of a write that created or replaced something, those that deleted something, and those that
    changed nothing. Of several elements that create the same, one counts as created. Rows that no element names are not
    counted, such as the warrants of a deleted object."""

    created: int
    deleted: int
    unchanged: int


FindForbidden = Callable[
    [Mapping[TypeName, str], Mapping[TypeName, str], Iterable[WarrantPattern]], Iterable[WarrantPattern]
]
"""Returns those of the patterns that the definitions before a write allow and those after it do not."""


class Store(
    WarrantReader,
    AheadReader,
    PolicyStore,
    KeyStore,
    SessionKeyStore,
    TicketStore,
    WebhookStore,
    SavedQueryStore,
    OpenFgaStore,
    BackupStore,
    EventStore,
    HistoryStore,
    RevisionStore,
    StoreState,
    Protocol,
):
    """Represents one database. Use it from one event loop and `close` it once; every call after that raises
    StoreUnavailable."""

    async def check(self) -> Revision:
        """Returns the newest revision. Raises SchemaMismatch unless the schema is the one this version was written
        for."""
        ...

    async def seed(self, types: Sequence[NewObjectType], stamp: Stamp) -> bool:
        """Writes revision 1 with these types if nothing has been written yet, and returns whether it did."""
        ...

    async def get_object(self, ref: ObjectRef, at: Revision | None = None) -> Snapshot[StoredObject | None]: ...

    async def list_objects(
        self, part: Slice, only: ObjectFilter, at: Revision | None = None
    ) -> Snapshot[PageSlice[StoredObject]]:
        """Lists a slice of the objects that match the filter.

        Sorts: objectId (then type), createdAt (then id, type), objectType (then id); with `of_type` also email and
        name (then id, type). For the last two, a boundary has `1` followed by the text of this member of meta, or `0`
        if the member is not a text or meta has a NUL character.

        Cost: the rows returned; with `text`, the rows looked at until enough are found; sorted by a member, all
        objects of the type. With `at`, also an index entry for each object of any type that ended since that revision
        (half a microsecond each), and the rows of those that match the filter."""
        ...

    async def find_objects(self, refs: Sequence[ObjectRef], at: Revision) -> Snapshot[tuple[StoredObject, ...]]:
        """Returns those of the given objects that exist at this revision, in no particular order.

        Takes at least one reference and at most some thousands."""
        ...

    async def list_names(
        self, of_type: TypeName | None, after: ObjectName | None, limit: int, at: Revision
    ) -> Snapshot[tuple[ObjectName, ...]]:
        """Returns the names of up to `limit` objects of a type, or of all types, in their order, starting with the
        first one behind `after`."""
        ...

    async def put_objects(self, objects: Sequence[NewObject], stamp: Stamp) -> Snapshot[tuple[StoredObject, ...]]:
        """Creates or replaces each object, in order, and returns one row for each, in the same order, as it is after
        the write.

        A replaced object keeps its `created_at`. If several have the same reference, the last one wins, and its row
        is returned for all of them. An object that is already stored with the same meta is left as it is and not
        logged."""
        ...

    async def replace_meta(self, ref: ObjectRef, meta: str | None, stamp: Stamp) -> Snapshot[tuple[StoredObject, ...]]:
        """Replaces the meta of an object and returns its one row. Raises NotFound unless the object exists."""
        ...

    async def delete_objects(self, refs: Sequence[ObjectRef], stamp: Stamp) -> Revision:
        """Deletes the objects and every warrant in which one of them is the object or the subject; warrants for every
        object or every subject of the type stay. Cost: these warrants.

        Raises NotFound, naming the first object that does not exist (or no longer does, when it is named twice), and
        deletes none."""
        ...

    async def put_warrants(
        self, new: Sequence[NewWarrant], validate: ValidateTypes, stamp: Stamp
    ) -> Snapshot[tuple[Warrant, ...]]:
        """Stores each warrant, in order, unless the same one, policy included, is already stored, and returns one row
        for each, of which `write_outcome` says what was done. Missing objects and subjects are created, except for
        `*`.

        The limits are not part of what makes two warrants the same: a stored warrant with other limits is replaced,
        and keeps its `created_at`. One that has expired ends, and a new one is created. One whose policy can hold no
        more, by its `lifetime`, is replaced and has been created now. Of several that are the same, the last counts.

        `validate` is given the types of the objects, as far as they are defined."""
        ...

    async def write(self, batch: AtomicWrite, validate: ValidateTypes, stamp: Stamp) -> Snapshot[WriteCounts]:
        """Does the work of `delete_warrants`, `delete_objects`, `put_objects` and `put_warrants`, in this order, as one
        write, if all preconditions hold before it.

        Raises RevisionLost if a precondition names a write that is not in the store, otherwise PreconditionFailed for
        the first that does not hold, and what these methods raise."""
        ...

    async def import_batch(
        self,
        batch: ImportBatch,
        validate: ValidateTypes,
        stamp: Stamp,
        progress: ImportProgress | None = None,
        forbidden: FindForbidden | None = None,
    ) -> Snapshot[Imported]:
        """Does the work of `put_object_types`, `put_policies`, `put_objects` and `put_warrants`, in this order, as one
        write, and records the progress.

        A row that is already stored with the same content stays and is not logged. A warrant keeps the creation time
        that it states; if it is stored with another one, that warrant ends, and a new one begins. One that is stored
        with other limits is replaced. `validate` is given all types. Raises OrphanedWarrants like
        `put_object_types`."""
        ...

    async def import_progress(self, source: str) -> ImportProgress | None:
        """Returns the progress that was last recorded for this source, or None if there is none or the source is
        done."""
        ...

    async def end_expired(self, stamp: Stamp, most: int) -> int:
        """Ends warrants that have expired by the time of the stamp, at most `most`, oldest first, and returns how
        many. Each is logged once as expired, in whatever process this is called. Makes no revision if there are
        none."""
        ...

    async def delete_warrants(self, named: Sequence[NewWarrant], stamp: Stamp) -> Revision:
        """Deletes the warrants; objects stay. Raises NotFound, naming the first warrant that does not exist (or no
        longer does, when it is named twice), and deletes none."""
        ...

    async def match_warrants(
        self, equal: Mapping[str, str], most: int, at: int, up_to: Revision | None = None
    ) -> Snapshot[tuple[Warrant, ...]]:
        """Returns up to `most` warrants whose columns have these values, that have not expired by the time `at` and
        were written by the revision `up_to`, if it is given, in no particular order. At least one column must be given,
        of the first six.

        Cost: with object_id or subject_id, or with object_type and relation, the warrants that have these, those that
        ended and are not collected included; otherwise the rows looked at until enough are found."""
        ...

    async def delete_matches(self, matches: Sequence[Warrant], stamp: Stamp) -> Snapshot[DeletedChunk]:
        """Deletes those of these warrants that still exist, as they were read, and have not expired by the time of the
        stamp. One that was deleted and created again since is another warrant, and stays. Makes no revision if none
        is left."""
        ...

    async def list_warrants(
        self, part: Slice, only: WarrantFilter, at: Revision | None = None
    ) -> Snapshot[PageSlice[Warrant]]:
        """Lists a slice of the warrants that match the filter. Sorts: createdAt (then number).

        Cost: with a filter by object_id or subject_id, all warrants with one of these ids; otherwise the rows looked
        at until enough are found."""
        ...

    async def read_model(self, at: Revision | None = None) -> Snapshot[StoredModel]: ...

    async def get_object_type(
        self, name: TypeName, at: Revision | None = None
    ) -> Snapshot[StoredObjectType | None]: ...

    async def list_object_types(
        self, part: Slice, only: ObjectTypeFilter, at: Revision | None = None
    ) -> Snapshot[PageSlice[StoredObjectType]]:
        """Lists a slice of the object types that match the filter. Sorts: typeId, createdAt (then typeId)."""
        ...

    async def put_object_types(
        self,
        types: Sequence[NewObjectType],
        validate: ValidateTypes,
        stamp: Stamp,
        must_exist: bool = False,
        is_whole_model: bool = False,
        forbidden: FindForbidden | None = None,
    ) -> Snapshot[tuple[StoredObjectType, ...]]:
        """Creates or replaces each object type, like `put_objects`. `validate` is given all types. With `must_exist`,
        raises NotFound for the first that does not exist; with `is_whole_model`, deletes all other object types.

        Raises OrphanedWarrants if a stored warrant that has not expired has one of the patterns that `forbidden`
        finds, given the definitions before and after, and all patterns. Takes an index range for each of these."""
        ...

    async def put_model(
        self, new: NewModel, validate: ValidateTypes, stamp: Stamp, forbidden: FindForbidden | None = None
    ) -> Revision:
        """Does the work of `put_object_types` for a whole model and of `put_policies` for a whole set, as one write.

        Raises RevisionLost if the expected revision is not in the store; ModelChanged if an object type or a policy was
        written or deleted after it, or if it has been collected; and what these methods raise."""
        ...

    async def delete_object_type(self, name: TypeName, stamp: Stamp) -> Revision:
        """Deletes the object type; objects and warrants of the type stay. Raises NotFound unless the type exists."""
        ...

    async def list_warrant_changes(self, after: RevisionId, most: int) -> WarrantChanges:
        """Lists the warrants that began or ended after a revision. Raises HistoryReplaced if it has other bits in the
        store."""
        ...

    def find_warrant_changes(self, after: RevisionId, most: int) -> tuple[Mark, WarrantChanges] | None:
        """Returns the same, and a mark that was taken before, if that takes no waiting, otherwise None. On SQLite it
        reads the change log, which takes some ten microseconds. On PostgreSQL it has the changes that only this process
        has made. Raises HistoryReplaced, StoreUnavailable."""
        ...

    async def collect(self, before: int, most: int) -> int:
        """Deletes rows that were replaced or deleted at or before the time `before` (in microseconds since 1970), and
        idempotency keys and tickets that have expired by then: at most about `most` rows, oldest first. Returns their
        number; 0 means that nothing is left.

        A row stays, whatever its own time, if its revision follows one that is stamped later than `before`. Of clocks
        that differ, none therefore makes rows be deleted too early; one that is ahead makes later rows stay until its
        own time.

        Revisions that are now incomplete raise RevisionUnavailable from here on. So do revisions by `before` that
        ended no row, all but the last, if there are more than `most` of them in a row; their number is then what is
        returned."""
        ...

    async def read_warrants(
        self, reads: Sequence[AnyRead], at: Revision | None, most: int, with_expired: bool = False
    ) -> ReadResult:
        """Implements WarrantReader; `with_expired` adds warrants that had expired by then and are not collected."""
        ...
