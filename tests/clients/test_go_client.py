"""The Go client of clients/go: its own tests, what its README and its examples print, and the shared scenarios."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from magistrate import __version__
from magistrate.wiring.examples import read_example
from magistrate.wiring.maintenance import prepare_store
from magistrate.wiring.stores import migrate_store
from tests.clients.conformance.driver import conformance_service, run_conformance
from tests.generated_docs import ROOT
from tests.processes.starting import start_process
from tests.running import KEY, running_service, settings_for

FOLDER = ROOT / "clients" / "go"
README = (FOLDER / "README.md").read_text()
EXAMPLE = ROOT / "examples" / "go-documents"
MODULE = "magistrate.example/clients/go"
OLDEST = (1, 23)
DEADLINE_SECONDS = 240
OFFLINE = {"GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false"}


def run_go(*arguments: str | Path, folder: Path = FOLDER, variables: Mapping[str, str] | None = None) -> str:
    """What a command of Go prints, without a network."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("MAGISTRATE_")}
    ran = subprocess.run(
        [*arguments],
        cwd=folder,
        env=own | OFFLINE | dict(variables or {}),
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="session", autouse=True)
def installed_go() -> None:
    if shutil.which("go") is None:
        pytest.skip("go is not installed; the Go client needs go 1.23 or newer")
    version = re.match(r"go(\d+)\.(\d+)", run_go("go", "env", "GOVERSION", folder=ROOT))
    if version is not None and tuple(map(int, version.groups())) < OLDEST:
        pytest.skip(f"{version[0]} is installed; the Go client needs go 1.23 or newer")


@contextmanager
def example_service(database_url: str) -> Iterator[str]:
    """The URL of a service with the data of the example document-sharing."""
    settings = settings_for(database_url)
    migrate_store(settings)
    asyncio.run(prepare_store(settings, read_example("document-sharing")))
    with running_service(settings) as url:
        yield url


@pytest.mark.nightly
def test_it_is_formatted_and_vetted() -> None:
    assert run_go("gofmt", "-l", ".") == ""
    run_go("go", "vet", "./...")


@pytest.mark.nightly
def test_its_own_tests_pass_with_the_race_detector() -> None:
    run_go("go", "test", "-race", "./...")


def test_it_needs_nothing_but_the_standard_library() -> None:
    assert run_go("go", "list", "-m", "all") == f"{MODULE}\n"


def test_it_has_the_version_of_the_service() -> None:
    assert f'const Version = "{__version__}"' in (FOLDER / "version.go").read_text()
    assert f"{MODULE}@v{__version__} " in README


def test_it_uses_nothing_that_is_newer_than_its_oldest_go() -> None:
    api = Path(run_go("go", "env", "GOROOT").strip()) / "api"
    files = [path for path in api.glob("go1.*.txt") if int(path.stem.removeprefix("go1.").split(".")[0]) > OLDEST[1]]
    lines = [line for path in files for line in path.read_text().splitlines()]
    added = {
        f"{package.rpartition('/')[2]}.{name}"
        for line in lines
        if "//deprecated" not in line and " struct, " not in line
        for package, name in re.findall(r"^pkg ([\w/]+)(?: \([^)]*\))?, (?:func|type|var|const) (\w+)", line)
    }
    source = "\n".join(path.read_text() for path in FOLDER.glob("**/*.go"))

    assert f"go {OLDEST[0]}.{OLDEST[1]}\n" in (FOLDER / "go.mod").read_text()
    assert not added & set(re.findall(r"\b[a-z]\w*\.[A-Z]\w*", source))


def test_every_scenario_of_all_clients_goes_as_it_says(database_url: str, tmp_path: Path) -> None:
    program = tmp_path / "conformance"
    run_go("go", "build", "-o", program, "./internal/conformance")

    with conformance_service(database_url) as service:
        results = run_conformance(service, [program], tmp_path)

    assert len(results) > 100
    assert not {result.place: result.faults for result in results if result.faults}


def test_its_examples_print_what_they_say(database_url: str) -> None:
    with example_service(database_url) as url:
        variables = {"MAGISTRATE_URL": url, "MAGISTRATE_API_KEY": KEY}
        printed = run_go("go", "test", "-count=1", "-v", "-run", "TestTheExamples", variables=variables)

    assert "--- PASS: TestTheExamplesPrintWhatTheySay" in printed


