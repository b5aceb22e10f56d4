"""The messages of webhooks are verified by `standardwebhooks` as installed from npm (docs/webhooks.md#messages)."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.clients.conftest import DEADLINE_SECONDS, SOURCES
from tests.processes.service_process import ServiceProcess
from tests.running import KEY
from tests.webhook_receiver import Received, receiving

NETWORK = "127.0.0.1/32"


def verify(folder: Path, secret: str, messages: list[Received]) -> list[dict[str, Any]]:
    """What the library says of each message."""
    given = {
        "secret": secret,
        "messages": [{"headers": {**each.headers}, "body": each.body.decode()} for each in messages],
    }
    command = ["node", str(SOURCES / "verify-webhooks.mjs")]
    ran = subprocess.run(
        command, cwd=folder, input=json.dumps(given), capture_output=True, text=True, timeout=DEADLINE_SECONDS
    )
    assert ran.returncode == 0, ran.stderr
    results: list[dict[str, Any]] = json.loads(ran.stdout)
    return results


def test_messages_are_verified_also_after_the_secret_was_replaced(node_folder: Path, tmp_path: Path) -> None:
    service = ServiceProcess(tmp_path, database_url="sqlite:///new.db", api_key=KEY, webhook_allow_networks=NETWORK)
    with receiving() as receiver, service as running, running.client() as client:
        made = client.post("/v2/webhooks", json={"url": receiver.url}).raise_for_status().json()
        written = {"objectType": "user", "objectId": "é", "meta": {"name": "日本"}}
        client.post("/v2/objects", json=written).raise_for_status()
        receiver.wait_for(1)
        replaced = client.post(f"/v2/webhooks/{made['id']}/rotate").raise_for_status().json()
        client.post(f"/v2/webhooks/{made['id']}/test").raise_for_status()
        receiver.wait_for(2)
    first, second = receiver.received
    forged = Received(first.headers, first.body.replace(b"user", b"root"))

    by_first = verify(node_folder, made["secret"], [first, second, forged])
    by_second = verify(node_folder, replaced["secret"], [first, second])

    assert by_first[0]["verified"]["data"]["objects"] == {"created": [written]}
    assert by_first[1]["verified"]["data"]["test"] is True
    assert "refused" in by_first[2]
    assert [set(result) for result in by_second] == [{"refused"}, {"verified"}]
