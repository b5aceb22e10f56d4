"""The command line in this process, pointed at a service."""

import json
import os
import subprocess
import sys
from typing import Any

from click.testing import Result

from magistrate.cli.commands import main
from tests.cli.runner import CommandRunner
from tests.running import KEY


class Magistrate:
    """`magistrate` as a caller with `url` and a key in the environment runs it."""

    def __init__(self, url: str, key: str | None = KEY) -> None:
        self.url = url
        self._environment = {"MAGISTRATE_SERVER": url, "MAGISTRATE_API_KEY": key}

    def __call__(self, *arguments: str, typed: str | None = None, **environment: str | None) -> Result:
        """Any exit code; `environment` is laid over that of the caller."""
        result = CommandRunner().invoke(
            main, arguments, input=typed, env=self._environment | environment, prog_name="magistrate"
        )
        return result

    def done(self, *arguments: str, typed: str | None = None) -> str:
        """What a command prints that must succeed, and have nothing to complain about."""
        result = self(*arguments, typed=typed)
        assert (result.exit_code, result.stderr) == (0, ""), result.output
        return result.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self.done(*arguments, "--json"))

    def json_of(self, *arguments: str) -> Any:
        """What a command prints with --json, whatever its exit code."""
        return json.loads(self(*arguments, "--json").stdout)

    def failed(self, *arguments: str, typed: str | None = None, **environment: str | None) -> str:
        """What a command that must fail says on stderr: the text after `Error: `, or JSON with --json."""
        result = self(*arguments, typed=typed, **environment)
        assert (result.exit_code, result.stdout) == (2, ""), result.output
        if "--json" in arguments and result.stderr.startswith("{"):
            return result.stderr.removesuffix("\n")
        before, _, told = result.stderr.partition("Error: ")
        assert not before or before.startswith("Usage: "), result.stderr
        return told.removesuffix("\n")

    def run_unread(self, *arguments: str) -> tuple[int, bytes]:
        """The exit code, and what is on stderr, in a process of its own whose output nobody reads."""
        reader, writer = os.pipe()
        os.close(reader)
        environment = {name: value for name, value in self._environment.items() if value is not None}
        command = [sys.executable, "-m", "magistrate", *arguments]
        ran = subprocess.run(command, env=environment, stdout=writer, stderr=subprocess.PIPE, check=False)
        os.close(writer)
        return ran.returncode, ran.stderr
