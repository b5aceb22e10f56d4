"""Shares what was read of a file with the workers of a service that start later."""

import os
from pathlib import Path


class SharedFile:
    """Holds what was read of the last valid version of a file, so that a worker that starts while the file is invalid
    has the same as the others. The folder must be private to the user. `name` must have a suffix: files without one are
    metrics; see SharedCounts."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / name

    def write(self, text: str) -> None:
        """Replaces the text in one step. Raises OSError."""
        unfinished = self._path.with_suffix(f".{os.getpid()}-new")
        with open(unfinished, "w", encoding="utf-8", newline="", opener=_create_for_owner) as file:
            file.write(text)
        unfinished.replace(self._path)

    def read(self) -> str:
        """Returns the text, which is empty if it cannot be read."""
        try:
            with open(self._path, encoding="utf-8", newline="") as file:
                return file.read()
        except (OSError, UnicodeError):
            return ""


def _create_for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
