"""What caches count for their entries is no less than two thirds of the memory that these take, whatever their size."""

import gc
import itertools
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from magistrate.api.http import request_values
from magistrate.api.http.request_values import measure_parameters, read_parameters
from magistrate.engine.cache.decision_cache import DecisionCache
from magistrate.engine.cache.ids import IdTable
from magistrate.engine.cache.segments import CacheSegment, Capacity, SparseSegment
from magistrate.engine.evaluation.check import DENIED, Check
from magistrate.engine.lists import language
from magistrate.engine.lists.language import measure_queries, read_query
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.policy.policy import MAX_BYTES, Policy, TextCache, measure_policies, read_policy
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work
from tests.memory_source import PLENTY

ENOUGH = 1 << 40
NUMBERS = itertools.count(10_000_000)
LETTERS = ["x", "é", "日", "\N{CJK UNIFIED IDEOGRAPH-20000}"]
LENGTHS = [0, 20, 240]


def new_id(letter: str, length: int) -> ObjectId:
    return ObjectId(f"{next(NUMBERS)}{letter * length}")


def fill_absent(letter: str, length: int) -> tuple[Any, int]:
    capacity = Capacity(ENOUGH)
    absent = SparseSegment[str](capacity, len, "")
    for _ in range(2_000):
        absent.keep(new_id(letter, length), "")
    return absent, capacity.bytes


def fill_decisions(letter: str, length: int) -> tuple[Any, int]:
    capacity = Capacity(ENOUGH)
    decisions = DecisionCache(capacity, Capacity(ENOUGH))
    document, user, viewer = TypeName("document"), TypeName("user"), RelationName("viewer")
    for _ in range(2_000):
        object_ref = ObjectRef(document, new_id(letter, min(length, 60)))
        decisions.keep(Check(object_ref, viewer, Subject(user, new_id(letter, min(length, 60)))), DENIED)
    return decisions, capacity.bytes


def fill_table(letter: str, length: int) -> tuple[Any, int]:
    """Every hundredth id has a letter of four bytes."""
    table = IdTable()
    ids = [new_id(LETTERS[-1] if number % 100 == 0 else letter, length) for number in range(5_000)]
    table.assign_each(ids)
    del ids
    for _ in table.pack_blocks(Work(PLENTY)):
        pass
    return table, table.bytes


FILLS: list[Callable[[str, int], tuple[Any, int]]] = [fill_absent, fill_decisions, fill_table]


@pytest.fixture
def traced() -> Iterator[Callable[[], int]]:
    gc.collect()
    tracemalloc.start()

    def count() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    yield count
    tracemalloc.stop()


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("letter", LETTERS, ids=ascii)
@pytest.mark.parametrize("length", LENGTHS)
def test_ids_take_no_more_than_is_counted(
    traced: Callable[[], int], fill: Callable[[str, int], tuple[Any, int]], letter: str, length: int
) -> None:
    before = traced()

    _filled, counted = fill(letter, length)

    assert traced() - before <= 1.5 * counted


def hold(policy: Policy) -> Policy:
    """Has a program of the policy cached."""
    policy.outcome({name: 1 for name in policy.names}, WARRANT, 0)
    return policy


WARRANT = Warrant(
    TypeName("document"), ObjectId("a"), RelationName("viewer"), TypeName("user"), ObjectId("ann"), "", "", 0, 1
)

TEXTS: list[tuple[Callable[[str], object], Callable[[], int], Callable[[int], str]]] = [
    (read_query, lambda: measure_queries().bytes, lambda number: f"select document where user:u{number} is viewer"),
    (
        read_query,
        lambda: measure_queries().bytes,
        lambda number: f"select {','.join(f'r{number}x{one}' for one in range(200))} where user:a is *",
    ),
    (
        lambda text: read_parameters(text.encode()),
        lambda: measure_parameters().bytes,
        lambda number: "&".join(f"{chr(97 + one % 26)}{one}" for one in range(50)) + f"&n={number}",
    ),
    (
        lambda text: hold(read_policy(text)),
        lambda: sum(one.bytes for one in measure_policies()),
        lambda number: f"a == {'- ' * 500}{number}",
    ),
    (
        lambda text: hold(read_policy(text)),
        lambda: sum(one.bytes for one in measure_policies()),
        lambda number: " && ".join(f"a{one} == {number}" for one in range(100)),
    ),
]


@pytest.fixture
def empty_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests of this process may have filled the caches, which then evict as much as is added."""
    for name in ("_POLICIES", "_PROGRAMS"):
        monkeypatch.setattr(f"magistrate.engine.policy.policy.{name}", TextCache(MAX_BYTES))
    for module, name, weigh in (
        ("magistrate.engine.lists.language", "_PARSED", language._weigh_parsed),
        ("magistrate.api.http.request_values", "_KEPT_PARAMETERS", request_values._weigh_parameters),
    ):
        capacity = Capacity(MAX_BYTES)
        monkeypatch.setattr(f"{module}._CAPACITY", capacity)
        monkeypatch.setattr(f"{module}.{name}", CacheSegment(capacity, weigh))


@pytest.mark.usefixtures("empty_caches")
@pytest.mark.parametrize(("read", "measure", "write"), TEXTS)
def test_texts_that_are_parsed_take_no_more_than_is_counted(
    traced: Callable[[], int], read: Callable[[str], object], measure: Callable[[], int], write: Callable[[int], str]
) -> None:
    texts: Sequence[str] = [write(next(NUMBERS)) for _ in range(40)]
    read(write(next(NUMBERS)))
    before, counted = traced(), measure()

    for text in texts:
        read(text)

    assert traced() - before <= 1.5 * (measure() - counted)
