"""Runs scenarios over HTTP in one of two stores of a service, whose other store has the opposite data."""

import zlib
from collections.abc import Iterator

import pytest

from tests.running import Client
from tests.scenario_files import Scenario, warrant_body

SECOND = "second"


@pytest.fixture(scope="module")
def both_stores(shared_client: Client) -> Iterator[tuple[Client, Client]]:
    """Clients of the store `default` and of a second one, of the same service and with the same key."""
    shared_client.post("/v2/stores", json={"name": SECOND}).raise_for_status()
    with Client(f"{str(shared_client.base_url).rstrip('/')}/stores/{SECOND}") as second:
        yield shared_client, second


@pytest.fixture
def store_client(both_stores: tuple[Client, Client], scenario: Scenario) -> Client:
    """A client of one of two stores: which one depends on the name of the scenario. The other has the opposite data."""
    place = zlib.crc32(scenario.name.encode()) % 2
    write_opposite(both_stores[1 - place], scenario)
    return both_stores[place]


def write_opposite(client: Client, scenario: Scenario) -> None:
    """Makes each check of the scenario that is false true, by a warrant of its own, if there can be one; the others are
    false."""
    client.clear()
    types = scenario.final_types()
    client.define({name: {relation: {} for relation in relations} for name, relations in types.items()})
    allowed = [question.ask for question in scenario.checks if question.answer is True]
    for question in scenario.checks:
        body = warrant_body(question.ask)
        has_relation = body["relation"] in types.get(body["objectType"], {})
        if question.answer is False and has_relation and question.ask not in allowed:
            client.post("/v2/warrants", json=body).raise_for_status()
            assert client.ask(question.ask).json()["result"] == "Authorized"
