"""Implements the store over any Database: reads are single statements, writes are scripts."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from magistrate.engine.byte_sizes import CacheBytes
from magistrate.engine.names import ObjectId, PolicyName, Revision, TypeName
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant, WarrantPattern, warrant_names
from magistrate.errors import DamagedBackup
from magistrate.store.contract.backups import KeyDigest, RestoredContents, StoreContents, V
from magistrate.store.contract.database_use import HeadLocks, PoolCounts, ReplicaCounts
from magistrate.store.contract.events import (
    DecisionRecord,
    Event,
    EventFilter,
    EventPosition,
    FollowedEvents,
    LogPage,
    LogPart,
)
from magistrate.store.contract.keys import KeptKeys, SessionKey, StoredKeys
from magistrate.store.contract.lists import ObjectFilter, ObjectTypeFilter, PageSlice, Slice, Snapshot, WarrantFilter
from magistrate.store.contract.new_rows import DeletedChunk, ImportProgress, Stamp
from magistrate.store.contract.openfga import NewestOpenFgaModel, StoredOpenFgaModel
from magistrate.store.contract.read_memory import LARGE_ROW_BYTES, SMALL_ROW_BYTES, read_within_memory
from magistrate.store.contract.revisions import Mark, Presence, RevisionId, Staleness, WarrantChanges
from magistrate.store.contract.saved_queries import SavedQuery
from magistrate.store.contract.stored_rows import (
    ALIVE,
    Identity,
    ObjectName,
    StoredModel,
    StoredObject,
    StoredObjectType,
    StoredPolicy,
)
from magistrate.store.contract.tickets import StoredTicket
from magistrate.store.contract.webhooks import (
    NewWebhook,
    StoredWebhook,
    WebhookAttempt,
    WebhookSecrets,
)
from magistrate.store.database import Database, Row, Rows, Script, is_storable
from magistrate.store.migration import migrations
from magistrate.store.scripts import (
    backups,
    batches,
    events,
    keys,
    models,
    objects,
    openfga,
    retention,
    saved_queries,
    tickets,
    warrants,
    webhooks,
)
from magistrate.store.scripts.key_encryption import UNSEALED, Sealing
from magistrate.store.sql.backups import (
    LIST_ALL_DIGESTS,
    LIST_ALL_OBJECTS,
    LIST_ALL_POLICIES,
    LIST_ALL_TYPES,
    LIST_ALL_WARRANTS,
    MEASURE_CONTENTS,
)
from magistrate.store.sql.changes import LIST_WARRANT_CHANGES
from magistrate.store.sql.decisions import FIND_DECISION
from magistrate.store.sql.dialect import Clause, Parameter
from magistrate.store.sql.events import events_statement, follow_statement, log_statement
from magistrate.store.sql.head import READ_HEAD
from magistrate.store.sql.keys import LIST_KEY_DIGESTS, LIST_KEYS, LIST_SESSION_KEYS, READ_KEYS_VERSION
from magistrate.store.sql.lists import (
    ENDED_BY_EXPIRY,
    OBJECT_NAMES,
    OBJECT_TYPES,
    OBJECTS,
    POLICIES,
    WARRANTS,
    ListFilter,
    TableListing,
    list_statement,
    match_statement,
)
from magistrate.store.sql.models import NAMED_POLICY, OBJECT_TYPE, READ_MODEL, READ_MODEL_AT
from magistrate.store.sql.objects import OBJECT
from magistrate.store.sql.openfga import FIND_NEWEST_OPENFGA_MODEL, FIND_OPENFGA_MODEL, LIST_OPENFGA_MODELS
from magistrate.store.sql.reads import objects_statement, split_objects
from magistrate.store.sql.requests import FIND_IMPORT
from magistrate.store.sql.saved_queries import GET_SAVED_QUERY, LIST_SAVED_QUERIES
from magistrate.store.sql.tickets import FIND_TICKET
from magistrate.store.sql.versions import VersionedStatements
from magistrate.store.sql.webhooks import GET_WEBHOOK, LIST_ATTEMPTS, LIST_WEBHOOKS, READ_SECRETS
from magistrate.store.sql_reads import MAX_ROWS, SqlHistory, SqlRevisions, SqlWarrantReads, build_answers, build_id

P = ParamSpec("P")
T = TypeVar("T")


def transact(
    script: Callable[Concatenate[Revision, P], Script[T]], makes_revision: bool = True
) -> Callable[Concatenate[SqlRevisions, P], Coroutine[Any, Any, T]]:
    """Returns a method that runs a script of a write, whose first parameter is the newest revision."""

    async def method(self: SqlRevisions, /, *args: P.args, **keywords: P.kwargs) -> T:
        return await self.database.transact(lambda head: script(head, *args, **keywords), makes_revision)

    return method


class SqlKeys(SqlRevisions):
    """Implements store/contract/keys.py."""

    def __init__(self, database: Database, sealing: Sealing) -> None:
        self.database = database
        self._sealing = sealing

    async def keys_version(self) -> int:
        since = self.known.newest
        [row] = await self.database.read(READ_KEYS_VERSION, (since.revision,))
        self.known.link(RevisionId(row[0], row[2]), build_id(row[4:6]), since)
        return int(row[3])

    async def list_keys(self) -> StoredKeys:
        rows = await self.database.read(LIST_KEYS, (), long=True)
        self.note_newest(rows[0])
        return await keys.build_keys(rows)

    create_key = transact(keys.create_key, makes_revision=False)
    rotate_key = transact(keys.rotate_key, makes_revision=False)
    delete_key = transact(keys.delete_key, makes_revision=False)
    note_key_uses = transact(keys.note_key_uses, makes_revision=False)
    keep_key_digest = transact(keys.keep_key_digest, makes_revision=False)
    replace_key_digests = transact(keys.replace_key_digests, makes_revision=False)
    delete_session_keys = transact(keys.delete_session_keys, makes_revision=False)

    async def key_digests(self) -> Iterable[str]:
        return [digest for (digest,) in await self.database.read(LIST_KEY_DIGESTS, ())]

    async def session_keys(self) -> KeptKeys:
        rows = await self.database.read(LIST_SESSION_KEYS, ())
        self.note_newest(rows[0])
        return keys.open_kept_keys(rows, self._sealing)

    async def keep_session_key(self, new: SessionKey, unless_after: int, delete_by: int) -> KeptKeys:
        return await self._keep_session_key(self._sealing, new, unless_after, delete_by)

    async def seal_session_keys(self) -> int:
        return await self._seal_session_keys(self._sealing)

    _keep_session_key = transact(keys.keep_session_key, makes_revision=False)
    _seal_session_keys = transact(keys.seal_session_keys, makes_revision=False)


class SqlWebhooks(SqlRevisions):
    """Implements store/contract/webhooks.py."""

    _sealing: Sealing

    async def list_webhooks(self) -> Snapshot[tuple[StoredWebhook, ...]]:
        rows = await self.database.read(LIST_WEBHOOKS, ())
        stored = tuple(webhooks.build_webhook(row[3:]) for row in rows if row[3] is not None)
        return Snapshot(self.check_revision(rows[0], None), stored)

    async def find_webhook(self, webhook_id: str) -> Snapshot[StoredWebhook]:
        row = (await self.database.read(GET_WEBHOOK, (webhook_id,)))[0] if is_storable(webhook_id) else None
        if row is None or row[3] is None:
            raise webhooks.not_found(webhook_id)
        return Snapshot(self.check_revision(row, None), webhooks.build_webhook(row[3:]))

    async def list_webhook_attempts(self, webhook_id: str) -> Snapshot[tuple[WebhookAttempt, ...]]:
        rows = await self.database.read(LIST_ATTEMPTS, (webhook_id,)) if is_storable(webhook_id) else []
        if not rows or rows[0][3] is None:
            raise webhooks.not_found(webhook_id)
        attempts = tuple(webhooks.build_attempt(row[4:]) for row in rows if row[4] is not None)
        return Snapshot(self.check_revision(rows[0], None), attempts)

    async def read_webhook_secrets(self, webhook_id: str, now: int) -> WebhookSecrets:
        rows = await self.database.read(READ_SECRETS, (webhook_id,))
        if not rows:
            raise webhooks.not_found(webhook_id)
        return webhooks.open_secrets(rows, self._sealing, now)

    async def create_webhook(self, new: NewWebhook, most: int) -> Snapshot[StoredWebhook]:
        return await self._create_webhook(self._sealing, new, most)

    async def rotate_webhook_secret(self, webhook_id: str, secret: str, previous_until: int) -> Snapshot[StoredWebhook]:
        return await self._rotate_webhook_secret(self._sealing, webhook_id, secret, previous_until)

    async def seal_webhook_secrets(self) -> int:
        return await self._seal_webhook_secrets(self._sealing)

    _create_webhook = transact(webhooks.create_webhook, makes_revision=False)
    _rotate_webhook_secret = transact(webhooks.rotate_secret, makes_revision=False)
    _seal_webhook_secrets = transact(webhooks.seal_secrets, makes_revision=False)
    update_webhook = transact(webhooks.update_webhook, makes_revision=False)
    replay_webhook = transact(webhooks.replay_webhook, makes_revision=False)
    delete_webhook = transact(webhooks.delete_webhook, makes_revision=False)
    lease_webhook = transact(webhooks.lease_webhook, makes_revision=False)
    write_webhook_progress = transact(webhooks.write_progress, makes_revision=False)
    end_webhook = transact(webhooks.end_webhook)
    keep_webhook_attempt = transact(webhooks.keep_attempt, makes_revision=False)


class SqlSavedQueries(SqlRevisions):
    """Implements store/contract/saved_queries.py."""

    create_saved_query = transact(saved_queries.create_saved_query, makes_revision=False)
    update_saved_query = transact(saved_queries.update_saved_query, makes_revision=False)
    delete_saved_query = transact(saved_queries.delete_saved_query, makes_revision=False)

    async def list_saved_queries(self) -> Snapshot[tuple[SavedQuery, ...]]:
        rows = await self.database.read(LIST_SAVED_QUERIES, (), long=True)
        stored = tuple(SavedQuery(*row[3:]) for row in rows if row[3] is not None)
        return Snapshot(self.check_revision(rows[0], None), stored)

    async def find_saved_query(self, query_id: str) -> Snapshot[SavedQuery]:
        row = (await self.database.read(GET_SAVED_QUERY, (query_id,)))[0] if is_storable(query_id) else None
        if row is None or row[3] is None:
            raise saved_queries.not_found(query_id)
        return Snapshot(self.check_revision(row, None), SavedQuery(*row[3:]))


class SqlOpenFga(SqlRevisions):
    """Implements store/contract/openfga.py."""

    put_openfga_model = transact(openfga.put_openfga_model)
    put_openfga_assertions = transact(openfga.put_openfga_assertions, makes_revision=False)

    async def find_openfga_model(self, model_id: str) -> Snapshot[StoredOpenFgaModel | None]:
        [row] = await self.database.read(FIND_OPENFGA_MODEL, (model_id,))
        stored = None if row[3] is None else StoredOpenFgaModel(*row[3:])
        return Snapshot(self.check_revision(row, None), stored)

    async def find_newest_openfga_model(self) -> Snapshot[NewestOpenFgaModel]:
        [row] = await self.database.read(FIND_NEWEST_OPENFGA_MODEL, ())
        return Snapshot(self.check_revision(row, None), NewestOpenFgaModel(row[4], Revision(row[3])))

    async def list_openfga_models(self, before: str, limit: int) -> Snapshot[tuple[StoredOpenFgaModel, ...]]:
        # Each may have 256 KiB.
        rows = await self.database.read(LIST_OPENFGA_MODELS, (before, limit), long=True)
        listed = tuple(StoredOpenFgaModel(*row[3:]) for row in rows if row[3] is not None)
        return Snapshot(self.check_revision(rows[0], None), listed)


class SqlTickets(SqlRevisions):
    """Implements store/contract/tickets.py."""

    create_ticket = transact(tickets.create_ticket, makes_revision=False)
    redeem_ticket = transact(tickets.redeem_ticket, makes_revision=False)

    async def find_ticket(self, digest: str, now: int) -> StoredTicket | None:
        return tickets.build_ticket(await self.database.read(FIND_TICKET, (digest, now)))


class SqlBackups(SqlRevisions):
    """Implements store/contract/backups.py."""

    async def measure_contents(self) -> StoreContents:
        [row] = await self.database.read(MEASURE_CONTENTS, ())
        self.note_newest(row)
        return StoreContents(RevisionId(row[0], row[2]), row[3], row[4])

    async def list_rows(self, kind: type[V], after: V | None, at: Revision) -> Sequence[V]:
        statement, key, first = _ROW_QUERIES[kind]
        boundary: tuple[Parameter, ...] = first if after is None else tuple(getattr(after, name) for name in key)
        rows, _ = await self.read_at(statement, (*boundary, at, at), at, long=True)
        return [kind(*row[3:]) for row in rows if row[3] is not None]

    async def list_key_digests(self) -> Sequence[KeyDigest]:
        return [KeyDigest(*row) for row in await self.database.read(LIST_ALL_DIGESTS, ())]

    async def restore(
        self, contents: RestoredContents, stamp: Stamp, replaces: bool, heeds_limits: bool = True
    ) -> RevisionId:
        with refusing_repeated_rows(self.database):
            return await self.database.transact(
                lambda head: backups.restore_store(head, contents, stamp, replaces, heeds_limits)
            )


@contextmanager
def refusing_repeated_rows(database: Database) -> Iterator[None]:
    """Raises DamagedBackup if a restore breaks a constraint: what is not a row was refused before, and the store has
    no other rows, so two rows of the backup have one key, or saved queries one name."""
    try:
        yield
    except database.constraint_error as error:
        raise DamagedBackup("a row comes twice; nothing was restored") from error


class _RowQuery(NamedTuple):
    """Holds the statement that lists rows of a kind, the members that are their key, and one that sorts before all."""

    statement: str
    key: tuple[str, ...]
    first: tuple[Parameter, ...]


_ROW_QUERIES: Mapping[type, _RowQuery] = {
    StoredPolicy: _RowQuery(LIST_ALL_POLICIES, ("name",), ("",)),
    StoredObjectType: _RowQuery(LIST_ALL_TYPES, ("name",), ("",)),
    StoredObject: _RowQuery(LIST_ALL_OBJECTS, ("type", "id"), ("", "")),
    Warrant: _RowQuery(LIST_ALL_WARRANTS, ("number",), (-1,)),
}

MAX_LARGE_ROWS = 50
"""Limits the rows of an ordinary read if each may have a large text, such as the meta of an object; more are read as a
long read. This many with 64 KB each take some ten milliseconds."""


class SqlStore(SqlKeys, SqlTickets, SqlWebhooks, SqlSavedQueries, SqlOpenFga, SqlBackups, SqlHistory, SqlWarrantReads):
    """Implements store/contract/store.py over a Database."""

    def __init__(self, database: Database, identity: Identity, sealing: Sealing = UNSEALED) -> None:
        super().__init__(database, sealing)
        self._identity = identity
        # These are the methods of the database itself: every check calls some of them.
        self.now: Callable[[], int] = database.now
        self.mark: Callable[[], Mark] = database.mark
        self.staleness: Callable[[Mark], Staleness] = database.staleness
        self.is_newest: Callable[[Mark], bool] = database.is_newest
        self.confirm_mark: Callable[[Mark], Coroutine[Any, Any, bool]] = database.confirm_mark
        self.measure_lag: Callable[[Mark], float] = database.measure_lag
        self.measure_caches: Callable[[], Sequence[CacheBytes]] = database.measure_caches
        self.count_replica_reads: Callable[[], ReplicaCounts] = database.count_replica_reads
        self.count_connections: Callable[[], PoolCounts] = database.count_connections
        self.read_only = database.read_only
        self.synchronize_clock: Callable[[], Coroutine[Any, Any, None]] = database.synchronize_clock
        self.close: Callable[[], Coroutine[Any, Any, None]] = database.close

    @property
    def identity(self) -> Identity:
        return self._identity

    @property
    def is_writing(self) -> bool:
        return self.database.is_writing

    async def check(self) -> Revision:
        version = await self.database.schema_version()
        version.require_usable(len(migrations()))
        return await self._head()

    async def _head(self) -> Revision:
        [row] = await self.database.read(READ_HEAD, ())
        return self.check_revision(row, None)

    async def get_object(self, ref: ObjectRef, at: Revision | None = None) -> Snapshot[StoredObject | None]:
        return await self._get(OBJECT, (ref.type, ref.id), at, StoredObject)

    async def list_objects(
        self, part: Slice, only: ObjectFilter, at: Revision | None = None
    ) -> Snapshot[PageSlice[StoredObject]]:
        equal = {} if only.of_type is None else {"object_type": only.of_type}
        return await self._list(OBJECTS, part, ListFilter(equal, text=only.text), at, stored=StoredObject)

    async def find_objects(self, refs: Sequence[ObjectRef], at: Revision) -> Snapshot[tuple[StoredObject, ...]]:
        stored: list[StoredObject] = []
        for ids in split_objects(refs):
            statement = objects_statement(ids, at, self.database.dialect)
            rows, _ = await self._read_page(statement, at, len(refs) > MAX_LARGE_ROWS, len(ids) * LARGE_ROW_BYTES)
            stored += (StoredObject(*row[3:]) for row in rows if row[3] is not None)
        return Snapshot(at, tuple(stored))

    async def list_names(
        self, of_type: TypeName | None, after: ObjectName | None, limit: int, at: Revision
    ) -> Snapshot[tuple[ObjectName, ...]]:
        part = Slice("objectType", limit, boundary=after)
        only = ListFilter({} if of_type is None else {"object_type": of_type})
        listed = await self._list(OBJECT_NAMES, part, only, at, stored=_name_object)
        return Snapshot(listed.revision, listed.value.rows)

    seed = transact(models.seed)
    put_objects = transact(objects.put_objects)
    replace_meta = transact(objects.replace_meta)
    delete_objects = transact(objects.delete_objects)
    put_warrants = transact(warrants.put_warrants)
    delete_warrants = transact(warrants.delete_warrants)
    end_expired = transact(warrants.end_expired)
    write = transact(batches.write_atomically)
    import_batch = transact(batches.import_batch)
    put_policies = transact(models.put_policies)
    delete_policy = transact(models.delete_policy)
    put_object_types = transact(models.put_object_types)
    delete_object_type = transact(models.delete_object_type)
    put_model = transact(models.put_model)
    collect = transact(retention.collect, makes_revision=False)
    delete_events = transact(retention.delete_events, makes_revision=False)
    keep_decisions = transact(events.keep_decisions, makes_revision=False)

    async def import_progress(self, source: str) -> ImportProgress | None:
        rows = await self.database.read(FIND_IMPORT, (source,))
        return ImportProgress(*rows[0]) if rows else None

    async def match_warrants(
        self, equal: Mapping[str, str], most: int, at: int, up_to: Revision | None = None
    ) -> Snapshot[tuple[Warrant, ...]]:
        statement = match_statement(equal, most, at, self.database.dialect, up_to=up_to)
        # There may be many other rows between those that match.
        rows = await self.database.read(statement.sql, statement.values, long=True)
        revision = Revision(rows[0][0])
        [matches] = await build_answers(rows, 1)
        return Snapshot(revision, tuple(matches))

    async def delete_matches(self, matches: Sequence[Warrant], stamp: Stamp) -> Snapshot[DeletedChunk]:
        began_at = 0.0

        def begin(head: Revision) -> Script[Snapshot[int]]:
            nonlocal began_at
            began_at = time.monotonic()  # the last time counts, if it is begun more than once
            return warrants.delete_matches(head, matches, stamp)

        written = await self.database.transact(begin)
        return Snapshot(written.revision, DeletedChunk(written.value, time.monotonic() - began_at))

    async def list_warrants(
        self, part: Slice, only: WarrantFilter, at: Revision | None = None
    ) -> Snapshot[PageSlice[Warrant]]:
        conditions = ListFilter(only.equal, only.among, unexpired_at=only.unexpired_at, patterns=only.patterns)
        listing = ENDED_BY_EXPIRY if only.is_expired else WARRANTS
        return await self._list(listing, part, conditions, at, stored=warrants.build_warrant_of_page)

    async def read_model(self, at: Revision | None = None) -> Snapshot[StoredModel]:
        statement = READ_MODEL if at is None else READ_MODEL_AT
        # A model may be large, and is read only when it has changed.
        rows = await self.database.read(statement, () if at is None else (at,) * 6, long=True)
        revision = self.check_revision(rows[0], at)
        definitions: dict[TypeName, str] = {}
        policy_definitions: dict[PolicyName, str] = {}
        patterns: set[WarrantPattern] = set()
        for number, (kind, *columns) in enumerate((row[4:] for row in rows), 1):
            if kind == "pattern":
                patterns.add(WarrantPattern(warrant_names(*columns[:6])))
            elif kind is not None:
                (definitions if kind == "type" else policy_definitions)[columns[0]] = columns[1]
            if not number % MAX_ROWS:
                await asyncio.sleep(0)
        span = None if at is None else _span_of_types(rows[0])
        model = StoredModel(Revision(rows[0][3]), definitions, frozenset(patterns), policy_definitions, span=span)
        return Snapshot(revision, model)

    async def get_policy(self, name: PolicyName, at: Revision | None = None) -> Snapshot[StoredPolicy | None]:
        return await self._get(NAMED_POLICY, (name,), at, StoredPolicy)

    async def list_policies(self, part: Slice, at: Revision | None = None) -> Snapshot[PageSlice[StoredPolicy]]:
        return await self._list(POLICIES, part, ListFilter(), at, stored=StoredPolicy)

    async def get_object_type(self, name: TypeName, at: Revision | None = None) -> Snapshot[StoredObjectType | None]:
        return await self._get(OBJECT_TYPE, (name,), at, StoredObjectType)

    async def list_object_types(
        self, part: Slice, only: ObjectTypeFilter, at: Revision | None = None
    ) -> Snapshot[PageSlice[StoredObjectType]]:
        only_named = ListFilter(text=only.text)
        return await self._list(OBJECT_TYPES, part, only_named, at, stored=StoredObjectType)

    @property
    def statements(self) -> int:
        return self.database.statements

    @property
    def head_locks(self) -> HeadLocks:
        return self.database.head_locks

    async def list_warrant_changes(self, after: RevisionId, most: int) -> WarrantChanges:
        values, sent_at = (after.revision, after.revision, most + 1), time.monotonic()
        changes = self._build_changes(await self.database.read(LIST_WARRANT_CHANGES, values), after, most)
        self.known.note_confirmed(changes.newest, sent_at)
        return changes

    def find_warrant_changes(self, after: RevisionId, most: int) -> tuple[Mark, WarrantChanges] | None:
        marked = self.database.find_changes(after, most + 1)
        return None if marked is None else (marked[0], self._build_changes(marked[1], after, most))

    def _build_changes(self, rows: Rows, after: RevisionId, most: int) -> WarrantChanges:
        """Builds the changes from rows of LIST_WARRANT_CHANGES. Raises HistoryReplaced."""
        changes, before = warrants.build_changes(rows, after.revision, most), build_id(rows[0][3:5])
        is_same = self.link(changes.newest, before, after)
        return changes if is_same else replace(changes, changes=None)

    async def list_events(self, part: Slice, only: EventFilter) -> Snapshot[PageSlice[Event]]:
        if not only.kinds:
            return Snapshot(await self._head(), PageSlice((), precedes=False, follows=False))
        statement = events_statement(part, only, self.database.dialect)
        # There may be many unwanted rows between the wanted ones.
        # Decisions are recorded without a revision that a replica could be required to hold.
        rows = await read_within_memory(
            lambda: self.database.read(statement.sql, statement.values, long=True), (part.limit + 1) * SMALL_ROW_BYTES
        )
        return _build_slice(rows, part, self.check_revision(rows[0], None), events.build_event)

    async def follow_events(
        self, after: EventPosition | None, limit: int, only: EventFilter
    ) -> Snapshot[FollowedEvents]:
        statement = follow_statement(after, limit, only, self.database.dialect)
        rows = await self.database.read(statement.sql, statement.values, long=True)
        return Snapshot(self.check_revision(rows[0], None), events.build_followed(rows, after, limit, only))

    async def read_log(self, part: LogPart) -> LogPage:
        if part.after.revision >= ALIVE:  # anyone can make such a token, and databases have no larger integers
            part = replace(part, after=RevisionId(Revision(ALIVE - 1), None))
        since = self.known.newest
        statement = log_statement(part, since.revision, self.database.dialect)
        rows = await self.database.read(statement.sql, statement.values, long=True)
        page = events.build_log_page(rows, part)
        self.known.link(page.newest, build_id(rows[0][6:8]), since)
        if page.after_at is not None and page.presence is Presence.STORED and part.after.bits is not None:
            self.known.note_stored(part.after)
        return page

    async def find_decision(self, number: int, stored_at: int) -> Snapshot[DecisionRecord | None]:
        [row] = await self.database.read(FIND_DECISION, (number, stored_at))
        decision = None if row[3] is None else events.build_decision(row[3:])
        return Snapshot(self.check_revision(row, None), decision)

    async def _get(
        self, statements: VersionedStatements, key: tuple[str, ...], at: Revision | None, stored: Callable[..., T]
    ) -> Snapshot[T | None]:
        """Returns what is stored of the row of a key."""
        if at is None:
            [row], revision = await self.read_at(statements.get, key, None)
        else:
            [row], revision = await self.read_at(statements.get_at, (*key, at, at), at)
        return Snapshot(revision, None if row[3] is None else stored(*row[3:]))

    async def _list(
        self,
        listing: TableListing,
        part: Slice,
        only: ListFilter,
        at: Revision | None,
        stored: Callable[..., T],
    ) -> Snapshot[PageSlice[T]]:
        statement = list_statement(listing, part, only, at, dialect=self.database.dialect)
        # A read at a revision also reads all rows that ended since.
        looks_at_many = at is not None or only.is_searched(listing) or part.sort in listing.members
        is_long = looks_at_many or part.limit > MAX_LARGE_ROWS
        rows, revision = await self._read_page(statement, at, is_long, (part.limit + 1) * listing.row_bytes)
        return _build_slice(rows, part, revision, stored)

    async def _read_page(
        self, statement: Clause, at: Revision | None, is_long: bool, max_bytes: int
    ) -> tuple[Rows, Revision]:
        """Returns the rows of a page and their revision, like `read_at`; they take at most about so many bytes, 0 if
        they are not kept."""
        revision = Revision(0)

        async def read() -> Rows:
            nonlocal revision
            rows, revision = await self.read_at(statement.sql, statement.values, at, long=is_long)
            return rows

        rows = await read_within_memory(read, max_bytes) if max_bytes else await read()
        return rows, revision


def _build_slice(rows: Rows, part: Slice, revision: Revision, stored: Callable[..., T]) -> Snapshot[PageSlice[T]]:
    """Builds the result from rows (*NEWEST, behind, *columns), nearest to the boundary first."""
    built = [stored(*row[4:]) for row in rows if row[4] is not None]
    behind, ahead = bool(rows[0][3]) and bool(built), len(built) > part.limit
    built = built[: part.limit]
    if part.backwards:
        return Snapshot(revision, PageSlice(tuple(reversed(built)), precedes=ahead, follows=behind))
    return Snapshot(revision, PageSlice(tuple(built), precedes=behind, follows=ahead))


def _name_object(of_type: TypeName, object_id: ObjectId) -> ObjectName:
    return of_type, object_id


def _span_of_types(row: Row) -> tuple[Revision, Revision]:
    """Returns from which revision to which the object types of a read at a revision are the same. The span begins at
    the oldest readable revision at the earliest, because what ended before it may have been collected."""
    newest, horizon, before, after = row[0], row[1], row[11], row[12]
    until = newest if after in (None, ALIVE) else after - 1
    return Revision(max(horizon, before or 0)), Revision(until)
