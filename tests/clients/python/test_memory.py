"""The client of a service in the same process answers what the corpus of clients/conformance says, but for faults."""

import asyncio
import contextlib
import io
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from magistrate_client import InvalidModel, Refused, Revision
from magistrate_client.testing import MemoryStore, async_memory_client, memory_client
from tests.clients.conformance.corpus import read_corpus
from tests.clients.conformance.driver import Prepared, compare_scenario, prepare_scenario
from tests.clients.python.runner import collect_asynchronously, collect_rows, run_scenario
from tests.running import KEY

MODEL = """version 1.0

type user

type document
    relation viewer [user]
"""


class MemoryTransport(httpx.BaseTransport):
    """Sends the requests of a client of httpx to a service in this process."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        headers = [(name, value) for name, value in request.headers.items() if name not in ("host", "content-length")]
        target = request.url.raw_path.decode()
        answer = self._store._service.submit(request.method, target, headers, request.read()).result(30)
        return httpx.Response(answer.status, headers=answer.headers, content=answer.body)


@pytest.fixture(scope="module")
def store() -> Iterator[MemoryStore]:
    store = MemoryStore()
    yield store
    store.close()


def prepare_all(store: MemoryStore, first: int) -> list[Prepared]:
    """All scenarios without faults, each with a store of its own, numbered from `first` on."""
    headers = {"authorization": f"ApiKey {store.key}"}
    scenarios = [scenario for scenario in read_corpus() if not scenario.has_faults]
    with httpx.Client(base_url="http://memory", headers=headers, transport=MemoryTransport(store)) as client:
        return [prepare_scenario(client, scenario, number) for number, scenario in enumerate(scenarios, first)]


def run_in_memory(store: MemoryStore, prepared: Prepared, is_async: bool) -> list[dict[str, Any]]:
    """The lines that the runner prints."""
    scenario = prepared.for_runner()
    options = {name: store.key if value == KEY else value for name, value in scenario["client"].items()}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if is_async:
            with asyncio.Runner() as runner:
                client = store.async_client(**options)

                async def collect(make: Any, events: int | None) -> Any:
                    return await collect_asynchronously(make(), events)

                run_scenario(
                    client, scenario, lambda make, events: runner.run(collect(make, events)), lambda name, step: None
                )
        else:
            run_scenario(
                store.client(**options),
                scenario,
                lambda make, events: collect_rows(make(), events),
                lambda name, step: None,
            )
    return [json.loads(line) for line in printed.getvalue().splitlines()]


@pytest.mark.parametrize("is_async", [False, True])
def test_the_client_in_memory_conforms(is_async: bool, store: MemoryStore) -> None:
    faults = []
    for one in prepare_all(store, 1_000 * is_async):
        lines = run_in_memory(store, one, is_async)
        results = compare_scenario(one, {(line["scenario"], line["step"]): line for line in lines}, {})
        faults += [(result.place, result.faults) for result in results if result.faults]

    assert faults == []


def test_a_service_in_memory_is_gone_with_its_client() -> None:
    with memory_client(MODEL) as client:
        client.write(create=["document:plan#viewer@user:ann"])
        assert client.check("user:ann", "viewer", "document:plan")
        with memory_client(MODEL) as other:
            assert not other.check("user:ann", "viewer", "document:plan")


def test_a_model_that_is_wrong_is_an_error() -> None:
    with pytest.raises(InvalidModel):
        memory_client("version 1.0\n\ntype user\n    relation [\n")


def test_a_feed_in_memory_has_what_is_written_later() -> None:
    with memory_client(MODEL) as client:
        feed = client.watch(checkpoints=True)
        next(feed)
        client.write(create=["document:plan#viewer@user:ann"])

        event = next(feed)

        assert isinstance(event, Revision)
        assert [str(warrant) for warrant in event.warrants_created] == ["document:plan#viewer@user:ann"]
        feed.close()


def test_tasks_use_a_service_in_memory_at_once() -> None:
    async def check_all() -> list[bool]:
        async with async_memory_client(MODEL) as client:
            await client.write(create=["document:plan#viewer@user:ann"])
            return await asyncio.gather(*(client.check("user:ann", "viewer", "document:plan") for _ in range(300)))

    assert asyncio.run(check_all()) == [True] * 300


def test_errors_in_memory_are_those_of_the_service() -> None:
    with memory_client(MODEL) as client:
        with pytest.raises(Refused) as refused:
            client.check("user:ann", "viewer", "folder:plan")

        assert (refused.value.status, refused.value.code) == (404, "not_found")
        assert refused.value.request_id
