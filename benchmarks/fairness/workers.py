"""Which worker process has a connection: seen from outside, by its socket."""

import os
import socket
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

MAX_CONNECTIONS = 400
AT_ONCE = 20


def connect_to_each(address: tuple[str, int], pids: Sequence[int], each: int) -> list[tuple[int, socket.socket]]:
    """So many connections to each of these processes, with the process id, opened in bursts until each has them, or
    MAX_CONNECTIONS were opened: then some are missing. Raises OSError."""
    found: list[tuple[int, socket.socket]] = []
    missing = Counter({pid: each for pid in pids})
    for _ in range(MAX_CONNECTIONS // AT_ONCE):
        burst = [socket.create_connection(address, timeout=10) for _ in range(AT_ONCE)]
        for connection in burst:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        for connection in burst:
            connection.recv(65_536)  # by now a worker has accepted it
        for connection, pid in zip(burst, owners_of(burst, pids), strict=True):
            if pid is not None and missing[pid] > 0:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                found.append((pid, connection))
                missing[pid] -= 1
            else:
                connection.close()
        if not missing.total():
            break
    return found


def owners_of(connections: Sequence[socket.socket], pids: Iterable[int]) -> list[int | None]:
    """The process at the other end of each, of these; None if it is none of them."""
    inodes = _inodes_by_ports()
    owners = {inode: pid for pid in pids for inode in _sockets_of(pid)}
    ports = ((one.getpeername()[1], one.getsockname()[1]) for one in connections)
    return [owners.get(inodes.get(pair, "")) for pair in ports]


def _inodes_by_ports() -> dict[tuple[int, int], str]:
    """Of each socket on this machine, by its own port and that of its other end."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {(_port(row[1]), _port(row[2])): row[9] for row in rows}


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)


def _sockets_of(pid: int) -> list[str]:
    found = []
    with suppress(FileNotFoundError, ProcessLookupError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                target = os.readlink(descriptor)
                if target.startswith("socket:["):
                    found.append(target[8:-1])
    return found
