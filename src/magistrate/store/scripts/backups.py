"""Puts a store into the state of a backup, as a script.

All of it is one transaction, so nobody sees a part of it, and whatever ends it leaves the store as it was."""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import msgspec

from magistrate.engine.names import Revision
from magistrate.engine.warrants.warrant import Warrant, policy_digest
from magistrate.errors import Conflict, DamagedBackup
from magistrate.store.contract.backups import BackedUpWebhook, KeyDigest, RestoredContents, RestoredRow
from magistrate.store.contract.keys import StoredKey
from magistrate.store.contract.new_rows import MAX_WARRANTS_IN_A_WRITE, Stamp
from magistrate.store.contract.openfga import StoredOpenFgaModel
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.saved_queries import SavedQuery
from magistrate.store.contract.stored_rows import StoredObject, StoredObjectType, StoredPolicy
from magistrate.store.contract.stores import NewStore, StoredStore, build_store
from magistrate.store.contract.webhooks import WebhookState
from magistrate.store.database import Compute, Execute, Row, Script, Select
from magistrate.store.scripts.heads import HeadMove, read_head
from magistrate.store.scripts.keys import draw_bits
from magistrate.store.scripts.saved_queries import list_columns
from magistrate.store.scripts.stores import FIRST, create_store, update_store
from magistrate.store.scripts.versions import BITS, Key
from magistrate.store.scripts.warrants import keep_policies, patterns_of
from magistrate.store.scripts.webhooks import encode_filter
from magistrate.store.sql.backups import (
    DELETE_STORED_ROWS,
    INSERT_RESTORED_DIGEST,
    INSERT_RESTORED_KEY,
    INSERT_RESTORED_WEBHOOK,
    RESTORE_HEAD,
)
from magistrate.store.sql.head import OPEN_HEAD
from magistrate.store.sql.keys import MOVE_KEYS_VERSION
from magistrate.store.sql.models import INSERT_PATTERN, NAMED_POLICY, OBJECT_TYPE
from magistrate.store.sql.objects import OBJECT
from magistrate.store.sql.openfga import INSERT_OPENFGA_MODEL
from magistrate.store.sql.revisions import INSERT_REVISION
from magistrate.store.sql.saved_queries import INSERT_SAVED_QUERY
from magistrate.store.sql.stores import FIND_NAMED_STORE
from magistrate.store.sql.warrants import FIND_NEXT_EXPIRY, WARRANT

T = TypeVar("T")
RestoredStore = tuple[NewStore, RestoredContents]


def restore_store(
    head: Revision, contents: RestoredContents, stamp: Stamp, replaces: bool, heeds_limits: bool = True
) -> Script[RevisionId]:
    # First a statement that keeps others from writing to the store; keys are read again when their version has changed.
    yield Execute(MOVE_KEYS_VERSION, [(draw_bits(),)])
    yield from _check_store(contents, replaces, heeds_limits)
    revisions = [RevisionId(Revision(number), secrets.randbits(BITS)) for number in _list_revisions(contents.warrants)]
    newest = revisions[-1]
    counts = (contents.warrants, contents.objects)
    yield Execute(RESTORE_HEAD, [(*newest, *[newest.revision] * 3, *counts)])
    for statement in DELETE_STORED_ROWS:
        yield Execute(statement, [()])
    for revision, bits in revisions:
        yield Execute(INSERT_REVISION, [(1, revision, bits, stamp.at, stamp.actor, stamp.request_id)])
    if (yield from _Insertion().insert(contents.read_rows())) != counts:
        raise DamagedBackup("the backup was changed while it was read; nothing was restored")
    yield Execute(FIND_NEXT_EXPIRY, [()])
    return newest


