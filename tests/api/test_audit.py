"""What the audit log has of requests (docs/operating.md#audit)."""

import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from magistrate.api.audit.chain import ChainVerifier
from magistrate.api.audit.records import AUDIT_FORMATS
from magistrate.operations.keys.caller_keys import key_digest
from tests.issuing import issue_key
from tests.running import KEY, Client, running_service, settings_for
from tests.scenario_files import warrant_body

Line = dict[str, Any]
OPERATOR = f"key-{key_digest(KEY)[:8]}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


@pytest.fixture
def audited(database_url: str, path: Path) -> Iterator[Client]:
    with running_service(settings_for(database_url, audit_log=str(path))) as url, Client(url) as client:
        client.define({"document": {"viewer": {}}})
        yield client


def lines_of(path: Path) -> list[Line]:
    """All lines. The first record that is written creates the file."""
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def wait_for(path: Path, is_wanted: Callable[[Line], bool]) -> Line:
    """The first line that is wanted, once it is written."""
    deadline = time.monotonic() + 20
    while True:
        found = [line for line in lines_of(path) if is_wanted(line)]
        if found:
            return found[0]
        assert time.monotonic() < deadline, lines_of(path)
        time.sleep(0.02)


def wait_for_request(path: Path, answer: Any) -> Line:
    request_id = answer.headers["Warrant-Request-Id"]
    return wait_for(path, lambda line: line["requestId"] == request_id)


def test_a_change_is_recorded_with_who_made_it_and_its_revision(audited: Client, path: Path) -> None:
    body = warrant_body("document:plan#viewer@user:ann")

    answer = audited.post("/v2/warrants", json=body)

    line = wait_for_request(path, answer)
    members = {name: line[name] for name in ("kind", "actor", "method", "path", "status", "token", "request")}
    assert members == {
        "kind": "change",
        "actor": OPERATOR,
        "method": "POST",
        "path": "/v2/warrants",
        "status": 200,
        "token": answer.headers["Service-Token"],
        "request": body,
    }
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_a_change_that_failed_is_recorded_with_its_status(audited: Client, path: Path) -> None:
    line = wait_for_request(path, audited.delete("/v2/objects/document/missing"))

    assert (line["kind"], line["status"], line.get("token")) == ("change", 404, None)


def test_refused_requests_are_recorded(audited: Client, path: Path) -> None:
    url = str(audited.base_url)
    with Client(url, issue_key(audited, "reader", "read")) as reader, Client(url, "wrong") as unknown:
        forbidden = wait_for_request(path, reader.post("/v2/objects", json={"objectType": "d"}))
        for request in (("GET", "/v2/objects"), ("POST", "/v2/check"), ("GET", "/metrics")):
            line = wait_for_request(path, unknown.request(*request))
            assert (line["kind"], line["status"], line["path"]) == ("refused", 401, request[1])
            assert "actor" not in line

    assert (forbidden["kind"], forbidden["actor"], forbidden["status"]) == ("refused", "reader", 403)


def test_administrative_calls_are_recorded_without_secrets(audited: Client, path: Path) -> None:
    issued = audited.post("/v2/keys", json={"name": "a", "scopes": ["check"]})
    listed = audited.get("/v2/keys")
    session = audited.post("/v2/sessions", json={"type": "sess", "userId": "ann"})

    found = [wait_for_request(path, answer) for answer in (issued, listed, session)]

    assert [(line["kind"], line["actor"]) for line in found] == [("administrative", OPERATOR)] * 3
    assert found[0]["request"] == {"name": "a", "scopes": ["check"]}
    text = path.read_text()
    assert issued.json()["key"] not in text
    assert session.json()["token"] not in text
    assert KEY not in text


def test_a_body_that_is_nested_too_deeply_is_recorded_as_text(audited: Client, path: Path) -> None:
    answer = audited.put("/v2/model", content="[" * 3_000, headers={"Content-Type": "text/plain"})
    after = audited.post("/v2/objects", json={"objectType": "d"})

    assert wait_for_request(path, answer)["request"] == "[" * 3_000
    assert wait_for_request(path, after)["status"] == 200


def test_reads_and_checks_are_not_recorded(audited: Client, path: Path) -> None:
    for _ in range(2):
        audited.ask("document:plan#viewer@user:ann")
    audited.get("/v2/objects")
    audited.get("/v2/unknown")
    audited.get("/v2/keys/self")
    wait_for_request(path, audited.post("/v2/objects", json={"objectType": "d"}))

    assert {line["path"] for line in lines_of(path)} == {"/v2/object-types", "/v2/objects"}
    assert [line["method"] for line in lines_of(path)] == ["POST", "POST"]


@pytest.mark.parametrize("log_format", AUDIT_FORMATS)
def test_the_log_is_one_chain_over_services_and_restarts(database_url: str, path: Path, log_format: str) -> None:
    settings = settings_for(database_url, audit_log=str(path), audit_format=log_format)
    for _ in range(2):
        with running_service(settings) as first, running_service(settings) as second:
            for number in range(5):
                for url in (first, second):
                    with Client(url) as client:
                        client.post("/v2/objects", json={"objectType": "d", "objectId": str(number)}).raise_for_status()
    deadline = time.monotonic() + 20
    while len(lines_of(path)) < 20:
        assert time.monotonic() < deadline
        time.sleep(0.02)

    verifier = ChainVerifier()
    assert list(verifier.verify(path.read_bytes().splitlines(keepends=True))) == []
    assert (verifier.records, len(verifier.last_lines)) == (20, 1)
