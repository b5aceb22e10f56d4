"""What is cached of requests takes no more bytes than it may, whatever callers send, and is evicted one by one."""

import tracemalloc
from collections.abc import Callable

import msgspec
import pytest

from magistrate.api.bounded_cache import BoundedCache
from magistrate.api.calls import Service
from magistrate.api.endpoints.check import CONTEXTUAL_LAST, CheckBody
from magistrate.api.http.body_cache import MAX_BODY_BYTES, MAX_MEMBER_BYTES, KnownBodies
from magistrate.api.http.fast_path import MAX_HEAD_BYTES, FastPath
from magistrate.api.http.ledger import Ledger
from magistrate.api.http.pipeline import FastHead
from magistrate.api.route_table import ROUTES
from magistrate.errors import StoreUnavailable

MAX_BYTES = 2_000_000
DECODER = msgspec.json.Decoder(CheckBody)


def make_cache(max_bytes: int) -> BoundedCache[str, bytes]:
    return BoundedCache(max_bytes, lambda key, value: len(value))


def test_the_least_recently_used_values_are_evicted_one_by_one() -> None:
    cache = make_cache(30)
    for key in "abc":
        cache.keep(key, b"x" * 10)

    cache.move_to_end("a")
    cache.keep("d", b"x" * 10)

    assert ([*cache], cache.bytes) == (["c", "a", "d"], 30)


def test_a_larger_value_evicts_as_many_as_it_needs_and_one_that_is_too_large_none() -> None:
    cache = make_cache(30)
    for key in "abc":
        cache.keep(key, b"x" * 10)

    cache.keep("d", b"x" * 15)
    cache.keep("e", b"x" * 31)

    assert ([*cache], cache.bytes) == (["c", "d"], 25)


def test_a_value_in_place_of_another_is_counted_once() -> None:
    cache = make_cache(30)

    for size in (10, 20, 5):
        cache.keep("a", b"x" * size)

    assert ([*cache], cache.bytes) == (["a"], 5)


def list_members(kinds: int, number: int) -> bytes:
    """Contextual warrants of so many kinds."""
    each = b'{"objectType":"t%s","objectId":"%d","relation":"m","subject":{"objectType":"u","objectId":"%d"}}'
    warrants = [each % (b"%d" % (one % kinds), one, number) for one in range(95)]
    return b'{"op":"allOf","contextualWarrants":[' + b",".join(warrants) + b"]}"


WORST: dict[str, Callable[[int], bytes]] = {
    "short texts": lambda number: b'{"context":{"a":[' + b",".join([b'"x"'] * 115) + b']},"op":"%06d"}' % number,
    "small objects": lambda number: b'{"context":{"a":[' + b",".join([b'{"":1}'] * 60) + b']},"op":"%06d"}' % number,
    "deep objects": lambda number: b'{"context":{"a":%s1%s},"op":"%06d"}' % (b'{"":' * 80, b"}" * 80, number),
    "empty checks": lambda number: b'{"warrants":[' + b",".join([b"{}"] * 150) + b'],"op":"%06d"}' % number,
    "tiny bodies": lambda number: b'{"op":"%06d"}' % number,
    "alike members": lambda number: list_members(1, number),
    "different members": lambda number: list_members(95, number),
}


@pytest.mark.parametrize("kind", WORST)
def test_the_worst_bodies_take_no_more_memory_than_they_may(kind: str) -> None:
    known = KnownBodies(MAX_BYTES)
    make = WORST[kind]
    enough = 1_000 if kind == "tiny bodies" else 400  # to fill it
    assert len(make(0)) <= MAX_BODY_BYTES or len(make(0)) <= MAX_MEMBER_BYTES

    tracemalloc.start()
    try:
        for number in range(enough):
            body = make(number)
            for _ in range(2):
                known.decode(body, DECODER, 128, CONTEXTUAL_LAST)
        body = b""
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert MAX_BYTES / 20 < known.measure() <= MAX_BYTES
    assert taken <= MAX_BYTES


def find_no_service() -> Service:
    raise StoreUnavailable("the service is not open yet")


def test_the_worst_heads_take_no_more_memory_than_they_may() -> None:
    fast_path = FastPath(find_no_service, ROUTES, Ledger(), max_kept_bytes=MAX_BYTES)
    route = next(iter(fast_path.routes.values()))

    tracemalloc.start()
    try:
        for number in range(1_000):
            key = f"{number:06}" + "x" * (MAX_HEAD_BYTES - 100)
            received = b"POST / HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\n\r\n" % key.encode()
            fast_path.remember(received, FastHead(route.pipeline, b"", key, 0))
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert 0 < len(fast_path.known_heads) < 1_000
    assert taken <= fast_path.measure_kept() <= MAX_BYTES
