"""-"""

import contextlib
import socket
from pathlib import Path


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def children_of(pid: int) -> list[int]:
    """The processes whose parent it is."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = status.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid:
                found.append(int(status.parent.name))
    return found


def serving(pids: list[int]) -> list[int]:
    """Those of the processes that are running the service."""
    found: list[int] = []
    for pid in pids:
        with contextlib.suppress(OSError):  # it may end meanwhile
            if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found
