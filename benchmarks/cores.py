"""One processor core for what is measured, another for what makes it work."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

_CORES = sorted(os.sched_getaffinity(0))

SERVER_CORE, LOAD_CORE = _CORES[0], _CORES[-1]
"""The same one on a machine with a single core: then every figure is too low."""


@contextmanager
def on_core(core: int) -> Iterator[None]:
    """Keeps this thread, and the processes it starts meanwhile for as long as they live, on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
