"""Holds what is said to PostgreSQL alone: its dialect, how transactions begin and end, its schema and
its clock, and how statements are written for it."""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import count

from magistrate.store.sql.dialect import (
    COMMIT,
    RELEASE,
    ROLL_BACK_TO_SAVEPOINT,
    SAVEPOINT,
    Dialect,
    number_parameters,
)
from magistrate.store.sql.head import HEAD, LOCK_FREE_HEAD, LOCK_HEAD

# OFFSET 0 keeps a subquery from being merged: it is looked up once for each id or revision, in their order.
POSTGRES = Dialect(
    index_hint="",
    member_key=r"CASE WHEN strpos(replace(meta, '\\', ''), '\u0000') > 0 THEN '0' "
    "WHEN json_typeof(meta::json -> '{0}') = 'string' THEN '1' || (meta::json ->> '{0}') "
    "ELSE '0' END COLLATE \"C\"",
    many_ids="json_array_elements_text(?::json) AS ids (id) CROSS JOIN LATERAL "
    "(SELECT * FROM warrant w WHERE w.{column} = ids.id AND {condition} OFFSET 0) w",
    many_objects="json_array_elements_text(?::json) AS ids (id) CROSS JOIN LATERAL "
    "(SELECT * FROM object o WHERE o.object_id = ids.id AND {condition} OFFSET 0) o",
    indexed="warrant w WHERE {condition}",
    texts="SELECT json_array_elements_text(?::json)",
    changes="change c CROSS JOIN LATERAL "
    "(SELECT * FROM revision r WHERE r.store = :store AND r.revision = c.revision AND ({condition}) OFFSET 0) r "
    "WHERE c.store = :store",
    decisions="decision r CROSS JOIN LATERAL (SELECT 1 AS is_wanted WHERE {condition} OFFSET 0) w "
    "WHERE r.store = :store",
    name="({row}.key::json ->> {place})",
    # By their places: a plan for keys that was made on an empty table may read all rows of the store.
    delete_some="DELETE FROM {table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM {table} WHERE {which})) RETURNING {key}",
    following="SELECT {columns} FROM warrant w WHERE {condition}",
    between=" UNION ALL ",
    all_following="SELECT n.* FROM reached u CROSS JOIN LATERAL ({arms} OFFSET 0) n",
)

# The level is said with each BEGIN: a stricter default of the database would make writers that wait for the head fail.
BEGIN_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
READ_WAIT = "SELECT (extract(epoch FROM clock_timestamp() - transaction_timestamp()) * 1000000)::bigint"
"""Returns for how many microseconds the transaction has existed: behind LOCK_HEAD, how long it waited for the lock."""
CONTROL = frozenset(
    (BEGIN_WRITE, LOCK_HEAD, LOCK_FREE_HEAD, READ_WAIT, SAVEPOINT, ROLL_BACK_TO_SAVEPOINT, RELEASE, COMMIT)
)
"""Holds the statements of a write's transaction that are none of its script."""

NEXT_MOVED = "pg_current_xact_id()::text::bigint"
"""Is the number of the transaction. Numbers are not committed in order, but whoever looks next for those from the
oldest one that was still running (FIRST_MOVED) misses none."""
FIRST_MOVED = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
END_OF_MOVED = "pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
"""Is not reached by any change that is seen. Rows of a dump of another server may be beyond: their changes are old."""
FOLLOW_HEADS = """
SELECT pg_current_snapshot()::text,
    concat_ws(' ', pg_postmaster_start_time(), pg_is_in_recovery(), pg_relation_filenode('head'), d.restored_by), h.*
FROM (SELECT 1) one LEFT JOIN (
    SELECT CASE WHEN xmin::text::bigint <> moved % 4294967296 THEN xmin::text END AS restored_by
    FROM head WHERE store = 1
) d ON true LEFT JOIN (
    SELECT store, CASE WHEN deleted_at IS NULL THEN revision END, bits FROM head
    WHERE moved >= pg_snapshot_xmin(?::pg_snapshot)::text::bigint
        AND (pg_is_in_recovery() OR NOT pg_visible_in_snapshot(moved::text::xid8, ?::pg_snapshot))
    ORDER BY moved LIMIT ?
) h ON true"""
"""Lists the heads that were moved by transactions which an earlier snapshot does not see; none for NULL. The snapshots
of a standby do not name the transactions that are running, so all from the oldest of these on are listed there; and one
that is promoted counts as another server. So does one whose rows were restored in place, with the numbers of former
transactions in `moved`: in another file, or by a transaction that is not the one in the row of `default`."""
READ_CLOCK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
HAS_MIGRATIONS = "SELECT to_regclass(quote_ident(current_schema()) || '.migration') IS NOT NULL"
"""Looks where the table would be created: IF NOT EXISTS alone demands the privilege to create it even if it exists.
Another schema of the search path may have a table of that name that is not ours."""

