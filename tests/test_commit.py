"""The package says which commit it was built from, and nothing else."""

from pathlib import Path

import pytest

import magistrate
from magistrate.cli.commands import main
from magistrate.commit import COMMIT, UNKNOWN, read_commit
from tests.cli.runner import CommandRunner
from tests.generated_docs import ROOT

HASH = "92ff95ed0190ba9e717f0e85330b8bc01f14b04d"


@pytest.mark.parametrize(
    ("content", "commit"),
    [
        (f"{HASH}\n".encode(), HASH),
        (HASH[:12].encode(), HASH[:12]),
        (b"unknown\n", UNKNOWN),
        (b"", UNKNOWN),
        (b"\xff", UNKNOWN),
        (b"92ff95ed and more", UNKNOWN),
        (b"x" * 40, UNKNOWN),
    ],
)
def test_the_commit_is_that_of_the_build(content: bytes, commit: str, tmp_path: Path) -> None:
    (tmp_path / "commit.txt").write_bytes(content)

    assert read_commit(tmp_path / "commit.txt") == commit


def test_a_package_that_was_not_told_says_so(tmp_path: Path) -> None:
    assert read_commit(tmp_path / "commit.txt") == UNKNOWN
    assert read_commit(tmp_path) == UNKNOWN


def test_the_command_says_its_version_and_commit() -> None:
    shown = CommandRunner().invoke(main, ["--version"], prog_name="magistrate")

    assert shown.output == f"magistrate, version {magistrate.__version__}, commit {COMMIT}\n"


def test_builds_of_a_release_write_the_file() -> None:
    assert "> src/magistrate/commit.txt" in (ROOT / "Dockerfile").read_text()
    assert 'Path("src/magistrate/commit.txt").write_text' in (ROOT / "deploy/release.py").read_text()
    assert 'artifacts = ["src/magistrate/commit.txt"]' in (ROOT / "pyproject.toml").read_text()
