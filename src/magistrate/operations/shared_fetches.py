"""Lets requests that miss the same entries of the graph cache at the same time wait for one read of them.

A read that began at an older revision is not waited for: what has changed since is evicted as soon as it is cached."""

import asyncio
from collections.abc import Mapping

from magistrate.engine.cache.entry_reads import MissingEntries
from magistrate.engine.cache.graph import Graph

_NONE: Mapping[object, "SharedFetch"] = {}


class SharedFetch:
    """Represents what one request reads into a graph, as of a revision. While its context is open, other requests find
    it."""

    __slots__ = ("_ended", "_graph", "_keys", "_model", "_revision", "_running", "is_complete")

    def __init__(self, running: dict[object, "SharedFetch"], graph: Graph, keys: frozenset[object]) -> None:
        self._running = running
        self._graph, self._model, self._revision = graph, graph.model, graph.revision
        self._keys = keys
        self._ended = asyncio.Event()
        self.is_complete = False

    def __enter__(self) -> "SharedFetch":
        self._running.update(dict.fromkeys(self._keys, self))
        return self

    def __exit__(self, *_: object) -> None:
        for key in self._keys:
            if self._running.get(key) is self:
                del self._running[key]
        self._ended.set()

    def is_of(self, graph: Graph) -> bool:
        """Returns whether the keys mean the same in this graph: views and kinds have the numbers of its model."""
        return graph is self._graph and graph.model is self._model and graph.revision == self._revision

    async def wait_until_read(self) -> bool:
        """Waits until the read has ended, and returns whether everything was read: it may have failed."""
        await self._ended.wait()
        return self.is_complete


class SharedFetches:
    """Holds the reads that go on now, by each key that they read."""

    def __init__(self) -> None:
        self._running: dict[object, SharedFetch] = {}

    def find(self, graph: Graph, missing: MissingEntries) -> Mapping[object, SharedFetch]:
        """Returns those of the keys that are being read, with their reads."""
        running = self._running
        if not running:
            return _NONE
        return {key: running[key] for key in missing.keys() & running.keys() if running[key].is_of(graph)}

    def share(self, graph: Graph, missing: MissingEntries) -> SharedFetch:
        """Returns the read of these entries, which begins when its context is entered."""
        return SharedFetch(self._running, graph, missing.keys())
