"""Lets requests that miss the same entries of the graph cache at the same time wait for one read of them.

A read that began at an older revision is not waited for: what has changed since is evicted as soon as it is cached."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from magistrate.engine.cache.entry_reads import MissingEntries
from magistrate.engine.cache.graph import Graph
from magistrate.engine.model.model import Model
from magistrate.engine.names import Revision


@dataclass(slots=True, eq=False)
class SharedFetch:
    """Represents what one request reads into a graph, as of a revision. Views and kinds have the numbers of this
    model."""

    graph: Graph
    model: Model
    revision: Revision
    is_complete: bool = False
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    def is_of(self, graph: Graph) -> bool:
        return graph is self.graph and graph.model is self.model and graph.revision == self.revision

    def end(self) -> None:
        self._ended.set()

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
        others = missing.keys() & running.keys() if running else ()
        return {key: running[key] for key in others if running[key].is_of(graph)}

    @contextmanager
    def running(self, graph: Graph, missing: MissingEntries) -> Iterator[SharedFetch]:
        """Has other requests find this read until it ends."""
        shared, keys = SharedFetch(graph, graph.model, graph.revision), missing.keys()
        self._running.update(dict.fromkeys(keys, shared))
        try:
            yield shared
        finally:
            for key in keys:
                if self._running.get(key) is shared:
                    del self._running[key]
            shared.end()
