"""Clusters, and the nodes of the service that run on them."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.link import Link
from tests.cluster.patroni import PatroniCluster, running_cluster
from tests.cluster.programs import ClusterPrograms, ProgramMissing, find_programs
from tests.cluster.traffic import Traffic, list_granted
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client
from tests.waiting import wait_until

NODES = 2
JUMPING_CLOCK = """
import time
from pathlib import Path

ahead = Path(__file__).with_name("ahead")
time_of_machine = time.time_ns
time.time_ns = lambda: time_of_machine() + int(ahead.read_text()) * 1_000_000_000
time.time = lambda: time.time_ns() / 1_000_000_000
"""
"""Sets the clock of a node ahead by the seconds that a file beside it says."""


@dataclass(frozen=True, slots=True)
class ServedCluster:
    """Has a cluster, and for each of the nodes on it a client, the link over which it reaches HAProxy, and a file with
    the seconds by which its clock is ahead."""

    database: PatroniCluster
    clients: list[Client]
    links: list[Link]
    clocks: list[Path]


def settle(cluster: ServedCluster) -> None:
    """Waits until all is as it was at the start."""
    cluster.database.wait_until_whole()
    wait_until(lambda: all(client.get("/readyz").status_code == 200 for client in cluster.clients))


def require_no_loss(cluster: ServedCluster, traffic: Traffic) -> None:
    """Fails unless each node shows every write that was acknowledged, and none that was refused."""
    for client in cluster.clients:
        prefix = f"{traffic.prefix}-"
        granted = {user for user in list_granted(client) if user.startswith(prefix)}
        assert traffic.acknowledged <= granted <= traffic.possible


def wait_for_writes(cluster: ServedCluster, traffic: Traffic, since: float, seconds: float) -> None:
    """Waits until as many writes as there are nodes were acknowledged that began after this time."""
    nodes = len(cluster.clients)
    wait_until(lambda: sum(write.status == 200 and write.began_at > since for write in traffic.writes) > nodes, seconds)


@pytest.fixture(scope="session")
def programs() -> ClusterPrograms:
    try:
        return find_programs()
    except ProgramMissing as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def served_cluster(
    request: pytest.FixtureRequest, programs: ClusterPrograms, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServedCluster]:
    """A cluster that loses no acknowledged write, unless the parameter says that it is asynchronous."""
    is_synchronous = getattr(request, "param", "synchronous") == "synchronous"
    with running_cluster(programs, is_synchronous) as database, ExitStack() as stack:
        links = [Link(database.port) for _ in range(NODES)]
        folders = [tmp_path_factory.mktemp("node") for _ in links]
        nodes = [
            stack.enter_context(_start_node(folder, database.url_at(link.port)))
            for folder, link in zip(folders, links, strict=True)
        ]
        clients = [stack.enter_context(node.client()) for node in nodes]
        clients[0].define({"document": {"viewer": {}}})
        yield ServedCluster(database, clients, links, [folder / "ahead" for folder in folders])
        for link in links:
            link.close()


def _start_node(folder: Path, url: str) -> ServiceProcess:
    (folder / "ahead").write_text("0")
    (folder / "sitecustomize.py").write_text(JUMPING_CLOCK)
    # Reads of the traffic are to reach the database, so nothing is read before they need it.
    return ServiceProcess(folder, database_url=url, api_key=KEY, graph_filling="off")
