"""Collects what a store of OpenFGA has, so that one here can be made to hold it (docs/openfga.md#moving-from-openfga).

Everything is collected in a temporary SQLite database, which has no name and disappears with the process: memory is
bounded by its cache, whatever the source has. Only what can be read back exactly is collected. The source may be read
twice; the second time, it is compared with the first."""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import apsw
import msgspec

from magistrate.engine.importers.names import STABLE, show_name
from magistrate.engine.names import WILDCARD, ObjectId, PolicyName, RelationName, TypeName
from magistrate.engine.openfga.conditions import rename_context
from magistrate.engine.openfga.documents import AllowedUser, OpenFgaDocument, read_document
from magistrate.engine.openfga.tuples import NamedCondition, NamedTupleKey, read_tuple_key
from magistrate.engine.openfga.validation import name_stored
from magistrate.engine.policy.node import Refusal
from magistrate.engine.policy.references import read_reference, render_reference
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import InvalidParameter, InvalidRequest, OpenFgaRefusal
from magistrate.operations.history.times import read_time
from magistrate.operations.importing.row_differences import translate_disk_faults
from magistrate.operations.openfga.documents import CompiledDocument, compile_text
from magistrate.operations.openfga.names import ForeignNames
from magistrate.store.contract.backups import ROWS_AT_ONCE, RestoredContents, RestoredRow
from magistrate.store.contract.openfga import StoredOpenFgaModel
from magistrate.store.contract.stored_rows import StoredObject, StoredObjectType, StoredPolicy
from magistrate.store.contract.stores import read_ulid_time

MAX_TUPLES = 100_000_000
"""Limits the tuples of a store: as many take an hour or two to be stored, and the list of a source that has more may
have no end."""
MAX_MODELS = 100_000
MAX_SAMPLE_SIZE = 100_000
NO_ASSERTIONS = "[]"
ULID = re.compile("[0-7][0-9A-HJKMNP-TV-Z]{25}")
SEED = 20_261_127
"""Makes the sample reproducible: the same tuples give the same checks each time."""

_PREPARE = """
PRAGMA temp_store = FILE;
PRAGMA cache_size = -32768;
PRAGMA journal_mode = OFF;
BEGIN;
CREATE TABLE model (id TEXT PRIMARY KEY, document TEXT, assertions TEXT, created_at INTEGER) STRICT, WITHOUT ROWID;
CREATE TABLE tuple (
    number INTEGER PRIMARY KEY, key TEXT UNIQUE, condition TEXT, warrant TEXT, created_at INTEGER, was_seen INTEGER
) STRICT;
CREATE TABLE object (type TEXT, id TEXT, created_at INTEGER, PRIMARY KEY (type, id)) STRICT, WITHOUT ROWID;
"""
_ADD_MODEL = "INSERT INTO model VALUES (?, ?, ?, ?)"
_ADD_TUPLE = "INSERT INTO tuple VALUES (NULL, ?, ?, ?, ?, 0)"
_ADD_OBJECT = "INSERT OR IGNORE INTO object VALUES (?, ?, ?)"
_FIND_TUPLE = "SELECT condition FROM tuple WHERE key = ?"
_SEE_TUPLE = "UPDATE tuple SET was_seen = ? WHERE key = ? AND condition = ? AND was_seen < ? RETURNING 1"
_LIST_UNSEEN = "SELECT key, (SELECT count(*) FROM tuple WHERE was_seen < ?) FROM tuple WHERE was_seen < ? LIMIT ?"
_LIST_MODELS = "SELECT id, document, assertions, created_at FROM model ORDER BY id"
_LIST_OBJECTS = "SELECT type, id, created_at FROM object ORDER BY type, id"
_LIST_WARRANTS = "SELECT warrant, created_at FROM tuple ORDER BY number"


class SourceCondition(msgspec.Struct, frozen=True):
    """Represents the condition of a tuple, as the source answers it."""

    name: str = ""
    context: dict[str, Any] | None = None


