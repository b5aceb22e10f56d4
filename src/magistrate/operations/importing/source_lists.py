"""Reads the lists of a Warrant server as a source of lines: object types, then objects, then warrants.

Before them come named policies, which the rules of object types name, if the server has a list of them: another
Magistrate does, a Warrant server does not.

Warrants are sorted by their creation, because later writes must come later: the creation decides between several that
match.

Objects are sorted by their id, the only order without a filter that a source server continues on every database: on
PostgreSQL its cursors for other orders carry no value, so that page 2 is page 1 again. A cursor for this order names
only the id, so objects of other types with the same id are lost behind it. Each page is therefore read twice: once in
full, to learn which rows have its last id, and once without these rows, so that it ends between two ids and the next
page begins with all of them. That is linear in the objects and needs to know no types. The alternatives were a search
for the last id of each page, which scans all objects each time and may find any number of ids that contain it, and a
list for each object type, which misses the objects whose type nobody defined."""

from collections.abc import Mapping
from hashlib import blake2b
from itertools import takewhile
from typing import Any, Literal, Protocol

import msgspec

from magistrate.engine.model import ObjectType
from magistrate.engine.named_policy import NamedPolicy
from magistrate.errors import InvalidRequest, RequestRefused, ServiceUnreachable
from magistrate.operations.importing.chunk import Line, ReadLine
from magistrate.operations.importing.importer import MAX_CHUNK_BYTES
from magistrate.store.contract import ImportProgress, NewObject, NewWarrant

Kind = Literal["named policy", "object type", "object", "warrant"]

LISTS: tuple[tuple[Kind, str, str], ...] = (
    ("named policy", "/v2/policies", "name"),
    ("object type", "/v2/object-types", "typeId"),
    ("object", "/v2/objects", "objectId"),
    ("warrant", "/v2/warrants", "createdAt"),
)
"""Describes the lists: the kind of row, the path and the sort order."""
_CLASSES: Mapping[Kind, type[Line]] = {
    "named policy": NamedPolicy,
    "object type": ObjectType,
    "object": NewObject,
    "warrant": NewWarrant,
}
MAX_TRIES = 5
"""Limits how often a page of objects is read again because it changed in between."""
MAX_EMPTY_PAGES = 100
"""Limits the empty pages in a row: a server may have removed rows from pages it had cut, but not without end."""


class WarrantServer(Protocol):
    """Represents a Warrant server. Raises ServiceUnreachable if it gives no answer, RequestRefused if it refuses."""

    url: str

    async def has_list(self, path: str) -> bool:
        """Returns whether there is a list at this path."""
        ...

    async def page(
        self, path: str, parameters: Mapping[str, str], max_rows: int | None = None
    ) -> tuple[list[bytes], str | None]:
        """Returns rows as JSON, at most `max_rows`, and the cursor of the next page."""
        ...

    async def check(self, check: Mapping[str, Any]) -> tuple[int, Any]:
        """Returns HTTP status and answer, with the path of the decision; the status is 500 or 504 if the check itself
        made it fail, 504 if there was no answer in time. A server that is busy or away refuses, or gives no answer."""
        ...


class _ListPosition(msgspec.Struct, frozen=True):
    """Holds the list, by its number in LISTS, and the cursor of the next page, none for the first, with the sort order
    that it is for."""

    list: int = 0
    cursor: str | None = None
    sort: str | None = None

    @property
    def is_usable(self) -> bool:
        """Returns whether the cursor is for the order in which the list is read: earlier versions read objects in
        another one, and had no list before that of object types."""
        return self.cursor is None or (self.list < len(LISTS) and self.sort == LISTS[self.list][2])


