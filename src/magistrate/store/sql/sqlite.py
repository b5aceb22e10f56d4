"""Holds what is said to SQLite alone: its dialect, how transactions begin and end, settings of connections,
probes, and how the rows of many keys are looked up in few statements."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, compress
from operator import itemgetter

from magistrate.store.sql.dialect import Dialect, Parameter, number_parameters
from magistrate.store.sql.head import MAX_MOVED

SQLITE = Dialect(
    # The planner ignores LIMIT: given statistics, it may sort a table instead of reading an index in order.
    index_hint=" INDEXED BY {}",
    member_key=r"CASE WHEN instr(replace(meta, '\\', ''), '\u0000') > 0 THEN '0' "
    "WHEN json_type(meta, '$.{0}') = 'text' THEN '1' || (meta ->> '$.{0}') ELSE '0' END",
    many_ids="json_each(?) ids CROSS JOIN warrant w INDEXED BY {index} ON w.{column} = ids.value AND {condition}",
    many_objects="json_each(?) ids CROSS JOIN object o ON o.object_id = ids.value AND {condition}",
    indexed="warrant w INDEXED BY {index} WHERE {condition}",
    texts="SELECT value FROM json_each(?)",
    changes="change c CROSS JOIN revision r ON r.store = :store AND r.revision = c.revision "
    "WHERE c.store = :store AND ({condition})",
    decisions="decision r NOT INDEXED WHERE r.store = :store AND ({condition})",
    name="json_extract({row}.key, '$[{place}]')",
    delete_some="DELETE FROM {table} WHERE (store, {key}) IN (SELECT store, {key} FROM {table} WHERE {which}) "
    "RETURNING {key}",
    following="SELECT {columns} FROM reached u CROSS JOIN warrant w INDEXED BY warrant_by_object ON {condition}",
    between=" UNION ",
    all_following="{arms}",
)

BEGIN_WRITE = "BEGIN IMMEDIATE"

USE_WRITE_AHEAD_LOG = "PRAGMA journal_mode = WAL"
OF_EACH_CONNECTION = (
    # FULL: with NORMAL, a write-ahead log may lose acknowledged transactions when the machine loses power.
    "PRAGMA synchronous = FULL",
    "PRAGMA cache_size = -16384",  # in KiB
    "PRAGMA temp_store = MEMORY",  # of what savepoints may have to restore
)
READ_ONLY = "PRAGMA query_only = ON"
# Deleted content is overwritten with zeros: a key that was stored unencrypted must not stay in a page.
OVERWRITE_DELETED = "PRAGMA secure_delete = FAST"
READ_ENCODING = "PRAGMA encoding"
READ_DATA_VERSION = "PRAGMA data_version"
HAS_MIGRATIONS = "SELECT 1 FROM sqlite_schema WHERE name = 'migration'"

NEXT_MOVED = FIRST_MOVED = "(SELECT coalesce(max(moved), 0) + 1 FROM head)"
"""Is the next number: writers are alone, so numbers are committed in order."""
END_OF_MOVED = str(MAX_MOVED)

PROBE_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
PROBE_INDEXES = "SELECT name, tbl_name, sql FROM sqlite_schema WHERE type = 'index' AND rootpage > 0"
PROBE_NEWEST_STORE = "SELECT max(store) FROM head"
PROBE_STORE = """
SELECT h.store, coalesce((SELECT max(w.number) FROM warrant w WHERE w.store = h.store), 0)
FROM head h WHERE h.store >= ? ORDER BY h.store LIMIT 1"""
PROBE_WARRANT = """
SELECT object_id, object_type, subject_id, subject_type FROM warrant
WHERE store = :store AND number >= ? ORDER BY number LIMIT 1"""
PROBE_BY_OBJECT = """
SELECT policy FROM warrant INDEXED BY warrant_by_object
WHERE store = :store AND object_id = ? AND object_type = ? LIMIT 1"""
PROBE_BY_SUBJECT = """
SELECT policy FROM warrant INDEXED BY warrant_by_subject
WHERE store = :store AND subject_id = ? AND subject_type = ? LIMIT 1"""
PROBE_OBJECT = "SELECT meta FROM object WHERE store = :store AND object_id = ? AND object_type = ? LIMIT 1"
PROBE_TABLE = "SELECT * FROM {table} LIMIT 1"
PROBE_COLUMNS = "PRAGMA index_info({index})"
PROBE_INDEX = "SELECT {column} FROM {table} INDEXED BY {index} WHERE {condition} LIMIT 1"

KEYS_AT_ONCE = 512
"""Limits the keys that one statement looks up. A statement has at most 32,766 values, and a key up to seven; longer
statements are not faster, and are too long to be kept prepared."""

MIN_KEYS_COMPARED = 32
"""Sets the number of keys from which on columns that are alike in all of them are bound once."""

MAX_GROUPS = 4
"""Limits the groups of keys that are alike in their first column and looked up apart from the others."""

_COLUMNS = re.compile(r"\(([^()]*)\) = \([^()]*\)$")

Lookup = tuple[str, Sequence[Parameter]]
"""Holds a statement and its values."""


def build_lookups(statement: str, keys: Sequence[tuple[str, ...]]) -> Iterator[Lookup]:
    """Yields statements that together find the rows of all keys, given the statement for a single key.

    They take a quarter of the time of one statement per key. The keys of a large write are often alike in all columns
    but one or two, which halves it again."""
    if len(keys) == 1:
        yield statement, keys[0]
        return
    for group in _group_keys(keys):
        for start in range(0, len(group), KEYS_AT_ONCE):
            yield _find_together(statement, _pad_keys(group[start : start + KEYS_AT_ONCE]))


def _group_keys(keys: Sequence[tuple[str, ...]]) -> Sequence[Sequence[tuple[str, ...]]]:
    """Returns the keys with the same first column together, if these are many and there are few such columns: a write
    has objects and subjects of two types, for example."""
    columns = list(map(itemgetter(0), keys)) if len(keys) >= MIN_KEYS_COMPARED else []
    names = dict.fromkeys(columns)
    if not 1 < len(names) <= MAX_GROUPS:
        return [keys]
    return [list(compress(keys, map(name.__eq__, columns))) for name in names]


def _find_together(statement: str, keys: Sequence[tuple[str, ...]]) -> Lookup:
    columns = list(zip(*keys, strict=True)) if len(keys) >= MIN_KEYS_COMPARED else ()
    alike = tuple(place for place, column in enumerate(columns) if column.count(column[0]) == len(column))
    values: Iterable[Parameter]
    if 0 < len(alike) < len(columns):
        differing = zip(*(column for place, column in enumerate(columns) if place not in alike), strict=True)
        values = chain((columns[place][0] for place in alike), chain.from_iterable(differing))
    else:
        alike, values = (), chain.from_iterable(keys)
    return _write_statement(statement, alike, len(keys)), list(values)


@lru_cache(maxsize=256)
def _write_statement(statement: str, alike: Sequence[int], keys: int) -> str:
    """Returns the statement that looks up so many keys, given the one for a single key. The columns at the places of
    `alike` are equal in all keys; they are bound first, and once."""
    matched = _COLUMNS.search(statement)
    assert matched is not None
    names = matched[1].split(", ")
    equal = "".join(f"{names[place]} = ? AND " for place in alike)
    differing = [name for place, name in enumerate(names) if place not in alike]
    places = ", ".join([f"({', '.join('?' * len(differing))})"] * keys)
    return f"{statement[: matched.start()]}{equal}({', '.join(differing)}) IN (VALUES {places})"


def _pad_keys(keys: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Returns the keys, the last of them repeated until their number is a power of two, so that there are few
    different statements."""
    return [*keys, *[keys[-1]] * ((1 << (len(keys) - 1).bit_length()) - len(keys))]


def number_placeholders(statement: str) -> str:
    """Returns a statement with SQLite's numbered parameters; see `number_parameters`."""
    return number_parameters(statement, "?", NEXT_MOVED, FIRST_MOVED, END_OF_MOVED)
