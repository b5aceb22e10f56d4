"""Implements `magistrate sessions`, with which operators manage the sessions of users."""

import os
from typing import TYPE_CHECKING

import click

from magistrate.cli.input import context_option, read_context
from magistrate.cli.output import echo, print_result
from magistrate.cli.service import calls_service, report_failures, with_settings
from magistrate.config.settings import read_store_settings
from magistrate.config.settings_table import SETTINGS

if TYPE_CHECKING:
    from magistrate.client import Client


@click.group(short_help="Create and end sessions of users.")
def sessions() -> None:
    """Create and end sessions, with which a user's own device may check what that user may do."""


@sessions.command(short_help="Create a session and print its token.")
@click.argument("user")
@click.option("--tenant", metavar="ID", help="the tenant of the user, which policies read as `tenant`")
@click.option("--ttl", metavar="SECONDS", type=click.IntRange(min=1), help="how long the token is valid for")
@context_option
@calls_service
def create(
    client: "Client", as_json: bool, user: str, tenant: str | None, ttl: int | None, context: tuple[str, ...]
) -> None:
    """Create a session for the user with the id USER, and print its token, which is sent as `Authorization: Bearer
    TOKEN`."""
    session = {"type": "sess", "userId": user, "tenantId": tenant, "ttl": ttl, "context": read_context(context)}
    token = client.create_session({name: value for name, value in session.items() if value})
    print_result({"token": token}, as_json, lambda: echo(token))


@sessions.command(short_help="End all sessions now.")
@with_settings([setting for setting in SETTINGS if setting.name == "database_url"])
def revoke(database_url: str | None) -> None:
    """End all sessions in the database now, for example after a leak, by deleting the keys that signed them. Running
    services refuse the old tokens within ten seconds, and sign new ones with a new key."""
    with report_failures():
        settings = read_store_settings(database_url, os.environ)
        # importing the server takes a moment, which `--help` need not wait for
        from magistrate.wiring.maintenance import revoke_sessions

        if revoke_sessions(settings):
            echo("All sessions are ended: running services refuse their tokens within 10 seconds")
        else:
            echo("There was no session to end")