class _ObjectId(msgspec.Struct, rename="camel"):
    object_id: str = ""


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
    each other, and of others whole pages until it has `chunk_lines` or more.

    `has_policies` is known, unless the reading was resumed, once there is a chunk or none is left."""

    def __init__(self, server: WarrantServer, chunk_lines: int) -> None:
        self._server = server
        self._chunk_lines = chunk_lines
        self._place = _ListPosition()
        self._may_have_expired = False
        self._trail = _Trail()
        self.kind: Kind = "named policy"
        self.has_policies = False
        self.name: str | None = server.url
        self.lines = 0
        self.size_bytes = 0

    def resume(self, progress: ImportProgress) -> None:
        try:
            place = _DECODER.decode(progress.mark)
        except msgspec.MsgspecError:
            return
        self._place = place if place.is_usable else _ListPosition(place.list)
        self._may_have_expired = True
        self.lines, self.size_bytes = progress.lines, progress.size_bytes

    def reader(self, read_line: ReadLine) -> ReadLine:
        """Returns a reader for the lines of the newest chunk; it refuses lines that are not of their kind."""

        def read(text: bytes) -> Line:
            line = read_line(text)
            if not isinstance(line, _CLASSES[self.kind]):
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
        if self.kind == "named policy":
            self.has_policies = await self._server.has_list(path)
            if not self.has_policies:
                self._place = _ListPosition(number + 1)
        while self._place.list == number and size_bytes < MAX_CHUNK_BYTES:
            read_page = self._page_of_whole_ids if sort == "objectId" else self._page
            rows, cursor = await read_page(path, sort)
            self._place = self._behind(path, bool(rows), cursor)
            lines += rows
            size_bytes += sum(map(len, rows))
            if self.kind != "object type" and len(lines) >= self._chunk_lines:
                break
        return lines

    def _behind(self, path: str, has_rows: bool, cursor: str | None) -> _ListPosition:
        if cursor is None:
            self._trail = _Trail()
            return _ListPosition(self._place.list + 1)
        if fault := self._trail.fault(has_rows, cursor):
            raise ServiceUnreachable(self._server.url, f"{path} goes on for ever: {fault}")
        return _ListPosition(self._place.list, cursor, LISTS[self._place.list][2])

    async def _page_of_whole_ids(self, path: str, sort: str) -> tuple[list[bytes], str | None]:
        """Returns a page that ends between two ids. Raises ServiceUnreachable if so many objects have one id that a
        page cannot hold them, or if the list changes faster than it can be read."""
        for _ in range(MAX_TRIES):
            rows, cursor = await self._page(path, sort)
            if cursor is None or not rows:
                return rows, cursor
            ids = [*map(_read_object_id, rows)]
            kept = len(ids) - len([*takewhile(ids[-1].__eq__, reversed(ids))])
            if not kept:
                raise ServiceUnreachable(self._server.url, f"{path}: a page has {len(ids)} objects with the same id")
            rows, cursor = await self._page(path, sort, kept)
            if [*map(_read_object_id, rows)] == ids[:kept]:
                return rows, cursor
        raise ServiceUnreachable(self._server.url, f"{path} changes while it is read; stop writes to it")

    async def _page(self, path: str, sort: str, max_rows: int | None = None) -> tuple[list[bytes], str | None]:
        parameters = {"sortBy": sort, "sortOrder": "ASC"}
        if self._place.cursor is None:
            return await self._server.page(path, parameters, max_rows)
        try:
            page = await self._server.page(path, {**parameters, "nextCursor": self._place.cursor}, max_rows)
        except RequestRefused as error:
            if not self._may_have_expired or error.parameter != "nextCursor":
                raise
            self._place = _ListPosition(self._place.list)  # reading the list from its start is harmless
            page = await self._server.page(path, parameters, max_rows)
        self._may_have_expired = False
        return page


def _read_object_id(row: bytes) -> str:
    """Returns the id of an object in lower case, because to MySQL ids that differ in case are the same; empty if there
    is none."""
    try:
        return msgspec.json.decode(row, type=_ObjectId).object_id.lower()
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return ""
