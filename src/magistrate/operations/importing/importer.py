"""Imports many rows from lines (docs/operating.md), chunk by chunk, each chunk in one write.

The progress of a source is stored in the same write, with a mark by which the source finds its position again. Whatever
ends an import, the next one therefore resumes after the last chunk that was written."""

import hashlib
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from io import BufferedReader
from typing import Protocol

from msgspec.structs import astuple

from magistrate.engine.names import TypeName
from magistrate.errors import InvalidRequest, OrphanedWarrants
from magistrate.operations.context import Context
from magistrate.operations.importing.chunk import Chunk, ReadLine, Refused, line_refused
from magistrate.operations.models.object_types import find_forbidden
from magistrate.store.contract.new_rows import Imported, ImportProgress

ACTOR = "import"
"""Names the actor in the change log."""

MAX_CHUNK_BYTES = 33_554_432
"""Limits a chunk, which ends with the line that reaches this many bytes (32 MiB), however few lines it has: all of it
is in memory."""


class LineSource(Protocol):
    """Represents a source of lines. `lines` and `size_bytes`: what was read of it, from its beginning, or is stored
    already; `name`: the key of its progress, None if it cannot be read again."""

    name: str | None
    lines: int
    size_bytes: int

    def resume(self, progress: ImportProgress) -> None:
        """Continues after what is stored, or begins again if that position cannot be found."""
        ...

    async def next_lines(self) -> list[bytes]:
        """Returns the lines of the next chunk; none at the end."""
        ...

    def progress(self) -> ImportProgress | None:
        """Returns the progress to be stored once all that was read is stored; None without a name."""
        ...


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """Configures what happens to lines that are wrong: all of them are reported. Unless `goes_on`, nothing is stored
    from the chunk of the first wrong line on; the rest is only checked."""

    report: Callable[[Refused], None]
    goes_on: bool


@dataclass(frozen=True, slots=True)
class Reached:
    """Reports how far an import has come. `lines` and `size_bytes` count from the beginning of the source, `first` is
    the line this import began with. `imported`: rows that it created or replaced; `refused`: lines that were left
    out."""

    first: int
    lines: int
    size_bytes: int
    imported: Imported
    refused: int = 0


async def import_lines(
    ctx: Context,
    source: LineSource,
    read_line: ReadLine,
    report: Callable[[Reached], None],
    leave_out: LeaveOut | None = None,
) -> Reached:
    """Stores what the lines describe; blank lines are skipped. `report` is called at the beginning, and for each chunk
    that is stored.

    Without `leave_out` raises InvalidRequest for the first line that is wrong, and names it: its chunk is not stored,
    those before it are."""
    kept = await ctx.store.import_progress(source.name) if source.name is not None else None
    if kept is not None:
        source.resume(kept)
    reached = Reached(source.lines + 1, source.lines, source.size_bytes, Imported(0, 0, 0))
    report(reached)
    sieve = Sieve(ctx, read_line, leave_out)
    while lines := await source.next_lines():
        chunk = await sieve.read(dict(enumerate(lines, source.lines - len(lines) + 1)))
        if sieve.stores:
            kept = source.progress()
            imported = _sum(reached.imported, await _store(ctx, chunk, kept))
            reached = Reached(reached.first, source.lines, source.size_bytes, imported)
            report(reached)
    if sieve.stores and kept is not None and not kept.is_done:
        await _store(ctx, Chunk(), source.progress())  # only now does the source know that no line was left
    return replace(reached, refused=sieve.refused)


class Sieve:
    """Removes lines that are wrong from chunks. `refused` counts them, except those that nobody can fix: they are
    always left out."""

    def __init__(self, ctx: Context, read_line: ReadLine, leave_out: LeaveOut | None) -> None:
        self._ctx = ctx
        self._read_line = read_line
        self._leave_out = leave_out
        self._defined: Mapping[TypeName, str] = {}
        self.refused = 0

    @property
    def stores(self) -> bool:
        """Returns whether valid lines are still to be stored."""
        return not self.refused or self._leave_out is None or self._leave_out.goes_on

    async def read(self, lines: Mapping[int, bytes]) -> Chunk:
        """Returns the valid lines as a chunk, by their numbers; they are validated with the object types that are
        stored and, if they were not stored, those of the chunks before. Raises InvalidRequest for a wrong line if none
        may be left out."""
        chunk = await Chunk.read(self._ctx, lines, self._read_line, self._refuse)
        if self._leave_out is not None:
            stored = (await self._ctx.store.read_model()).value.definitions
            self._defined = chunk.filter_lines(stored if self.stores else {**stored, **self._defined}, self._refuse)
        return chunk

    def _refuse(self, refused: Refused) -> None:
        if self._leave_out is None:
            line_refused(refused)
        else:
            self.refused += refused.can_be_fixed
            self._leave_out.report(refused)


async def _store(ctx: Context, chunk: Chunk, progress: ImportProgress | None) -> Imported:
    try:
        stamp = ctx.stamp(ACTOR)
        return (
            await ctx.store.import_batch(chunk.batch(), chunk.validate, stamp, progress, forbidden=find_forbidden)
        ).value
    except OrphanedWarrants as error:
        raise chunk.name_line(error) from None


def _sum(first: Imported, second: Imported) -> Imported:
    return Imported(*map(sum, zip(astuple(first), astuple(second), strict=True)))


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
        digest, remaining = hashlib.sha256(), progress.size_bytes
        while remaining and (piece := self._file.read(min(remaining, BYTES_READ_AT_ONCE))):
            digest.update(piece)
            remaining -= len(piece)
        if remaining or digest.hexdigest() != progress.mark:
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
        return ImportProgress(
            source=self.name,
            lines=self.lines,
            size_bytes=self.size_bytes,
            mark=self._digest.hexdigest(),
            is_done=is_done,
        )
