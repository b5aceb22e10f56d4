"""Bounds what the feeds of all stores of a process keep: revisions, pages of the log, and rendered events."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Generic, Literal, Protocol, TypeVar

from magistrate.engine.byte_sizes import OBJECT_BYTES, CacheBytes
from magistrate.operations.watch.revision_log import RevisionPage

T = TypeVar("T")

MAX_TAIL_BYTES = 16_777_216
"""Limits the revisions that are kept (16 MiB)."""
MAX_RENDERED_BYTES = 8_388_608
"""Limits what is kept of events as readers get them (8 MiB)."""
MAX_PAGE_BYTES = 4_194_304
"""Limits the pages of the log that are kept for readers that are behind (4 MiB)."""
BYTES_OF_A_TEXT = 300
"""Counts what a rendered text takes besides its bytes, with its key."""
MAX_SNAPSHOT_PAGES = 2
"""Limits the pages of snapshots that are read together: with the largest meta in each row, one takes 50 MB."""

RenderedText = tuple[bytes, int, bool]
"""Holds bytes as they are sent, the position behind them in their revision, and whether others follow."""


class RecentResults(Generic[T]):
    """Keeps what was computed last, by what it depends on, so that those who need the same share it. The oldest is
    evicted first."""

    def __init__(self, max_bytes: int, measure: Callable[[T], int]) -> None:
        self.bytes = 0
        self._max_bytes = max_bytes
        self._measure = measure
        self._kept: OrderedDict[Hashable, T] = OrderedDict()

    def find_result(self, key: Hashable) -> T | Literal[False]:
        """Returns what is kept for a key, False if nothing is."""
        return self._kept.get(key, False)

    def keep(self, key: Hashable, result: T) -> None:
        """Keeps a result, and evicts the oldest beyond the limit."""
        if key in self._kept:
            return
        self._kept[key] = result
        self.bytes += self._measure(result)
        while self.bytes > self._max_bytes:
            self.bytes -= self._measure(self._kept.popitem(last=False)[1])

    def remove(self, is_removed: Callable[[Hashable], bool]) -> None:
        """Removes what has such a key. Cost: all that is kept."""
        for key in [*filter(is_removed, self._kept)]:
            self.bytes -= self._measure(self._kept.pop(key))


def _measure_text(text: RenderedText | None) -> int:
    return BYTES_OF_A_TEXT + (0 if text is None else len(text[0]))


def _measure_page(page: RevisionPage) -> int:
    return OBJECT_BYTES + sum(written.size for written in page.batch.revisions)


class HasTail(Protocol):
    """Describes what keeps something for readers that are behind."""

    def evict_oldest(self) -> None:
        """Evicts the oldest of it."""
        ...


class FeedMemory:
    """Limits what the feeds of all stores of a process keep: the oldest revisions are evicted first. `feeds` counts
    those that are open, `rendered` has what several readers get alike, and `pages` what was read of the log for those
    that are behind."""

    def __init__(self, max_bytes: int = MAX_TAIL_BYTES) -> None:
        self.feeds = 0
        self.rendered: RecentResults[RenderedText | None] = RecentResults(MAX_RENDERED_BYTES, _measure_text)
        self.pages: RecentResults[RevisionPage] = RecentResults(MAX_PAGE_BYTES, _measure_page)
        self.snapshot_pages = asyncio.Semaphore(MAX_SNAPSHOT_PAGES)
        """Limits the pages of snapshots that are read at the same time."""
        self._max_bytes = max_bytes
        self._bytes = 0
        self._order: deque[tuple[HasTail, int]] = deque()
        """Has for each revision that is kept, the oldest first, who keeps it, and the bytes that it takes."""

    def measure(self) -> CacheBytes:
        """Returns how many bytes the feeds take, and the limit on them."""
        size = self._bytes + self.rendered.bytes + self.pages.bytes
        return CacheBytes("feed", size, self._max_bytes + MAX_RENDERED_BYTES + MAX_PAGE_BYTES)

    def add(self, following: HasTail, size: int) -> None:
        """Counts another revision, and evicts the oldest beyond the limit."""
        self._order.append((following, size))
        self._bytes += size
        while self._bytes > self._max_bytes:
            oldest, size = self._order.popleft()
            oldest.evict_oldest()
            self._bytes -= size

    def remove(self, following: HasTail) -> None:
        """Counts nothing any more of one that has ended. Cost: all revisions that are kept."""
        self._bytes -= sum(size for kept_by, size in self._order if kept_by is following)
        self._order = deque(kept for kept in self._order if kept[0] is not following)
