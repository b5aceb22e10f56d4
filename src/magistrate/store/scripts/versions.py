"""Writes tables whose rows are never changed in place: a row is alive from the revision that wrote it to the one that
ended it.

Object types, objects and warrants are all written by the functions here, inside `write`, which gives each write its
revision, its rows in the change log and its idempotency."""

import secrets
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Generic, Literal, TypeVar

import msgspec

from magistrate.engine.names import Revision
from magistrate.errors import KeyReused, NotFound, RevisionLost
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import IDEMPOTENCY_HOURS, Once, Stamp
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.database import NOTHING, Execute, Find, FindTogether, Row, Rows, Script, Select
from magistrate.store.sql.changes import INSERT_CHANGE
from magistrate.store.sql.dialect import Parameter
from magistrate.store.sql.head import MOVE_EXPIRY, MOVE_HEAD
from magistrate.store.sql.requests import DELETE_ONCE, FIND_ONCE, KEEP_ONCE
from magistrate.store.sql.revisions import FIND_EXPECTED, INSERT_REVISION
from magistrate.store.sql.versions import RowStatements

T = TypeVar("T")

Key = tuple[str, ...]
Kind = Literal["object", "object-type", "policy", "warrant", "webhook"]
Action = Literal["created", "updated", "deleted", "expired"]

MICROSECONDS_PER_HOUR = 3_600_000_000

BITS = 32
"""Counts the random bits that distinguish a write from another with the same number."""

EFFECTS_AT_ONCE = 4_000
"""Limits the rows of the change log that are built together, which takes some milliseconds."""


@dataclass(frozen=True, slots=True)
class Versioned(Generic[T]):
    """Describes a table whose rows begin with a key of `key_length` columns and end with content and created_at."""

    kind: Kind
    key_length: int
    statements: RowStatements
    stored: Callable[..., T]
    """Builds what is stored from the columns of a row."""
    missing: Callable[[Key], NotFound]


class Effect(msgspec.Struct, frozen=True, gc=False):
    """Records what a write did to one row, for the change log. `before` and `after` are the meta of an object, the
    definition of an object type, or the policy of a warrant; None where there was none. `after` of a warrant that ended
    because an object was deleted is the key of that object, as JSON. `starts_at` and `expires_at` are the limits of a
    warrant."""

    action: Action
    kind: Kind
    key: Key
    before: str | None = None
    after: str | None = None
    starts_at: int | None = None
    expires_at: int | None = None


class WriteOutcome(msgspec.Struct, Generic[T], frozen=True):
    rows: tuple[T, ...]
    effects: list[Effect]


VersionedWrite = Script[Snapshot[T]]


def write(
    head: Revision, stamp: Stamp, answer: type[tuple[T, ...]], work: Script[WriteOutcome[T]], is_called: bool = True
) -> VersionedWrite[tuple[T, ...]]:
    """Does the work as the revision after `head`, or returns the earlier result if the stamp has an idempotency key
    that was used before. `answer` is the type of the rows, for decoding them. Unless it `is_called`, no caller
    requested it: only time has passed."""
    if stamp.once is not None:
        earlier = yield from _find_earlier(stamp, stamp.once)
        if earlier is not None:
            return Snapshot(Revision(earlier[3]), msgspec.json.decode(earlier[4], type=answer))
    revision = Revision(head + 1)
    outcome = yield from work
    bits = secrets.randbits(BITS)
    yield Execute(MOVE_HEAD, [(revision, bits, *count_growth(outcome.effects))], NOTHING)
    yield Execute(INSERT_REVISION, [(int(is_called), revision, bits, stamp.at, stamp.actor, stamp.request_id)], NOTHING)
    for start in range(0, len(outcome.effects), EFFECTS_AT_ONCE):
        effects = outcome.effects[start : start + EFFECTS_AT_ONCE]
        yield Execute(INSERT_CHANGE, build_log_rows(revision, start, effects), NOTHING)
    expiries = [effect.expires_at for effect in outcome.effects if effect.expires_at is not None]
    if expiries and is_called:
        yield Execute(MOVE_EXPIRY, [(min(expiries), min(expiries))], NOTHING)
    if stamp.once is not None:
        key = (stamp.once.owner, stamp.once.key)
        rows = msgspec.json.encode(outcome.rows).decode()
        yield Execute(DELETE_ONCE, [key], {FIND_ONCE: {key: []}})
        kept = (*key, stamp.once.fingerprint, revision, rows, stamp.at)
        yield Execute(KEEP_ONCE, [kept], {FIND_ONCE: {key: [kept]}})
    return Snapshot(revision, outcome.rows)


_DIFFERENCES = {"created": 1, "deleted": -1, "expired": -1}


def count_growth(effects: Sequence[Effect]) -> tuple[int, int]:
    """Returns how many more warrants and objects there are after these effects."""
    kinds, actions = [effect.kind for effect in effects], [effect.action for effect in effects]
    if actions.count("created") == len(actions):  # as in most large writes
        return kinds.count("warrant"), kinds.count("object")
    growth = {"warrant": 0, "object": 0}
    for (kind, action), times in Counter(zip(kinds, actions, strict=True)).items():
        if kind in growth:
            growth[kind] += times * _DIFFERENCES.get(action, 0)
    return growth["warrant"], growth["object"]


def write_one(
    head: Revision, stamp: Stamp, answer: type[tuple[T, ...]], work: Script[WriteOutcome[T]]
) -> VersionedWrite[T]:
    """Writes like `write`, and returns the only row."""
    written = yield from write(head, stamp, answer, work)
    return Snapshot(written.revision, written.value[0])


