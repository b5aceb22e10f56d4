"""Holds statements by name; `sql_models.py`, `sql_credentials.py` and `sql_collecting.py` hold more by the same rules,
and `sql_lists.py` builds those of lists. Parameters are `?`, in order.

One text serves SQLite and PostgreSQL: it uses only what both understand, and nothing that a wire-compatible database
would lack (no advisory locks). What differs between them is kept with the stores: how a write
transaction begins, the migrations, and the pieces of SQL that are filled into statements. A Dialect is filled into
lists (how an index is named to the planner, how a member of `meta` is extracted), and a Joining into reads of
warrants, objects and events (how tables are joined, how the texts of JSON arrays and keys are extracted).

Reads select from `head` in the same statement, so the rows and the revision they belong to come from one snapshot in
one round trip. ALIVE is a literal in the text: a planner that cannot see it would consider the column selective."""

from dataclasses import dataclass

from magistrate.store.contract.stored_rows import ALIVE
from magistrate.store.sql.tables import ENDED_BY_EXPIRY as ENDED_BY_EXPIRY
from magistrate.store.sql.tables import OBJECT_NAMES as OBJECT_NAMES
from magistrate.store.sql.tables import OBJECT_TYPES as OBJECT_TYPES
from magistrate.store.sql.tables import OBJECTS as OBJECTS
from magistrate.store.sql.tables import WARRANTS as WARRANTS
from magistrate.store.sql.tables import TableListing as TableListing

Parameter = str | int | None

BITS = "CASE WHEN h.bits_of = h.revision THEN h.bits END"
"""Selects the bits of the newest revision; NULL if a process of an earlier version made it, which leaves those of the
one before."""
NEWEST = f"h.revision, h.horizon, {BITS}"
"""Begins what each read selects; see the checks of read rows in sql_revisions.py."""
READ_HEAD = f"SELECT {NEWEST} FROM head h"
LOCK_HEAD = f"SELECT {NEWEST}, h.model_revision FROM head h FOR UPDATE"
"""Is for databases that lock rows."""
READ_IDENTITY = "SELECT store_id, cursor_key FROM head"
MAKE_HEAD = "INSERT INTO head (only_row, store_id, cursor_key, revision, horizon) VALUES (1, ?, ?, 0, 1)"
MOVE_HEAD = "UPDATE head SET revision = ?, bits = ?, bits_of = ?"
MOVE_MODEL = "UPDATE head SET model_revision = ?"
MOVE_HORIZON = "UPDATE head SET horizon = ? WHERE horizon < ?"
INSERT_REVISION = """
INSERT INTO revision (called_revision, revision, bits, written_at, actor, request_id, reached_at)
SELECT CASE WHEN n.is_called = 1 THEN n.revision ELSE coalesce(p.called_revision, p.revision, 0) END,
    n.revision, n.bits, n.written_at, n.actor, n.request_id,
    CASE WHEN p.reached_at > n.written_at THEN p.reached_at ELSE n.written_at END
FROM (SELECT CAST(? AS BIGINT) AS is_called, CAST(? AS BIGINT) AS revision, CAST(? AS BIGINT) AS bits,
    CAST(? AS BIGINT) AS written_at, CAST(? AS TEXT) AS actor, CAST(? AS TEXT) AS request_id) n
LEFT JOIN revision p ON p.revision = n.revision - 1"""
_FIND_REVISION = f"""
SELECT {NEWEST}, h.model_revision, r.revision, r.written_at, r.reached_at, r.bits,
    o.revision, o.written_at, o.reached_at
FROM head h LEFT JOIN revision r ON r.revision = {{found}}
LEFT JOIN revision o ON o.revision = (
    SELECT revision FROM revision WHERE revision >= h.horizon ORDER BY revision LIMIT 1)"""
FIND_BITS = f"SELECT {NEWEST}, r.revision, r.bits FROM head h LEFT JOIN revision r ON r.revision = ?"
LOCATE_REVISION = f"""
SELECT {NEWEST}, s.revision, s.bits, r.revision, r.bits
FROM head h LEFT JOIN revision s ON s.revision = ? LEFT JOIN revision r ON r.revision = ?"""
FIND_EXPECTED = """
SELECT e.revision, e.bits, coalesce(n.called_revision, n.revision, 0)
FROM head h LEFT JOIN revision n ON n.revision = h.revision LEFT JOIN revision e ON e.revision = ?"""
FIND_REVISION = _FIND_REVISION.format(found="?")
FIND_REVISION_AT = _FIND_REVISION.format(
    found="(SELECT revision FROM revision WHERE reached_at <= ? ORDER BY reached_at DESC, revision DESC LIMIT 1)"
)