class SourceKey(msgspec.Struct, frozen=True):
    """Represents a tuple, as the source answers it."""

    user: str
    relation: str
    object: str
    condition: SourceCondition | None = None

    def render(self) -> str:
        """Returns what identifies the tuple."""
        return msgspec.json.encode([self.object, self.relation, self.user]).decode()

    def render_condition(self) -> str:
        """Returns its condition and the context, the members of which have no order; an empty text without one."""
        condition = self.condition
        if condition is None or not (condition.name or condition.context):
            return ""
        return msgspec.json.encode([condition.name, condition.context or {}], order="sorted").decode()


class SourceRow(msgspec.Struct, frozen=True):
    """Represents a tuple with the time when it was written, as the source answers it."""

    key: SourceKey
    timestamp: str = ""


class SourceModel(msgspec.Struct, frozen=True):
    """Represents an authorization model, as the source answers it."""

    id: str
    schema_version: str
    type_definitions: Any
    conditions: Any = None


class SourceCheck(NamedTuple):
    """Holds a check to be made on both servers, and the names in it."""

    key: NamedTupleKey
    object: str
    relation: str
    user: str

    def render(self) -> str:
        return f"{self.object}#{self.relation}@{self.user}"


class SourceFault(NamedTuple):
    """Says what is wrong with a model or a tuple, or with a condition."""

    of: str
    message: str

    def describe(self) -> str:
        return f"{self.of}: {self.message}"


