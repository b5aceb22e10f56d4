"""Implements `magistrate playground`, which runs a service that keeps nothing (docs/console.md#playground)."""

import sys
from pathlib import Path

import click

from magistrate.cli.models.named_files import root_option
from magistrate.cli.models.tests import read_test_file, read_tests
from magistrate.cli.service import report_failures

EXAMPLES = ("agents", "authzen", "code-hosting", "document-sharing", "multi-tenant-rbac")
"""Lists the files of magistrate/examples. They are repeated here so that no command has to search for them."""


@click.command(short_help="Try things out in a service that keeps nothing.")
@click.argument("file", required=False, type=click.Path(dir_okay=False))
@click.option(
    "--example",
    type=click.Choice(EXAMPLES),
    default="document-sharing",
    show_default=True,
    help="begin with this example",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="the address to listen on")
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="the port to listen on; by default a free one")
@root_option
def playground(file: str | None, example: str, host: str, port: int, root: Path | None) -> None:
    """Run a service with its console whose data is in memory and ends with it, and print the URL that opens the console
    signed in. The key in the URL is valid for this service only, and browsers send it to no server.

    It begins with an example, or with FILE: the model, the warrants and the tests of a test file, such as the console
    saves. Test files of OpenFGA and SpiceDB are opened, too."""
    # importing the server takes a moment, which `--help` need not wait for
    from magistrate.wiring.playground import OpenedFile, run_playground

    with report_failures():
        opened = None
        if file is not None:
            suite = read_test_file(file, root=root)
            opened = OpenedFile(file, suite, read_tests(file, suite))
        sys.exit(run_playground(host, port, example, opened))
