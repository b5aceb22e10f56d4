"""Links the lines of an audit log by hashes, and verifies them (docs/operating.md#audit).

Each line is a JSON object with the members `chain`, `sequence` (from 0), `previous` and, as the last one, `hash`: the
SHA-256 in hex of the line without that member. `previous` is the hash of the line before in the same chain, so no line
can be changed, removed or inserted without changing all that follow. Lines of several chains may alternate."""

import hashlib
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

FIRST_PREVIOUS = "0" * 64
"""Stands for the hash before the first line of a chain."""

_SEALED = re.compile(rb'(.*),"hash":"([0-9a-f]{64})"\}', re.DOTALL)


class ChainLink(msgspec.Struct, frozen=True):
    """Represents the members of a line by which it follows another."""

    chain: str
    sequence: int
    previous: str


class SealedLine(msgspec.Struct, frozen=True):
    """Represents a line that is what its hash says."""

    link: ChainLink
    hash: str

    @property
    def next(self) -> ChainLink:
        return ChainLink(self.link.chain, self.link.sequence + 1, self.hash)


_LINKS = msgspec.json.Decoder(ChainLink)


def begin_chain() -> ChainLink:
    """Returns the link of the first line of a new chain."""
    return ChainLink(secrets.token_hex(8), 0, FIRST_PREVIOUS)


def seal_line(content: bytes) -> tuple[bytes, str]:
    """Returns the line, without its end, for a JSON object with the members of a ChainLink; and its hash."""
    digest = hashlib.sha256(content).hexdigest()
    return content[:-1] + b',"hash":"' + digest.encode() + b'"}', digest


def read_sealed_line(line: bytes) -> SealedLine | None:
    """Returns what a line without its end says, or None if it is not what its hash says."""
    matched = _SEALED.fullmatch(line)
    if matched is None or hashlib.sha256(matched[1] + b"}").hexdigest().encode() != matched[2]:
        return None
    try:
        return SealedLine(_LINKS.decode(matched[1] + b"}"), matched[2].decode())
    except msgspec.MsgspecError:
        return None


@dataclass(slots=True)
class ChainVerifier:
    """Verifies the lines of one log, in their order. `last_lines` has the last line of each chain; with
    `may_begin_late`, the first lines of a chain may be missing."""

    may_begin_late: bool = False
    records: int = 0
    last_lines: dict[str, SealedLine] = field(default_factory=dict)

    def verify(self, lines: Iterable[bytes]) -> Iterator[tuple[int, str]]:
        """Yields the number of each line, from 1, that does not follow the one before it in its chain, and why."""
        for number, line in enumerate(lines, 1):
            sealed = read_sealed_line(line.removesuffix(b"\n"))
            if sealed is None:
                yield number, "the line was changed or is incomplete: it is not what its hash says"
                continue
            fault = self._find_fault(sealed)
            self.records += 1
            self.last_lines[sealed.link.chain] = sealed
            if fault:
                yield number, fault

    def _find_fault(self, sealed: SealedLine) -> str:
        link, last = sealed.link, self.last_lines.get(sealed.link.chain)
        if last is None:
            if link.sequence == 0 and link.previous == FIRST_PREVIOUS:
                return ""
            may_be_first = self.may_begin_late and link.sequence > 0
            return "" if may_be_first else f"the lines before record {link.sequence} are missing"
        if link == last.next:
            return ""
        return f"record {link.sequence} does not follow record {last.link.sequence}: lines were removed, added or moved"
