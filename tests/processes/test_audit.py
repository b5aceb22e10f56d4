"""The audit log of a service with several workers."""

import json
import stat
from pathlib import Path

import pytest

from magistrate.api.audit.chain import ChainVerifier
from tests.conftest import list_by_day
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client


def write_objects(service: ServiceProcess, count: int) -> None:
    for number in range(count):  # a connection each, so that every worker gets some
        with Client(service.url) as client:
            client.post("/v2/objects", json={"objectType": "d", "objectId": str(number)}).raise_for_status()


def verify(content: bytes) -> ChainVerifier:
    verifier = ChainVerifier()
    assert list(verifier.verify(content.splitlines(keepends=True))) == []
    return verifier


def test_all_workers_write_one_chain_to_a_file(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, "--workers", "2", "--audit-log", "audit.log", api_key=KEY) as service:
        write_objects(service, 12)
        assert service.stop() == 0

    verifier = verify((tmp_path / "audit.log").read_bytes())
    assert (verifier.records, len(verifier.last_lines)) == (12, 1)
    for name in ("audit.log", "audit.log.chain"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


@pytest.mark.nightly
def test_each_worker_writes_a_chain_to_standard_output(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, "--workers", "2", "--audit-log", "-", api_key=KEY) as service:
        write_objects(service, 12)
        assert service.stop() == 0
        assert service.process.stdout is not None
        printed = service.process.stdout.read()

    lines = [line for line in printed.splitlines() if line.startswith("{")]
    verifier = verify("".join(f"{line}\n" for line in lines).encode())
    assert verifier.records == 12
    assert {json.loads(line)["status"] for line in lines} == {200}


@pytest.mark.parametrize(
    ("options", "message"),
    list_by_day(
        [
            (
                ("--audit-log", "nowhere/audit.log"),
                "audit_log: nowhere/audit.log cannot be written: No such file or directory",
            ),
            (("--audit-log", "log"), "audit_log: log.chain cannot be written: Is a directory"),
            (("--audit-log", "/dev/null"), "audit_log: /dev/null must be a regular file, or - for standard output"),
            (("--audit-log", "a", "--audit-format", "xml"), "audit_format must be json or cloudevents"),
        ],
        1,
    ),
)
def test_an_audit_log_that_cannot_be_written_keeps_it_from_starting(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    (tmp_path / "log.chain").mkdir()
    service = ServiceProcess(tmp_path, *options, api_key=KEY)

    assert message in service.errors()
    assert service.process.returncode == 1
    assert not (tmp_path / "magistrate.db").exists()
