"""Defines what a store promises about saved queries: those that its users keep under a name, for all who use the store.
Every sentence has a test in tests/store/test_saved_queries.py."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from magistrate.engine.names import Revision
from magistrate.store.contract.lists import Snapshot


class SavedQuery(msgspec.Struct, frozen=True):
    """Holds a query that is saved under a name, which no other in the store has. `context` is the text of a JSON
    object, None if there is none, and `created_at` is in microseconds since 1970 UTC."""

    id: str
    name: str
    description: str
    q: str
    context: str | None
    created_at: int
    created_by: str


ChangeSavedQuery = Callable[[SavedQuery], SavedQuery]
"""Returns a saved query as it is to be. Raising an exception leaves it as it is."""


class SavedQueryStore(Protocol):
    """Describes the part of a store that handles saved queries. They are not versioned: writing them makes no revision
    and no row in the change log."""

    async def list_saved_queries(self) -> Snapshot[tuple[SavedQuery, ...]]:
        """Returns all saved queries, by name."""
        ...

    async def find_saved_query(self, query_id: str) -> Snapshot[SavedQuery]:
        """Returns a saved query. Raises NotFound."""
        ...

    async def create_saved_query(self, new: SavedQuery, most: int) -> Snapshot[SavedQuery]:
        """Stores a query. Raises Conflict if one has the same name, or there are `most` already."""
        ...

    async def update_saved_query(self, query_id: str, change: ChangeSavedQuery) -> Snapshot[SavedQuery]:
        """Replaces the name, the description, the query and its context. Raises NotFound, and Conflict if another one
        has the name."""
        ...

    async def delete_saved_query(self, query_id: str) -> Revision:
        """Deletes a saved query, and returns the newest revision. Raises NotFound."""
        ...
