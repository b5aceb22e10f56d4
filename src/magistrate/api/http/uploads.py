"""Receives bodies that are too large for memory: into a temporary file, within a limit of its own.

All else that can be wrong with a request is found before its body is received. A body that ends early is an error like
any other incomplete one, so nothing of it is used."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

from magistrate.errors import BodyTooLarge, Overloaded
from magistrate.temporary_files import open_temporary_file, writing_to

WRITTEN_AT_ONCE = 1_048_576
"""Sets how much is collected before it is written to the file (1 MiB)."""


class UploadKind(NamedTuple):
    """Says which media types the bodies of a route have, how many of its requests a worker works on at the same time,
    and for how long on each, apart from the time to receive it."""

    media_types: tuple[str, ...]
    max_open: int
    timeout_ms: int


class UploadPlaces:
    """Counts the requests of a route that are being worked on."""

    def __init__(self) -> None:
        self._taken = 0

    @contextmanager
    def open_file(self, kind: UploadKind) -> Iterator[BinaryIO]:
        """Yields a file for an upload, which ends with the context. Raises Overloaded if there are too many others."""
        if self._taken >= kind.max_open:
            raise Overloaded
        self._taken += 1
        try:
            with open_temporary_file("an upload needs") as file:
                yield file
        finally:
            self._taken -= 1


async def write_upload(file: BinaryIO, pieces: AsyncIterator[bytes], max_bytes: int) -> None:
    """Writes a body to a file, and rewinds that. Raises BodyTooLarge, StoreUnavailable if the disk is full, and what
    `pieces` raises."""
    size, collected = 0, bytearray()
    async for piece in pieces:
        size += len(piece)
        if size > max_bytes:
            raise BodyTooLarge(max_bytes)
        collected += piece
        if len(collected) >= WRITTEN_AT_ONCE:
            await asyncio.to_thread(_write, file, bytes(collected))
            collected = bytearray()
    await asyncio.to_thread(_write, file, bytes(collected))
    file.seek(0)


def _write(file: BinaryIO, content: bytes) -> None:
    with writing_to(file):
        file.write(content)
