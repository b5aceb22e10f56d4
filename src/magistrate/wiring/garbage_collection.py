"""Keeps garbage collections short: what has survived some allocations is not scanned again.

A full collection cannot be interrupted and scans every container in memory; with a large cache and many cached lists it
held the event loop for 440 ms. What survives two young collections is therefore frozen. Reference counting still frees
frozen objects, so only cycles among them stay. If they accumulate, so that the blocks of memory in use never become few
any more, all objects are scanned once. That many are in use for a while means nothing: those of a large check are freed
at its end. Blocks are counted instead of frozen objects, because these can only be counted one by one: two million took
40 ms."""

import gc
import sys
from collections.abc import Mapping
from typing import Any

THRESHOLDS = (1_000, 2, 100)
"""Sets the thresholds of `gc.set_threshold`: objects are frozen after 3,000 new containers. Scanning them takes a few
milliseconds when what they refer to is cold. The remains of large checks are freed in steps instead
(engine/evaluation/evaluation.py)."""

FULL_GENERATION = 2

COUNTED_EVERY = 300
"""Counts the collections after which the blocks of memory are counted, which takes about a millisecond."""

COUNTS_OF_A_PERIOD = 20
"""Counts the counts after which the lowest of them is compared."""

MIN_BLOCKS = 2_000_000
"""Limits the blocks of memory that are left alone, however few they were before; an object has one to three."""


class SurvivorFreezer:
    """Freezes the survivors of collections, as a callback of the garbage collector."""

    def __init__(self, min_blocks: int = MIN_BLOCKS) -> None:
        self._min_blocks = min_blocks
        self._most = min_blocks
        self._collections = 0
        self._counts: list[int] = []
        self._scans_all = False

    def install(self) -> None:
        """Freezes what there is, imported modules for the most part, and from then on what survives."""
        gc.collect()
        gc.set_threshold(*THRESHOLDS)
        gc.freeze()
        if self.follow not in gc.callbacks:
            gc.callbacks.append(self.follow)

    def follow(self, phase: str, info: Mapping[str, Any]) -> None:
        if phase != "stop" or info["generation"] == 0:
            return
        if self._scans_all:
            if info["generation"] < FULL_GENERATION:
                return
            self._scans_all = False
            gc.freeze()
            self._most = max(self._min_blocks, 2 * sys.getallocatedblocks())
        gc.freeze()
        self._collections += 1
        if not self._collections % COUNTED_EVERY:
            self._counts.append(sys.getallocatedblocks())
        if len(self._counts) == COUNTS_OF_A_PERIOD:
            self._scans_all = min(self._counts) > self._most
            self._counts.clear()
            if self._scans_all:
                gc.unfreeze()


SURVIVORS = SurvivorFreezer()
"""Serves the whole process, however many services run in it."""
