"""What /metrics says of a running service: what its table describes, and nothing else."""

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager

import apsw
import psycopg
import pytest

from magistrate import __version__
from magistrate.api.http.metric_table import METRIC_TABLE, MetricKind, MetricRow
from magistrate.config.database_url import SqliteUrl, read_database_url
from tests.databases import PostgresServer
from tests.metrics import Reading, read_metrics, sum_metric
from tests.running import KEY, Client, running_service, settings_for

CHECKED, DENIED = "folder:a#viewer@user:ann", "folder:a#viewer@user:bob"
ENDINGS = {MetricKind.HISTOGRAM: ("_count", "_sum")}


def list_samples(row: MetricRow) -> list[str]:
    return [row.name + ending for ending in ENDINGS.get(row.kind, ("",))]


def count_checks(client: Client) -> dict[str, int]:
    return {
        result: round(sum_metric(client, "magistrate_checks_total", result=result))
        for result in ("authorized", "denied", "failed")
    }


def test_every_metric_of_the_table_is_reported_with_its_labels_and_no_other(database_url: str) -> None:
    settings = settings_for(database_url, metrics_store_label=True, decision_log=100)
    with running_service(settings) as url, Client(url) as client:
        client.define({"folder": {"viewer": {}}})
        client.grant(CHECKED)
        client.ask(CHECKED)
        client.get("/v2/query", params={"q": "select folder where user:ann is viewer"}).raise_for_status()

        labels: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        for reading in read_metrics(client):
            labels[reading.name].add(tuple(reading.labels))

    expected = {name: {row.all_labels} for row in METRIC_TABLE for name in list_samples(row)}
    assert {name: {tuple(sorted(each)) for each in found} for name, found in labels.items()} == {
        name: {tuple(sorted(each)) for each in found} for name, found in expected.items()
    }


def test_names_are_unique_and_end_as_prometheus_wants() -> None:
    names = [row.name for row in METRIC_TABLE]

    assert len({*names}) == len(names)
    for row in METRIC_TABLE:
        assert row.name.endswith("_total") == (row.kind is MetricKind.COUNTER)
        assert row.meaning.endswith(".")
        assert row.unit == "seconds" or row.kind is not MetricKind.HISTOGRAM


def test_checks_are_counted_by_result(client: Client) -> None:
    client.define({"folder": {"viewer": {}}})
    client.grant(CHECKED)
    start = count_checks(client)

    client.ask(CHECKED)  # by the framework, which reads
    client.ask(CHECKED)  # by the fast path
    client.ask(DENIED)
    assert count_checks(client) == {"authorized": 2, "denied": 1, "failed": 0}
    assert start == {"authorized": 0, "denied": 0, "failed": 0}

    bodies = [{"objectType": "folder", "objectId": "a", "relation": "viewer", "subject": subject} for subject in USERS]
    for _ in range(2):
        client.post("/v2/check", json={"op": "batch", "warrants": bodies}).raise_for_status()
    assert count_checks(client) == {"authorized": 4, "denied": 5, "failed": 0}

    client.post("/v2/check", json={"op": "anyOf", "warrants": bodies}).raise_for_status()
    assert count_checks(client) == {"authorized": 5, "denied": 5, "failed": 0}  # the first one was enough

    assert client.ask("nothing:a#viewer@user:ann").status_code == 404
    assert count_checks(client) == {"authorized": 5, "denied": 5, "failed": 1}


USERS = [{"objectType": "user", "objectId": name} for name in ("ann", "bob", "kim")]


def test_evaluations_count_as_checks_and_what_nobody_was_answered_does_not(client: Client) -> None:
    client.define({"folder": {"viewer": {}}})
    client.grant(CHECKED)
    evaluation = {
        "subject": {"type": "user", "id": "ann"},
        "action": {"name": "viewer"},
        "resource": {"type": "folder", "id": "a"},
    }

    for _ in range(2):
        client.post("/access/v1/evaluation", json=evaluation).raise_for_status()
    assert count_checks(client) == {"authorized": 2, "denied": 0, "failed": 0}

    token = client.get("/v2/objects").headers["warrant-token"]
    client.ask(CHECKED, asOf=token).raise_for_status()
    client.get("/v2/query", params={"q": "select folder where user:ann is viewer"}).raise_for_status()
    client.post("/access/v1/search/action", json={name: evaluation[name] for name in ("subject", "resource")})
    assert count_checks(client) == {"authorized": 2, "denied": 0, "failed": 0}


