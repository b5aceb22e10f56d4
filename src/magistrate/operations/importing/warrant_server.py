"""Reads from the source server, a Warrant server of any kind, through its own API.

Requests are retried, and answers bounded, by a RetryingClient."""

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import takewhile
from types import TracebackType
from typing import Any, Literal

import msgspec

from magistrate.engine.model.object_types import ObjectType
from magistrate.engine.policy.named_policies import NamedPolicy
from magistrate.errors import AnswerTooLarge, AnswerTooSlow, InvalidRequest, RequestRefused, ServiceUnreachable
from magistrate.operations.importing.chunk import Line, ReadLine
from magistrate.operations.importing.importer import MAX_CHUNK_BYTES
from magistrate.retrying_client import BUSY_STATUSES, PAUSES_SECONDS, UNREADABLE, HttpAnswer, RetryingClient
from magistrate.store.contract.new_rows import ImportProgress, NewObject, NewWarrant

PAGE_SIZES = (1_000, 100, 25)
"""Lists the page sizes to try, in this order, as long as the server refuses them and does not state its limit."""

MAX_ANSWER_BYTES = 67_108_864
"""Limits an answer to 64 MiB: more than the largest page of objects with the longest `meta` that is accepted by
default."""
NO_ANSWER = 504
"""Stands for the status of a check that was not answered in time."""

_MOST = re.compile(r"less than or equal to ([0-9]{1,9})\b")


class _Page(msgspec.Struct, rename="camel"):
    """Represents a page of a list, in which the absence of rows may be written as null."""

    results: list[msgspec.Raw] | None
    next_cursor: str | None = None


class _Fault(msgspec.Struct):
    code: str
    message: str
    parameter: str | None = None


class WarrantServer:
    """Talks to a Warrant server over HTTP.

    Every method raises ServiceUnreachable if nothing answers, or something that is not a Warrant server, and
    RequestRefused if the server answers with an error. The key is sent, and never shown."""

    def __init__(
        self, url: str, key: str | None, timeout_ms: int = 30_000, pauses_seconds: Sequence[float] = PAUSES_SECONDS
    ) -> None:
        headers = {"Authorization": f"ApiKey {key}"} if key else {}
        self._client = RetryingClient(
            url, headers, timeout_ms=timeout_ms, max_answer_bytes=MAX_ANSWER_BYTES, pauses_seconds=pauses_seconds
        )
        self.url = self._client.url
        self._page_size = PAGE_SIZES[0]

    async def __aenter__(self) -> "WarrantServer":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    async def has_list(self, path: str) -> bool:
        """Returns False if the server does not know the path: not every 404 is from the API, or in JSON."""
        answer = await self._client.send("GET", path, parameters={"limit": "1"})
        if answer.status in (200, 404):
            return answer.status == 200
        raise self._build_refusal(answer)

    async def page(
        self, path: str, parameters: Mapping[str, str], max_rows: int | None = None
    ) -> tuple[list[bytes], str | None]:
        """Returns the rows of a page of a list, as they were written, and the cursor of the next page. A page has as
        many rows as the server gives, or `max_rows`."""
        while True:
            limit = self._page_size if max_rows is None else min(self._page_size, max_rows)
            try:
                return await self._page(path, {**parameters, "limit": str(limit)})
            except (RequestRefused, AnswerTooLarge) as error:
                smaller = _smaller(self._page_size, error)
                if smaller is None:
                    raise
                self._page_size = smaller

    async def _page(self, path: str, parameters: Mapping[str, str]) -> tuple[list[bytes], str | None]:
        answer = await self._client.send("GET", path, parameters=parameters)
        if answer.status != 200:
            raise self._build_refusal(answer)
        try:
            page = msgspec.json.decode(answer.body, type=_Page)
        except UNREADABLE as error:
            raise self._describe_other_server(answer) from error
        return [bytes(row) for row in page.results or ()], page.next_cursor

    async def check(self, check: Mapping[str, Any]) -> tuple[int, Any]:
        """Returns the status and body of a check, with the warrants that the decision depends on.

        A check on which the server fails (500, or NO_ANSWER, also if it takes too long) is not retried, because it
        would fail again if the server went in circles. If the server is busy or away (429, 502, 503), the check is
        retried; raises if that does not help."""
        content = msgspec.json.encode({"warrants": [check], "debug": True})
        try:
            answer = await self._client.send("POST", "/v2/check", content=content, repeats_failures=False)
        except AnswerTooSlow:
            return NO_ANSWER, None
        if answer.status in (401, 403, *BUSY_STATUSES):
            raise self._build_refusal(answer)
        try:
            return answer.status, msgspec.json.decode(answer.body)
        except UNREADABLE as error:
            if answer.status in (500, NO_ANSWER):
                return answer.status, None
            raise self._describe_other_server(answer) from error

    def _build_refusal(self, answer: HttpAnswer) -> RequestRefused | ServiceUnreachable:
        try:
            fault = msgspec.json.decode(answer.body, type=_Fault)
        except UNREADABLE:
            return self._describe_other_server(answer)
        request_id = answer.headers.get("Warrant-Request-Id")
        return RequestRefused(
            status=answer.status,
            code=fault.code,
            message=fault.message,
            parameter=fault.parameter,
            request_id=request_id,
        )

    def _describe_other_server(self, answer: HttpAnswer) -> ServiceUnreachable:
        return ServiceUnreachable(self.url, f"what answers there, with status {answer.status}, is no Warrant server")


def _smaller(page_size: int, error: RequestRefused | AnswerTooLarge) -> int | None:
    """Returns the next smaller page size to request, or None if the error is not about the size or there is none."""
    if isinstance(error, RequestRefused) and error.parameter != "limit":
        return None
    limit = _MOST.search(error.message)
    sizes = (int(limit[1]), *PAGE_SIZES) if limit else PAGE_SIZES
    return next((size for size in sizes if 0 < size < page_size), None)


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
        return ImportProgress(
            source=self._server.url,
            lines=self.lines,
            size_bytes=self.size_bytes,
            mark=mark,
            is_done=self._place.list == len(LISTS),
        )

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
