"""Writes saved queries, as scripts."""

from magistrate.engine.names import Revision
from magistrate.errors import Conflict, NotFound
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.saved_queries import ChangeSavedQuery, SavedQuery
from magistrate.store.database import Execute, Row, Script, Select
from magistrate.store.sql.saved_queries import (
    DELETE_SAVED_QUERY,
    FIND_SAVED_QUERY,
    INSERT_SAVED_QUERY,
    LIST_SAVED_NAMES,
    UPDATE_SAVED_QUERY,
)


def not_found(query_id: str) -> NotFound:
    return NotFound("Saved query", query_id)


def create_saved_query(head: Revision, new: SavedQuery, most: int) -> Script[Snapshot[SavedQuery]]:
    [stored] = yield Select(LIST_SAVED_NAMES, [()])
    if (new.name,) in stored:
        raise _build_conflict(new.name)
    if len(stored) >= most:
        raise Conflict(f"the store has {len(stored)} saved queries, which is the most: delete one that nobody uses")
    yield Execute(INSERT_SAVED_QUERY, [list_columns(new)])
    return Snapshot(head, new)


def list_columns(row: SavedQuery) -> Row:
    """Returns the values of INSERT_SAVED_QUERY."""
    return (row.id, row.name, row.description, row.q, row.context, row.created_at, row.created_by)


def update_saved_query(head: Revision, query_id: str, change: ChangeSavedQuery) -> Script[Snapshot[SavedQuery]]:
    stored = yield from _find(query_id)
    changed = change(stored)
    if changed.name != stored.name:
        [names] = yield Select(LIST_SAVED_NAMES, [()])
        if (changed.name,) in names:
            raise _build_conflict(changed.name)
    row = (changed.name, changed.description, changed.q, changed.context, query_id)
    yield Execute(UPDATE_SAVED_QUERY, [row])
    return Snapshot(head, (yield from _find(query_id)))


def delete_saved_query(head: Revision, query_id: str) -> Script[Revision]:
    yield from _find(query_id)
    yield Execute(DELETE_SAVED_QUERY, [(query_id,)])
    return head


def _find(query_id: str) -> Script[SavedQuery]:
    [rows] = yield Select(FIND_SAVED_QUERY, [(query_id,)])
    if not rows:
        raise not_found(query_id)
    return SavedQuery(*rows[0])


def _build_conflict(name: str) -> Conflict:
    return Conflict(f"there is a saved query with the name {name} already: choose another, or change that one")
