"""Webhooks of services as operators run them: over real sockets, with processes that are killed, proxies and TLS."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.certificates import Authority
from tests.processes.service_process import ServiceProcess, read_failed_start
from tests.proxy import proxying
from tests.running import KEY, Client
from tests.trace_receiver import receiving_traces
from tests.waiting import wait_until
from tests.webhook_receiver import answer_status, receiving

NETWORK = "127.0.0.1/32"
SHORT_LEASE = """
from magistrate.operations.webhooks import deliverer, delivery
deliverer.LEASE_SECONDS = delivery.LEASE_SECONDS = 4.0
delivery.MIN_LEASE_SECONDS = 2.0
"""
NO_PROXY = {"http_proxy": "", "https_proxy": "", "all_proxy": ""}


def make(client: Client, url: str, **members: object) -> dict[str, Any]:
    answer = client.post("/v2/webhooks", json={"url": url, **members})
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


def put(client: Client, name: str) -> str:
    answer = client.post("/v2/objects", json={"objectType": "user", "objectId": name})
    return str(answer.raise_for_status().headers["Warrant-Token"])


def service(folder: Path, database_url: str, **settings: str) -> ServiceProcess:
    return ServiceProcess(folder, database_url=database_url, api_key=KEY, webhook_allow_networks=NETWORK, **settings)


def test_a_service_delivers_and_says_how_it_goes(database_url: str, tmp_path: Path) -> None:
    with receiving() as receiver, service(tmp_path, database_url, workers="2") as running, running.client() as client:
        receiver.answers.append(answer_status(500))
        made = make(client, receiver.url, objectType=["user"])
        tokens = [put(client, "a")]
        wait_until(lambda: len(receiver.received) == 2)
        tokens += [put(client, name) for name in "bc"]
        wait_until(lambda: len(receiver.received) == 4)
        path = f"/v2/webhooks/{made['id']}"
        wait_until(lambda: client.get(path).json()["token"] == tokens[-1])
        tested = client.post(f"{path}/test").json()
        attempts = client.get(f"{path}/deliveries").json()["results"]
        wait_until(lambda: 'magistrate_webhook_deliveries_total{result="delivered"} 3.0' in client.get("/metrics").text)
        wait_until(lambda: 'magistrate_webhooks{state="enabled",worker=' in client.get("/metrics").text)

    assert receiver.tokens[:4] == [tokens[0], *tokens]
    assert (tested["status"], "error" in tested) == (204, False)
    assert [attempt.get("status") for attempt in attempts] == [204, 204, 204, 204, 500]
    assert attempts[1]["tokens"] == [tokens[-1]]
    assert attempts[-1]["error"] == "the answer has the status 500"
    assert [attempt["attempt"] for attempt in attempts] == [1, 1, 1, 2, 1]


def test_a_long_change_is_read_where_its_message_points_to(database_url: str, tmp_path: Path) -> None:
    with receiving() as receiver, service(tmp_path, database_url) as running, running.client() as client:
        make(client, receiver.url)
        body = {"objectType": "user", "objectId": "ann", "meta": {"text": "x" * 30_000}}
        token = client.post("/v2/objects", json=body).raise_for_status().headers["Warrant-Token"]
        wait_until(lambda: receiver.received)
        data = receiver.received[0].data
        headers = {"Authorization": f"ApiKey {KEY}", "Accept": "application/x-ndjson"}
        with httpx.stream("GET", running.url + data["watch"], headers=headers, trust_env=False) as stream:
            events = map(json.loads, stream.iter_lines())
            revision = next(event for event in events if event["event"] == "revision")

    assert data["token"] == revision["token"] == token
    assert revision["objects"]["created"] == [body]


def test_when_a_node_is_killed_another_takes_over_and_nothing_is_lost(database_url: str, tmp_path: Path) -> None:
    """With a shorter lease than they have, which is waited for."""
    (tmp_path / "sitecustomize.py").write_text(SHORT_LEASE)
    with receiving() as receiver:
        with service(tmp_path, database_url) as first, first.client() as client:
            make(client, receiver.url)
            tokens = [put(client, "a")]
            wait_until(lambda: len(receiver.received) == 1)
            receiver.answers.append(receiver.never_answer)
            tokens.append(put(client, "b"))
            wait_until(lambda: len(receiver.received) == 2)
            first.kill()
        with service(tmp_path, database_url) as second, second.client() as client:
            tokens.append(put(client, "c"))
            wait_until(lambda: len(receiver.received) == 4)

    assert receiver.tokens == [tokens[0], tokens[1], *tokens[1:]]
    assert receiver.ids[1] == receiver.ids[2]


def test_messages_go_through_the_proxy_with_the_name_of_the_receiver(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    issued = authority.issue("receiver", names=("receiver.invalid",))
    with (
        receiving(authority.serve(issued)) as receiver,
        proxying(int(receiver.url.rpartition(":")[2])) as proxy,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, text in {**NO_PROXY, "https_proxy": proxy.address, "SSL_CERT_FILE": str(authority.file)}.items():
            patch.setenv(name, text)
        with service(tmp_path, "sqlite:///new.db") as running, running.client() as client:
            make(client, "https://receiver.invalid:9443/hook")
            put(client, "a")
            wait_until(lambda: receiver.received)

    assert proxy.asked == ["CONNECT receiver.invalid:9443 HTTP/1.1"]
    assert receiver.received[0].headers["host"] == "receiver.invalid:9443"


def test_a_delivery_is_a_span_with_its_statements(tmp_path: Path) -> None:
    with (
        receiving() as receiver,
        receiving_traces() as traces,
        service(tmp_path, "sqlite:///new.db", trace_endpoint=traces.url, trace_sample="1") as running,
        running.client() as client,
    ):
        receiver.answers.append(answer_status(500))
        made = make(client, receiver.url)
        put(client, "a")
        spans = traces.wait_for(of_name="webhook delivery", count=2)

    failed, delivered = (span.attributes for span in spans[:2])
    assert (failed["http.response.status_code"], failed["magistrate.result"]) == (500, "failed")
    assert (delivered["http.response.status_code"], delivered["magistrate.result"]) == (204, "delivered")
    assert {failed["magistrate.webhook"], delivered["magistrate.webhook"]} == {made["id"]}


@pytest.mark.parametrize("trusted", ["other", "this"])
def test_the_receiver_must_have_a_certificate_of_a_trusted_authority(tmp_path: Path, trusted: str) -> None:
    (tmp_path / "other").mkdir()
    authority, other = Authority(tmp_path), Authority(tmp_path / "other")
    trusting = authority if trusted == "this" else other
    with receiving(authority.serve(authority.issue("receiver"))) as receiver, pytest.MonkeyPatch.context() as patch:
        for name, text in {**NO_PROXY, "SSL_CERT_FILE": str(trusting.file)}.items():
            patch.setenv(name, text)
        with service(tmp_path, "sqlite:///new.db") as running, running.client() as client:
            tested = client.post(f"/v2/webhooks/{make(client, receiver.url)['id']}/test").json()

    assert (tested.get("status") == 204) == (trusted == "this")
    assert ("CERTIFICATE_VERIFY_FAILED" in tested.get("error", "")) == (trusted == "other")
    assert len(receiver.received) == (trusted == "this")


def test_variables_that_cannot_be_used_are_said_at_the_start_if_there_are_webhooks(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, text in NO_PROXY.items():
            patch.setenv(name, text)
        patch.setenv("https_proxy", "ftp://proxy.example:21")
        with service(tmp_path, "sqlite:///new.db") as running, running.client() as client:
            make(client, "https://8.8.8.8/", enabled=False)
        failed = service(tmp_path, "sqlite:///new.db")

        assert failed.process.wait(timeout=60) == 1
        assert read_failed_start(failed.errors()).startswith("https_proxy: proxies with ftp://")