LOCK_MIGRATIONS = "SELECT number FROM migration ORDER BY number LIMIT 1 FOR UPDATE"
"""Makes other processes that migrate wait until the end of the transaction. None that reads the table waits for it.
Without a row, this transaction has made the table, which nobody else sees yet."""
# Does nothing on servers before PostgreSQL 14, which do not know the parameter, and leaves one alone that is set.
CHECK_CLIENT = """
SELECT set_config('client_connection_check_interval', $1, false)
WHERE current_setting('client_connection_check_interval', true) = '0'"""
# Leaves the parameter alone if it is set, by an operator who wants less or more.
END_IDLE_TRANSACTIONS = """
SELECT set_config('idle_in_transaction_session_timeout', $1, false)
WHERE current_setting('idle_in_transaction_session_timeout', true) = '0'"""
LIMIT_LOCK_WAIT = "SET LOCAL lock_timeout = {milliseconds}"
LIST_SMALL_TABLES = """
SELECT relname FROM pg_class
WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind = 'r' AND relname = ANY ($1)
AND reltuples < $2"""
"""Lists those of the named tables that had fewer rows when they were analyzed last, or never were."""

_SCHEMA_WORDS = {"INTEGER": "BIGINT", "TEXT": 'TEXT COLLATE "C"', " STRICT, WITHOUT ROWID": "", " STRICT": ""}
_SCHEMA_WORD = re.compile(r"\b(?:INTEGER|TEXT)\b| STRICT(?:, WITHOUT ROWID)?(?=;)")


def translate_schema(statements: str) -> str:
    """Returns the statements of a migration, which are written for SQLite, as PostgreSQL reads them. Texts are compared
    bytewise, as the contract of stores demands and SQLite does."""
    return _SCHEMA_WORD.sub(lambda matched: _SCHEMA_WORDS[matched[0]], statements)


@lru_cache(maxsize=64)
def find_each(statement: str) -> str:
    """Returns a statement that finds the rows of all keys in a JSON array, given the one for a single key. Each key is
    looked up by itself: OFFSET 0 keeps the planner from joining them with the whole table."""
    numbers = count()
    lookup = re.sub(r"\?", lambda _: f"k.key_{next(numbers)}", statement)
    columns = ", ".join(f"key ->> {number} AS key_{number}" for number in range(statement.count("?")))
    keys = f"SELECT {columns} FROM json_array_elements(?::json) k (key) OFFSET 0"
    return f"SELECT f.* FROM ({keys}) k CROSS JOIN LATERAL ({lookup} OFFSET 0) f"


def analyze_tables(names: Iterable[str]) -> str:
    """Returns a statement that leaves out tables which another process analyzes or changes right now, and, with a
    warning, those of another owner."""
    return f"ANALYZE (SKIP_LOCKED) {', '.join(names)}"


_HEAD_WITH_REVISION = """
(SELECT * FROM head WHERE store = $1 AND deleted_at IS NULL AND ((revision = {least} AND bits = {bits}) OR EXISTS (
    SELECT 1 FROM revision l WHERE l.store = $1 AND l.revision = {least} AND l.bits = {bits}))) h"""


@lru_cache(maxsize=2_048)
def demand_revision(statement: str) -> str:
    """Returns a statement that selects from `head`, for a replica: it has two more parameters at its end, a revision
    and its bits, and no rows unless the database holds that revision."""
    number = statement.count("?") + 2
    demanding = _HEAD_WITH_REVISION.format(least=f"${number}::bigint", bits=f"${number + 1}::bigint")
    return number_placeholders(statement).replace(number_placeholders(HEAD), demanding)


def number_placeholders(statement: str) -> str:
    """Returns a statement with PostgreSQL's parameters; see `number_parameters`."""
    return number_parameters(statement, "$", NEXT_MOVED, FIRST_MOVED, END_OF_MOVED)
