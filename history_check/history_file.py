"""Reads the operations of a history file, one after the other or each at its place."""

import mmap
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import msgspec

from history_check.operations import AnyOperation, Header

_HEADER = msgspec.json.Decoder(Header)
_OPERATION: msgspec.json.Decoder[AnyOperation] = msgspec.json.Decoder(AnyOperation)


class HistoryFile:
    """Is an open history; `header` is its first line. Raises ValueError if that is none."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.bytes = len(self._map)
        self.header = _HEADER.decode(self._map.readline())
        self._begin = self._map.tell()

    def __enter__(self) -> "HistoryFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._map.close()

    def read_all(self) -> Iterator[tuple[int, AnyOperation | ValueError]]:
        """Yields each operation with the place where its line begins, or the error for what is none."""
        place = self._begin
        self._map.seek(place)
        while line := self._map.readline():
            try:
                yield place, _OPERATION.decode(line)
            except ValueError as error:
                yield place, error
            place += len(line)

    def read_at(self, place: int) -> AnyOperation:
        self._map.seek(place)
        return _OPERATION.decode(self._map.readline())
