"""Writes and reads the file of a backup (docs/backup.md#format): for each store a header, the lines, and a footer with
their number and digest, plain or compressed."""

import gzip
import hashlib
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader, BytesIO, RawIOBase
from typing import Any, BinaryIO, Protocol, cast

import msgspec

from magistrate.errors import DamagedBackup
from magistrate.operations.backups.lines import render_rows
from magistrate.store.contract.backups import RestoredRow
from magistrate.store.contract.stores import StoreLimits

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FORMAT = "magistrate-backup/1"
LINES_AT_ONCE = 1_000
BYTES_AT_ONCE = 8_388_608
"""Limits the lines that are read together (8 MiB), however few they are."""
MAX_LINE_BYTES = 67_108_864
"""Limits a line (64 MiB), which is read as a whole: an object type may have more than a megabyte."""
GZIP_LEVEL, ZSTD_LEVEL = 6, 3
"""Are the levels at which the programs gzip and zstd compress by default."""


class StoreHeader(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Represents the store that was backed up."""

    id: str
    name: str
    created_at: str
    description: str = ""
    limits: StoreLimits = StoreLimits()
    openfga_name: str | None = None


class LineCounts(msgspec.Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Counts the lines of each kind."""

    policies: int
    object_types: int
    objects: int
    warrants: int
    keys: int = 0
    webhooks: int = 0
    openfga_models: int = 0
    saved_queries: int = 0

    @property
    def rows(self) -> int:
        """Returns how many lines are rows of a revision."""
        return self.policies + self.object_types + self.objects + self.warrants

    @property
    def lines(self) -> int:
        return self.rows + self.keys + self.webhooks + self.saved_queries + self.openfga_models


class BackupHeader(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Represents the first line of a store. `token` names the revision, which was written at `time`. A file of all
    stores has `parts` of them, and this is the one with the number `part`."""

    format: str
    version: str
    store: StoreHeader
    token: str
    time: str
    counts: LineCounts
    part: int = 1
    parts: int = 1


class BackupFooter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Represents the last line of a store: the number of lines between header and footer, and the SHA-256 in hex of the
    header and these lines."""

    lines: int
    sha256: str


_ENCODER = msgspec.json.Encoder()
_HEADER_DECODER = msgspec.json.Decoder(BackupHeader)
_FOOTER_DECODER = msgspec.json.Decoder(BackupFooter)


class LineTarget(Protocol):
    """Represents what lines are written to."""

    def write(self, content: bytes, /) -> object: ...


class BackupWriter:
    """Writes the lines of stores to a file, with headers and footers unless they `are_bare`."""

    def __init__(self, file: LineTarget, are_bare: bool = False) -> None:
        self._file = file
        self.are_bare = are_bare
        self._digest = hashlib.sha256()

    def begin(self, header: BackupHeader) -> None:
        if not self.are_bare:
            self._digest = hashlib.sha256()
            self.write_lines(_ENCODER.encode(header) + b"\n")

    def write_rows(self, rows: Sequence[RestoredRow]) -> int:
        """Writes rows of one kind, and returns their number."""
        self.write_lines(render_rows(rows))
        return len(rows)

    def write_lines(self, lines: bytes) -> None:
        self._digest.update(lines)
        self._file.write(lines)

    def end(self, lines: int) -> None:
        if not self.are_bare:
            self._file.write(_ENCODER.encode(BackupFooter(lines, self._digest.hexdigest())) + b"\n")


@contextmanager
def compress(file: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    """Yields what compresses into a file as the suffix of its name says. The same bytes make the same file."""
    if suffix == ".gz":
        with gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) as compressed:
            yield cast(BinaryIO, compressed)
    elif suffix == ".zst":
        options: dict[int, int] = {
            zstd.CompressionParameter.compression_level: ZSTD_LEVEL,
            zstd.CompressionParameter.checksum_flag: 1,
        }
        with zstd.ZstdFile(file, mode="wb", options=options) as compressed:
            yield cast(BinaryIO, compressed)
    else:
        yield file


class PieceFile(RawIOBase):
    """Reads pieces as they come, as a file that cannot be rewound."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        size = min(len(target), len(self._rest))
        target[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def copy_store(pieces: Iterator[bytes], writer: BackupWriter, part: int = 1, parts: int = 1) -> BackupHeader:
    """Writes the backup of one store, which comes in pieces, as a part of another backup, and returns its header.
    Raises DamagedBackup if it is not as it was written, and what `pieces` raises."""
    reader = BackupReader(cast(BinaryIO, BufferedReader(PieceFile(pieces))), is_stream=True)
    own = reader.read_header()
    header = msgspec.structs.replace(own, part=part, parts=parts)
    writer.begin(header)
    for lines in reader.read_lines(own):
        writer.write_lines(b"".join(lines))
    writer.end(header.counts.lines)
    return header


_GZIP_MAGIC, _ZSTD_MAGIC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class BackupReader:
    """Reads a seekable file from its beginning, one store after another: `read_header`, and then `read_lines` to their
    end, which verifies the footer. All of it raises DamagedBackup for a file that is not as it was written."""

    def __init__(self, file: BinaryIO, is_stream: bool = False) -> None:
        """Begins at the first store. A file that `is_stream` cannot be rewound, and is not compressed."""
        self._file = file
        self._lines: BinaryIO = file
        self._parts_read = self.number = 0
        self._is_within_part = False
        if not is_stream:
            self.rewind()

    def rewind(self) -> None:
        """Begins again at the first store."""
        self._file.seek(0)
        magic = self._file.read(len(_ZSTD_MAGIC))
        self._file.seek(0)
        self._lines = BytesIO()
        if magic.startswith(_GZIP_MAGIC):
            self._lines = cast(BinaryIO, BufferedReader(gzip.GzipFile(fileobj=self._file)))
        elif magic == _ZSTD_MAGIC:
            self._lines = cast(BinaryIO, BufferedReader(zstd.ZstdFile(self._file)))
        else:
            self._lines = self._file
        self._parts_read = 0
        self._is_within_part = False
        self.number = 0
        """Is that of the line that was read last."""

    def find_header(self, part: int) -> BackupHeader:
        """Returns the header of the store with this number in the file, after having read all before it."""
        if self._is_within_part or self._parts_read >= part:
            self.rewind()
        while self._parts_read < part - 1:
            for _ in self.read_lines(self.read_header()):
                pass
        return self.read_header()

    def read_header(self) -> BackupHeader:
        """Returns the header of the next store."""
        with _reporting_damage():
            self._first = self._read_line()
        try:
            header = _HEADER_DECODER.decode(self._first)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            raise DamagedBackup(f"line {self.number} is no header of the format {FORMAT}") from None
        if header.format != FORMAT or header.part != self._parts_read + 1 or header.parts < header.part:
            raise DamagedBackup(f"line {self.number} is no header of the format {FORMAT} that belongs there")
        self._is_within_part = True
        return header

    def read_lines(self, header: BackupHeader) -> Iterator[list[bytes]]:
        """Yields all lines of the store, some at a time."""
        digest, remaining = hashlib.sha256(self._first), header.counts.lines
        while remaining:
            batch: list[bytes] = []
            size_bytes = 0
            with _reporting_damage():
                while len(batch) < min(LINES_AT_ONCE, remaining) and size_bytes < BYTES_AT_ONCE:
                    batch.append(self._read_line())
                    size_bytes += len(batch[-1])
            digest.update(b"".join(batch))
            remaining -= len(batch)
            yield batch
        self._check_footer(header.counts.lines, digest.hexdigest())
        self._parts_read += 1
        self._is_within_part = False
        if header.part == header.parts:
            self._check_end()

    def _check_footer(self, lines: int, digest: str) -> None:
        with _reporting_damage():
            text = self._read_line()
        try:
            footer = _FOOTER_DECODER.decode(text)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            raise DamagedBackup(f"line {self.number} is no footer, which belongs there") from None
        if footer != BackupFooter(lines, digest) or text != _ENCODER.encode(footer) + b"\n":
            raise DamagedBackup(f"the lines before line {self.number} are not those that were written")

    def _check_end(self) -> None:
        with _reporting_damage():
            if self._lines.read(1):
                raise DamagedBackup(f"there is more behind line {self.number}, which is the last of the backup")

    def _read_line(self) -> bytes:
        line = self._lines.readline(MAX_LINE_BYTES + 1)
        self.number += 1
        if not line.endswith(b"\n"):
            reason = "is too long" if len(line) > MAX_LINE_BYTES else "is missing, or cut off"
            raise DamagedBackup(f"line {self.number} {reason}")
        return line


@contextmanager
def _reporting_damage() -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile, zstd.ZstdError) as error:
        raise DamagedBackup(f"the file cannot be decompressed to its end: {error}") from error
