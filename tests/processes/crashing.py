"""kill -9 in the middle of a stream of writes leaves whole writes or none, and all that were acknowledged: batches of
objects, and atomic writes that replace what the one before them created."""

import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import httpx
import pytest

from magistrate.store.contract.stored_rows import ALIVE
from tests.databases import Dump, dump
from tests.processes.forked_service import ForkedService
from tests.running import KEY, Client
from tests.scenario_files import warrant_body

ROUNDS = pytest.mark.parametrize("rounds", [6, pytest.param(50, marks=pytest.mark.nightly)])
BATCH = 25
WRITERS = 2
REPLACED = 10
"""Warrants that each atomic write creates, after it has deleted as many."""


def write_batch(name: str, client: Client, number: int) -> httpx.Response:
    batch = f"{name}-{number}"
    return client.post("/v2/objects", json=[
        {"objectType": "d", "objectId": f"{batch}.{element}", "meta": {"b": batch}} for element in range(BATCH)
    ])  # fmt: skip


def members_of(role: str) -> list[dict[str, Any]]:
    return [warrant_body(f"role:{role}#member@user:{element}") for element in range(REPLACED)]


def replace_role(name: str, client: Client, number: int) -> httpx.Response:
    """Deletes the role of the write before, which must exist with one of its members, and creates the next."""
    old, new = f"{name}-{number - 1}", f"{name}-{number}"
    body: dict[str, Any] = {"preconditions": [{"absent": {"objectType": "role", "objectId": new}}], "create": {
        "objects": [{"objectType": "role", "objectId": new, "meta": {"n": number}}], "warrants": members_of(new)
    }}  # fmt: skip
    if number:
        body["preconditions"].append({"exists": members_of(old)[0]})
        body["delete"] = {"warrants": members_of(old), "objects": [{"objectType": "role", "objectId": old}]}
    return client.post("/v2/writes", json=body)


def write_until_killed(
    service: ForkedService, name: str, write: Callable[[str, Client, int], httpx.Response], acknowledged: list[str]
) -> None:
    with service.client() as client:
        for number in range(1_000):
            try:
                answer = write(name, client, number)
            except httpx.TransportError:
                return
            assert answer.status_code == 200, answer.text
            acknowledged.append(f"{name}-{number}")


def kill_in_the_middle_of_writes(url: str, folder: Path, rounds: int) -> None:
    """Kills a service on this database so many times, and compares what is stored with what was acknowledged."""
    chance = random.Random(20_251_115)
    acknowledged: list[str] = []
    replaced: list[str] = []

    for round_number in range(rounds):
        with ForkedService(folder, database_url=url, api_key=KEY) as service:
            threads = [
                threading.Thread(target=write_until_killed, args=(service, f"{round_number}-{writer}", *what))
                for writer, what in enumerate([(write_batch, acknowledged)] * WRITERS + [(replace_role, replaced)])
            ]
            for thread in threads:
                thread.start()
            enough = len(acknowledged) + len(replaced) + chance.randrange(3, 15)
            while len(acknowledged) + len(replaced) < enough and any(thread.is_alive() for thread in threads):
                time.sleep(0.001)
            time.sleep(chance.uniform(0, 0.01))  # anywhere within a write
            service.kill()
            for thread in threads:
                thread.join()

    tables = dump(url)
    batches = verify_batches(tables, acknowledged)
    replacements = verify_replacements(tables, replaced)
    [(revision, *_)] = tables["head"]
    assert revision == len(tables["revision"]) == batches + replacements + 1
    assert min(len(acknowledged), len(replaced)) > rounds


def verify_batches(tables: Dump, acknowledged: Iterable[str]) -> int:
    """Returns the number of batches that are stored."""
    elements = Counter(str(row[1]).partition(".")[0] for row in tables["object"] if row[0] == "d")
    assert set(elements.values()) == {BATCH}
    assert set(acknowledged) <= set(elements)
    # Half-written means more than objects: each object has its row in the log.
    logged = Counter(row[0] for row in tables["change"] if row[3] == "object" and str(row[4]).startswith('["d"'))
    assert sorted(logged.values()) == [BATCH] * len(elements)
    return len(elements)


def verify_replacements(tables: Dump, acknowledged: Iterable[str]) -> int:
    """Returns the number of atomic writes that were made."""
    revisions: dict[str, Counter[tuple[object, object]]] = defaultdict(Counter)
    for row in tables["warrant"]:
        revisions[str(row[2])][row[9], row[10]] += 1
    # Each role came in one revision and went in one, with all its members.
    assert all(list(counted.values()) == [REPLACED] for counted in revisions.values())
    spans = {role: next(iter(counted)) for role, counted in revisions.items()}
    assert set(acknowledged) <= set(spans)
    for role, (_, ended_at) in spans.items():
        name, _, number = role.rpartition("-")
        began_next, _ = spans.get(f"{name}-{int(number) + 1}", (ALIVE, ALIVE))
        assert ended_at == began_next
    alive = {row[1] for row in tables["object"] if row[0] == "role" and ALIVE in row}
    assert alive == {role for role, (_, ended_at) in spans.items() if ended_at == ALIVE}
    return len(spans)
