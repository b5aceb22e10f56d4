"""Whatever text a parser gets, it answers, or raises an error that it documents, within a bounded time.

The nightly form goes on for FUZZ_SECONDS with each parser, and for as long with Atheris, which looks for inputs that
run code that none has run before, where it is installed."""

import os
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzzing.mutation import inputs
from tests.fuzzing.parsers import PARSERS, Parser

MAX_SECONDS = 5.0
"""Bounds the processor time of one input of at most MAX_BYTES; the slowest takes a tenth of it."""
ROUND = 500
FUZZ_SECONDS = float(os.environ.get("FUZZ_SECONDS", "3"))


def feed(parser: Parser, content: bytes) -> None:
    """Fails with any other exception than those of the parser, or if it takes too long."""
    began = time.process_time()
    with suppress(*parser.errors):
        parser.read(content)
    assert time.process_time() - began < MAX_SECONDS


def feed_examples(name: str, count: int) -> None:
    parser = PARSERS[name]

    @settings(max_examples=count, deadline=None, database=None, suppress_health_check=[*HealthCheck])
    @given(inputs(parser.seeds))
    def feed_each(content: bytes) -> None:
        feed(parser, content)

    feed_each()


@pytest.mark.parametrize("name", PARSERS)
def test_a_parser_reads_what_is_valid(name: str) -> None:
    read = 0
    for seed in PARSERS[name].seeds:
        try:
            PARSERS[name].read(seed)
            read += 1
        except PARSERS[name].errors:
            continue
    assert read


@pytest.mark.parametrize("name", PARSERS)
def test_any_input_is_read_or_refused(name: str) -> None:
    feed_examples(name, settings().max_examples)


@pytest.mark.nightly
@pytest.mark.parametrize("name", PARSERS)
def test_any_input_is_read_or_refused_for_a_long_time(name: str) -> None:
    end = time.monotonic() + FUZZ_SECONDS
    while time.monotonic() < end:
        feed_examples(name, ROUND)


@pytest.mark.nightly
@pytest.mark.parametrize("name", PARSERS)
def test_any_input_that_runs_other_code_is_read_or_refused(name: str, tmp_path: Path) -> None:
    if find_spec("atheris") is None:
        pytest.skip("atheris is not installed; `./run python -m pip install atheris` does it where it has a wheel")
    command = [sys.executable, "-m", "tests.fuzzing.coverage", name, str(max(1, int(FUZZ_SECONDS))), str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=FUZZ_SECONDS * 2 + 300)
    assert ran.returncode == 0, ran.stderr[-10_000:]
