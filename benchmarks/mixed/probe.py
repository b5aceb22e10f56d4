"""Stale answers: a warrant is written, or deleted, and checks that must reflect it are made at once, under load.

A pair is one write, or one delete, and the checks behind it. Every other warrant makes a user a member of a group that
has the relation, so that what is kept of groups is probed as well. Before each write, both nodes have just denied the
same check: that is what they must not remember.
"""

import asyncio
import itertools
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import uvloop

from benchmarks.cores import LOAD_CORE, on_core
from benchmarks.datasets.dataset import Check, Dataset, WarrantRow
from benchmarks.mixed.mixes import PLACES, QUESTIONS, SEED, Place
from benchmarks.mixed.warrant_api import WarrantApi, with_token

PROBERS = 4
LOADERS = 4
"""Connections that send checks all the time, to the first node and to the second."""
SAME_TOKEN, OTHER_TOKEN = "same node, with the token", "other node, with the token"
SAME, OTHER = "same node, without", "other node, without, for good"
KINDS = (SAME_TOKEN, OTHER_TOKEN, SAME, OTHER)

_TOKEN = re.compile(rb"\r\nwarrant-token: *(\S+)\r\n", re.IGNORECASE)
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


Urls = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ProbeEffort:
    """`fresh_within`: seconds after which a check without a token that is still stale is a violation too."""

    pairs: int
    max_seconds: float
    fresh_within: float = 5.0


@dataclass(slots=True)
class Staleness:
    """`violations` by kind, of KINDS. `delays`: seconds from an acknowledged write on one node to a fresh answer of the
    other without a token. `load`: checks that were answered meanwhile."""

    pairs: int = 0
    violations: Counter[str] = field(default_factory=Counter)
    delays: list[float] = field(default_factory=list)
    load: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Probe:
    """`row` is written and deleted; the check is allowed while it is there, and not otherwise."""

    row: WarrantRow
    question: Check


def probe_staleness(urls: Urls, key: str, dataset: Dataset, effort: ProbeEffort) -> Staleness:
    """Two nodes on one database, or the same URL twice. Ends when the pairs or the time are up.

    Raises RuntimeError if a request is not answered with 200.
    """
    with on_core(LOAD_CORE):
        return uvloop.run(_probe(urls, WarrantApi(key), dataset, effort))


