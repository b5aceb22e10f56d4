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
_PARENT_LINES = (b"\r\ntraceparent: ", b"\r\nTraceparent: ")
_STATE_LINES = (b"\r\ntracestate: ", b"\r\nTracestate: ")
"""List how lines begin as clients write them."""
_IN_PARENTS = b"0123456789abcdef-"


def has_trace_lines(head: bytes) -> bool:
    """Returns whether the head of a request has lines about its trace."""
    return _ANY_LINE.search(head) is not None


def divide_trace_lines(head: bytes) -> TraceLines | None:
    """Returns the head of a request without its line `traceparent`, and `tracestate` if it has one; None if it has no
    such line as clients write it. These lines differ in each request of a client that traces, and say nothing about
    anything else.

    It takes 0.6 µs, and no regular expression, which would take as long as parsing the head."""
    cut = _cut_line(head, _PARENT_LINES)
    if cut is None or cut[1].translate(None, _IN_PARENTS):
        return None
    rest, parent = cut
    cut = _cut_line(rest, _STATE_LINES)
    if cut is None:
        return TraceLines(rest, parent, b"")
    is_plain = cut[1].isascii() and cut[1].decode().isprintable()
    return TraceLines(cut[0], parent, cut[1]) if is_plain else None


def _cut_line(head: bytes, beginnings: Iterable[bytes]) -> tuple[bytes, bytes] | None:
    """Returns the head without the first line that begins so, and the rest of that line; None if there is none, or it
    is continued in the next."""
    for beginning in beginnings:
        start = head.find(beginning)
        if start >= 0:
            end = head.find(b"\r\n", start + len(beginning))
            if head[end + 2 : end + 3] in _CONTINUES:
                return None
            return head[:start] + head[end:], head[start + len(beginning) : end]
    return None


_CONTINUES = (b" ", b"\t")
