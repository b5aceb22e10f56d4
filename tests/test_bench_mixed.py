"""`./run bench mixed` from end to end, as small as it can be."""

import argparse
import sys
from pathlib import Path

import pytest

from benchmarks.mixed import command
from benchmarks.mixed.asks import WrongAnswer
from tests.running import KEY, Client
from tests.small_openfga import WRITTEN, SmallOpenFga
from tests.stub_server import Sent, stub_server

QUICK = "--sizes 1000 --datasets drive --seconds 0.05 --questions 200 --without-workers --memory-questions 100"


def run(*options: str) -> None:
    parser = argparse.ArgumentParser()
    command.add_options(parser)
    command.run(parser.parse_args([*QUICK.split(), *options]))


@pytest.mark.nightly
def test_our_own_server_is_loaded_measured_and_probed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run("--stores", "SQLite", "--probe-pairs", "8", "--plots", str(tmp_path))

    printed = capsys.readouterr().out
    for title in ("as fast as it goes", "at a constant rate", "Stale answers", "Targets and results"):
        assert title in printed
    assert printed.count("| 0 of ") == 23
    for first in (
        "distinct checks, just started",
        "distinct checks, warming",
        "distinct checks, filled",
        "repeated checks, just started",
        "repeated checks, warming",
        "repeated checks, filled",
        "batches of 1,000 distinct checks, just started",
        "lists, each user once, just started",
    ):
        assert f"| drive, 1,000, SQLite: {first} |" in printed
    assert "| stale answers, SQLite | 0 | 0 in 8 pairs |  |" in printed


def test_a_server_that_runs_already_is_filled_through_its_api(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    url = str(client.base_url).rstrip("/")

    run("--stores", "", "--url", url, "--key", KEY, "--name", "theirs", "--probe-pairs", "4")

    printed = capsys.readouterr().out
    assert "| drive, 1,000, theirs: check |" in printed
    assert "| stale answers, theirs | 0 | 0 in 4 pairs |  |" in printed


@pytest.mark.nightly
def test_our_own_api_of_openfga_is_measured_as_any_other_server(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    url = str(client.base_url).rstrip("/")

    run("--stores", "", "--openfga", url, "--key", KEY, "--name", "own")

    printed = capsys.readouterr().out
    assert "| drive, 1,000, own: check |" in printed
    assert "| drive, 1,000, own: list |" in printed


@pytest.mark.nightly
def test_openfga_is_measured_with_the_same_answers(capsys: pytest.CaptureFixture[str]) -> None:
    with stub_server(SmallOpenFga().answer) as stub:
        run("--stores", "", "--openfga", stub.url, "--name", "small")

    printed = capsys.readouterr().out
    assert "| drive, 1,000, small: list |" in printed
    assert "batch of 10 |" in printed
    assert "batch of 100" not in printed
    assert "Stale answers" not in printed
    assert "| drive, 1,000, small: distinct checks, filled | does not fill its cache before it answers |" in printed


@pytest.mark.nightly
def test_openfga_is_started_with_and_without_caches_and_compared(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WRITTEN, str(tmp_path / "written"))
    program = tmp_path / "openfga"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m tests.small_openfga "$@"\n')
    program.chmod(0o755)

    run("--stores", "SQLite", "--probe-pairs", "0", "--openfga-program", str(program))

    printed = capsys.readouterr().out
    assert "### Beside other servers, on the same work" in printed
    for name in ("OpenFGA", "OpenFGA, answers up to 10s old"):
        assert f"| drive, 1,000, {name}: batches of 1,000 distinct checks, just started |" in printed
        assert f"| drive, 1,000, {name}: batch of 100 |" in printed
    compared = printed.partition("### Beside other servers")[2].partition("\n### ")[0]
    for sent in ("distinct checks, filled", "lists, each user once, filled", "list", "batch of 100"):
        assert f"| drive, 1,000: {sent} |" in compared


@pytest.mark.nightly
def test_wrong_answers_end_the_run_with_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    def allow_everything(sent: Sent) -> bytes:
        if sent.path.startswith("/v2/query"):
            return b'{"results":[]}'
        many = len(sent.body["warrants"]) if sent.path == "/v2/check" else 1
        return b'{"code":200}' if many == 1 else b"[" + b",".join([b'{"code":200}'] * many) + b"]"

    with stub_server(allow_everything) as stub, pytest.raises(WrongAnswer, match="answers were wrong or stale"):
        run("--stores", "", "--url", stub.url, "--probe-pairs", "0")

    assert "### Mixed load" in capsys.readouterr().out
