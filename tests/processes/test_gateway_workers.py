"""Several workers answer the requests of gateways alike, also those that start while the file of rules is invalid."""

import re
import signal
from pathlib import Path

import pytest

from tests.api.gateways import RULES, Gateway
from tests.issuing import issue_key
from tests.leaks import keep_secret
from tests.processes.service_process import ServiceProcess
from tests.running import KEY
from tests.waiting import wait_until

ASKED = 12
"""How many connections make it all but certain that each worker gets one, unless the machine is busy."""
CHANGED_RULES = {"/other/x": 200, "/public/x": 403}
"""Maps paths to the answers after the file of rules has changed."""


def ask_all(service: ServiceProcess, key: str, path: str, user: str | None = "ann") -> set[int]:
    """The statuses over connections of their own, each of which any worker may get."""
    statuses = set()
    for _ in range(ASKED):
        gateway = Gateway(service.url, key)
        with gateway.client:
            statuses.add(gateway.ask(path, user).status_code)
    return statuses


def list_workers(service: ServiceProcess) -> set[str]:
    with service.client() as client:
        return set(re.findall(r'magistrate_graph_entries\{worker="(\d+)"\}', client.get("/metrics").text))


@pytest.mark.nightly
def test_workers_answer_alike_and_keep_the_rules_over_a_reload(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES)
    with ServiceProcess(tmp_path, "--workers", "2", api_key=KEY, forward_rules=str(file)) as service:
        with service.client() as client:
            client.define({"document": {"viewer": {}}, "user": {}})
            client.grant("document:plan#viewer@user:ann")
            key = issue_key(client, "gateway", "forward")
        keep_secret([key])
        wait_until(lambda: len(list_workers(service)) == 2)
        for _ in range(2):
            assert ask_all(service, key, "/documents/plan") == {200}
            assert ask_all(service, key, "/documents/plan", "bob") == {403}
            assert ask_all(service, key, "/documents/plan", None) == {401}
            assert ask_all(service, key, "/public/../documents/plan") == {403}

        file.write_text(RULES.replace("/public/", "/other/"))
        wait_until(lambda: all(ask_all(service, key, path) == {status} for path, status in CHANGED_RULES.items()))

        file.write_text("version: 2")
        before = list_workers(service)
        service.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(now := list_workers(service)) == 2 and not now & before)
        assert ask_all(service, key, "/documents/plan") == {200}
        for path, status in CHANGED_RULES.items():
            assert ask_all(service, key, path) == {status}