class CollectedStore:
    """Holds the models and tuples of a store of OpenFGA. What cannot be held here is reported, and counted in `faults`.
    Raises StoreUnavailable if the disk has no space for them. `now` is in microseconds since 1970 UTC."""

    def __init__(self, now: int, report: Callable[[SourceFault], None]) -> None:
        self._now = now
        self._report = report
        self._connection = apsw.Connection("")  # a temporary file
        self._connection.execute(_PREPARE).fetchall()  # without it, the statements behind one with a result do not run
        self._names = ForeignNames()
        self._pass = 0
        self.newest: CompiledDocument | None = None
        self.models = self.tuples = self.objects = self.faults = 0

    def close(self) -> None:
        self._connection.close()

    def add_model(self, model: SourceModel, assertions: Callable[[OpenFgaDocument], str]) -> None:
        """Adds a model; `assertions` returns those of the model as they are stored. The newest model comes first.

        Raises InvalidRequest if the newest cannot be held here, or is not the one with the greatest id."""
        if self.models + self.faults >= MAX_MODELS:
            raise InvalidRequest(f"the list of models goes on for ever: it has more than {MAX_MODELS:,}")
        if not ULID.fullmatch(model.id) or read_ulid_time(model.id) > self._now:
            raise InvalidRequest(f"{show_name(model.id)!r} is no id of a model: it must be a ULID of the past")
        if self.newest is not None and model.id >= self.newest.id:
            raise InvalidRequest("the list of models does not begin with the newest")
        try:
            document = read_document(model.schema_version, model.type_definitions, model.conditions)
            text = assertions(document)
        except (OpenFgaRefusal, InvalidParameter) as refusal:
            if self.newest is None:
                raise InvalidRequest(f"the newest model cannot be had here: {refusal.message}") from None
            self._refuse(SourceFault(f"model {model.id}", refusal.message))
            return
        with translate_disk_faults():
            self._connection.execute(_ADD_MODEL, (model.id, document.text, text, read_ulid_time(model.id)))
        self._names.add(document)
        self.newest = self.newest or compile_text(model.id, document.text)
        self.models += 1

    def add_tuples(self, page: Sequence[SourceRow]) -> int:
        """Adds a page of tuples, and returns how many of them were not there before. Raises InvalidRequest."""
        before = self.tuples + self.faults
        with translate_disk_faults():
            for row in page:
                self._add_tuple(row)
        if self.tuples > MAX_TUPLES:
            raise InvalidRequest(f"the list of tuples goes on for ever: it has more than {MAX_TUPLES:,}")
        return self.tuples + self.faults - before

    def _add_tuple(self, row: SourceRow) -> None:
        key, condition = row.key.render(), row.key.render_condition()
        stored = self._connection.execute(_FIND_TUPLE, (key,)).fetchall()
        if stored:
            if stored != [(condition,)]:
                raise InvalidRequest(f"{key} was changed while it was read; stop writes to that store")
            return
        created_at = self._read_timestamp(row)
        try:
            warrant = self._convert(row.key, created_at)
        except (OpenFgaRefusal, InvalidParameter, Refusal) as refusal:
            message = refusal.reason if isinstance(refusal, Refusal) else refusal.message
            self._connection.execute(_ADD_TUPLE, (key, condition, None, created_at))  # so that it is known as read
            self._refuse(SourceFault(key, message))
            return
        self._connection.execute(_ADD_TUPLE, (key, condition, msgspec.json.encode(warrant).decode(), created_at))
        self.tuples += 1
        for of_type, object_id in (warrant[:2], warrant[3:5]):
            if object_id != WILDCARD:
                self._connection.execute(_ADD_OBJECT, (of_type, object_id, created_at))
                self.objects += self._connection.changes()

    def _refuse(self, fault: SourceFault) -> None:
        self.faults += 1
        self._report(fault)

    def _read_timestamp(self, row: SourceRow) -> int:
        if not row.timestamp:
            return self._now
        try:
            return min(read_time(row.timestamp, "timestamp"), self._now)
        except InvalidParameter as error:
            raise InvalidRequest(f"{row.key.render()}: the timestamp {error.message}") from None

    def _convert(self, written: SourceKey, created_at: int) -> Sequence[str]:
        """Returns the names and the policy of the warrant of a tuple. Raises OpenFgaRefusal, InvalidParameter or
        Refusal if it cannot be had here."""
        key = read_tuple_key(written.user, written.relation, written.object)
        policy = ""
        if written.render_condition() and written.condition is not None:
            condition = NamedCondition(written.condition.name, written.condition.context or {})
            name = PolicyName(STABLE.name_condition(condition.name))
            policy = render_reference(name, rename_context(condition.context))
            read_reference(policy)
        self._require_same_meaning(key, written.condition.name if policy and written.condition else "")
        stored = name_stored(key)
        names = (stored.object.type, stored.object.id, stored.relation, stored.subject.type, stored.subject.id)
        columns = [*names, stored.subject.relation, policy]
        restored = render_stored(_build_warrant(columns, created_at), self._names)
        if restored != (written.render(), written.render_condition()):
            raise OpenFgaRefusal("", "no model that is here has its names, so that it could not be read back")
        return columns

    def _require_same_meaning(self, key: NamedTupleKey, condition: str) -> None:
        """Raises OpenFgaRefusal for a tuple that counts here, and not there: of a form that the newest model lists with
        another condition only, or without one."""
        assert self.newest is not None
        document = self.newest.document
        of_type = document.types.get(key.object.type)
        relation = None if of_type is None else of_type.relations.get(key.relation)
        if relation is None or (condition and condition not in document.conditions):
            return
        pattern = AllowedUser(key.user.type, key.user.relation, key.user.is_wildcard)
        listed = {user.condition for user in relation.allowed if msgspec.structs.replace(user, condition="") == pattern}
        if listed and condition not in listed:
            raise OpenFgaRefusal("", "the newest model does not list this form of user with this condition; delete it")

    def begin_pass(self) -> None:
        """Begins to see all tuples once more."""
        self._pass += 1

    def see_tuple(self, key: str, condition: str) -> bool:
        """Returns whether a tuple was collected, and not seen in this pass before."""
        with translate_disk_faults():
            return bool(self._connection.execute(_SEE_TUPLE, (self._pass, key, condition, self._pass)).fetchall())

    def has_tuple(self, key: str, condition: str) -> bool:
        """Returns whether a tuple was collected."""
        with translate_disk_faults():
            return self._connection.execute(_FIND_TUPLE, (key,)).fetchall() == [(condition,)]

    def list_unseen(self, limit: int) -> tuple[Sequence[str], int]:
        """Returns the first tuples that were not seen in this pass, and how many there are."""
        rows = self._connection.execute(_LIST_UNSEEN, (self._pass, self._pass, limit)).fetchall()
        return [str(row[0]) for row in rows], int(rows[0][1]) if rows else 0  # type: ignore[arg-type]  # a count

    def leave_faults_out(self) -> None:
        """Removes the tuples that cannot be held here."""
        with translate_disk_faults():
            self._connection.execute("DELETE FROM tuple WHERE warrant IS NULL")

    def list_contents(self) -> RestoredContents:
        """Returns what a store is to hold."""
        return RestoredContents(self._read_rows, self.tuples, self.objects)

    def _read_rows(self) -> Iterator[Sequence[RestoredRow]]:
        assert self.newest is not None
        at = read_ulid_time(self.newest.id)
        if policies := [StoredPolicy(name, definition, at) for name, definition in self.newest.policies.items()]:
            yield policies
        yield [StoredObjectType(name, definition, at) for name, definition in self.newest.definitions.items()]
        for rows in self._list_pages(_LIST_OBJECTS, ROWS_AT_ONCE):
            yield [StoredObject(of_type, object_id, None, at) for of_type, object_id, at in rows]
        for rows in self._list_pages(_LIST_WARRANTS, ROWS_AT_ONCE):
            yield [_build_warrant(msgspec.json.decode(names, type=list[str]), at) for names, at in rows]
        for rows in self._list_pages(_LIST_MODELS, 1):
            yield [StoredOpenFgaModel(row[0], row[1], row[2], row[3], 0) for row in rows]

    def _list_pages(self, statement: str, size: int) -> Iterator[Sequence[tuple[Any, ...]]]:
        cursor = self._connection.execute(statement)
        while rows := [*islice(cursor, size)]:
            yield rows

    def draw_checks(self, count: int) -> Sequence[SourceCheck]:
        """Returns up to this many checks by the newest model, each once. They alternate between what a tuple says,
        another relation of the same two, and what the user of one has on the object of another."""
        if not self.tuples or self.newest is None:
            return ()
        drawn, types = random.Random(SEED), self.newest.document.types
        tuples = [self._draw_tuple(drawn) for _ in range(count)]
        checks: dict[str, SourceCheck] = {}
        for number, (of_object, relation, user) in enumerate(tuples):
            variant = number % 3
            of_user = drawn.choice(tuples)[2] if variant == 2 else user
            key = read_tuple_key(of_user, relation, of_object)
            of_type = types.get(key.object.type)
            relations = [] if of_type is None else sorted(of_type.relations)
            chosen = drawn.choice(relations) if variant and relations else relation
            if chosen in relations and _is_defined(key, types):
                check = SourceCheck(key._replace(relation=chosen), of_object, chosen, of_user)
                checks[check.render()] = check
        return [*checks.values()]

    def _draw_tuple(self, drawn: random.Random) -> Sequence[str]:
        [[last]] = self._connection.execute("SELECT max(number) FROM tuple")
        statement = "SELECT key FROM tuple WHERE number >= ? ORDER BY number LIMIT 1"
        [[key]] = self._connection.execute(statement, (drawn.randint(1, last),))
        return msgspec.json.decode(key, type=list[str])


def _is_defined(key: NamedTupleKey, types: Mapping[str, Any]) -> bool:
    return key.user.type in types and (not key.user.relation or key.user.relation in types[key.user.type].relations)


def _build_warrant(written: Sequence[str], created_at: int) -> Warrant:
    of_type, object_id, relation, subject_type, subject_id, subject_relation, policy = written
    on_object = (TypeName(of_type), ObjectId(object_id), RelationName(relation))
    subject = (TypeName(subject_type), ObjectId(subject_id), subject_relation)
    return Warrant(*on_object, *subject, policy, created_at, 0)


def render_stored(warrant: Warrant, names: ForeignNames) -> tuple[str, str]:
    """Returns what identifies the tuple that a warrant is, and its condition, as `SourceKey` renders them."""
    described, condition = names.describe(warrant), names.describe_condition(warrant)
    written = None if condition is None else SourceCondition(condition.name, dict(condition.context))
    key = SourceKey(described.user, described.relation, described.object, written)
    return key.render(), key.render_condition()
