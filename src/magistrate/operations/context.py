"""Defines the dependencies that every operation needs."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from magistrate.errors import HistoryReplaced, StoreDeleted
from magistrate.operations.backups.restored import RestoreUpload
from magistrate.operations.cache_budget import CacheShare
from magistrate.operations.checks.counts import CheckCounts
from magistrate.operations.checks.decision_log import DecisionLog
from magistrate.operations.lists.bitmap_listings import BitmapSearches
from magistrate.operations.lists.counts import ListCounts
from magistrate.operations.lists.listings import Listings
from magistrate.operations.live_graph import LiveGraph
from magistrate.operations.models.cache import Models
from magistrate.operations.openfga.documents import OpenFgaModels
from magistrate.operations.readers.shared_reads import SharedReads
from magistrate.operations.runs import release_runs
from magistrate.operations.sessions.session_keys import SessionKeys
from magistrate.operations.watch.revision_feed import RevisionFeed
from magistrate.operations.webhooks.receivers import WebhookOptions
from magistrate.store.contract.new_rows import Once, Stamp
from magistrate.store.contract.store import Store
from magistrate.store.contract.stores import DEFAULT_STORE, Stores


async def _take_over_nothing() -> None:
    """Is for processes that identify no callers."""


@dataclass(frozen=True, slots=True)
class Caches:
    """Holds what a process keeps of a store by revision, which is all of one history."""

    models: Models
    graph: LiveGraph
    listings: Listings
    bitmap_searches: BitmapSearches
    session_keys: SessionKeys
    shared_reads: SharedReads
    openfga: OpenFgaModels

    def release(self) -> None:
        """Evicts everything, in steps, and lets go of all that refers to itself: nobody uses the store any more."""
        self.graph.release()
        release_runs(self.listings.evict())


@dataclass(slots=True, weakref_slot=True)
class Context:
    """Holds these dependencies. `now` returns microseconds since 1970 UTC; `new_id` a UUIDv7 in text form. Tests supply
    their own. `decisions` is None if decisions are not logged. `is_strict` is the default of reads.

    Nothing is replaced but the caches, by `replace_caches`, and `requests_per_second`, the limit of the store, which is
    None if there is none. `store_number` is the number of the store."""

    store: Store
    caches: Caches
    now: Callable[[], int]
    new_id: Callable[[], str]
    max_meta_bytes: int
    max_definition_bytes: int
    max_check_work: int
    max_context_bytes: int
    max_query_work: int
    share: CacheShare
    """Limits the caches."""
    feed: RevisionFeed
    decisions: DecisionLog | None = None
    is_strict: bool = False
    list_counts: ListCounts = field(default_factory=ListCounts)
    check_counts: CheckCounts = field(default_factory=CheckCounts)
    take_over_keys: Callable[[], Awaitable[None]] = _take_over_nothing
    """Puts changes of the stored keys, and of the list of stores, in force in this process. Raises nothing."""
    store_number: int = DEFAULT_STORE
    requests_per_second: int | None = None
    stores: Stores | None = None
    """Is None for commands that work on one store."""
    begins_with_types: bool = True
    """Says whether the store `default` begins with the predefined types."""
    begins_others_with_types: bool = False
    """Says whether every other new store does."""
    webhooks: WebhookOptions = field(default_factory=WebhookOptions)
    restore: RestoreUpload | None = None
    """Restores a backup into the database. Is None for commands."""

    def replace_caches(self, caches: Caches) -> None:
        """Takes these caches in place of those that are of a history that the store has no more. What runs may still
        use the latter; what it finds is not answered (see api/http/consistency_tokens.py)."""
        former, self.caches = self.caches, caches
        self.feed.end(HistoryReplaced())
        former.graph.evict()
        release_runs(former.listings.evict())

    def release(self) -> None:
        """Frees what is cached of a store that was deleted, and ends its readers."""
        self.feed.end(StoreDeleted())
        self.caches.graph.evict()
        release_runs(self.caches.listings.evict())
        self.share.close()

    @property
    def is_busy(self) -> bool:
        """Returns whether anything goes on that no request waits for: decisions or warrants that are to be written,
        reads ahead of requests, or a feed with readers."""
        has_decisions = self.decisions is not None and self.decisions.is_waiting
        return has_decisions or self.feed.has_readers or self.store.is_writing or self.caches.graph.has_reads_ahead

    def stamp(self, actor: str, once: Once | None = None, request_id: str | None = None) -> Stamp:
        return Stamp(actor, self.now(), once, request_id)