def test_its_readme_prints_what_it_says_in_a_clean_folder(database_url: str, tmp_path: Path) -> None:
    program, *pieces = re.findall(r"```go\n(.*?)```", README, re.DOTALL)
    first, others = tmp_path / "first", tmp_path / "others"
    for folder, source in ((first, program), (others, join_pieces(pieces))):
        folder.mkdir()
        (folder / "main.go").write_text(source)
        run_go("go", "mod", "init", "app.example", folder=folder)
        [edit] = re.findall(r"^go mod edit (.*)$", README, re.MULTILINE)
        run_go("go", "mod", "edit", *edit.replace("/path/to/magistrate", str(ROOT)).split(), folder=folder)
        run_go("go", "mod", "tidy", folder=folder)

    with example_service(database_url) as url:
        variables = {"MAGISTRATE_URL": url, "MAGISTRATE_API_KEY": KEY}
        printed = [run_go("go", "run", ".", folder=folder, variables=variables) for folder in (first, others)]

    assert printed[0] == "true\n"
    said = [text for piece in pieces for line in re.findall(r"// (.*)", piece) for text in line.split(", ")]
    assert len(said) > 6
    assert [text for text in said if text not in printed[1].splitlines()] == []


def test_the_example_server_answers_what_its_readme_shows(database_url: str, tmp_path: Path) -> None:
    program = tmp_path / "documents"
    assert run_go("gofmt", "-l", ".", folder=EXAMPLE) == ""
    run_go("go", "vet", ".", folder=EXAMPLE)
    run_go("go", "build", "-o", program, ".", folder=EXAMPLE)
    blocks = re.findall(r"```console\n(.*?)```", (EXAMPLE / "README.md").read_text(), re.DOTALL)
    shown = [pair for block in blocks for pair in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)]
    (tmp_path / "curl").write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT}/tests/curl.py "$@"\n')
    (tmp_path / "curl").chmod(0o755)

    with example_service(database_url) as url:
        own = {"MAGISTRATE_URL": url, "MAGISTRATE_API_KEY": KEY, "PORT": "0"}
        process = start_process([program], environment=os.environ | own, errors=subprocess.DEVNULL)
        assert process.stdout is not None
        try:
            address = process.stdout.readline().split()[-1]
            answered = [
                subprocess.run(
                    ["sh", "-c", command.replace("http://127.0.0.1:8080", address)],
                    env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
                    capture_output=True,
                    text=True,
                ).stdout
                for command, _ in shown
            ]
        finally:
            process.kill()
            process.communicate()

    assert len(shown) == 5
    assert answered == [output for _, output in shown]


def test_the_page_of_clients_shows_what_it_answers(database_url: str, tmp_path: Path) -> None:
    [piece] = re.findall(r"```go\n(.*?)```", (ROOT / "docs" / "clients.md").read_text(), re.DOTALL)
    (tmp_path / "main.go").write_text(join_pieces([piece]))
    run_go("go", "mod", "init", "app.example", folder=tmp_path)
    run_go("go", "mod", "edit", f"-require={MODULE}@v{__version__}", f"-replace={MODULE}={FOLDER}", folder=tmp_path)

    with example_service(database_url) as url:
        variables = {"MAGISTRATE_URL": url, "MAGISTRATE_API_KEY": KEY}
        printed = run_go("go", "run", ".", folder=tmp_path, variables=variables)

    assert printed == "true <nil>\n"


def join_pieces(pieces: list[str]) -> str:
    """A program that runs each piece of the README in a function of its own."""
    functions = [
        f"func piece{number}(ctx context.Context, client *magistrate.Client) error {{\n{piece}return nil\n}}\n"
        for number, piece in enumerate(pieces)
    ]
    calls = ", ".join(f"piece{number}" for number in range(len(pieces)))
    return f"""package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	magistrate "{MODULE}"
)

var _ = []any{{errors.Is, fmt.Println, time.Now}}

{"".join(functions)}
func main() {{
	client, err := magistrate.New()
	if err != nil {{
		log.Fatal(err)
	}}
	pieces := []func(context.Context, *magistrate.Client) error{{{calls}}}
	for _, piece := range pieces {{
		if err := piece(context.Background(), client); err != nil {{
			log.Fatal(err)
		}}
	}}
}}
"""
