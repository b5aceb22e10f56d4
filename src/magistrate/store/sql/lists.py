"""Describes the tables that can be listed, and builds the statements that list their rows, a page at a time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from magistrate.engine.names import Revision
from magistrate.engine.warrants.warrant import WarrantPattern
from magistrate.store.contract.lists import Slice
from magistrate.store.contract.read_memory import LARGE_ROW_BYTES, SMALL_ROW_BYTES
from magistrate.store.contract.stored_rows import ALIVE
from magistrate.store.sql.dialect import Clause, Dialect, Parameter
from magistrate.store.sql.head import HEAD, NEWEST
from magistrate.store.sql.warrants import READ_ROWS, STORED_WARRANT, UNEXPIRED, WARRANT_NAMES


@dataclass(frozen=True, slots=True)
class TableListing:
    """Describes a table that can be listed.

    Each sort is a sequence of columns that is unique among the rows of one revision. An index serves each sort, with
    and without a filter by `equal` (tests/store/test_query_plans.py verifies the plans)."""

    table: str
    columns: tuple[str, ...]
    sorts: Mapping[str, tuple[str, ...]]
    indexes: Mapping[tuple[str, ...], str]
    """Maps columns to an index: first the columns that a filter fixes, then those by which the rows are sorted. In
    the index, `deleted_revision` comes before them."""
    searched: tuple[str, ...] = ()
    joined: str = ""
    narrowing: Mapping[str, str] = field(default_factory=dict)
    """Maps columns whose filters leave few rows to the index that finds these rows, which are then sorted."""
    ended_by: str = ""
    """Names the column of the revision that ended the listed rows; empty if living rows are listed."""
    row_bytes: int = SMALL_ROW_BYTES
    """Limits the bytes of most rows, for which memory is reserved before they are read; 0 if rows are not kept."""
    members: Mapping[str, str] = field(default_factory=dict)
    """Maps the members of `meta` that rows can be sorted by to the column that each makes. No index serves these
    sorts: all rows that match the filter are read."""


OBJECTS = TableListing(
    table="object",
    columns=("object_type", "object_id", "meta", "created_at"),
    sorts={
        "objectId": ("object_id", "object_type"),
        "createdAt": ("created_at", "object_id", "object_type"),
        "objectType": ("object_type", "object_id"),
        "email": ("email_key", "object_id", "object_type"),
        "name": ("name_key", "object_id", "object_type"),
    },
    indexes={
        ("object_id", "object_type"): "object_by_id",
        ("object_type", "object_id"): "object_by_type",
        ("created_at", "object_id", "object_type"): "object_by_creation",
        ("object_type", "created_at", "object_id"): "object_by_type_and_creation",
        ("object_type", "email_key", "object_id"): "object_by_type",
        ("object_type", "name_key", "object_id"): "object_by_type",
    },
    searched=("object_id", "meta"),
    row_bytes=LARGE_ROW_BYTES,
    members={"email": "email_key", "name": "name_key"},
)

OBJECT_NAMES = replace(OBJECTS, columns=("object_type", "object_id"), searched=(), row_bytes=0)

OBJECT_TYPES = TableListing(
    table="object_type",
    columns=("type", "definition", "created_at"),
    sorts={"typeId": ("type",), "createdAt": ("created_at", "type")},
    indexes={("type",): "object_type_by_name", ("created_at", "type"): "object_type_by_creation"},
    searched=("type",),
    row_bytes=LARGE_ROW_BYTES,
)

WARRANTS = TableListing(
    table="warrant",
    columns=(*WARRANT_NAMES, "text", "created_at", "number", "starts_at", "expires_at"),
    sorts={"createdAt": ("created_at", "number")},
    indexes={("created_at", "number"): "warrant_by_creation"},
    joined=" LEFT JOIN policy ON policy.store = :store AND digest = policy",
    narrowing={"object_id": "warrant_by_object", "subject_id": "warrant_by_subject"},
)


ENDED_BY_EXPIRY = replace(
    WARRANTS, indexes={("created_at", "number"): "warrant_by_expired"}, ended_by="expired_revision"
)

POLICIES = TableListing(
    table="named_policy",
    columns=("name", "definition", "created_at"),
    sorts={"name": ("name",)},
    indexes={("name",): "named_policy_by_name"},
)

_PATTERN_INDEX = "warrant_by_type"
_OF_PATTERN = (
    "object_type || '#' || relation = column1 AND subject_relation = column2 AND subject_type = column3 "
    "AND CASE subject_id WHEN '*' THEN '*' ELSE '' END = column4"
)
"""Is the condition by which warrants of patterns are found in that index, before they are sorted."""


@dataclass(frozen=True, slots=True)
class ListFilter:
    """Selects rows of a list: `equal` holds the value of a column, `among` its allowed values, and `text` a substring
    of the searched columns. Rows that have expired at the time `unexpired_at` are left out."""

    equal: Mapping[str, str] = field(default_factory=dict)
    among: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    text: str | None = None
    unexpired_at: int | None = None
    patterns: frozenset[WarrantPattern] | None = None

    def is_searched(self, listing: TableListing) -> bool:
        """Returns whether rows are looked at that are not returned, because of a search or a filter that no index
        serves."""
        by_index = {*chain.from_iterable(listing.indexes), *listing.narrowing}
        if self.patterns is not None:
            return True
        return self.text is not None or not by_index.issuperset((*self.equal, *self.among)) or bool(self.among)


def list_statement(listing: TableListing, part: Slice, only: ListFilter, at: int | None, dialect: Dialect) -> Clause:
    """Returns a statement that selects (*NEWEST, behind, *columns) for up to `limit + 1` rows, nearest to
    the boundary first.

    `behind` is true if a row lies on the other side of the boundary. If the slice has no row, the statement returns
    one row whose columns are NULL."""
    ascending = part.descending == part.backwards
    alias = "v" if part.sort in listing.members else listing.table
    filters = [Clause(f"{alias}.store = :store"), *_filters(listing, only)]
    key, index = _order(listing, part.sort, only)
    ahead, behind = _sides(key, part.boundary, only.equal, ascending)
    ordered_by = tuple(column for column in key if column not in only.equal)
    forward, back = (
        ", ".join(f"{column} {direction}" for column in ordered_by)
        for direction in (("ASC", "DESC") if ascending else ("DESC", "ASC"))
    )
    table = _table(listing, part.sort, index, only, dialect=dialect)
    columns = (*listing.columns, *filter(None, [listing.members.get(part.sort)]))
    selection = _Selection(listing.ended_by, columns, table, at)
    rows = selection.select([*filters, ahead], forward, part.limit + 1)
    listed = ", ".join(f"p.{column}" for column in listing.columns)
    page = f"{listed} FROM {HEAD} LEFT JOIN ({rows.sql}) p ON true ORDER BY {forward}"
    if part.boundary is None:
        return Clause(f"SELECT {NEWEST}, false, {page}", rows.values)
    # EXISTS is avoided: PostgreSQL ignores its order, and reads the whole table if it expects to find a row soon.
    beyond = selection.select([*filters, behind], back, 1)
    probe = f"(SELECT {ordered_by[0]} FROM ({beyond.sql}) q) IS NOT NULL"
    return Clause(f"SELECT {NEWEST}, {probe}, {page}", beyond.values + rows.values)


def _table(listing: TableListing, sort: str, index: str, only: ListFilter, dialect: Dialect) -> Clause:
    table = listing.table + dialect.index_hint.format(index) + listing.joined
    if only.patterns is not None:
        patterns = _list_patterns(only.patterns)
        return Clause(f"{patterns.sql} CROSS JOIN {table}", patterns.values)  # SQLite then begins with the patterns
    if sort not in listing.members:
        return Clause(table)
    return Clause(f"(SELECT *, {dialect.member_key.format(sort)} AS {listing.members[sort]} FROM {table}) v")


def _filters(listing: TableListing, only: ListFilter) -> list[Clause]:
    filters = [Clause(f"{column} = ?", (value,)) for column, value in only.equal.items()]
    for column, values in only.among.items():
        filters.append(Clause(f"{column} IN ({', '.join('?' * len(values))})", values))
    if only.unexpired_at is not None:
        filters.append(Clause(UNEXPIRED, (only.unexpired_at,)))
    if only.text is not None:
        filters.append(_contains(listing.searched, only.text))
    if only.patterns is not None:
        filters.append(Clause(_OF_PATTERN))
    return filters


def _list_patterns(patterns: Iterable[WarrantPattern]) -> Clause:
    """Returns a table of the patterns, whatever their objects; there must be one."""
    names = {
        (f"{pattern.object_type}#{pattern.relation}", pattern.subject_relation, pattern.subject_type, pattern[4])
        for pattern in patterns
    }
    rows = ", ".join(["(?, ?, ?, ?)"] * len(names))
    return Clause(f"(VALUES {rows}) f", tuple(chain.from_iterable(sorted(names))))


def _order(listing: TableListing, sort: str, only: ListFilter) -> tuple[tuple[str, ...], str]:
    """Returns the terms by which the rows are ordered, and the index to read."""
    key = listing.sorts[sort]
    for column, index in listing.narrowing.items():
        if column in only.equal or column in only.among:
            # Without `+ 0`, a planner might read all rows in order, expecting to find the few wanted ones early.
            return tuple(f"{term} + 0" for term in key), index
    if only.patterns is not None:
        return tuple(f"{term} + 0" for term in key), _PATTERN_INDEX
    unfixed = tuple(column for column in key if column not in only.equal)
    return key, listing.indexes.get((*only.equal, *unfixed)) or listing.indexes[unfixed]


@dataclass(frozen=True, slots=True)
class _Selection:
    """Selects rows alive now, or rows alive at a revision: those still alive and those that ended since, each by an
    index of its own. Of a listing of ended rows (`ended_by`), it selects those that ended by then."""

    ended_by: str
    columns: tuple[str, ...]
    table: Clause
    at: int | None

    def select(self, conditions: Sequence[Clause], order: str, limit: int) -> Clause:
        end = Clause(f"ORDER BY {order} LIMIT ?", (limit,))
        if self.ended_by:
            by_then = [] if self.at is None else [Clause(f"{self.ended_by} <= ?", (self.at,))]
            return self._select([Clause(f"{self.ended_by} IS NOT NULL"), *by_then, *conditions], end)
        alive = Clause(f"deleted_revision = {ALIVE}")
        if self.at is None:
            return self._select([alive, *conditions], end)
        written = Clause("created_revision <= ?", (self.at,))
        since = Clause(f"deleted_revision > ? AND deleted_revision < {ALIVE}", (self.at,))
        still, ended = (self._select([lived, written, *conditions], end) for lived in (alive, since))
        rows = f"SELECT * FROM ({still.sql}) a UNION ALL SELECT * FROM ({ended.sql}) b"
        text = f"SELECT {', '.join(self.columns)} FROM ({rows}) u {end.sql}"
        return Clause(text, (*still.values, *ended.values, *end.values))

    def _select(self, conditions: Sequence[Clause], end: Clause) -> Clause:
        condition = " AND ".join(clause.sql for clause in conditions)
        values = (value for clause in conditions for value in clause.values)
        text = f"SELECT {', '.join(self.columns)} FROM {self.table.sql} WHERE {condition} {end.sql}"
        return Clause(text, (*self.table.values, *values, *end.values))


def _sides(
    key: tuple[str, ...], boundary: tuple[str | int, ...] | None, equal: Mapping[str, str], ascending: bool
) -> tuple[Clause, Clause]:
    """Returns conditions for the rows after the boundary, and for those at or before it, in the direction of reading.

    A column that a filter fixes is compared here instead of in SQL: `(id, T) > (5, B)` is `id >= 5` if T > B, else
    `id > 5`."""
    if boundary is None:
        return Clause("true"), Clause("false")
    columns: list[str] = []
    values: list[str | int] = []
    boundary_included = False
    for column, value in zip(key, boundary, strict=True):
        if column not in equal:
            columns.append(column)
            values.append(value)
        elif equal[column] != value:
            boundary_included = (equal[column] > str(value)) == ascending
            break
    if not columns:
        return (Clause("true"), Clause("false")) if boundary_included else (Clause("false"), Clause("true"))
    after, not_after = (">", "<") if ascending else ("<", ">")
    row, places = f"({', '.join(columns)})", f"({', '.join('?' * len(columns))})"
    if boundary_included:
        return Clause(f"{row} {after}= {places}", tuple(values)), Clause(f"{row} {not_after} {places}", tuple(values))
    return Clause(f"{row} {after} {places}", tuple(values)), Clause(f"{row} {not_after}= {places}", tuple(values))


def _contains(columns: tuple[str, ...], text: str) -> Clause:
    """Returns a condition that one of the columns contains the text, the case of ASCII letters ignored.

    `lower` folds only ASCII letters: in SQLite always, in PostgreSQL because the columns have the collation "C"."""
    folded = "".join(letter.lower() if letter.isascii() else letter for letter in text)
    escaped = folded.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    condition = " OR ".join(f"lower({column}) LIKE ? ESCAPE '!'" for column in columns)
    return Clause(f"({condition})", (f"%{escaped}%",) * len(columns))


_TYPE_AND_RELATION = "object_type || '#' || relation"


def match_statement(
    equal: Mapping[str, str], most: int, at: int, dialect: Dialect, up_to: Revision | None = None
) -> Clause:
    """Returns a statement that selects the columns of `read_statement`, with the number 0, for up to `most` warrants as
    of `Store.match_warrants`."""
    index, order = _choose_index(equal)
    conditions: dict[str, Parameter] = {f"{column} = ?": value for column, value in equal.items()}
    if index == "warrant_by_type":
        conditions[f"{_TYPE_AND_RELATION} = ?"] = f"{equal['object_type']}#{equal['relation']}"
    conditions[UNEXPIRED] = at
    if up_to is not None:
        conditions["created_revision <= ?"] = up_to
    condition = " AND ".join(["w.store = :store", *conditions, f"deleted_revision = {ALIVE}"])
    warrants = f"warrant w{dialect.index_hint.format(index)} WHERE {condition}{order} LIMIT ?"
    rows = f"(SELECT 0 AS read_number, {STORED_WARRANT} FROM {warrants}) u ON true"
    statement = f"{READ_ROWS} {rows} LEFT JOIN policy p ON p.store = :store AND p.digest = u.policy"
    return Clause(statement, (*conditions.values(), most))


def _choose_index(equal: Mapping[str, str]) -> tuple[str, str]:
    """Returns the index to read, and the order that makes PostgreSQL, which takes no hint, choose it."""
    if "object_id" in equal:
        return "warrant_by_object", ""
    if "subject_id" in equal:
        return "warrant_by_subject", ""
    if "object_type" in equal and "relation" in equal:
        return "warrant_by_type", ""
    return "warrant_by_creation", " ORDER BY created_at, number"
