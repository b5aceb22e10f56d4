"""Records of an audit log, and what a chain of their lines has wrong."""

from collections import deque

from magistrate.api.audit.chain import ChainVerifier
from magistrate.api.audit.records import CHANGE, AuditRecord, LineContent


def record(number: int, body: bytes = b"") -> AuditRecord:
    return AuditRecord(1_763_683_200_000_000 + number, CHANGE, "ann", f"r-{number}", "POST", "/v2/x", 200, "t", body)


def contents(*numbers: int, log_format: str = "json", body: bytes = b"") -> deque[LineContent]:
    return deque(LineContent(log_format, record(number, body), 0) for number in numbers)


def find_faults(content: bytes) -> list[int]:
    """The numbers of the lines that are at fault."""
    return [number for number, _ in ChainVerifier().verify(content.splitlines(keepends=True))]