INSERT_CHANGE = "INSERT INTO change (revision, position, action, kind, key, before, after) VALUES (?, ?, ?, ?, ?, ?, ?)"
INSERT_LIMITED_CHANGE = """
INSERT INTO change (revision, position, action, kind, key, before, after, starts_at, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
# A subquery limits the changes: for a join, SQLite would build an index of the whole log each time.
LIST_WARRANT_CHANGES = f"""
SELECT h.revision, h.changes_forgotten, {BITS}, s.revision, s.bits, h.model_revision, found.*
FROM head h LEFT JOIN revision s ON s.revision = ? LEFT JOIN (
    SELECT revision, position, key, action, starts_at, expires_at FROM change
    WHERE revision > ? AND kind = 'warrant' ORDER BY revision, position LIMIT ?
) found ON true"""

# Row values are compared as a range of the primary key.
LIST_CHANGES = f"""
SELECT h.revision, h.changes_forgotten, {BITS}, found.* FROM head h LEFT JOIN (
    SELECT revision, position, action, kind, key, before, after, starts_at, expires_at FROM change
    WHERE revision > ? AND revision <= ? AND (revision, position) > (?, ?) AND kind IN ('object', 'warrant')
    ORDER BY revision, position LIMIT ?
) found ON true ORDER BY found.revision, found.position"""

LAST_DECISION = """
SELECT coalesce(d.number, h.decisions_deleted), coalesce(d.reached_at, 0)
FROM head h LEFT JOIN decision d ON d.number = (SELECT max(number) FROM decision)"""
INSERT_DECISIONS = """
INSERT INTO decision (
    number, stored_revision, reached_at, decided_at, action, key, context, revision, contextual_warrants, is_partial,
    actor, request_id, bits
) VALUES """
FIND_DECISION = f"""
SELECT {NEWEST}, d.decided_at, d.action, d.key, d.context, d.revision, d.contextual_warrants, d.is_partial,
    d.actor, d.request_id, d.bits
