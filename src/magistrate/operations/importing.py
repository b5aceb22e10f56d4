"""Bringing much into a store at once, from lines (docs/operating.md): chunk by chunk, each of them one write.

How far a file has come is kept in the same write, with the digest of what was read up to there. So whatever ends an
import, the next one goes on behind the last chunk that was written, provided that the file still begins as it did;
otherwise it begins anew."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import BufferedReader

from magistrate.engine.model import ObjectType
from magistrate.engine.terms import TypeName
from magistrate.errors import InvalidParameter, InvalidRequest
from magistrate.operations.context import Context
from magistrate.operations.object_types import judge_types, new_object_types
from magistrate.operations.warrants import judge_warrants
from magistrate.store.contract import (
    ImportBatch,
    Imported,
    ImportProgress,
    NewObject,
    NewObjectType,
    NewWarrant,
)

ACTOR = "import"
"""What the change log calls us."""

MAX_CHUNK_BYTES = 33_554_432
"""A chunk ends with the line that reaches this (32 MiB), however few lines it has: all of it is in memory."""
BYTES_READ_AT_ONCE = 1_048_576

Line = ObjectType | NewObject | NewWarrant


@dataclass(frozen=True, slots=True)
class LineFile:
    """`source` is the name of a file that can be read again, and sought in. With None nothing is resumed."""

    file: BufferedReader
    source: str | None
    chunk_lines: int
    max_line_bytes: int


@dataclass(frozen=True, slots=True)
class Reached:
    """How far an import has come. `lines` and `size_bytes` count from the beginning of the file, `first` is the line
    this import began with. `imported`: what it created or replaced."""

    first: int
    lines: int
    size_bytes: int
    imported: Imported


async def import_lines(
    ctx: Context, given: LineFile, read_line: Callable[[bytes], Line], told: Callable[[Reached], None]
) -> Reached:
    """Stores what the lines describe; blank ones describe nothing. `told` hears where it begins, and of each chunk that
    is stored.

    Raises InvalidRequest for the first line that is wrong, and names it: its chunk is not stored, those before it
    are."""
    reading = _Reading(given)
    if given.source is not None and (progress := await ctx.store.import_progress(given.source)) is not None:
        reading.resume(progress)
    reached = Reached(reading.lines + 1, reading.lines, reading.size_bytes, Imported(0, 0, 0))
    told(reached)
    while lines := reading.next_lines():
        chunk = _Chunk.read(ctx, lines, reached.lines + 1, read_line)
        batch = ImportBatch(chunk.types, chunk.objects, chunk.warrants)
        written = await ctx.store.import_batch(batch, chunk.judge, ctx.stamp(ACTOR), reading.progress())
        imported = _sum(reached.imported, written.value)
        reached = Reached(reached.first, reading.lines, reading.size_bytes, imported)
        told(reached)
    return reached


class _Reading:
    """A file that is read from its beginning, or from where an earlier import came to. `lines` and `size_bytes` are
    what was read of it."""

    def __init__(self, given: LineFile) -> None:
        self._given = given
        self._digest = hashlib.sha256()
        self.lines = 0
        self.size_bytes = 0

    def resume(self, progress: ImportProgress) -> None:
        """Goes on behind what is stored, if the file still begins with it."""
        digest, left = hashlib.sha256(), progress.size_bytes
        while left and (piece := self._given.file.read(min(left, BYTES_READ_AT_ONCE))):
            digest.update(piece)
            left -= len(piece)
        if left or digest.hexdigest() != progress.digest:
            self._given.file.seek(0)
        else:
            self._digest, self.lines, self.size_bytes = digest, progress.lines, progress.size_bytes

    def next_lines(self) -> list[bytes]:
        """Those of the next chunk; none at the end. Raises InvalidRequest for a line that is too long."""
        lines: list[bytes] = []
        longest, size_bytes = self._given.max_line_bytes, 0
        while len(lines) < self._given.chunk_lines and size_bytes < MAX_CHUNK_BYTES:
            line = self._given.file.readline(longest + 1)
            if len(line) > longest:
                raise InvalidRequest(f"line {self.lines + len(lines) + 1}: is longer than {longest} bytes")
            if not line:
                break
            lines.append(line)
            size_bytes += len(line)
        self._digest.update(b"".join(lines))
        self.lines += len(lines)
        self.size_bytes += size_bytes
        return lines

    def progress(self) -> ImportProgress | None:
        """To be kept when all that was read is stored."""
        source = self._given.source
        if source is None:
            return None
        is_done = not self._given.file.peek(1)
        return ImportProgress(source, self.lines, self.size_bytes, self._digest.hexdigest(), is_done)


@dataclass(slots=True)
class _Chunk:
    """What some lines describe. `warrant_lines`: the number of the line of each warrant. `defined`: the object types by
    the numbers of their lines."""

    types: list[NewObjectType] = field(default_factory=list)
    objects: list[NewObject] = field(default_factory=list)
    warrants: list[NewWarrant] = field(default_factory=list)
    warrant_lines: list[int] = field(default_factory=list)
    defined: dict[int, ObjectType] = field(default_factory=dict)

    @classmethod
    def read(cls, ctx: Context, lines: list[bytes], first: int, read_line: Callable[[bytes], Line]) -> "_Chunk":
        chunk = cls()
        for number, text in enumerate(lines, first):
            if text.isspace():
                continue
            try:
                line = read_line(text)
                if isinstance(line, NewWarrant):
                    chunk.warrants.append(line)
                    chunk.warrant_lines.append(number)
                elif isinstance(line, NewObject):
                    chunk.objects.append(line)
                else:
                    chunk.types += new_object_types(ctx, [line])
                    chunk.defined[number] = line
            except InvalidRequest as error:
                raise _in_line(number, error) from None
        return chunk

    def judge(self, definitions: Mapping[TypeName, str]) -> None:
        """Raises InvalidRequest for a line that cannot stand with these object types, which are all there will be."""
        self._judge_types(definitions)
        named = {warrant.object.type for warrant in self.warrants}
        known = {name: definitions[name] for name in named if name in definitions}
        try:
            judge_warrants(self.warrants, lambda place: f"line {self.warrant_lines[place]}: ")(known)
        except InvalidParameter as error:
            raise InvalidRequest(f"{error.parameter}: {error.message}") from None

    def _judge_types(self, definitions: Mapping[TypeName, str]) -> None:
        try:
            judge_types([*self.defined.values()])(definitions)
        except InvalidParameter:
            for number, object_type in self.defined.items():
                try:
                    judge_types([object_type])(definitions)
                except InvalidParameter as error:
                    raise _in_line(number, error) from None
            raise


def _in_line(number: int, error: InvalidRequest) -> InvalidRequest:
    parameter = f"{error.parameter}: " if isinstance(error, InvalidParameter) and error.parameter else ""
    return InvalidRequest(f"line {number}: {parameter}{error.message}")


def _sum(one: Imported, other: Imported) -> Imported:
    return Imported(one.types + other.types, one.objects + other.objects, one.warrants + other.warrants)
