"""Makes small disks that can be full: only root can."""

import os
import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FAULT_SECONDS = (0.3, 1.5)
"""Bounds how long a fault lasts that is none of a moment."""
SIZE = "1g"
NO_DISK = "The disk is not filled: only root can mount a small one"


@contextmanager
def mounted_disk(folder: Path) -> Iterator[bool]:
    """Mounts a small file system, and yields whether that was possible: only root may."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "tmpfs", str(folder)]
    is_mounted = os.geteuid() == 0 and not subprocess.run(command, capture_output=True, check=False).returncode
    try:
        yield is_mounted
    finally:
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill_disk(folder: Path, rng: random.Random) -> None:
    """Leaves no space on the disk for a while."""
    filling = folder / "filling"
    with suppress(OSError), filling.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(65_536))
    time.sleep(rng.uniform(*FAULT_SECONDS))
    filling.unlink()
