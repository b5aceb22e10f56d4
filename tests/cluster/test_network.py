"""What clients see of a cluster whose parts do not reach each other."""

import time

import pytest

from tests.cluster.conftest import ServedCluster, require_no_loss, settle, wait_for_writes
from tests.cluster.patroni import TTL_SECONDS
from tests.cluster.traffic import going_on, measure_outage
from tests.waiting import wait_until

pytestmark = pytest.mark.nightly


def test_a_primary_without_etcd_gives_way_to_a_standby(served_cluster: ServedCluster) -> None:
    settle(served_cluster)
    database = served_cluster.database
    with going_on(served_cluster.clients, "apart") as traffic:
        wait_until(lambda: len(traffic.acknowledged) > 20)
        primary = database.require_primary()
        cut_at = time.monotonic()
        primary.etcd.cut()
        wait_until(lambda: database.find_primary(other_than=primary), TTL_SECONDS + 60)
        wait_for_writes(served_cluster, traffic, time.monotonic(), 60)

    outage = measure_outage(traffic.writes, cut_at)
    print(f"the primary is cut off from etcd: writes back after {outage:.1f} s")
    primary.etcd.mend()
    require_no_loss(served_cluster, traffic)
    assert outage < TTL_SECONDS + 15