def write_effects(head: Revision, stamp: Stamp, work: Script[list[Effect]], is_called: bool = True) -> Script[Revision]:
    """Writes like `write`, without rows, and returns the revision."""
    return (yield from write(head, stamp, tuple[None, ...], _without_rows(work), is_called=is_called)).revision


def _without_rows(work: Script[list[Effect]]) -> Script[WriteOutcome[None]]:
    return WriteOutcome((), (yield from work))


def _find_earlier(stamp: Stamp, once: Once) -> Script[Row | None]:
    """Returns the row of the earlier write with this idempotency key, or None. Raises KeyReused if that was another
    write."""
    [rows] = yield FindTogether([Find(FIND_ONCE, [(once.owner, once.key)])])
    if not rows or rows[0][5] <= stamp.at - IDEMPOTENCY_HOURS * MICROSECONDS_PER_HOUR:
        return None
    if rows[0][2] != once.fingerprint:
        raise KeyReused
    return rows[0]


def find_called_revision(expected: Sequence[RevisionId], newest: Revision) -> Script[int]:
    """Returns the newest revision that a caller has written, if a write expects any of these. Raises RevisionLost if
    one of them is not in the store, which is at revision `newest`."""
    called = 0
    for revision_id in expected:
        if revision_id.revision > newest:
            raise RevisionLost
        [[(stored, bits, called)]] = yield Select(FIND_EXPECTED, [(revision_id.revision,)])
        if stored is not None and revision_id.bits is not None and bits != revision_id.bits:
            raise RevisionLost
    return called


_ENCODER = msgspec.json.Encoder()


def build_log_rows(revision: Revision, start: int, effects: Sequence[Effect]) -> list[tuple[Parameter, ...]]:
    """Returns the rows of the change log from this position on."""
    # No line of JSON has a line break, so all keys are encoded together.
    keys = _ENCODER.encode_lines([effect.key for effect in effects]).decode().split("\n")
    rows: list[tuple[Parameter, ...]] = []
    for position, (effect, key) in enumerate(zip(effects, keys, strict=False), start):  # the last line ends with one
        limits = (effect.starts_at, effect.expires_at)
        rows.append((revision, position, effect.action, effect.kind, key, effect.before, effect.after, *limits))
    return rows


def find(table: Versioned[T], keys: Collection[Key]) -> Script[dict[Key, Row]]:
    """Returns the rows of these keys that are alive; keys without one are left out."""
    if not keys:
        return {}
    [rows] = yield FindTogether([Find(table.statements.find, list(keys))])
    return index_rows(table, rows)


def index_rows(table: Versioned[T], rows: Iterable[Row]) -> dict[Key, Row]:
    """Returns rows of the table by their keys."""
    return {row[: table.key_length]: row for row in rows}


def put(
    table: Versioned[T],
    contents: Mapping[Key, str | None],
    stamp: Stamp,
    revision: Revision,
    fresh: Collection[Key] = (),
    must_exist: bool = False,
) -> Script[tuple[dict[Key, T], list[Effect]]]:
    """Makes the row of each key that is alive have the wanted content, and returns every row as it is then, and what
    was changed.

    Keys in `fresh` are not looked up. With `must_exist`, raises NotFound for the first key that has no such row."""
    existing = yield from find(table, [key for key in contents if key not in fresh])
    stored: dict[Key, T] = {}
    effects: list[Effect] = []
    ended: list[Row] = []
    inserted: list[Row] = []
    for key, content in contents.items():
        row = existing.get(key)
        if row is None and must_exist:
            raise table.missing(key)
        created_at = row[-1] if row else stamp.at
        stored[key] = table.stored(*key, content, created_at)
        if row and row[-2] == content:
            continue
        if row:
            ended.append((revision, *key))
            effects.append(Effect("updated", table.kind, key, before=row[-2], after=content))
        else:
            effects.append(Effect("created", table.kind, key, after=content))
        inserted.append((*key, content, created_at, revision))
    if ended:
        yield Execute(table.statements.end, ended, {table.statements.find: {row[1:]: [] for row in ended}})
    if inserted:
        keys = map(itemgetter(slice(table.key_length)), inserted)
        there = dict(zip(keys, zip(map(itemgetter(slice(-1)), inserted), strict=True), strict=True))
        yield Execute(table.statements.insert, inserted, {table.statements.find: there})
    return stored, effects


def end(
    table: Versioned[T], keys: Iterable[Key], revision: Revision, exists: Callable[[Row], bool] = lambda row: True
) -> Script[list[Effect]]:
    """Ends the row of each key that is alive. Raises NotFound for the first key that has none, or only one that does
    not exist for callers, or is named a second time."""
    named = list(keys)
    existing = yield from find(table, dict.fromkeys(named))
    effects = []
    for key in named:
        row = existing.pop(key, None)
        if row is None or not exists(row):
            raise table.missing(key)
        effects.append(Effect("deleted", table.kind, key, before=row[-2]))
    gone: dict[Key, Rows | None] = {key: [] for key in named}
    yield Execute(table.statements.end, [(revision, *key) for key in named], {table.statements.find: gone})
    return effects


def has_expired(row: Row, at: int) -> bool:
    """Returns whether a warrant, whose row begins with (*key, number, starts_at, expires_at), has expired at a time."""
    expires_at = row[9]
    return expires_at is not None and expires_at <= at


def describe_expiry(row: Row) -> Effect:
    """Returns the end of a warrant that has expired, from a row that begins with (*key, number, starts_at, expires_at,
    text)."""
    return Effect("expired", "warrant", row[:7], before=row[10], starts_at=row[8], expires_at=row[9])
