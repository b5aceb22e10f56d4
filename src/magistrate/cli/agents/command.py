"""Implements `magistrate mcp`, which serves the Model Context Protocol on standard input and output."""

import click

from magistrate.cli.output import echo
from magistrate.cli.service import CommandFailed, connect_client, report_failures, with_settings
from magistrate.config.settings_table import CLIENT_SETTINGS

MISSING = "the packages of the Model Context Protocol are missing; install magistrate[mcp]"
WRITES = "write"
"""Names the scope that a key needs to write warrants."""


@click.command("mcp", short_help="Serve the Model Context Protocol over stdio, for agents.")
@with_settings(CLIENT_SETTINGS)
@click.option("--allow-writes", is_flag=True, help="offer a tool that writes warrants, if the key may")
def mcp_command(allow_writes: bool, **flags: str | None) -> None:
    """Serve the Model Context Protocol on standard input and output until the input ends, as in

    magistrate mcp --server https://authz.example

    An agent gets tools that check, explain and query, and that show, validate, test and plan models, with the rights of
    the key. It can write nothing without --allow-writes."""
    with report_failures():
        try:
            from magistrate.cli.agents.tools import build_server
        except ModuleNotFoundError as error:
            raise CommandFailed(MISSING) from error
        with connect_client(flags) as client:
            may_write = allow_writes and WRITES in client.get_caller()["scopes"]
            if allow_writes and not may_write:
                echo(f"the key has no scope {WRITES}, so there is no tool that writes", err=True)
            build_server(client, may_write).run("stdio")