async def _probe(urls: Urls, api: WarrantApi, dataset: Dataset, effort: ProbeEffort) -> Staleness:
    found, started = Staleness(), time.perf_counter()
    questions = dataset.questions(QUESTIONS, SEED)
    objects = [each.object_id for each in questions if each.object_type == PLACES[dataset.name].object_type]
    checks = itertools.cycle([api.check(question) for question in questions])
    with closing(await _Connection.to(urls[0])) as connection:
        for row in group_rows(PLACES[dataset.name], objects):
            await connection.answer(api.write(row))
    # Only now: a server closes connections that send nothing for some seconds.
    probers = [_Prober([await _Connection.to(url) for url in urls], api, found, effort) for _ in range(PROBERS)]
    probes = iter(probes_of(PLACES[dataset.name], objects, -(-effort.pairs // 2)))
    loading = [asyncio.create_task(_keep_asking(url, checks, found)) for url in urls for _ in range(LOADERS // 2)]
    try:
        async with asyncio.TaskGroup() as group:
            for prober in probers:
                group.create_task(prober.run(probes))
    finally:
        for task in loading:
            task.cancel()
        ended = await asyncio.gather(*loading, return_exceptions=True)
        for prober in probers:
            prober.close()
    for error in ended:
        if isinstance(error, Exception):  # a cancellation is none
            raise error
    found.seconds = time.perf_counter() - started
    return found


def group_rows(place: Place, objects: Sequence[str]) -> list[WarrantRow]:
    """What lets the groups of the probes have the relation, one group on each object."""
    return [place.of_group(object_id, f"probe-{number}") for number, object_id in enumerate(dict.fromkeys(objects))]


def probes_of(place: Place, objects: Sequence[str], count: int) -> Iterator[Probe]:
    """Each about a user of its own; directly and through a group, in turn."""
    numbers = {object_id: number for number, object_id in enumerate(dict.fromkeys(objects))}
    for number, object_id in zip(range(count), itertools.cycle(objects), strict=False):
        user = f"probe-{number}"
        row = place.member(f"probe-{numbers[object_id]}", user) if number % 2 else place.of_user(object_id, user)
        yield Probe(row, Check(place.object_type, object_id, place.relation, "user", user))


class _Prober:
    """One warrant at a time, on connections of its own to both nodes."""

    def __init__(self, nodes: "Sequence[_Connection]", api: WarrantApi, found: Staleness, effort: ProbeEffort) -> None:
        self._node, self._other = nodes
        self._api = api
        self._found = found
        self._deadline = time.perf_counter() + effort.max_seconds
        self._fresh_within = effort.fresh_within

    def close(self) -> None:
        self._node.close()
        self._other.close()

    async def run(self, probes: Iterator[Probe]) -> None:
        for number, probe in enumerate(probes):
            if time.perf_counter() > self._deadline:
                return
            check = self._api.check(probe.question)
            for node in (self._node, self._other):
                await node.answer(check)
            demands = bool(number // 2 % 2)  # of two direct ones and two through groups, one each
            await self._pair(self._api.write(probe.row), check, True, demands)
            await self._pair(self._api.delete(probe.row), check, False, demands)

    async def _pair(self, change: bytes, check: bytes, allowed: bool, demands: bool) -> None:
        head, _ = await self._node.answer(change)
        fresh = with_token(check, _token_in(head))
        await asyncio.gather(self._probe_same(check, fresh, allowed), self._probe_other(check, fresh, allowed, demands))
        self._found.pairs += 1

    async def _probe_same(self, check: bytes, fresh: bytes, allowed: bool) -> None:
        await self._expect(SAME, self._node, check, allowed)
        await self._expect(SAME_TOKEN, self._node, fresh, allowed)

    async def _probe_other(self, check: bytes, fresh: bytes, allowed: bool, demands: bool) -> None:
        """One of the two: a check with the token makes the node fresh for those without."""
        if demands:
            await self._expect(OTHER_TOKEN, self._other, fresh, allowed)
        else:
            await self._measure_delay(check, allowed)

    async def _expect(self, kind: str, node: "_Connection", check: bytes, allowed: bool) -> None:
        if await self._decided(node, check) != allowed:
            self._found.violations[kind] += 1

    async def _measure_delay(self, check: bytes, allowed: bool) -> None:
        acknowledged = time.perf_counter()
        while await self._decided(self._other, check) != allowed:
            if time.perf_counter() > acknowledged + self._fresh_within:
                self._found.violations[OTHER] += 1
                break
        self._found.delays.append(time.perf_counter() - acknowledged)

    async def _decided(self, node: "_Connection", check: bytes) -> bool:
        _, body = await node.answer(check)
        return self._api.decision(body)


async def _keep_asking(url: str, checks: Iterator[bytes], found: Staleness) -> None:
    with closing(await _Connection.to(url)) as connection:
        while True:
            await connection.answer(next(checks))
            found.load += 1


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def to(cls, url: str) -> "_Connection":
        parts = urlsplit(url)
        return cls(*await asyncio.open_connection(parts.hostname, parts.port or 80))

    async def answer(self, request: bytes) -> tuple[bytes, bytes]:
        """Head and body."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        body = await self._reader.readexactly(int(length[1]) if length else 0)
        if not head.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(f"the server answered {head + body!r}")
        return head, body

    def close(self) -> None:
        self._writer.close()


def _token_in(head: bytes) -> str:
    found = _TOKEN.search(head)
    if found is None:
        raise RuntimeError(f"a write was answered without a Warrant-Token: {head!r}")
    return found[1].decode()