FROM head h LEFT JOIN decision d ON d.number = ? AND d.stored_revision = ?"""
LAST_SURPLUS_DECISION = """
SELECT number FROM decision WHERE number <= ? AND number < (SELECT min(number) FROM decision) + ?
ORDER BY number DESC LIMIT 1"""
# Whoever follows the events has to know what is gone, and where it was.
MOVE_DELETED_DECISIONS = """
UPDATE head SET decisions_deleted = ?,
    decisions_deleted_at = (SELECT stored_revision FROM decision WHERE number = ?)"""
DELETE_DECISIONS = "DELETE FROM decision WHERE number <= ?"

# The column is named after the actor, but holds the owner.
_FIND_ONCE = "SELECT actor, key, fingerprint, revision, answer, written_at FROM idempotency WHERE"
FIND_ONCE = f"{_FIND_ONCE} actor = ? AND key = ?"
FIND_ANY_ONCE = f"{_FIND_ONCE} (actor, key) IN"
DELETE_ONCE = "DELETE FROM idempotency WHERE actor = ? AND key = ?"
KEEP_ONCE = """
INSERT INTO idempotency (actor, key, fingerprint, revision, answer, written_at) VALUES (?, ?, ?, ?, ?, ?)"""

# The column is named after the mark of a file, but also holds the marks of other sources.
FIND_IMPORT = "SELECT source, lines, size_bytes, digest FROM import WHERE source = ?"
DELETE_IMPORT = "DELETE FROM import WHERE source = ?"
KEEP_IMPORT = "INSERT INTO import (source, lines, size_bytes, digest) VALUES (?, ?, ?, ?)"

GET_OBJECT = f"""
SELECT {NEWEST}, o.object_type, o.object_id, o.meta, o.created_at FROM head h
LEFT JOIN object o ON o.object_type = ? AND o.object_id = ? AND o.deleted_revision = {ALIVE}"""
GET_OBJECT_AT = f"""
SELECT {NEWEST}, o.object_type, o.object_id, o.meta, o.created_at FROM head h
LEFT JOIN object o ON o.object_type = ? AND o.object_id = ? AND o.created_revision <= ? AND o.deleted_revision > ?"""
FIND_OBJECT = f"""
SELECT object_type, object_id, meta, created_at FROM object
WHERE object_type = ? AND object_id = ? AND deleted_revision = {ALIVE}"""
FIND_OBJECTS = f"""
SELECT object_type, object_id, meta, created_at FROM object
WHERE deleted_revision = {ALIVE} AND (object_type, object_id) IN"""
END_OBJECT = f"""
UPDATE object SET deleted_revision = ? WHERE object_type = ? AND object_id = ? AND deleted_revision = {ALIVE}"""
INSERT_OBJECT = f"""
INSERT INTO object (object_type, object_id, meta, created_at, created_revision, deleted_revision)
VALUES (?, ?, ?, ?, ?, {ALIVE})"""
INSERT_MISSING_OBJECT = f"{INSERT_OBJECT} ON CONFLICT DO NOTHING"
OBJECTS_CREATED = f"""
SELECT object_type, object_id FROM object
WHERE deleted_revision = {ALIVE} AND created_at = ? AND created_revision = ?"""

GET_OBJECT_TYPE = f"""
SELECT {NEWEST}, t.type, t.definition, t.created_at FROM head h
LEFT JOIN object_type t ON t.type = ? AND t.deleted_revision = {ALIVE}"""
GET_OBJECT_TYPE_AT = f"""
SELECT {NEWEST}, t.type, t.definition, t.created_at FROM head h
LEFT JOIN object_type t ON t.type = ? AND t.created_revision <= ? AND t.deleted_revision > ?"""
LIST_DEFINITIONS = f"SELECT type, definition FROM object_type WHERE deleted_revision = {ALIVE} ORDER BY type"
FIND_OBJECT_TYPES = f"""
SELECT type, definition, created_at FROM object_type WHERE deleted_revision = {ALIVE} AND (type) IN"""
FIND_OBJECT_TYPE = f"SELECT type, definition, created_at FROM object_type WHERE type = ? AND deleted_revision = {ALIVE}"
END_OBJECT_TYPE = f"UPDATE object_type SET deleted_revision = ? WHERE type = ? AND deleted_revision = {ALIVE}"
INSERT_OBJECT_TYPE = f"""
INSERT INTO object_type (type, definition, created_at, created_revision, deleted_revision)
VALUES (?, ?, ?, ?, {ALIVE})"""

_PATTERN = "object_type, object_id, relation, subject_type, subject_id, subject_relation"
_MODEL = f"""
SELECT {NEWEST}, h.model_revision, m.*{{span}} FROM head h LEFT JOIN (
    SELECT 'type' AS kind, type, definition, '' AS c, '' AS d, '' AS e, '' AS f FROM object_type WHERE {{alive}}
    UNION ALL SELECT 'policy', name, definition, '', '', '', '' FROM named_policy WHERE {{alive}}
    UNION ALL SELECT 'form', {_PATTERN} FROM warrant_form
) m ON true ORDER BY m.kind, m.type"""
READ_MODEL = _MODEL.format(alive=f"deleted_revision = {ALIVE}", span="")
_TYPES_CHANGED = " UNION ALL ".join(
    f"SELECT {column} AS r FROM {table}"
    for table in ("object_type", "named_policy")
    for column in ("created_revision", "deleted_revision")
)
READ_MODEL_AT = _MODEL.format(
    alive="created_revision <= ? AND deleted_revision > ?",
    span=f""",
    (SELECT max(r) FROM ({_TYPES_CHANGED}) c WHERE r <= ?), (SELECT min(r) FROM ({_TYPES_CHANGED}) c WHERE r > ?)""",
)

FIND_PATTERN = f"SELECT {_PATTERN} FROM warrant_form WHERE ({_PATTERN}) = (?, ?, ?, ?, ?, ?)"
FIND_PATTERNS = f"SELECT {_PATTERN} FROM warrant_form WHERE ({_PATTERN}) IN"
INSERT_PATTERN = f"INSERT INTO warrant_form ({_PATTERN}) VALUES (?, ?, ?, ?, ?, ?)"

_WARRANT_KEY = "object_type, object_id, relation, subject_type, subject_id, subject_relation, policy"
_FIND_WARRANTS = f"""
SELECT {_WARRANT_KEY}, number, starts_at, expires_at, text, created_at
FROM warrant LEFT JOIN policy ON digest = policy WHERE deleted_revision = {ALIVE} AND ({_WARRANT_KEY})"""
FIND_WARRANT = f"{_FIND_WARRANTS} = (?, ?, ?, ?, ?, ?, ?)"
FIND_WARRANTS = f"{_FIND_WARRANTS} IN"
END_WARRANT = f"""
UPDATE warrant SET deleted_revision = ?
WHERE ({_WARRANT_KEY}) = (?, ?, ?, ?, ?, ?, ?) AND deleted_revision = {ALIVE}"""
# A NULL for created_at stands for any.
END_WARRANT_THAT_DIFFERS = f"""{END_WARRANT} AND (created_at <> coalesce(?, created_at)
OR starts_at IS DISTINCT FROM ? OR expires_at IS DISTINCT FROM ?)"""
WARRANTS_ENDED = f"SELECT {_WARRANT_KEY}, created_at FROM warrant WHERE deleted_revision = ?"
INSERT_WARRANT = f"""
INSERT INTO warrant ({_WARRANT_KEY}, number, created_at, created_revision, deleted_revision)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {ALIVE})"""
INSERT_MISSING_WARRANT = f"{INSERT_WARRANT} ON CONFLICT DO NOTHING"
INSERT_LIMITED_WARRANT = f"""
INSERT INTO warrant ({_WARRANT_KEY}, number, created_at, created_revision, deleted_revision, starts_at, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {ALIVE}, ?, ?)"""
INSERT_MISSING_LIMITED_WARRANT = f"{INSERT_LIMITED_WARRANT} ON CONFLICT DO NOTHING"
NUMBERS_BETWEEN = "SELECT number FROM warrant WHERE number BETWEEN ? AND ?"
KEEP_POLICY = "INSERT INTO policy (digest, text, reads_clock) VALUES (?, ?, ?) ON CONFLICT (digest) DO NOTHING"
_OF_OBJECT = f"object_id = ? AND object_type = ? AND deleted_revision = {ALIVE}"
_OF_SUBJECT = f"subject_id = ? AND subject_type = ? AND deleted_revision = {ALIVE}"
_WARRANTS_OF = f"""
SELECT {_WARRANT_KEY}, number, starts_at, expires_at, text FROM warrant LEFT JOIN policy ON digest = policy
WHERE {{of}} AND ({{order}}) > (?, ?, ?, ?, ?) ORDER BY {{order}} LIMIT ?"""
WARRANTS_OF_OBJECT = _WARRANTS_OF.format(
    of=_OF_OBJECT, order="relation, subject_relation, subject_type, subject_id, policy"
)
WARRANTS_OF_SUBJECT = _WARRANTS_OF.format(
    of=_OF_SUBJECT, order="subject_relation, object_type, relation, object_id, policy"
)
END_WARRANTS_OF_OBJECT = f"UPDATE warrant SET deleted_revision = ? WHERE {_OF_OBJECT}"
END_WARRANTS_OF_SUBJECT = f"UPDATE warrant SET deleted_revision = ? WHERE {_OF_SUBJECT}"
_END_EXPIRED_OF = "UPDATE warrant SET deleted_revision = ?, expired_revision = ? WHERE {of} AND expires_at <= ?"
END_EXPIRED_OF_OBJECT = _END_EXPIRED_OF.format(of=_OF_OBJECT)
END_EXPIRED_OF_SUBJECT = _END_EXPIRED_OF.format(of=_OF_SUBJECT)
NEXT_EXPIRY = f"""
SELECT expires_at FROM warrant WHERE deleted_revision = {ALIVE} AND expires_at IS NOT NULL
ORDER BY expires_at LIMIT 1"""
EXPIRED_WARRANTS = f"""
SELECT {_WARRANT_KEY}, number, starts_at, expires_at, text
FROM warrant LEFT JOIN policy ON digest = policy
WHERE deleted_revision = {ALIVE} AND expires_at <= ? ORDER BY expires_at, number LIMIT ?"""
# Not coalesce(expires_at, ...) > ?: PostgreSQL would expect two of three rows to have expired, and read more instead.
UNEXPIRED = "(expires_at <= ?) IS NOT TRUE"
END_EXPIRED_WARRANT = "UPDATE warrant SET deleted_revision = ?, expired_revision = ? WHERE number = ?"
END_NUMBERED_WARRANT = f"UPDATE warrant SET deleted_revision = ? WHERE number = ? AND deleted_revision = {ALIVE}"
END_MATCHED_WARRANT = f"{END_NUMBERED_WARRANT} AND {UNEXPIRED}"
NUMBERS_ENDED = "SELECT number FROM warrant WHERE deleted_revision = ?"

_TIMED_WARRANT = (
    "w.object_type, w.object_id, w.relation, w.subject_type, w.subject_id, w.subject_relation, w.policy, "
    "w.created_at, w.number, w.starts_at, w.expires_at"
)
# Each arm reads a range of a partial index, whose condition has to be repeated. CROSS JOIN keeps SQLite from beginning
# with the warrants.
_LIMIT_REACHED = """
SELECT {columns} FROM warrant w WHERE w.deleted_revision = {alive}
    AND w.{limit} IS NOT NULL AND w.{limit} > ? AND w.{limit} <= ? AND w.created_revision <= ?
