"""Defines the part of a store that holds named policies."""

from collections.abc import Sequence
from typing import Protocol

from magistrate.engine.names import PolicyName
from magistrate.engine.terms import Revision
from magistrate.store.new_rows import Stamp
from magistrate.store.slices import PageSlice, Slice, Snapshot
from magistrate.store.stored_rows import StoredPolicy


class PolicyStore(Protocol):
    """Describes the named policies of a store, which are versioned like object types and part of the model."""

    async def get_policy(self, name: PolicyName, at: Revision | None = None) -> Snapshot[StoredPolicy | None]: ...

    async def list_policies(self, wanted: Slice, at: Revision | None = None) -> Snapshot[PageSlice[StoredPolicy]]:
        """Lists a slice of the named policies. Sorts: name."""
        ...

    async def put_policies(
        self,
        new: Sequence[tuple[PolicyName, str]],
        stamp: Stamp,
        must_exist: bool = False,
        is_whole_set: bool = False,
    ) -> Snapshot[tuple[StoredPolicy, ...]]:
        """Creates or replaces each policy, given by its name and definition, and returns one row for each, in the same
        order. A replaced policy keeps its `created_at`. With `must_exist`, raises NotFound for the first that does not
        exist; with `is_whole_set`, deletes all others."""
        ...

    async def delete_policy(self, name: PolicyName, stamp: Stamp) -> Revision:
        """Deletes the policy. Raises NotFound unless it exists."""
        ...
