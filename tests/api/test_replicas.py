"""`--read-database-url`: replicas answer reads, and never show what the primary does not say (docs/scaling.md)."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import psycopg
import pytest

from tests.databases import PostgresServer, query_sql
from tests.openfga.conversation import OpenFga
from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body
from tests.standby import Standby
from tests.waiting import wait_until

TYPES: dict[str, Any] = {"user": {}, "document": {"viewer": {}}}
LIST, TOKEN = "/v2/objects?objectType=document&limit=1000", "Warrant-Token"
READS, COUNTED_WITHIN_SECONDS = 150, 20.0
"""Are many more reads than a service makes by itself until PostgreSQL has counted them."""
OUTCOME = re.compile(r'^magistrate_replica_reads_total\{outcome="(\w+)"\} (\S+)$', re.MULTILINE)
STATEMENTS = re.compile(r"^magistrate_statements_total (\S+)$", re.MULTILINE)


class Nodes(NamedTuple):
    """Two services on one primary, of which `reader` has a replica."""

    url: str
    standby: Standby
    writer: Client
    reader: Client


def create(client: Client, name: str) -> str:
    """The token of the write that creates a document."""
    answer = client.post("/v2/objects", json={"objectType": "document", "objectId": name})
    answer.raise_for_status()
    return str(answer.headers[TOKEN])


def list_documents(client: Client, token: str | None = None) -> tuple[set[str], str]:
    """The documents, and the token of the answer."""
    answer = client.get(LIST, headers={} if token is None else {TOKEN: token})
    assert answer.status_code == 200, answer.text
    return {row["objectId"] for row in answer.json()["results"]}, answer.headers[TOKEN]


def count_reads(client: Client) -> dict[str, int]:
    """The reads that were sent to replicas, by their outcome, and the statements on the primary."""
    text = client.get("/metrics").text
    [statements] = STATEMENTS.findall(text)
    counts = {outcome: float(count) for outcome, count in OUTCOME.findall(text)}
    return {name: int(count) for name, count in {**counts, "primary": float(statements)}.items()}


def wait_for_replica(client: Client) -> None:
    """Until a replica answers."""

    def is_served() -> bool:
        before = count_reads(client)["served"]
        list_documents(client)
        return count_reads(client)["served"] > before

    wait_until(is_served)


@contextmanager
def services(url: str, *replicas: str) -> Iterator[tuple[Client, Client]]:
    """One without replicas, and one with these, which reads them for requests alone."""
    with ExitStack() as stack:
        writer = stack.enter_context(Client(stack.enter_context(running_service(settings_for(url)))))
        settings = settings_for(url, read_database_url=",".join(replicas), graph_filling=False)
        reader = stack.enter_context(Client(stack.enter_context(running_service(settings))))
        yield writer, reader


@pytest.fixture
def nodes(primary: PostgresServer, standby: Standby) -> Iterator[Nodes]:
    url = primary.new_migrated_url()
    with services(url, standby.url(url)) as (writer, reader):
        writer.define(TYPES)
        create(writer, "first")
        standby.catch_up(url)
        wait_for_replica(reader)
        yield Nodes(url, standby, writer, reader)


def test_a_replica_answers_lists_checks_and_reads_at_a_token(nodes: Nodes) -> None:
    nodes.writer.grant("document:first#viewer@user:ann")
    token = create(nodes.writer, "second")
    nodes.standby.catch_up(nodes.url)
    warrant = {"warrants": [warrant_body("document:first#viewer@user:ann")], "debug": True}

    for method, path, body in (
        ("GET", LIST, None),
        ("GET", "/v2/objects/document/second", None),
        ("GET", "/v2/warrants", None),
        ("GET", "/v2/query?q=select document where user:ann is viewer", None),
        ("POST", "/v2/check", warrant),
    ):
        before = count_reads(nodes.reader)
        answer = nodes.reader.request(method, path, json=body, headers={TOKEN: token})
        expected = nodes.writer.request(method, path, json=body, headers={TOKEN: token})
        after = count_reads(nodes.reader)
        assert answer.status_code == 200, answer.text
        assert answer.json() == expected.json() | ({"processingTime": answer.json()["processingTime"]} if body else {})
        assert answer.headers[TOKEN] == expected.headers[TOKEN]
        assert after["served"] > before["served"], path


def test_most_statements_of_a_reading_service_go_to_the_replica(nodes: Nodes) -> None:
    list_documents(nodes.reader)
    before = count_reads(nodes.reader)
    for number in range(100):
        nodes.reader.get(f"/v2/objects/document/missing-{number}")
    after = count_reads(nodes.reader)

    assert after["served"] - before["served"] >= 90
    assert after["primary"] - before["primary"] < 100


@pytest.mark.parametrize(
    ("path", "token"), [(LIST, "latest"), ("/v2/resource-events", None), ("/v2/access-events", None)]
)
def test_the_newest_revision_and_events_are_read_from_the_primary(nodes: Nodes, path: str, token: str | None) -> None:
    before = count_reads(nodes.reader)
    nodes.reader.get(path, headers={} if token is None else {TOKEN: token}).raise_for_status()
    after = count_reads(nodes.reader)

    assert after.pop("primary") > before.pop("primary")
    assert after == before


@pytest.mark.parametrize("path", ["check", "list-objects", "list-users", "expand", "read"])
def test_requests_of_openfga_for_the_newest_revision_are_read_from_the_primary(nodes: Nodes, path: str) -> None:
    openfga = OpenFga.create(nodes.writer)
    openfga.write_model()
    wait_until(lambda: OpenFga(nodes.reader, openfga.store_id).get("authorization-models").status_code == 200)
    nodes.standby.catch_up(nodes.url)
    body: dict[str, Any] = {
        "tuple_key": {"object": "file:a", "relation": "owner", "user": "user:ann"},
        "type": "file",
        "relation": "owner",
        "user": "user:ann",
        "object": {"type": "file", "id": "a"},
        "user_filters": [{"type": "user"}],
        "contextual_tuples": [] if path == "list-users" else None,
        "context": {},
        "consistency": "HIGHER_CONSISTENCY",
    }
    before = count_reads(nodes.reader)
    answer = OpenFga(nodes.reader, openfga.store_id).post(path, body)
    after = count_reads(nodes.reader)

    assert answer.status_code == 200, answer.text
    assert after["served"] == before["served"]


def copy_database(url: str, primary: PostgresServer) -> str:
    """The URL of a copy, which is written to by itself."""
    primary.terminate_connections(url)
    return primary.new_url(f"TEMPLATE {psycopg.conninfo.conninfo_to_dict(url)['dbname']} STRATEGY FILE_COPY")


@pytest.fixture
def made_url(primary: PostgresServer) -> str:
    """A database with one document."""
    url = primary.new_migrated_url()
    with running_service(settings_for(url)) as address, Client(address) as client:
        client.define(TYPES)
        create(client, "first")
    return url


def test_a_copy_is_exact_at_the_revisions_that_both_have(primary: PostgresServer, made_url: str) -> None:
    """It cannot be distinguished from a replica there, and need not be."""
    other = copy_database(made_url, primary)
    with services(made_url, other) as (writer, reader):
        wait_for_replica(reader)
        token = create(writer, "second")

        assert list_documents(reader, token)[0] == {"first", "second"}


def test_reads_are_shared_among_replicas(primary: PostgresServer, made_url: str) -> None:
    replicas = [copy_database(made_url, primary) for _ in range(2)]
    with services(made_url, *replicas) as (_, reader):
        wait_for_replica(reader)
        before = [count_transactions(made_url, replica) for replica in replicas]
        for _ in range(READS):
            list_documents(reader)

        def are_shared() -> bool:
            after = [count_transactions(made_url, replica) for replica in replicas]
            return all(count - earlier > READS / 3 for count, earlier in zip(after, before, strict=True))

        wait_until(are_shared, COUNTED_WITHIN_SECONDS)


def count_transactions(other_url: str, url: str) -> int:
    """The transactions of a database up to a moment ago, without this one."""
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    [(count,)] = query_sql(other_url, f"SELECT xact_commit FROM pg_stat_database WHERE datname = '{name}'")
    assert isinstance(count, int)
    return count
