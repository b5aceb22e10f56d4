"""Bounds the memory of rows that may be large, if they want that: what a request reads counts until it is
answered."""

from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

R = TypeVar("R", bound=Sequence[Sequence[Any]])

LARGE_ROW_BYTES = 65_536
"""Sets what is reserved for a row that may have a large text: the meta of an object, or a definition, by default."""
SMALL_ROW_BYTES = 8_192
"""Sets what is reserved for any other row: the longest policy, and names."""
ROW_BYTES = 1_000
"""Estimates what a row takes besides its texts: as it was read, as a value, and as an element of the answer."""
TEXT_FACTOR = 2
"""Counts the copies of a text: the one that was read, and the one in the answer before it is rendered."""


class ReadMemory(Protocol):
    """Counts the bytes that one request has read."""

    async def reserve(self, size: int) -> None:
        """Waits until so many bytes may be read. Raises Overloaded."""
        ...

    def keep(self, reserved: int, size: int) -> None:
        """Counts `size` bytes in place of what was reserved."""
        ...


READ_MEMORY: ContextVar[ReadMemory | None] = ContextVar("read_memory", default=None)
"""Holds what counts the rows that the present request reads, None if nothing does."""


async def read_within_memory(read: Callable[[], Awaitable[R]], max_bytes: int) -> R:
    """Returns the rows of a read that takes at most about so many bytes. Raises Overloaded, and what `read` raises."""
    memory = READ_MEMORY.get()
    if memory is None:
        return await read()
    await memory.reserve(max_bytes)
    size = 0
    try:
        rows = await read()
        size = measure_rows(rows)
    finally:
        memory.keep(max_bytes, size)
    return rows


def measure_rows(rows: Sequence[Sequence[Any]]) -> int:
    texts = sum([len(value) for row in rows for value in row if value.__class__ is str])
    return ROW_BYTES * len(rows) + TEXT_FACTOR * texts
