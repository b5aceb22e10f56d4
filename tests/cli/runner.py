"""The one way in which tests run commands in their own process: what is written to stderr has no secrets."""

from typing import Any

from click.testing import CliRunner, Result

from tests.leaks import require_no_leak


class CommandRunner(CliRunner):
    def invoke(self, *arguments: Any, **options: Any) -> Result:
        result = super().invoke(*arguments, **options)
        require_no_leak(result.stderr, "stderr")
        return result
