"""What clients see of a node whose clock jumps."""

import time
from datetime import timedelta
from email.utils import parsedate_to_datetime
from functools import partial

import pytest

from tests.cluster.conftest import ServedCluster, require_no_loss, settle, wait_for_writes
from tests.cluster.traffic import going_on
from tests.running import Client
from tests.scenario_files import warrant_body
from tests.waiting import wait_until

pytestmark = pytest.mark.nightly

DAY_SECONDS = 86_400
LIMITED = "document:plan#viewer@user:limited"


def test_a_clock_that_jumps_at_one_node_changes_no_answer_and_loses_nothing(served_cluster: ServedCluster) -> None:
    """What a time limit ends is decided by the clock of the database."""
    settle(served_cluster)
    skewed, other = served_cluster.clients
    expires_at = served_cluster.database.read_clock() + timedelta(hours=1)
    with going_on(served_cluster.clients, "clock") as traffic:
        skewed.post(
            "/v2/warrants", json=warrant_body(LIMITED) | {"expiresAt": expires_at.isoformat()}
        ).raise_for_status()
        for seconds in (DAY_SECONDS, -DAY_SECONDS, 0):
            served_cluster.clocks[0].write_text(str(seconds))
            wait_until(partial(is_ahead, skewed, other, seconds))
            wait_for_writes(served_cluster, traffic, time.monotonic(), 60)
            answers = [client.ask(LIMITED) for client in (skewed, other)]
            assert [answer.json()["result"] for answer in answers] == ["Authorized", "Authorized"]

    statuses = [answer.status for answer in (*traffic.writes, *traffic.reads)]
    assert set(statuses) == {200}
    print(f"a clock that jumped by a day forwards and backwards: {len(statuses)} requests, all answered 200")
    require_no_loss(served_cluster, traffic)


def is_ahead(skewed: Client, other: Client, seconds: int) -> bool:
    """Returns whether answers of the one are dated so many seconds later; nodes look at the clock once a second."""
    ahead, exact = (parsedate_to_datetime(client.get("/healthz").headers["date"]) for client in (skewed, other))
    return abs((ahead - exact).total_seconds() - seconds) < 60
