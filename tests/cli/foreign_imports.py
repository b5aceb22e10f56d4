"""Imports of the files of other products by the command."""

from pathlib import Path

import pytest
from click.testing import Result

from magistrate.cli.commands import main
from tests.cli.runner import CommandRunner


def run(*arguments: str | Path) -> Result:
    return CommandRunner().invoke(main, [*map(str, arguments)], env={}, prog_name="magistrate")


def import_files(url: str, *arguments: str | Path) -> Result:
    return run("import", *arguments, "--database-url", url)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/m.db"
