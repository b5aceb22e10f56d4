"""Decodes request bodies that are compressed with gzip, and compresses answers for clients that accept it
(docs/api.md#requests)."""

import asyncio
import gzip
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache

import falcon.asgi

from magistrate.errors import BodyTooLarge, InvalidRequest, UnsupportedCoding
from magistrate.operations.scheduling import checkpoint, is_time_up

GZIP, IDENTITY = "gzip", "identity"
_NAMES = {"x-gzip": GZIP}
"""Maps other names of codings to these (RFC 9110, section 8.4.1.3)."""

MIN_COMPRESSED_BYTES = 8_192
"""Sets the size beyond which answers are compressed (8 KiB)."""
MAX_BYTES_AT_ONCE = 65_536
"""Limits the answers that are compressed in the event loop, which takes half a millisecond, and the bytes that are
decoded at once (64 KiB)."""
LEVEL, LEVEL_OF_PAGES = 1, 9
"""Set how hard zlib tries. Rows of lists become a tenth of their size at level 1 already."""
IS_CONSTANT = "magistrate.is_constant"
"""Names the member of the scope of requests whose answer is the same for everyone: it is compressed once."""

_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_DAMAGED = "Request body is not valid gzip"


def has_gzip_body(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Returns whether the body of a request with these headers is compressed with gzip. Raises UnsupportedCoding for
    any other content coding, and for several."""
    codings = [name for name in _list_elements(headers, b"content-encoding") if name]
    if not codings or codings == [IDENTITY]:
        return False
    if codings != [GZIP]:
        raise UnsupportedCoding(f"Content-Encoding must be {GZIP} or {IDENTITY}, and one of them only")
    return True


class GzipBody:
    """Decodes a body piece by piece; `decoded` has what came until now, at most `limit` bytes.

    A body may have several members (RFC 1952). However much a piece expands to, other requests run in between."""

    def __init__(self, limit: int) -> None:
        self.decoded = bytearray()
        self._limit = limit
        # Compression makes a text longer by less than this; members without any text could go on forever.
        self._left = limit + limit // 64 + MAX_BYTES_AT_ONCE
        self._member: zlib._Decompress | None = None

    async def add(self, piece: bytes) -> None:
        """Decodes the next piece. Raises BodyTooLarge or InvalidRequest."""
        self._left -= len(piece)
        if self._left < 0:
            raise BodyTooLarge(self._limit)
        for start in range(0, len(piece), MAX_BYTES_AT_ONCE):
            rest: bytes | None = piece[start : start + MAX_BYTES_AT_ONCE]
            while rest is not None:
                rest = self._decode(rest)
                if is_time_up():
                    await checkpoint()

    def finish(self) -> bytes:
        """Returns the whole body. Raises InvalidRequest if its end is missing."""
        if self._member is not None:
            raise InvalidRequest("Request body is truncated gzip")
        return bytes(self.decoded)

    def _decode(self, piece: bytes) -> bytes | None:
        """Decodes some of a piece, and returns the rest; None if nothing can be decoded without the next piece."""
        if self._member is None:
            if not piece:
                return None
            self._member = zlib.decompressobj(_GZIP_WINDOW)
        most = min(MAX_BYTES_AT_ONCE, self._limit + 1 - len(self.decoded))
        try:
            decoded = self._member.decompress(piece, most)
        except zlib.error:
            raise InvalidRequest(_DAMAGED) from None
        self.decoded += decoded
        if len(self.decoded) > self._limit:
            raise BodyTooLarge(self._limit)
        if self._member.eof:
            rest, self._member = self._member.unused_data, None
            return rest
        rest = self._member.unconsumed_tail
        return rest if rest or len(decoded) == most else None


async def compress_answer(req: falcon.asgi.Request, resp: falcon.asgi.Response) -> None:
    """Compresses the body of an answer, unless it is short, a stream or sent without the framework, for a client that
    accepts it."""
    data = resp.data
    if data is None or len(data) <= MIN_COMPRESSED_BYTES or resp.get_header("Content-Encoding"):
        return
    resp.append_header("Vary", "Accept-Encoding")
    if not accepts_gzip(req.scope["headers"]):
        return
    if IS_CONSTANT in req.scope:
        resp.data = await asyncio.to_thread(_compress_page, data)
    elif len(data) <= MAX_BYTES_AT_ONCE:
        resp.data = _compress(data)
    else:
        resp.data = await asyncio.to_thread(_compress, data)
    resp.set_header("Content-Encoding", GZIP)
    if etag := resp.get_header("ETag"):
        resp.set_header("ETag", f"W/{etag.removeprefix('W/')}")  # a strong one would be that of other bytes


def _compress(data: bytes) -> bytes:
    return gzip.compress(data, LEVEL, mtime=0)


@lru_cache(32)  # the pages are about a dozen
def _compress_page(data: bytes) -> bytes:
    return gzip.compress(data, LEVEL_OF_PAGES, mtime=0)


def accepts_gzip(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Returns whether a client with these headers accepts gzip, and does not prefer no coding (RFC 9110, section
    12.5.3). One that does not say so gets none."""
    weights = dict(_list_weights(headers))
    gzip_weight = weights.get(GZIP, weights.get("*", 0.0))
    return gzip_weight > 0 and gzip_weight >= weights.get(IDENTITY, 0.0)


def _list_weights(headers: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[str, float]]:
    for element in _list_elements(headers, b"accept-encoding"):
        name, *parameters = (part.strip() for part in element.split(";"))
        weight = next((text[2:] for text in parameters if text.startswith("q=")), "1")
        try:
            yield _NAMES.get(name, name), float(weight)
        except ValueError:
            yield name, 0.0


def _list_elements(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[str]:
    """Returns the elements of a list in the headers of this name, in lower case."""
    together = b",".join(value for header, value in headers if header == name).decode("latin-1").lower()
    return [_NAMES.get(element.strip(), element.strip()) for element in together.split(",")]
