"""The whole change log of a store, which itself returns only parts of it: changes and events."""

from dataclasses import dataclass
from typing import Literal

import msgspec

from magistrate.engine.names import Revision
from magistrate.store.contract.store import Store
from magistrate.store.database import Row
from magistrate.store.scripts.versions import Kind
from magistrate.store.sql_store import SqlStore

_CHANGES = """
SELECT c.revision, c.position, c.action, c.kind, c.key, c.before, c.after, r.actor, r.written_at
FROM change c JOIN revision r ON r.store = c.store AND r.revision = c.revision
WHERE c.store = :store AND c.revision > ? ORDER BY c.revision, c.position"""


@dataclass(frozen=True, slots=True)
class Change:
    """(7, 0, 'created', 'object', ('document', 'plan'), None, '{"title":"Plan"}', 'key-1f00', ...)

    `before` and `after` are the meta of an object, the definition of an object type, or the policy of a warrant."""

    revision: Revision
    position: int
    action: Literal["created", "updated", "deleted"]
    kind: Kind
    key: tuple[str, ...]
    before: str | None
    after: str | None
    actor: str
    at: int


async def list_changes(store: Store, after: int = 0) -> list[Change]:
    """All that are kept of those behind a revision, in order."""
    assert isinstance(store, SqlStore)
    rows = await store.database.read(_CHANGES, (after,))
    return [_change(row) for row in rows]


def _change(row: Row) -> Change:
    revision, position, action, kind, key, before, after, actor, at = row
    names = msgspec.json.decode(key, type=tuple[str, ...])
    return Change(revision, position, action, kind, names, before, after, actor, at)
