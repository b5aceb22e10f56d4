"""One processor core for what is measured, another for what makes it work."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ALL_CORES = tuple(sorted(os.sched_getaffinity(0)))

SERVER_CORE, LOAD_CORE = ALL_CORES[0], ALL_CORES[-1]
"""The same one on a machine with a single core: then every figure is too low."""


@contextmanager
def on_core(*cores: int) -> Iterator[None]:
    """Keeps this thread, and the processes it starts meanwhile for as long as they live, on one core, or on these."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def machine_seconds() -> float:
    """The processor time that all programs on this machine, and on machines that share its cores, have used so far."""
    user, nice, system, _, _, irq, soft_irq, stolen = Path("/proc/stat").read_text().split(maxsplit=9)[1:9]
    return sum(map(int, (user, nice, system, irq, soft_irq, stolen))) / os.sysconf("SC_CLK_TCK")
