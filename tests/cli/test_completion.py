"""Shell completion: scripts, and what they are answered."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from magistrate.cli.completion import TIMEOUT_MS
from tests.cli.cases import Magistrate
from tests.running import KEY


def completed(magistrate: Magistrate, *words: str, **environment: str | None) -> list[str]:
    """What bash is offered for the last of the words."""
    given = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1), "_MAGISTRATE_COMPLETE": "bash_complete"}
    result = magistrate(**(given | environment))
    assert result.stderr == ""
    return [line.partition(",")[2] for line in result.stdout.splitlines() if line]


def completed_by_service(magistrate: Magistrate, *words: str, **environment: str | None) -> list[str]:
    """The same, requested again if nothing is offered: it may be that a busy machine did not answer in time."""
    offers = (completed(magistrate, *words, **environment) for _ in range(5))
    return next((offered for offered in offers if offered), [])


def test_commands_and_options(magistrate: Magistrate) -> None:
    assert completed(magistrate, "magistrate", "w") == ["warrants", "watch", "webhooks", "write"]
    assert completed(magistrate, "magistrate", "types", "") == ["apply", "delete", "list", "show"]
    assert completed(magistrate, "magistrate", "check", "--e") == ["--explain"]
    assert completed(magistrate, "magistrate", "model", "types", "--p") == ["--python", "--package"]
    assert completed(magistrate, "magistrate", "serve", "--example", "d") == ["document-sharing"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["types", "show", "p"], ["permission", "pricing-tier"]),
        (["types", "delete", "us"], ["user"]),
        (["objects", "list", "--type", "us"], ["user"]),
        (["warrants", "list", "--subject-type", "us"], ["user"]),
        (["warrants", "list", "--subject-id", "us"], []),
        (["warrants", "delete", "--where", "objectI"], ["objectId="]),
        (["warrants", "delete", "--where", "relation=x,subjectT"], ["relation=x,subjectType="]),
        (["warrants", "delete", "--where", "relation=x,subjectType=us"], ["relation=x,subjectType=user"]),
        (["warrants", "delete", "--where", "objectId=us"], []),
        (["objects", "get", "p"], ["permission:", "pricing-tier:"]),
        (["objects", "create", "user:"], ["user:"]),
        (["objects", "get", "user", ":", "p"], []),
        (["check", "us"], ["user:"]),
        (["check", "tenant:a#member@user:b", "us"], ["user:"]),
        (["check", "user", ":", "us"], []),
        (["warrants", "create", "us"], ["user:"]),
        (["warrants", "delete", "no-such"], []),
    ],
)
def test_names_that_the_service_knows(magistrate: Magistrate, words: list[str], expected: list[str]) -> None:
    complete = completed_by_service if expected else completed

    assert complete(magistrate, "magistrate", *words) == expected


def test_without_a_service_or_a_key_there_is_silently_nothing(magistrate: Magistrate) -> None:
    asking = ["magistrate", "types", "show", ""]

    assert completed(magistrate, *asking, MAGISTRATE_SERVER="http://127.0.0.1:1") == []
    assert completed(magistrate, *asking, MAGISTRATE_SERVER="nonsense") == []
    assert completed(magistrate, *asking, MAGISTRATE_API_KEY="wrong") == []
    assert completed(magistrate, *asking, MAGISTRATE_API_KEY=None) == []


def test_the_options_typed_before_are_used(magistrate: Magistrate) -> None:
    asking = ["magistrate", "types", "show", "--server", magistrate.url, "us"]

    assert completed_by_service(magistrate, *asking, MAGISTRATE_SERVER=None) == ["user"]


def test_a_service_that_is_silent_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        asked = Magistrate(f"http://127.0.0.1:{silent.getsockname()[1]}")
        silent.settimeout(60)

        assert completed(asked, "magistrate", "types", "show", "") == []
        accepted, _ = silent.accept()
        with accepted:
            # It has sent its request, and hung up: nobody else is waited for here.
            assert accepted.recv(65_536).startswith(b"GET /v2/object-types")
            assert accepted.recv(65_536) == b""


def test_the_wait_for_a_completion_is_short() -> None:
    assert TIMEOUT_MS <= 250


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(magistrate: Magistrate, shell: str) -> None:
    script = magistrate.done("completion", shell)

    assert f"_MAGISTRATE_COMPLETE={shell}_complete" in script
    assert "_magistrate_completion" in script


def test_another_shell_is_refused_with_those_there_are(magistrate: Magistrate) -> None:
    assert "'csh' is not one of 'bash', 'zsh', 'fish'" in magistrate.failed("completion", "csh")


def test_bash_runs_its_script(magistrate: Magistrate, tmp_path: Path) -> None:
    (tmp_path / "magistrate").write_text(f'#!/bin/sh\nexec {sys.executable} -c "{RUN}" "$@"\n')
    (tmp_path / "magistrate").chmod(0o755)
    typed = 'COMP_WORDS=(magistrate objects get us); COMP_CWORD=3; _magistrate_completion magistrate; echo "$COMPREPLY"'

    ran = subprocess.run(
        ["bash", "--norc", "-c", f"compopt() {{ echo $*; }}\n{magistrate.done('completion', 'bash')}\n{typed}"],
        env=os.environ
        | {
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "MAGISTRATE_SERVER": magistrate.url,
            "MAGISTRATE_API_KEY": KEY,
        },
        capture_output=True,
        text=True,
    )

    assert (ran.stdout, ran.stderr) == ("-o nospace\nuser:\n", "")


RUN = "from magistrate.cli.commands import main; main(prog_name='magistrate')"
