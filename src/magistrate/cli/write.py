"""Implements `magistrate write`, which makes one atomic change of warrants and objects."""

from typing import IO, TYPE_CHECKING

import click

from magistrate.cli.output import print_json, print_table
from magistrate.cli.service import calls_service
from magistrate.cli.write_file import read_write

if TYPE_CHECKING:
    from magistrate.client import Client


@click.command(short_help="Delete and create warrants and objects, all or none.")
@click.argument("file", type=click.File(encoding="utf-8-sig"))
@calls_service
def write(client: "Client", as_json: bool, file: IO[str]) -> None:
    """Make one atomic change of warrants and objects: if all preconditions in FILE (- for standard input) hold, what it
    deletes and creates is written, deletions first; otherwise nothing is.

    FILE is JSON or YAML, the body of POST /v2/writes. Warrants and objects may be texts:

    \b
    preconditions:
      - exists: document:plan#owner@user:ann
    delete:
      warrants: ["document:plan#owner@user:ann"]
    create:
      warrants: ["document:plan#owner@user:bob"]
      objects: ["user:carol"]"""
    counts = client.write(read_write(file.read()))
    if as_json:
        print_json(counts)
    else:
        print_table([[word, str(counts[word])] for word in ("created", "deleted", "unchanged")])