def _list_revisions(warrants: int) -> range:
    """Returns the numbers of the revisions that so many warrants take, whose numbers contain that of their
    revision."""
    return range(FIRST, FIRST + max(1, -(-warrants // MAX_WARRANTS_IN_A_WRITE)))


def restore_stores(
    head: Revision, restored: Sequence[RestoredStore], stamp: Stamp, replaces: bool
) -> Script[list[tuple[StoredStore, RevisionId]]]:
    stores: list[tuple[StoredStore, RevisionId]] = []
    for new, contents in restored:
        [rows] = yield Select(FIND_NAMED_STORE, [(new.name,)])
        is_there = bool(rows) and build_store(rows[0]).deleted_at is None
        stored = build_store(rows[0]) if is_there else (yield from create_store(head, new))
        script = restore_store(head, contents, stamp, replaces, heeds_limits=False)
        revision = yield from _direct_to(stored.number, script)
        stored = yield from update_store(head, stored.number, new.name, new.description, new.limits)
        stores.append((stored, revision))
    return stores


def _direct_to(store: int, script: Script[T]) -> Script[T]:
    """Runs a script of another store than the one that writes."""
    try:
        step = next(script)
        while True:
            is_directed = isinstance(step, Execute | Select)
            step = script.send((yield msgspec.structs.replace(step, store=store) if is_directed else step))
    except StopIteration as finished:
        result: T = finished.value
        return result


def _check_store(contents: RestoredContents, replaces: bool, heeds_limits: bool) -> Script[None]:
    """Raises Conflict unless the store may get these contents, and LimitReached."""
    [[row]] = yield Select(OPEN_HEAD, [()])
    head, model_revision = read_head(row), row[3]
    if not replaces and (head.warrants or head.objects or model_revision > FIRST):
        raise Conflict("the store is not empty; --replace replaces what it has, and --into NAME makes another store")
    if heeds_limits:
        empty = head._replace(warrants=0, objects=0)
        empty.check_limits(HeadMove(head.newest, contents.warrants, contents.objects))


class _Kind(NamedTuple):
    """Holds the statement that inserts rows of a kind, and what returns its values, but for the revision."""

    statement: str
    read_values: Callable[[Any], Row]


_KINDS: Mapping[type, _Kind] = {
    StoredPolicy: _Kind(NAMED_POLICY.insert, attrgetter("name", "definition", "created_at")),
    StoredObjectType: _Kind(OBJECT_TYPE.insert, attrgetter("name", "definition", "created_at")),
    StoredObject: _Kind(OBJECT.insert, attrgetter("type", "id", "meta", "created_at")),
}
_NAMES = attrgetter(*Warrant.__struct_fields__[:6])


class _Insertion:
    """Inserts rows, and knows how many objects and warrants were inserted, and the patterns of these."""

    def __init__(self) -> None:
        self._objects = 0
        self._warrants = 0
        self._patterns: dict[Key, None] = {}

    def insert(self, batches: Iterator[Sequence[RestoredRow]]) -> Script[tuple[int, int]]:
        """Inserts all rows, and returns how many warrants and objects there were."""
        while batch := (yield from _read_batch(batches)):
            yield from self._insert_batch(batch)
        yield Execute(INSERT_PATTERN, [*self._patterns])
        return self._warrants, self._objects

    def _insert_batch(self, batch: Sequence[Any]) -> Script[None]:
        kind = type(batch[0])
        if kind is Warrant:
            yield from self._insert_warrants(batch)
        elif kind is StoredKey:
            yield Execute(INSERT_RESTORED_KEY, list(map(_read_key, batch)))
        elif kind is BackedUpWebhook:
            yield Execute(INSERT_RESTORED_WEBHOOK, list(map(_read_webhook, batch)))
        elif kind is SavedQuery:
            yield Execute(INSERT_SAVED_QUERY, list(map(list_columns, batch)))
        elif kind is StoredOpenFgaModel:
            rows = [(row.id, row.document, row.assertions, row.created_at, FIRST) for row in batch]
            yield Execute(INSERT_OPENFGA_MODEL, rows)
        elif kind is KeyDigest:
            yield Execute(INSERT_RESTORED_DIGEST, [(row.digest, row.created_at) for row in batch])
        else:
            statement, read_values = _KINDS[kind]
            yield Execute(statement, [(*read_values(row), FIRST) for row in batch])
            self._objects += len(batch) if kind is StoredObject else 0

    def _insert_warrants(self, batch: Sequence[Warrant]) -> Script[None]:
        texts = {text: policy_digest(text) for text in {warrant.policy for warrant in batch} if text}
        yield from keep_policies({digest: text for text, digest in texts.items()})
        keys = [(*_NAMES(warrant), texts.get(warrant.policy, "")) for warrant in batch]
        self._patterns.update(dict.fromkeys(patterns_of(keys)))
        first = FIRST * MAX_WARRANTS_IN_A_WRITE + self._warrants
        rows = [
            (*key, number, warrant.created_at, number // MAX_WARRANTS_IN_A_WRITE, warrant.starts_at, warrant.expires_at)
            for number, (key, warrant) in enumerate(zip(keys, batch, strict=True), first)
        ]
        yield Execute(WARRANT.insert, rows)
        self._warrants += len(batch)


def _read_batch(batches: Iterator[Sequence[RestoredRow]]) -> Script[Sequence[RestoredRow]]:
    """Returns the next batch, which may take long to read; an empty one at the end."""
    read: list[Sequence[RestoredRow]] = []
    yield Compute(lambda: read.append(next(batches, ())))
    return read[0]


def _read_key(key: StoredKey) -> Row:
    object_types = None if key.object_types is None else _encode(key.object_types)
    names = (key.name, key.prefix, key.digest, _encode(key.scopes), object_types, key.created_by, key.previous_digest)
    return (*names, key.created_at, key.expires_at, key.previous_until, key.id)


def _read_webhook(row: BackedUpWebhook) -> Row:
    state, reason = WebhookState.DISABLED.value, "it was restored from a backup"
    names = (row.id, row.url, encode_filter(row.filter), row.description, state, reason)
    return (*names, row.created_at, row.created_by)


def _encode(names: Sequence[str]) -> str:
    return msgspec.json.encode(names).decode()
