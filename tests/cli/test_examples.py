"""The worked examples: each check gets the answer it promises, and anybody can follow what is printed."""

import asyncio
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import magistrate as package
from magistrate.cli.administration.playground import EXAMPLES
from magistrate.engine.model.object_types import PREDEFINED_TYPES
from magistrate.engine.policy.named_policies import read_named_policy
from magistrate.operations.models.examples import Example, Try
from magistrate.wiring.examples import read_example
from magistrate.wiring.maintenance import prepare_store
from magistrate.wiring.server import SHOWN_TRIES
from magistrate.wiring.stores import migrate_store
from tests.cli.cases import Magistrate
from tests.conftest import STORES, new_database_url
from tests.databases import dump
from tests.processes.service_process import ServiceProcess
from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body

FOLDER = Path(package.__file__).parent / "examples"
LOADED: dict[str, Example] = {name: read_example(name) for name in EXAMPLES}
TRIES = [pytest.param(one, id=f"{name}: {one.why}") for name, example in LOADED.items() for one in example.tries]


@pytest.fixture(scope="module", params=STORES)
def exemplary(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a service with all examples: they do not get in each other's way."""
    settings = settings_for(new_database_url(request.param, tmp_path_factory.mktemp("examples"), request))
    migrate_store(settings)
    for example in LOADED.values():
        asyncio.run(prepare_store(settings, example))
    with running_service(settings) as url, Client(url) as client:
        yield client


@pytest.mark.parametrize("one", TRIES)
def test_a_check_gets_the_answer_it_promises(one: Try, exemplary: Client) -> None:
    body: dict[str, Any] = {"warrants": [warrant_body(one.check)], "context": one.context}

    answer = exemplary.post("/v2/check", json=body).json()

    assert answer["code"] == (200 if one.answer else 403)


@pytest.mark.parametrize("name", EXAMPLES)
def test_loading_it_again_changes_nothing(name: str, database_url: str) -> None:
    settings = settings_for(database_url)
    migrate_store(settings)
    asyncio.run(prepare_store(settings, LOADED[name]))
    first = dump(database_url)

    asyncio.run(prepare_store(settings, LOADED[name]))

    again = dump(database_url)
    assert len(first["warrant"]) == len(LOADED[name].warrants)
    assert {table: rows for table, rows in again.items() if rows != first[table]}.keys() <= {"head", "revision"}


def test_every_file_is_an_example_that_the_command_offers() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == [*EXAMPLES]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_tests_beside_a_model_pass_and_reach_what_is_its_own(name: str) -> None:
    magistrate = Magistrate("http://127.0.0.1:9")  # with no service anywhere

    printed = magistrate.done("model", "test", "--coverage", str(FOLDER / name))

    assert printed.endswith(f"\n{len(LOADED[name].tries)} passed, 0 failed\n")
    unreached = re.findall(r"^not reached: (?:relation|rule) ([^#]+)#", printed, re.MULTILINE)
    assert {*unreached} <= {one.name for one in PREDEFINED_TYPES}
    assert magistrate("model", "fmt", "--check", str(FOLDER / name / "model.txt")).exit_code == 0
    assert magistrate("model", "lint", "--strict", str(FOLDER / name / "model.txt")).exit_code == 0


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_leaves_the_types_of_a_new_store_as_they_are(name: str) -> None:
    predefined = {one.name: one for one in PREDEFINED_TYPES}

    for one in LOADED[name].types:
        assert one == predefined.get(one.name, one)


def test_the_policies_of_an_example_are_loaded(database_url: str) -> None:
    settings = settings_for(database_url)
    migrate_store(settings)
    named = read_named_policy("office", {"network": "string"}, 'network == "office"')

    asyncio.run(prepare_store(settings, LOADED["authzen"]._replace(policies=[named])))

    [row] = dump(database_url)["named_policy"]
    assert row[0] == "office"


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_first_checks_can_be_typed_and_have_both_answers(name: str) -> None:
    first = LOADED[name].tries[:SHOWN_TRIES]

    assert {one.answer for one in first} == {True, False}
    for one in first:
        for word in (one.check, *one.context, *one.context.values()):
            assert shlex.quote(word.replace("#", "")) == word.replace("#", "")  # within a word the sign is harmless


def test_a_stranger_pastes_what_is_printed_and_sees_an_answer_change_with_a_warrant(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, "--example", "document-sharing") as service:
        exports, questions = announced(service)

        first = [pasted(exports, question) for question in questions]
        deleted = pasted(exports, "magistrate warrants delete document:roadmap#blocked@user:kim")
        again = pasted(exports, questions[1])

    assert [(exit_code, printed.splitlines()[0]) for exit_code, printed in first] == [
        (0, "allowed"),
        (1, "denied"),
        (0, "allowed"),
    ]
    assert deleted == (0, "deleted  document:roadmap#blocked@user:kim\n")
    assert again[0] == 0
    assert "group:interns#member      is member of  group:engineering" in again[1]


def test_an_unknown_example_is_refused_with_those_there_are(tmp_path: Path) -> None:
    service = ServiceProcess(tmp_path, "--example", "no-such")

    told = service.errors()

    assert service.process.returncode == 2
    assert all(name in told for name in EXAMPLES)
    assert list(tmp_path.iterdir()) == []


def announced(service: ServiceProcess) -> tuple[list[str], list[str]]:
    """The lines to paste: those that set variables, and the checks."""
    assert service.process.stdout is not None
    exports: list[str] = []
    commands: list[str] = []
    while len(commands) < SHOWN_TRIES:
        line = service.process.stdout.readline().strip()
        if line.startswith("export "):
            exports.append(line)
        elif line.startswith("magistrate "):
            commands.append(line)
    return exports, commands


def pasted(exports: list[str], command: str) -> tuple[int, str]:
    """Exit code and output of a command in a new shell that only knows what is printed."""
    ran = subprocess.run(["sh", "-c", "\n".join([*exports, command])], capture_output=True, text=True)
    assert ran.stderr == ""
    return ran.returncode, ran.stdout