@contextmanager
def locked_head(url: str) -> Iterator[None]:
    """Another process has the lock that writers wait for."""
    database = read_database_url(url)
    if isinstance(database, SqliteUrl):
        with closing(apsw.Connection(database.path)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.execute("ROLLBACK")
    else:
        with psycopg.connect(database.conninfo) as server, server.transaction():
            server.execute("SELECT 1 FROM head FOR UPDATE")
            yield


HELD_SECONDS = 0.4


def test_the_lock_of_writers_is_measured(database_url: str) -> None:
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        client.define({"folder": {"viewer": {}}})
        before = {
            phase: sum_metric(client, "magistrate_head_lock_seconds_sum", phase=phase) for phase in ("wait", "hold")
        }
        writer = threading.Thread(target=client.grant, args=(CHECKED,))
        with locked_head(database_url):
            writer.start()
            time.sleep(HELD_SECONDS)
        writer.join()

        waited = sum_metric(client, "magistrate_head_lock_seconds_sum", phase="wait") - before["wait"]
        held = sum_metric(client, "magistrate_head_lock_seconds_sum", phase="hold") - before["hold"]

        assert waited >= HELD_SECONDS / 2
        assert 0 < held < HELD_SECONDS
        for phase in ("wait", "hold"):
            assert sum_metric(client, "magistrate_head_lock_seconds_count", phase=phase) >= 2


def test_followers_that_get_no_answer_are_behind(postgres: PostgresServer) -> None:
    settings = settings_for(postgres.new_migrated_url())
    with running_service(settings) as url, Client(url) as client:
        client.define({"folder": {"viewer": {}}})
        client.grant(CHECKED)
        client.ask(CHECKED)
        with postgres.frozen():
            time.sleep(1)  # until nothing says any more that the cache is current
            waiting = threading.Thread(target=client.ask, args=(CHECKED,))
            waiting.start()
            time.sleep(1.2)  # the stores were not read for longer than a second then
            frozen = {reading.labels["follower"]: reading.value for reading in read_lags(url)}
        waiting.join()
        time.sleep(0.6)  # the stores are read four times a second
        restored = {reading.labels["follower"]: reading.value for reading in read_lags(url)}

    assert frozen["stores"] >= 1
    assert frozen["changes"] >= 1
    assert restored["stores"] < 1
    assert restored["changes"] < 1


def read_lags(url: str) -> list[Reading]:
    with Client(url, KEY) as client:
        return [reading for reading in read_metrics(client) if reading.name == "magistrate_follower_lag_seconds"]


def test_waits_for_connections_are_counted(postgres: PostgresServer) -> None:
    settings = settings_for(postgres.new_migrated_url(), postgres_connections=2)
    with running_service(settings) as url, Client(url) as client:
        assert sum_metric(client, "magistrate_pool_connections") >= 1
        names = [f"t{number}" for number in range(8)]

        def read(name: str) -> None:
            with Client(url) as other:
                for _ in range(20):
                    other.get("/v2/objects", params={"objectType": "user", "q": name}).raise_for_status()

        readers = [threading.Thread(target=read, args=(name,)) for name in names]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()

        assert sum_metric(client, "magistrate_pool_waits_total") > 0
        assert sum_metric(client, "magistrate_pool_connections") <= 2
        assert sum_metric(client, "magistrate_pool_waiting") == 0


def test_the_version_is_reported(client: Client) -> None:
    assert sum_metric(client, "magistrate_build_info", version=__version__) == 1


@pytest.mark.parametrize("name", ["process_resident_memory_bytes", "process_open_fds", "process_cpu_seconds_total"])
def test_processes_are_measured(client: Client, name: str) -> None:
    assert sum_metric(client, name) > 0
