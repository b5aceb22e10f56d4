"""The caches of a running service stay within their bytes, whatever callers send: its resident memory is read."""

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client

CACHE_BYTES = 8_388_608
NOISE_BYTES = 20_000_000
"""What a service may grow by besides: large requests, pages of the database, free memory in between."""
LONGEST_ID = 1_024
LARGEST_META = 50_000
CHECKS_AT_ONCE = 100

Json = dict[str, Any]


def warrant(object_name: str, relation: str, subject: str, group: str | None = None) -> Json:
    of_type, _, object_id = object_name.partition(":")
    subject_type, _, subject_id = subject.partition(":")
    return {
        "objectType": of_type,
        "objectId": object_id,
        "relation": relation,
        "subject": {"objectType": subject_type, "objectId": subject_id, **({"relation": group} if group else {})},
    }


@dataclass
class Load:
    """Sends requests with the largest values that a request may have, each of them different."""

    client: Client
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def new_id(self, length: int = LONGEST_ID) -> str:
        number = str(next(self._numbers))
        return number + "x" * (length - len(number))

    def post(self, path: str, content: object) -> None:
        assert self.client.post(path, json=content).status_code == 200

    def check_unknown(self, count: int) -> None:
        """Checks objects and subjects that do not exist."""
        for _ in range(0, count, CHECKS_AT_ONCE):
            checks = [self.new_check(f"document:{self.new_id()}") for _ in range(CHECKS_AT_ONCE)]
            self.post("/v2/check", {"op": "anyOf", "warrants": checks})

    def new_check(self, object_name: str) -> Json:
        return warrant(object_name, "owner", f"user:{self.new_id()}")

    def check_unknown_subjects(self, count: int) -> None:
        """Checks subjects that do not exist on an object that a group has, whose members they may be."""
        self.check_subjects("document:0", count)

    def check_crowded(self, count: int) -> None:
        """Checks subjects that do not exist on an object with so many others that each is looked up by itself."""
        warrants = [warrant("document:crowded", "owner", f"user:{number}") for number in range(1_600)]
        for start in range(0, len(warrants), 100):
            self.post("/v2/warrants", warrants[start : start + 100])
        self.check_subjects("document:crowded", count)

    def check_subjects(self, object_name: str, count: int) -> None:
        for _ in range(0, count, CHECKS_AT_ONCE):
            checks = [self.new_check(object_name) for _ in range(CHECKS_AT_ONCE)]
            self.post("/v2/check", {"op": "anyOf", "warrants": checks})

    def list_large_objects(self, count: int) -> None:
        """Lists 25 objects with large metas for one user after the other."""
        objects = [f"large-{number}" for number in range(25)]
        for object_id in objects:
            self.post(
                "/v2/objects", {"objectType": "document", "objectId": object_id, "meta": {"text": "y" * LARGEST_META}}
            )
        users = [self.new_id(20) for _ in range(count)]
        warrants = [
            warrant(f"document:{object_id}", "owner", f"user:{user}") for user in users for object_id in objects
        ]
        for start in range(0, len(warrants), 100):
            self.post("/v2/warrants", warrants[start : start + 100])
        for user in users:
            self.list_objects(user)

    def list_objects(self, user: str) -> None:
        answer = self.client.get("/v2/query", params={"q": f"select document where user:{user} is owner"})
        assert answer.status_code == 200


CASES = [
    pytest.param(Load.check_unknown, 20_000, id="check_unknown", marks=pytest.mark.nightly),
    pytest.param(Load.check_unknown_subjects, 25_000, id="check_unknown_subjects", marks=pytest.mark.nightly),
    pytest.param(Load.check_crowded, 25_000, id="check_crowded"),
    pytest.param(Load.list_large_objects, 80, id="list_large_objects", marks=pytest.mark.nightly),
]
"""Has each load with its number: the ids and metas alone that it reads take three or more times CACHE_BYTES. That
does not say that each exceeded the limit while caches were bounded by counts."""


@pytest.mark.parametrize(("send", "count"), CASES)
def test_a_service_takes_no_more_memory_than_its_caches_may(
    tmp_path: Path, send: Callable[[Load, int], None], count: int
) -> None:
    running = ServiceProcess(tmp_path, "--cache-bytes", str(CACHE_BYTES), api_key=KEY)
    with running as service, service.client() as client:
        client.define({"document": {"owner": {}}, "team": {"member": {}}})
        load = Load(client)
        load.post("/v2/warrants", warrant("document:0", "owner", "team:0", "member"))
        load.post("/v2/warrants", warrant("team:0", "member", "user:ann"))
        send(load, count // 20)
        before = service.resident_bytes()
        send(load, count)
        grown = service.resident_bytes() - before
        metrics = client.get("/metrics").text

    taken, most = (read_caches(metrics, name) for name in ("bytes", "max_bytes"))
    assert taken.keys() == most.keys()
    assert all(taken[cache] <= most[cache] for cache in taken)
    assert sum(most[cache] for cache in SHARED) <= CACHE_BYTES
    assert grown <= 1.5 * CACHE_BYTES + NOISE_BYTES


SHARED = (
    "warrants",
    "absent",
    "decisions",
    "views",
    "ids",
    "contextual",
    "lists",
    "empty_lists",
    "past_models",
    "connected_graphs",
)
"""Lists the caches that have a share of the setting."""


def read_caches(metrics: str, name: str) -> dict[str, float]:
    found = re.findall(rf'^magistrate_cache_{name}\{{cache="(\w+)",worker="\d+"\}} (\S+)$', metrics, re.MULTILINE)
    return {cache: float(value) for cache, value in found}
