"""The examples with FastAPI, Flask and Django answer what their READMEs show, and the page of frameworks shows them."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.generated_docs import ROOT
from tests.processes.starting import start_process
from tests.running import KEY, running_service, settings_for

EXAMPLES = ROOT / "examples"
STARTED_WITHIN_SECONDS = 60.0


@contextmanager
def running_example(program: Path, service: str, folder: Path) -> Iterator[str]:
    """The URL of an example that runs."""
    own = {"MAGISTRATE_URL": service, "MAGISTRATE_API_KEY": KEY, "PORT": "0", "PYTHONUNBUFFERED": "1"}
    log = folder / "log"
    with log.open("w") as output:
        process = start_process([sys.executable, program], environment=os.environ | own, output=output)
    try:
        deadline = time.monotonic() + STARTED_WITHIN_SECONDS
        while not (found := re.search(r"(?:[Rr]unning on|server at) (http://[\d.]+:\d+)", log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        yield found[1]
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("framework", ["fastapi", "flask", "django"])
def test_an_example_answers_what_its_readme_shows(framework: str, database_url: str, tmp_path: Path) -> None:
    folder = shutil.copytree(EXAMPLES / f"{framework}-notes", tmp_path / "example")
    (tmp_path / "curl").write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT}/tests/curl.py "$@"\n')
    (tmp_path / "curl").chmod(0o755)
    blocks = re.findall(r"```console\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
    shown = [pair for block in blocks for pair in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)]

    with (
        running_service(settings_for(database_url)) as service,
        running_example(folder / f"{framework}_notes.py", service, tmp_path) as url,
    ):
        answers = [
            subprocess.run(
                ["sh", "-c", command.replace("http://127.0.0.1:8080", url)],
                env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
                capture_output=True,
                text=True,
            ).stdout
            for command, _ in shown
        ]

    assert len(shown) >= 9
    assert [(command, answer.strip()) for (command, _), answer in zip(shown, answers, strict=True)] == [
        (command, output.strip()) for command, output in shown
    ]


@pytest.mark.parametrize("framework", ["FastAPI", "Flask", "Django"])
def test_the_page_shows_parts_of_the_example(framework: str) -> None:
    name = framework.lower()
    section = (ROOT / "docs" / "frameworks.md").read_text().partition(f"## {framework}")[2].partition("\n## ")[0]
    program = (EXAMPLES / f"{name}-notes" / f"{name}_notes.py").read_text()
    parts = re.findall(r"```(?:python|html)\n(.*?)```", section, re.DOTALL)

    assert parts
    assert [part for part in parts if part not in program] == []


def test_the_examples_have_the_same_model() -> None:
    models = {
        (EXAMPLES / f"{name}-notes" / "model.txt").read_text() for name in ("django", "express", "fastapi", "flask")
    }

    assert len(models) == 1
