"""Bringing much into a store at once, from lines (docs/operating.md): chunk by chunk, each of them one write.

How far a source has come is kept in the same write, with a mark by which the source finds the place again. So whatever
ends an import, the next one goes on behind the last chunk that was written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from magistrate.engine.terms import TypeName
from magistrate.operations.chunk import Chunk, ReadLine, Refused, line_refused
from magistrate.operations.context import Context
from magistrate.store.contract import Imported, ImportProgress

ACTOR = "import"
"""What the change log calls us."""

MAX_CHUNK_BYTES = 33_554_432
"""A chunk ends with the line that reaches this (32 MiB), however few lines it has: all of it is in memory."""


class LineSource(Protocol):
    """Where lines come from. `lines` and `size_bytes`: what was read of it, from its beginning, or is stored already;
    `name`: by which its progress is kept, None if it cannot be read again."""

    name: str | None
    lines: int
    size_bytes: int

    def resume(self, progress: ImportProgress) -> None:
        """Goes on behind what is stored, or begins anew if that is not to be found again."""
        ...

    async def next_lines(self) -> list[bytes]:
        """Those of the next chunk; none at the end."""
        ...

    def progress(self) -> ImportProgress | None:
        """To be kept when all that was read is stored; None without a name."""
        ...


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """What is to become of lines that are wrong: all of them are told. Unless `goes_on`, nothing is stored any more
    from the chunk of the first one on; the rest is only looked at."""

    told: Callable[[Refused], None]
    goes_on: bool


@dataclass(frozen=True, slots=True)
class Reached:
    """How far an import has come. `lines` and `size_bytes` count from the beginning of the source, `first` is the line
    this import began with. `imported`: what it created or replaced; `refused`: how many lines were left out."""

    first: int
    lines: int
    size_bytes: int
    imported: Imported
    refused: int = 0


async def import_lines(
    ctx: Context,
    source: LineSource,
    read_line: ReadLine,
    told: Callable[[Reached], None],
    leave_out: LeaveOut | None = None,
) -> Reached:
    """Stores what the lines describe; blank ones describe nothing. `told` hears where it begins, and of each chunk that
    is stored.

    Without `leave_out` raises InvalidRequest for the first line that is wrong, and names it: its chunk is not stored,
    those before it are."""
    kept = await ctx.store.import_progress(source.name) if source.name is not None else None
    if kept is not None:
        source.resume(kept)
    reached = Reached(source.lines + 1, source.lines, source.size_bytes, Imported(0, 0, 0))
    told(reached)
    sieve = Sieve(ctx, read_line, leave_out)
    while lines := await source.next_lines():
        chunk = await sieve.read(dict(enumerate(lines, source.lines - len(lines) + 1)))
        if sieve.stores:
            kept = source.progress()
            imported = _sum(reached.imported, await _store(ctx, chunk, kept))
            reached = Reached(reached.first, source.lines, source.size_bytes, imported)
            told(reached)
    if sieve.stores and kept is not None and not kept.is_done:
        await _store(ctx, Chunk(), source.progress())  # only now the source knows that no line was left
    return replace(reached, refused=sieve.refused)


class Sieve:
    """Takes lines that are wrong out of chunks. `refused`: how many there were."""

    def __init__(self, ctx: Context, read_line: ReadLine, leave_out: LeaveOut | None) -> None:
        self._ctx = ctx
        self._read_line = read_line
        self._leave_out = leave_out
        self._defined: Mapping[TypeName, str] = {}
        self.refused = 0

    @property
    def stores(self) -> bool:
        """Whether what is right is to be stored, yet."""
        return not self.refused or self._leave_out is None or self._leave_out.goes_on

    async def read(self, lines: Mapping[int, bytes]) -> Chunk:
        """What is right of these lines, by their numbers; judged with the object types that are stored and, if they
        were not stored, those of the chunks before. Raises InvalidRequest if none may be wrong."""
        chunk = await Chunk.read(self._ctx, lines, self._read_line, self._refuse)
        if self._leave_out is not None:
            stored = (await self._ctx.store.read_model()).value.definitions
            self._defined = chunk.sift(stored if self.stores else {**stored, **self._defined}, self._refuse)
        return chunk

    def _refuse(self, refused: Refused) -> None:
        if self._leave_out is None:
            line_refused(refused)
        else:
            self.refused += 1
            self._leave_out.told(refused)


async def _store(ctx: Context, chunk: Chunk, progress: ImportProgress | None) -> Imported:
    return (await ctx.store.import_batch(chunk.batch(), chunk.judge, ctx.stamp(ACTOR), progress)).value


def _sum(one: Imported, other: Imported) -> Imported:
    return Imported(one.types + other.types, one.objects + other.objects, one.warrants + other.warrants)
