"""Defines what a store promises about backups: all of its rows at one revision can be listed, and be put into a store
in place of what that holds. Every sentence has a test in tests/store/test_backups.py."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from magistrate.engine.names import Revision
from magistrate.engine.warrants.warrant import Warrant
from magistrate.store.contract.keys import StoredKey
from magistrate.store.contract.new_rows import Stamp
from magistrate.store.contract.openfga import StoredOpenFgaModel
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.saved_queries import SavedQuery
from magistrate.store.contract.stored_rows import StoredObject, StoredObjectType, StoredPolicy
from magistrate.store.contract.webhooks import WebhookFilter

ROWS_AT_ONCE = 1_000
"""Limits the rows of a page: with the largest meta each, they take 64 MB."""

VersionedRow = StoredPolicy | StoredObjectType | StoredObject | Warrant
V = TypeVar("V", StoredPolicy, StoredObjectType, StoredObject, Warrant)


class KeyDigest(msgspec.Struct, frozen=True):
    """Holds the SHA-256 in hex of a key that a service has generated, and when that was."""

    digest: str
    created_at: int


class BackedUpWebhook(msgspec.Struct, frozen=True):
    """Holds what a backup has of a webhook: neither its secrets nor where it is."""

    id: str
    url: str
    filter: WebhookFilter
    description: str
    created_at: int
    created_by: str


RestoredRow = VersionedRow | StoredKey | KeyDigest | BackedUpWebhook | SavedQuery | StoredOpenFgaModel


class StoreContents(NamedTuple):
    """Says which revision of a store is the newest, and how many warrants and objects it has."""

    newest: RevisionId
    warrants: int
    objects: int


@dataclass(frozen=True, slots=True)
class RestoredContents:
    """Describes what a store is to hold. `read_rows` begins to read its rows anew, in batches of one kind each; batches
    of one kind follow one another, and there are as many objects and warrants in all as these numbers say. The numbers
    of warrants have no meaning: they get new ones, in the same order."""

    read_rows: Callable[[], Iterator[Sequence[RestoredRow]]]
    warrants: int
    objects: int


class BackupStore(Protocol):
    """Describes the part of a store that backs it up and restores it."""

    async def measure_contents(self) -> StoreContents:
        """Returns the newest revision, and what it has."""
        ...

    async def list_rows(self, kind: type[V], after: V | None, at: Revision) -> Sequence[V]:
        """Lists the first ROWS_AT_ONCE rows of a kind behind one, at a revision: object types and policies by name,
        objects by type and id, warrants by number. Fewer are the last ones.

        Cost: the rows returned, and those between them that ended by then or were written later."""
        ...

    async def list_key_digests(self) -> Sequence[KeyDigest]:
        """Lists the digests of `key_digests`, by digest."""
        ...

    async def restore(
        self, contents: RestoredContents, stamp: Stamp, replaces: bool, heeds_limits: bool = True
    ) -> RevisionId:
        """Makes the store hold these rows, at once and instead of all that it has, and returns its newest revision. Its
        history begins there: the numbers of revisions begin again at 1, with other bits, and no earlier state, event,
        decision, result of a request or key of sessions is kept. Its keys stay, and those among the rows are added,
        unless the store has one of the same name, or any store the same key. Its webhooks are those among the rows,
        disabled and without a secret, at the newest revision. Its saved queries and its authorization models of
        OpenFGA's API are those among the rows. Nothing can be written to the store meanwhile.

        Raises Conflict if the store has objects or warrants, or another model than it began with, unless it
        `replaces` these; LimitReached if the rows exceed a limit of the store and it `heeds_limits`; DamagedBackup if
        a row comes twice; and what `read_rows` raises."""
        ...
