"""Bodies and heads that are large, deep, or not what they should be."""

from collections.abc import Iterator
from functools import partial

from benchmarks.fairness.asking import Answer
from benchmarks.fairness.stage import Act, Attack, Stage

LARGEST = 8_388_608
MAX_ELEMENTS = 99_000
"""A little less than the values that a body may have."""
PATHS = ("/v2/check", "/v2/objects")


def _repeated(start: bytes, piece: bytes, end: bytes) -> bytes:
    count = (LARGEST - len(start) - len(end)) // (len(piece) + 1)
    return start + b",".join([piece] * count) + end


def _names() -> bytes:
    members = b",".join(b'"n%06d":1' % number for number in range(LARGEST // 12))
    return b'{"context":{' + members[: members.rfind(b",", 0, LARGEST - 100)] + b"}}"


def _decimals() -> bytes:
    """As many as a body may have. Each is next to the middle between two numbers of 64 bits, and so takes longest."""
    digits = str(2**1000 + 2**947)[:75]
    decimal = f"{digits[0]}.{digits[1:]}e301".encode()
    return b'{"context":{"a":[' + b",".join([decimal] * MAX_ELEMENTS) + b"]}}"


def large_json(stage: Stage) -> Iterator[tuple[str, Act]]:
    bodies = {
        "8 MB of `{}`": _repeated(b'{"warrants":[', b"{}", b"]}"),
        "8 MB of `[]`": _repeated(b"[", b"[]", b"]"),
        "8 MB of numbers": _repeated(b'{"context":{"a":[', b"1234", b"]}}"),
        "8 MB of one text": b'{"context":{"a":"' + b"x" * (LARGEST - 30) + b'"}}',
        "8 MB of escapes": b'{"context":{"a":"' + b"\\u00e9" * (LARGEST // 6 - 10) + b'"}}',
        "8 MB of names": _names(),
        "8 MB of long decimals": _decimals(),
        "99,000 empty lists": b'{"context":{"a":[' + b",".join([b"[]"] * MAX_ELEMENTS) + b"]}}",
        "8 MB of digits": b'{"context":{"a":1' + b"0" * (LARGEST - 30) + b"}}",
        "8 MB of white space": b" " * (LARGEST - 2) + b"{}",
        "8 MB of empty lines in an object": b"{" + b"\n" * (LARGEST - 2) + b"}",
        "brackets, 4,000,000 deep": b"[" * 4_000_000 + b"]" * 4_000_000,
    }
    for about, body in bodies.items():
        for path in PATHS:
            yield f"{about} to {path}", partial(stage.ask, "POST", path, body)


def refused(stage: Stage) -> Iterator[tuple[str, Act]]:
    """What is refused must get an answer: `reset` in place of a status is a client that was not."""
    long_head = b"GET /v2/objects HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 200_000 + b"\r\n\r\n"

    def send(request: bytes) -> list[Answer]:
        return [stage.caller.send(request) for _ in range(5)]

    def without_key() -> list[Answer]:
        return [stage.caller.holding("").ask("POST", "/v2/objects", b"x" * 8_000_000) for _ in range(5)]

    yield "a body of 9 MB (413)", partial(stage.ask, "POST", "/v2/objects", b"x" * 9_000_000, times=5)
    yield "a head of 200 KB (431)", partial(send, long_head)
    yield "no HTTP (400)", partial(send, b"\0" * 100_000)
    yield "no key, with a body of 8 MB (401)", without_key


BODIES: dict[str, Attack] = {"json": large_json, "refused": refused}
