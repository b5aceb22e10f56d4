"""docs/cli.md says what is true: its commands are run, and nothing that can be typed is left out."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from magistrate.cli.administration.playground import EXAMPLES
from magistrate.cli.commands import main
from magistrate.config.settings_table import CLIENT_SETTINGS
from magistrate.wiring.examples import read_example
from magistrate.wiring.maintenance import prepare_store
from magistrate.wiring.stores import migrate_store
from tests.running import KEY, running_service, settings_for

DOCUMENT = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()

TAKING_SETTINGS = ("serve", "doctor")
"""The commands whose options are the settings, which docs/configuration.md has."""

CHANGING = ((r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"), (r"took (\d+|less than 1) ms", "took <n> ms"))


def settled(text: str) -> str:
    for pattern, name in CHANGING:
        text = re.sub(pattern, name, text)
    return text


def shown_commands() -> list[tuple[str, str]]:
    """Each command with the output that is shown for it."""
    blocks = re.findall(r"```console\n(.*?)```", DOCUMENT, re.DOTALL)
    return [pair for block in blocks for pair in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)]


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """The environment of a reader with `magistrate` installed."""
    (tmp_path / "magistrate").write_text(f'#!/bin/sh\nexec {sys.executable} -m magistrate "$@"\n')
    (tmp_path / "magistrate").chmod(0o755)
    keys = {"MAGISTRATE_API_KEY": KEY, "MAGISTRATE_API_KEYS": KEY}
    return os.environ | keys | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}


@pytest.mark.nightly
def test_commands_answer_what_is_shown(shell: dict[str, str], tmp_path: Path) -> None:
    settings = settings_for(f"sqlite:///{tmp_path}/magistrate.db")
    migrate_store(settings)
    asyncio.run(prepare_store(settings, read_example("document-sharing")))

    with running_service(settings) as url:
        for command, output in shown_commands():
            environment = shell | {"MAGISTRATE_SERVER": url}
            ran = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True)
            assert settled(ran.stdout + ran.stderr) == settled(output), command


def commands(group: click.Group, *before: str) -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, *before, name)
        else:
            yield " ".join([*before, name]), command


@pytest.mark.parametrize(("name", "command"), [pytest.param(*pair, id=pair[0]) for pair in commands(main)])
def test_every_command_and_its_own_options_are_reported(name: str, command: click.Command) -> None:
    assert name in DOCUMENT
    for option in command.params:
        if isinstance(option, click.Option) and name not in TAKING_SETTINGS:
            assert any(flag in DOCUMENT for flag in option.opts), option.opts


def test_settings_exit_codes_and_examples_are_reported() -> None:
    for setting in CLIENT_SETTINGS:
        default = f"`{setting.default}`" if setting.default else ""
        assert f"| `{setting.variable}` | `… {setting.flag}` | {default} | {setting.meaning} |" in DOCUMENT
    for name in EXAMPLES:
        assert f"| `{name}` |" in DOCUMENT
