"""The example that joins its own documents with mirrored access: its README shows what the program really prints."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

from magistrate.wiring.examples import read_example
from magistrate.wiring.maintenance import prepare_store
from magistrate.wiring.stores import migrate_store
from tests.generated_docs import ROOT
from tests.running import KEY, running_service, settings_for

EXAMPLE = ROOT / "examples" / "document-list"
SECONDS = re.compile(r"in \d+\.\d s")


def shown() -> list[tuple[str, str]]:
    """Every command of the README but that of the service, with the output it shows."""
    blocks = re.findall(r"```console\n(.*?)```", (EXAMPLE / "README.md").read_text(), re.DOTALL)
    pairs = [pair for block in blocks for pair in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)]
    return [pair for pair in pairs if not pair[0].startswith("magistrate serve")]


def test_its_readme_shows_what_it_prints(database_url: str, tmp_path: Path) -> None:
    settings = settings_for(database_url)
    migrate_store(settings)
    asyncio.run(prepare_store(settings, read_example("document-sharing")))
    (tmp_path / "list_documents.py").write_text((EXAMPLE / "list_documents.py").read_text())
    commands = {"magistrate": "-m magistrate", "python3": ""}
    for name, arguments in commands.items():
        (tmp_path / name).write_text(f'#!/bin/sh\nexec {sys.executable} {arguments} "$@"\n')
        (tmp_path / name).chmod(0o755)

    printed = []
    with running_service(settings) as url:
        own = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "MAGISTRATE_API_KEY": KEY, "MAGISTRATE_SERVER": url}
        for command, _ in shown():
            ran = subprocess.run(
                ["sh", "-c", command],
                cwd=tmp_path,
                env=os.environ | own,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            printed.append(SECONDS.sub("in <n> s", ran.stdout))

    assert printed == [SECONDS.sub("in <n> s", output) for _, output in shown()]
