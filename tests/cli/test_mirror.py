"""`magistrate mirror` as a process: what it reports, how it ends, and what it never shows."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.cases import Magistrate
from tests.mirror.feeds import HOLD, Sent, change, checkpoint, refusal, scripted_feed, snapshot
from tests.mirror.tables import read_position, read_rows, row
from tests.processes.starting import start_process

OF = "document#viewer@user"
ANN, BOB = row("document:a#viewer@user:ann"), row("document:b#viewer@user:bob")
LOADED: list[Sent] = [snapshot(ANN), checkpoint(1)]
WITHIN_SECONDS = 30


def start_mirror(server: str, url: str, *flags: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "magistrate", "mirror", "--of", OF, "--to", url, "--server", server, *flags]
    return start_process(command, environment=os.environ | {"MAGISTRATE_API_KEY": "key"})


def wait_for(url: str, position: str) -> None:
    deadline = time.monotonic() + WITHIN_SECONDS
    path = url.removeprefix("sqlite:///")
    while True:
        if Path(path).exists():
            try:
                found = read_position(url)
            except Exception:
                found = None  # the tables are not there yet
            if found is not None and found[2] == position:
                return
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/app.db"


def test_it_loads_and_follows_until_sigterm_and_goes_on_from_there(url: str) -> None:
    second: list[Sent] = [checkpoint(1), change(2, gained=[BOB]), HOLD]
    with scripted_feed(lambda asked: (200, second if "since" in asked else [*LOADED, HOLD])) as feed:
        for position in ("t1", "t2"):
            process = start_mirror(feed.url, url)
            wait_for(url, position)
            process.terminate()
            output, errors = process.communicate(timeout=WITHIN_SECONDS)
            assert (process.returncode, output) == (0, "")
            assert ("1 rows of document#viewer@user were loaded in" in errors) == (position == "t1")

    assert read_rows(url) == {ANN, BOB}


def test_once_ends_with_0_and_a_failure_with_2(url: str) -> None:
    with scripted_feed(lambda asked: (200, LOADED if "snapshot" in asked else [checkpoint(1), HOLD])) as feed:
        result = Magistrate(feed.url)("mirror", "--of", OF, "--to", url, "--once")
    assert (result.exit_code, result.stdout) == (0, "")

    assert "no service at" in Magistrate(feed.url).failed("mirror", "--of", OF, "--to", url, "--once")
    with scripted_feed(lambda _: (401, [refusal("unauthorized")])) as feed:
        assert "does not know this API key" in Magistrate(feed.url).failed("mirror", "--of", OF, "--to", url)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--of", OF, "--to", "mysql://app"], "unknown scheme in"),
        (["--of", OF, "--to", "sqlite:///"], "names no file"),
        (["--of", "", "--to", "sqlite:///app.db"], "say which access the mirror has"),
        (["--of", OF, "--to", "sqlite:///app.db", "--table", "a b"], "'a b' cannot be the name of the table"),
        (["--of", OF, "--to", "postgresql://app:s3cret@[half/app"], "cannot be read by libpq"),
        (["--of", OF, "--to", "postgresql://app:s3cret@127.0.0.1:1/app", "--once"], "cannot be used now"),
    ],
)
def test_what_cannot_be_is_said_without_a_password(options: list[str], message: str) -> None:
    shown = Magistrate("http://127.0.0.1:1").failed("mirror", *options)

    assert message in shown
    assert "s3cret" not in shown


def test_a_table_that_was_never_loaded_cannot_be_verified(url: str) -> None:
    failed = Magistrate("http://127.0.0.1:1").failed("mirror", "--of", OF, "--to", url, "--verify")

    assert "nothing was loaded into the table yet" in failed
