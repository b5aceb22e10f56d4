"""Reads the headers with which callers say which trace their requests belong to (W3C Trace Context)."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from magistrate.tracing import CallerTrace

_PARENT = re.compile(rb"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_FIRST_VERSION = b"00"
MAX_STATE_CHARACTERS = 512
PARENT_HEADER, STATE_HEADER = b"traceparent", b"tracestate"


def find_caller_trace(headers: Iterable[tuple[bytes, bytes]]) -> CallerTrace | None:
    """Returns what these headers, whose names are in lower case, say about the trace of the caller; None if they say
    nothing, or it is not valid."""
    parents, states = [], []
    for name, value in headers:
        if name == PARENT_HEADER:
            parents.append(value)
        elif name == STATE_HEADER:
            states.append(value)
    return read_caller_trace(parents[0], b",".join(states)) if len(parents) == 1 else None


def read_caller_trace(parent: bytes, state: bytes) -> CallerTrace | None:
    """Returns what these values of both headers say; None if that of `traceparent` is not valid. A `tracestate` that is
    longer than all must accept is left out."""
    matched = _PARENT.fullmatch(parent.strip())
    if matched is None or (matched[1] == _FIRST_VERSION and matched[5] is not None):
        return None
    text = state.decode("latin-1") if len(state) <= MAX_STATE_CHARACTERS else ""
    return CallerTrace(int(matched[2], 16), int(matched[3], 16), int(matched[4], 16), text)


class TraceLines(NamedTuple):
    """Holds the head of a request without the lines about its trace, and what these say."""

    head: bytes
    parent: bytes
    state: bytes


_ANY_LINE = re.compile(rb"\r\ntrace(?:parent|state)[ \t]*:", re.IGNORECASE)
_LINE = re.compile(rb"\r\n[tT]race(parent|state):[ \t]*([\x20-\x7e]*?)[ \t]*(?=\r\n[^ \t])")


def has_trace_lines(head: bytes) -> bool:
    """Returns whether the head of a request has lines about its trace."""
    return _ANY_LINE.search(head) is not None


def divide_trace_lines(head: bytes) -> TraceLines | None:
    """Returns the head of a request without its lines `traceparent` and `tracestate`; None if it has none, or one of
    them twice, or continued in another line. These lines differ in each request of a client that traces, and say
    nothing about anything else."""
    if b"\nt" not in head and b"\nT" not in head:
        return None
    values: dict[bytes, bytes] = {}
    pieces, end = [], 0
    for matched in _LINE.finditer(head):
        if matched[1] in values:
            return None
        values[matched[1]] = matched[2]
        pieces.append(head[end : matched.start()])
        end = matched.end()
    if not values:
        return None
    return TraceLines(b"".join((*pieces, head[end:])), values.get(b"parent", b""), values.get(b"state", b""))
