"""Reads a file of lines to be imported (docs/operating.md). The part that was read is identified by its digest."""

import hashlib
from codecs import BOM_UTF8
from io import BufferedReader

from magistrate.errors import InvalidRequest
from magistrate.operations.importing.importer import MAX_CHUNK_BYTES
from magistrate.store.contract import ImportProgress

BYTES_READ_AT_ONCE = 1_048_576


class LineFile:
    """Implements LineSource for a file. `source` is the name of a file that can be read again and is seekable. With
    None nothing is resumed."""

    def __init__(self, file: BufferedReader, source: str | None, chunk_lines: int, max_line_bytes: int) -> None:
        self._file = file
        self._chunk_lines = chunk_lines
        self._max_line_bytes = max_line_bytes
        self._digest = hashlib.sha256()
        self.name = source
        self.lines = 0
        self.size_bytes = 0

    def resume(self, progress: ImportProgress) -> None:
        """Continues after what is stored, if the file still begins with it."""
        digest, left = hashlib.sha256(), progress.size_bytes
        while left and (piece := self._file.read(min(left, BYTES_READ_AT_ONCE))):
            digest.update(piece)
            left -= len(piece)
        if left or digest.hexdigest() != progress.mark:
            self._file.seek(0)
        else:
            self._digest, self.lines, self.size_bytes = digest, progress.lines, progress.size_bytes

    async def next_lines(self) -> list[bytes]:
        """Returns the lines of the next chunk, without a byte order mark at the beginning of the file. Raises
        InvalidRequest for a line that is too long."""
        lines: list[bytes] = []
        longest, size_bytes = self._max_line_bytes, 0
        while len(lines) < self._chunk_lines and size_bytes < MAX_CHUNK_BYTES:
            line = self._file.readline(longest + 1)
            if len(line) > longest:
                raise InvalidRequest(f"line {self.lines + len(lines) + 1}: is longer than {longest} bytes")
            if not line:
                break
            lines.append(line)
            size_bytes += len(line)
        self._digest.update(b"".join(lines))
        if not self.lines and lines:
            lines[0] = lines[0].removeprefix(BOM_UTF8) or b"\n"
        self.lines += len(lines)
        self.size_bytes += size_bytes
        return lines

    def progress(self) -> ImportProgress | None:
        if self.name is None:
            return None
        is_done = not self._file.peek(1)
        return ImportProgress(self.name, self.lines, self.size_bytes, self._digest.hexdigest(), is_done)
