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
    types = scenario.final_types()
    client.begin_with({name: {relation: {} for relation in relations} for name, relations in types.items()}, [])
    allowed = [question.ask for question in scenario.checks if question.answer is True]
    opposite = {
        question.ask: warrant_body(question.ask)
        for question in scenario.checks
        if question.answer is False and question.ask not in allowed
    }
    made = {ask: body for ask, body in opposite.items() if body["relation"] in types.get(body["objectType"], {})}
    client.write([*made.values()])
    for ask in made:
        assert client.ask(ask).json()["result"] == "Authorized"
