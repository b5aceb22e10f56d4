"""Builds the statements on tables whose rows are alive from the revision that wrote them to the one that ended them."""

from dataclasses import dataclass

from magistrate.store.contract.stored_rows import ALIVE
from magistrate.store.sql.head import HEAD, NEWEST


@dataclass(frozen=True, slots=True)
class RowStatements:
    """Holds the statements that find the living row of a key, end it, and insert one."""

    find: str
    end: str
    insert: str


@dataclass(frozen=True, slots=True)
class VersionedStatements(RowStatements):
    """Holds all statements on rows of a key, a content and a creation time. `get` and `get_at` read a row at the newest
    revision or at another one, `list_ended` and `delete_ended` the keys of rows that ended by a revision."""

    get: str
    get_at: str
    list_ended: str
    delete_ended: str


def build_statements(table: str, key: tuple[str, ...], content: str) -> VersionedStatements:
    """Returns the statements on a table, given the columns of its key and of its content."""
    keys = ", ".join(key)
    places = ", ".join("?" * len(key))
    columns = f"{keys}, {content}, created_at"
    equal = " AND ".join(f"{column} = ?" for column in key)
    joined = ", ".join(f"r.{column}" for column in (*key, content, "created_at"))
    get = f"SELECT {NEWEST}, {joined} FROM {HEAD} LEFT JOIN {table} r ON r.store = :store AND {equal}"
    return VersionedStatements(
        find=(
            f"SELECT {columns} FROM {table} "
            f"WHERE store = :store AND deleted_revision = {ALIVE} AND ({keys}) = ({places})"
        ),
        end=f"UPDATE {table} SET deleted_revision = ? WHERE store = :store AND {equal} AND deleted_revision = {ALIVE}",
        insert=(
            f"INSERT INTO {table} (store, {columns}, created_revision, deleted_revision) "
            f"VALUES (:store, {'?, ' * (len(key) + 3)}{ALIVE})"
        ),
        get=f"{get} AND r.deleted_revision = {ALIVE}",
        get_at=f"{get} AND r.created_revision <= ? AND r.deleted_revision > ?",
        list_ended=(
            f"SELECT {keys}, deleted_revision FROM {table} "
            "WHERE store = :store AND deleted_revision <= ? ORDER BY deleted_revision LIMIT ?"
        ),
        delete_ended=f"DELETE FROM {table} WHERE store = :store AND {equal} AND deleted_revision = ?",
    )
