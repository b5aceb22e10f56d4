"""`./run bench mixed` from end to end, as small as it can be."""

import argparse
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.mixed import command
from benchmarks.mixed.asks import WrongAnswer
from tests.openfga_evaluator import OpenFgaEvaluator
from tests.running import KEY, Client
from tests.stub_server import Sent, stub_server

QUICK = "--sizes 1000 --datasets drive --seconds 0.05 --questions 200 --without-workers --memory-questions 100"


def run(*options: str) -> None:
    parser = argparse.ArgumentParser()
    command.add_options(parser)
    command.run(parser.parse_args([*QUICK.split(), *options]))


def test_our_own_server_is_loaded_measured_and_probed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run("--stores", "SQLite", "--probe-pairs", "8", "--plots", str(tmp_path))

    printed = capsys.readouterr().out
    for title in ("as fast as it goes", "at a constant rate", "Stale answers", "Targets and results"):
        assert title in printed
    assert printed.count("| 0 of ") == 11
    assert "| stale answers, SQLite | 0 | 0 in 8 pairs |  |" in printed


def test_a_server_that_runs_already_is_filled_through_its_api(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    url = str(client.base_url).rstrip("/")

    run("--stores", "", "--url", url, "--key", KEY, "--name", "theirs", "--probe-pairs", "4")

    printed = capsys.readouterr().out
    assert "| drive, 1,000, theirs: check |" in printed
    assert "| stale answers, theirs | 0 | 0 in 4 pairs |  |" in printed


class SmallOpenFga:
    """Answers as a server would, request by request."""

    def __init__(self) -> None:
        self._evaluator: OpenFgaEvaluator | None = None

    def answer(self, sent: Sent) -> bytes:
        action = sent.path.rpartition("/")[2]
        if action == "authorization-models":
            self._evaluator = OpenFgaEvaluator(sent.body)
            return b'{"authorization_model_id":"model-1"}'
        if action in ("stores", "healthz"):
            return b'{"id":"store-1"}'
        assert self._evaluator is not None
        return msgspec.json.encode(self._acted(self._evaluator, action, sent.body))

    def _acted(self, evaluator: OpenFgaEvaluator, action: str, body: Any) -> object:
        if action == "write":
            for key in body.get("writes", {}).get("tuple_keys", []):
                evaluator.write(key)
            for key in body.get("deletes", {}).get("tuple_keys", []):
                evaluator.delete(key)
            return {}
        if action == "list-objects":
            return {"objects": evaluator.list_objects(body["type"], body["relation"], body["user"])}
        if action == "check":
            return {"allowed": is_allowed(evaluator, body["tuple_key"])}
        assert action == "batch-check"
        checks = {check["correlation_id"]: is_allowed(evaluator, check["tuple_key"]) for check in body["checks"]}
        return {"result": {check_id: {"allowed": allowed} for check_id, allowed in checks.items()}}


def is_allowed(evaluator: OpenFgaEvaluator, key: dict[str, str]) -> bool:
    return evaluator.check(key["object"], key["relation"], key["user"])


def test_openfga_is_measured_with_the_same_answers(capsys: pytest.CaptureFixture[str]) -> None:
    with stub_server(SmallOpenFga().answer) as stub:
        run("--stores", "", "--openfga", stub.url, "--name", "small")

    printed = capsys.readouterr().out
    assert "| drive, 1,000, small: list |" in printed
    assert "batch of 10 |" in printed
    assert "batch of 100" not in printed
    assert "Stale answers" not in printed


def test_wrong_answers_end_the_run_with_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    def allow_everything(sent: Sent) -> bytes:
        if sent.path.startswith("/v2/query"):
            return b'{"results":[]}'
        many = len(sent.body["warrants"]) if sent.path == "/v2/check" else 1
        return b'{"code":200}' if many == 1 else b"[" + b",".join([b'{"code":200}'] * many) + b"]"

    with stub_server(allow_everything) as stub, pytest.raises(WrongAnswer, match="answers were wrong or stale"):
        run("--stores", "", "--url", stub.url, "--probe-pairs", "0")

    assert "### Mixed load" in capsys.readouterr().out