UNION ALL SELECT {columns} FROM warrant w WHERE w.deleted_revision > ? AND w.deleted_revision < {alive}
    AND w.{limit} IS NOT NULL AND w.{limit} > ? AND w.{limit} <= ? AND w.created_revision <= ?"""
LIST_TIMED_WARRANTS = f"""
SELECT {NEWEST}, u.object_type, u.object_id, u.relation, u.subject_type, u.subject_id, u.subject_relation,
    coalesce(p.text, ''), u.created_at, u.number, u.starts_at, u.expires_at
FROM head h LEFT JOIN (SELECT * FROM (
    {_LIMIT_REACHED.format(columns=_TIMED_WARRANT, alive=ALIVE, limit="starts_at")}
    UNION {_LIMIT_REACHED.format(columns=_TIMED_WARRANT, alive=ALIVE, limit="expires_at")}
    UNION SELECT {_TIMED_WARRANT} FROM policy c CROSS JOIN warrant w WHERE c.reads_clock = 1
        AND w.policy = c.digest AND w.policy <> '' AND w.deleted_revision > ? AND w.created_revision <= ?
) v LIMIT ?) u ON true LEFT JOIN policy p ON p.digest = u.policy"""


@dataclass(frozen=True, slots=True)
class Clause:
    """Holds a piece of SQL with the values of its parameters, in order."""

    sql: str
    values: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialect:
    """Holds the pieces of SQL in which databases differ.

    `index_hint` follows the name of a table; `{}` stands for the name of an index. `member_key` is an expression for
    a member of `meta`, whose name replaces `{}`: `1` followed by the text if the member is a text, otherwise `0`. A
    meta with a NUL character counts as having no text, because PostgreSQL cannot store that character."""

    index_hint: str
    member_key: str


REVISIONS_FROM = "SELECT revision, written_at FROM revision WHERE revision >= ? ORDER BY revision LIMIT ?"
ENDED_OBJECTS = """
SELECT object_type, object_id, deleted_revision FROM object
WHERE deleted_revision <= ? ORDER BY deleted_revision LIMIT ?"""
DELETE_ENDED_OBJECT = "DELETE FROM object WHERE object_type = ? AND object_id = ? AND deleted_revision = ?"
ENDED_OBJECT_TYPES = """
SELECT type, deleted_revision FROM object_type WHERE deleted_revision <= ? ORDER BY deleted_revision LIMIT ?"""
DELETE_ENDED_OBJECT_TYPE = "DELETE FROM object_type WHERE type = ? AND deleted_revision = ?"
ENDED_WARRANTS = """
SELECT number, deleted_revision FROM warrant WHERE deleted_revision <= ? ORDER BY deleted_revision LIMIT ?"""
DELETE_ENDED_WARRANT = "DELETE FROM warrant WHERE number = ? AND deleted_revision = ?"
OLDEST_CHANGES = "SELECT revision, position FROM change WHERE revision <= ? ORDER BY revision, position LIMIT ?"
DELETE_CHANGES = "DELETE FROM change WHERE (revision, position) <= (?, ?)"
MOVE_DELETED_CHANGES = "UPDATE head SET changes_forgotten = ? WHERE changes_forgotten < ?"
DELETE_REVISIONS = "DELETE FROM revision WHERE revision <= ?"
OLDEST_DECISIONS = "SELECT number FROM decision WHERE reached_at <= ? ORDER BY reached_at, number LIMIT ?"
EXPIRED_ONCE = "SELECT actor, key FROM idempotency WHERE written_at <= ? ORDER BY written_at LIMIT ?"
