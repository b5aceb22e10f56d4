"""docs/backup.md says what is true: each of its commands is run, in their order. Those of PostgreSQL are run by
tests/processes/test_point_in_time.py."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from magistrate.wiring.examples import read_example
from magistrate.wiring.maintenance import prepare_store
from magistrate.wiring.stores import migrate_store
from tests.databases import PostgresServer
from tests.generated_docs import ROOT
from tests.running import KEY, running_service, settings_for

DOCUMENT = (ROOT / "docs" / "backup.md").read_text()
SERVICE = "https://magistrate.example"
POSTGRES = "postgresql://magistrate@db.example/magistrate"
CHANGING = (
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
    (r"token [\w-]{34}", "token <token>"),
    (r"in [\d.]+ s \([\d,]+ lines/s\)", "in <n> s"),
)


def hide_changing(text: str) -> str:
    for pattern, name in CHANGING:
        text = re.sub(pattern, name, text)
    return text


def shown_commands() -> list[tuple[str, str]]:
    blocks = re.findall(r"```console\n(.*?)```", DOCUMENT, re.DOTALL)
    pairs = [pair for block in blocks for pair in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)]
    return [(command, output) for command, output in pairs if command.startswith("magistrate ")]


@pytest.mark.nightly
def test_the_commands_of_the_page_answer_what_it_shows(tmp_path: Path, postgres: PostgresServer) -> None:
    (tmp_path / "magistrate").write_text(f'#!/bin/sh\nexec {sys.executable} -m magistrate "$@"\n')
    (tmp_path / "magistrate").chmod(0o755)
    keys = {"MAGISTRATE_API_KEYS": KEY, "MAGISTRATE_API_KEY": KEY}
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", **keys}
    settings = settings_for(f"sqlite:///{tmp_path}/magistrate.db")
    migrate_store(settings)
    asyncio.run(prepare_store(settings, read_example("document-sharing")))
    postgres_url = postgres.new_url()

    with running_service(settings) as service:
        ran = [
            subprocess.run(
                ["sh", "-c", command.replace(POSTGRES, f"'{postgres_url}'").replace(SERVICE, service)],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
            )
            for command, _ in shown_commands()
        ]

    assert len(ran) >= 5
    assert [hide_changing(each.stdout) for each in ran] == [hide_changing(output) for _, output in shown_commands()]
    assert {each.returncode for each in ran} == {0}
