"""Ports for services that tests start, and what is known of their processes."""

import contextlib
import random
import socket
from pathlib import Path

# Those below the ports that Linux gives to connections: a port that is free now is still free when it is used.
PORTS = range(12_000, 32_768)


def free_port() -> int:
    """A port that nothing listens on, and that no connection of another test is given later."""
    while True:
        port = random.SystemRandom().choice(PORTS)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def children_of(pid: int) -> list[int]:
    """The processes whose parent it is."""
    children: list[int] = []
    for of_thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            children += map(int, of_thread.read_text().split())
    return children


def serving(pids: list[int]) -> list[int]:
    """Those of the processes that are running the service."""
    found: list[int] = []
    for pid in pids:
        with contextlib.suppress(OSError):  # it may end meanwhile
            if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found
