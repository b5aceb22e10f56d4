"""Tokens of writes that were acknowledged, and then lost by an asynchronous failover."""

import time

import pytest

from tests.cluster.conftest import ServedCluster
from tests.cluster.patroni import TTL_SECONDS
from tests.cluster.traffic import Answer, Traffic, list_granted
from tests.running import Client
from tests.scenario_files import warrant_body
from tests.waiting import wait_until

pytestmark = pytest.mark.nightly

WRITES = 5


@pytest.mark.parametrize("served_cluster", ["asynchronous"], indirect=True)
def test_the_token_of_a_write_that_a_failover_lost_never_means_another_write(served_cluster: ServedCluster) -> None:
    database, clients = served_cluster.database, served_cluster.clients
    primary = database.require_primary()
    kept = write_some(clients, "kept")
    database.wait_until_replayed()

    primary.replication.cut()
    lost = write_some(clients, "lost")
    for client in clients:
        assert {read_at(client, write) for write in (*kept, *lost)} == {(200, "Authorized")}
    primary.kill()
    killed_at = time.monotonic()
    wait_until(lambda: database.find_primary(other_than=primary), TTL_SECONDS + 60)
    later = Traffic(clients, "later")
    wait_until(lambda: all(later.write(client).status == 200 for client in clients))
    for _ in range(2 * WRITES):  # as many revisions as were lost, and more
        assert all(later.write(client).status == 200 for client in clients)
    print(f"asynchronous failover: {len(lost)} writes lost, others made after {time.monotonic() - killed_at:.1f} s")

    for client in clients:
        assert {read_at(client, write) for write in kept} == {(200, "Authorized")}
        assert {read_at(client, write) for write in lost} == {(409, "revision_lost")}
        assert not list_granted(client) & {write.user for write in lost}


def write_some(clients: list[Client], prefix: str) -> list[Answer]:
    traffic = Traffic(clients, prefix)
    return [traffic.write(client) for client in clients for _ in range(WRITES)]


def read_at(client: Client, write: Answer) -> tuple[int, str]:
    """Returns what a check of the write with its token answers: the status, and the result or the code of the error."""
    assert write.status == 200
    answer = client.post(
        "/v2/check",
        json={"warrants": [warrant_body(f"document:plan#viewer@user:{write.user}")]},
        headers={"Warrant-Token": write.token},
    )
    body = answer.json()
    return answer.status_code, str(body["result"] if answer.status_code == 200 else body["code"])
