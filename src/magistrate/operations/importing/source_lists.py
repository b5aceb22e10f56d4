"""Reads the lists of a Warrant server as a source of lines: object types, then objects, then warrants.

Each is sorted so that nothing is lost between its pages and that later writes come later, where that counts: warrants
by their creation, which decides between several that match; objects by their type, because that server loses rows with
one id and different types in any other order."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Literal, Protocol

import msgspec

from magistrate.engine.model import ObjectType
from magistrate.errors import InvalidRequest, RequestRefused, ServiceUnreachable
from magistrate.operations.importing.chunk import Line, ReadLine
from magistrate.operations.importing.importer import MAX_CHUNK_BYTES
from magistrate.store.contract import ImportProgress, NewObject, NewWarrant

Kind = Literal["object type", "object", "warrant"]

LISTS: tuple[tuple[Kind, str, str], ...] = (
    ("object type", "/v2/object-types", "typeId"),
    ("object", "/v2/objects", "objectType"),
    ("warrant", "/v2/warrants", "createdAt"),
)
"""Describes the lists: the kind of row, the path and the sort order."""
_FORMS: Mapping[Kind, type[Line]] = {"object type": ObjectType, "object": NewObject, "warrant": NewWarrant}
MAX_EMPTY_PAGES = 100
"""Limits the empty pages in a row: a server may have removed rows from pages it had cut, but not without end."""


class WarrantServer(Protocol):
    """Represents a Warrant server. Raises ServiceUnreachable if it gives no answer, RequestRefused if it refuses."""

    url: str

    async def page(self, path: str, parameters: Mapping[str, str]) -> tuple[list[bytes], str | None]:
        """Returns rows as JSON, and the cursor of the next page."""
        ...

    async def check(self, claim: Mapping[str, Any]) -> tuple[int, Any]:
        """Returns HTTP status and answer, with the path of the decision; the status is 500 or 504 if the check itself
        made it fail, 504 if there was no answer in time. A server that is busy or away refuses, or gives no answer."""
        ...


class _ListPosition(msgspec.Struct, frozen=True):
    """Holds the list, by its number in LISTS, and the cursor of the next page; none for the first."""

    list: int = 0
    cursor: str | None = None


class _Trail:
    """Holds what a list has returned so far."""

    def __init__(self) -> None:
        self._cursors: set[bytes] = set()  # digests, because there may be very many cursors, and long ones
        self._empty_pages = 0

    def fault(self, has_rows: bool, cursor: str) -> str | None:
        """Returns why the page after this cursor need not be requested, or None."""
        digest = blake2b(cursor.encode(), digest_size=16).digest()
        if digest in self._cursors:
            return "it answered the same cursor before"
        self._cursors.add(digest)
        self._empty_pages = 0 if has_rows else self._empty_pages + 1
        return f"{MAX_EMPTY_PAGES} pages in a row are empty" if self._empty_pages == MAX_EMPTY_PAGES else None


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(_ListPosition)


class SourceLists:
    """Implements LineSource for a Warrant server. A chunk has rows of one `kind`: all object types, as their rules name
    each other, and of others whole pages until it has `chunk_lines` or more."""

    def __init__(self, server: WarrantServer, chunk_lines: int) -> None:
        self._server = server
        self._chunk_lines = chunk_lines
        self._place = _ListPosition()
        self._may_be_forgotten = False
        self._trail = _Trail()
        self.kind: Kind = "object type"
        self.name: str | None = server.url
        self.lines = 0
        self.size_bytes = 0

    def resume(self, progress: ImportProgress) -> None:
        try:
            self._place = _DECODER.decode(progress.mark)
        except msgspec.MsgspecError:
            return
        self._may_be_forgotten = True
        self.lines, self.size_bytes = progress.lines, progress.size_bytes

    def reader(self, read_line: ReadLine) -> ReadLine:
        """Returns a reader for the lines of the newest chunk; it refuses lines that are not of their kind."""

        def read(text: bytes) -> Line:
            line = read_line(text)
            if not isinstance(line, _FORMS[self.kind]):
                raise InvalidRequest(f"is no {self.kind}, but listed among them")
            return line

        return read

    async def next_lines(self) -> list[bytes]:
        """Returns the lines of the next chunk. Raises what the server raises, and ServiceUnreachable for a list that
        does not end."""
        while self._place.list < len(LISTS):
            if lines := await self._chunk_of_list():
                self.lines += len(lines)
                self.size_bytes += sum(map(len, lines))
                return lines
        return []

    def progress(self) -> ImportProgress:
        mark = _ENCODER.encode(self._place).decode()
        return ImportProgress(self._server.url, self.lines, self.size_bytes, mark, self._place.list == len(LISTS))

    async def _chunk_of_list(self) -> list[bytes]:
        """Returns the next chunk of the list; empty if there are no more rows in it."""
        number, lines, size_bytes = self._place.list, list[bytes](), 0
        self.kind, path, sort = LISTS[number]
        while self._place.list == number and size_bytes < MAX_CHUNK_BYTES:
            rows, cursor = await self._page(path, sort)
            self._place = self._behind(path, bool(rows), cursor)
            lines += rows
            size_bytes += sum(map(len, rows))
            if number > 0 and len(lines) >= self._chunk_lines:
                break
        return lines

    def _behind(self, path: str, has_rows: bool, cursor: str | None) -> _ListPosition:
        if cursor is None:
            self._trail = _Trail()
            return _ListPosition(self._place.list + 1)
        if fault := self._trail.fault(has_rows, cursor):
            raise ServiceUnreachable(self._server.url, f"{path} goes on for ever: {fault}")
        return _ListPosition(self._place.list, cursor)

    async def _page(self, path: str, sort: str) -> tuple[list[bytes], str | None]:
        parameters = {"sortBy": sort, "sortOrder": "ASC"}
        if self._place.cursor is None:
            return await self._server.page(path, parameters)
        try:
            page = await self._server.page(path, {**parameters, "nextCursor": self._place.cursor})
        except RequestRefused as error:
            if not self._may_be_forgotten or error.parameter != "nextCursor":
                raise
            page = await self._server.page(path, parameters)  # reading the list from its start is harmless
        self._may_be_forgotten = False
        return page
