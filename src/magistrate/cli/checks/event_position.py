"""Keeps the position up to which `magistrate watch` has printed the events, in a file."""

from pathlib import Path

from magistrate.errors import InvalidParameter
from magistrate.temporary_files import create_file

MAX_CHARACTERS = 200
"""Limits a position; the ids of events are shorter."""


class PositionFile:
    """Represents the file, which has the id of the last event in one line, and is absent before the first."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> str | None:
        """Returns the position; None if there is no file. Raises InvalidParameter for one that has something else:
        nobody would notice which events are missing if the command began from now instead."""
        try:
            text = self.path.read_bytes()[: MAX_CHARACTERS + 2].decode()
        except FileNotFoundError:
            return None
        position = text.removesuffix("\n")
        if not position or len(position) > MAX_CHARACTERS or not position.isascii() or not position.isprintable():
            raise InvalidParameter("--position", f"{self.path} has no position; name another file, or delete this one")
        return position

    def write(self, position: str) -> None:
        """Replaces the position, so that the file has the one or the other whatever happens."""
        with create_file(self.path) as file:
            file.write(f"{position}\n".encode())
