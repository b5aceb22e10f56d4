"""Finds how many processors the cgroup of this process may use, which is what limits a container."""

import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

ROOT = Path("/")


def find_cpu_quota(root: Path = ROOT) -> int | None:
    """Returns the number of whole processors, at least 1, or None if there is no limit. `root` is where /proc and /sys
    are.

    Each cgroup above is looked at, too, because its limit holds for all below it. Inside of a container, the path that
    the kernel names may be that of the host; the limit is at the mount point then."""
    shares = [share for folder in _list_folders(root) if (share := _read_share(folder)) is not None]
    return max(1, math.floor(min(shares))) if shares else None


def _list_folders(root: Path) -> Iterator[Path]:
    """Yields the folders of the cgroups that may limit this process, of version 2 and version 1."""
    lines = []
    with suppress(OSError):
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        for name in (controllers, "cpu") if controllers else ("", "unified"):
            mounted = root / "sys/fs/cgroup" / name
            for part in (PurePosixPath(path), *PurePosixPath(path).parents):
                yield mounted / str(part).lstrip("/")


def _read_share(folder: Path) -> float | None:
    """Returns how many processors a cgroup may use; None if it has no limit, or is none."""
    with suppress(OSError, ValueError, ZeroDivisionError):
        quota, _, period = (folder / "cpu.max").read_text().partition(" ")
        return None if quota == "max" else int(quota) / int(period or 100_000)
    with suppress(OSError, ValueError, ZeroDivisionError):
        quota, period = ((folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        return int(quota) / int(period) if int(quota) > 0 else None
    return None
