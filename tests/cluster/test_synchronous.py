"""What clients see of a cluster that acknowledges no write before a standby has it, while parts of it fail."""

import time

import pytest

from tests.cluster.conftest import ServedCluster, require_no_loss, settle, wait_for_writes
from tests.cluster.patroni import TTL_SECONDS
from tests.cluster.traffic import going_on, list_granted, measure_outage
from tests.waiting import wait_until

pytestmark = pytest.mark.nightly

STORE_TIMEOUT_SECONDS = 10.0
"""Is the default of `--store-timeout-ms`."""
LATE_SECONDS = 3.0
"""Is how much later than its deadline an answer may come on a machine that is busy."""


def test_after_the_primary_was_killed_writes_are_back_within_its_ttl_and_15_s(served_cluster: ServedCluster) -> None:
    settle(served_cluster)
    database = served_cluster.database
    with going_on(served_cluster.clients, "killed") as traffic:
        wait_until(lambda: len(traffic.acknowledged) > 20)
        primary = database.require_primary()
        killed_at = time.monotonic()
        primary.kill()
        wait_until(lambda: database.find_primary(other_than=primary), TTL_SECONDS + 60)
        promoted_after = time.monotonic() - killed_at
        wait_for_writes(served_cluster, traffic, time.monotonic(), 60)

    outage = measure_outage(traffic.writes, killed_at)
    print(f"kill -9 of the primary: promoted after {promoted_after:.1f} s, writes back after {outage:.1f} s,", end=" ")
    print(
        f"{len(traffic.acknowledged)} acknowledged, reads back after {measure_outage(traffic.reads, killed_at):.1f} s"
    )
    require_no_loss(served_cluster, traffic)
    assert outage < TTL_SECONDS + 15
    database.start_member(primary)


def test_after_a_switchover_writes_are_back_within_10_s(served_cluster: ServedCluster) -> None:
    settle(served_cluster)
    with going_on(served_cluster.clients, "switched") as traffic:
        wait_until(lambda: len(traffic.acknowledged) > 20)
        began_at = time.monotonic()
        served_cluster.database.switch_over()
        wait_for_writes(served_cluster, traffic, time.monotonic(), 60)

    outage = measure_outage(traffic.writes, began_at)
    print(f"switchover: writes back after {outage:.1f} s, {len(traffic.acknowledged)} acknowledged")
    require_no_loss(served_cluster, traffic)
    assert outage < 10


def test_without_standbys_writes_get_503_and_show_nothing_that_may_be_lost(served_cluster: ServedCluster) -> None:
    settle(served_cluster)
    database = served_cluster.database
    with going_on(served_cluster.clients, "alone") as traffic:
        wait_until(lambda: len(traffic.acknowledged) > 20)
        standbys = database.list_standbys()
        for standby in standbys:
            standby.kill()
        killed_at = time.monotonic()
        wait_until(lambda: sum(write.status == 503 for write in traffic.writes) > len(served_cluster.clients), 60)
        shown = [list_granted(client) for client in served_cluster.clients]
        restarted_at = time.monotonic()
        for standby in standbys:
            database.start_member(standby)
        wait_for_writes(served_cluster, traffic, restarted_at, 60)
        print(f"both standbys back: writes back after {time.monotonic() - restarted_at:.1f} s")

    meanwhile = [write for write in traffic.writes if write.began_at > killed_at and write.ended_at < restarted_at]
    assert {write.status for write in meanwhile} == {503}
    reads = [read for read in traffic.reads if killed_at < read.began_at < restarted_at]
    assert {read.status for read in reads} == {200}
    for granted in shown:
        assert {user for user in granted if user.startswith("alone-")} <= traffic.possible
    require_no_loss(served_cluster, traffic)


def test_a_database_that_accepts_and_never_answers_delays_no_answer_beyond_its_deadline(
    served_cluster: ServedCluster,
) -> None:
    """Neither does it learn that a node has given up, and one of them may have begun a write there."""
    settle(served_cluster)
    with going_on(served_cluster.clients, "silent") as traffic:
        wait_until(lambda: len(traffic.acknowledged) > 20)
        silent_at = time.monotonic()
        for link in served_cluster.links:
            link.fall_silent()
        wait_until(lambda: sum(write.status == 503 for write in traffic.writes) > len(served_cluster.clients), 60)
        mended_at = time.monotonic()
        for link in served_cluster.links:
            link.mend()
        wait_for_writes(served_cluster, traffic, mended_at, 60)

    first = {
        kind: min(answer.ended_at for answer in answers if answer.status == 200 and answer.ended_at > mended_at)
        for kind, answers in (("reads", traffic.reads), ("writes", traffic.writes))
    }
    for kind, ended_at in first.items():
        print(f"a database silent for {mended_at - silent_at:.1f} s: {kind} back after {ended_at - mended_at:.1f} s")
    longest = max(answer.ended_at - answer.began_at for answer in (*traffic.reads, *traffic.writes))
    assert longest < STORE_TIMEOUT_SECONDS + LATE_SECONDS
    assert max(first.values()) - mended_at < 5 + LATE_SECONDS
    require_no_loss(served_cluster, traffic)
