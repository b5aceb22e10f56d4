"""Chooses one of the processes of a service on this machine, for work that needs to be done only once."""

import fcntl
import os
from pathlib import Path

from magistrate.errors import InvalidSetting

LOCK_NAME = "leader.lock"
"""Names the file. Files with a suffix are not metrics; see SharedCounts."""


class Leadership:
    """Says whether this process leads. Of the processes that share a folder one does, until it ends, however it ends;
    a process without a folder is alone, and leads."""

    def __init__(self, folder: Path | None) -> None:
        """Raises InvalidSetting."""
        self.folder = folder
        self.is_taken = folder is None
        """Says whether this process leads, as far as `take` has found out."""
        self._descriptor: int | None = None
        if folder is not None:
            try:
                self._descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise InvalidSetting(f"workers cannot choose one of them in {folder}: {error.strerror}") from error

    def take(self) -> bool:
        """Leads from now on if nobody else does, and returns whether this process leads. Waits for nothing."""
        if not self.is_taken and self._descriptor is not None:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            self.is_taken = True
        return self.is_taken

    def close(self) -> None:
        """Leads no more, so that another process can. One that is alone leads on."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor, self.is_taken = None, False


ALONE = Leadership(None)
"""Is for processes that share nothing with others."""
