"""Implements `magistrate sessions`, with which operators manage the sessions of users."""

import os
from typing import TYPE_CHECKING

import click

from magistrate.cli.input import context_option, read_context
from magistrate.cli.output import echo, print_result
from magistrate.cli.service import calls_service, report_failures, with_settings
from magistrate.config.settings import read_named_store, read_store_settings
from magistrate.config.settings_table import SETTINGS, STORE_SETTING

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
@with_settings([*(setting for setting in SETTINGS if setting.name == "database_url"), STORE_SETTING])
@click.option("--all-stores", is_flag=True, help="end the sessions of all stores in the database")
def revoke(database_url: str | None, store: str | None, all_stores: bool) -> None:
    """End all sessions of a store in the database now, for example after a leak, by deleting the keys that signed them:
    of the store default, unless --store or --all-stores says otherwise. Running services refuse the old tokens within
    ten seconds, and sign new ones with a new key."""
    if all_stores and store is not None:
        raise click.UsageError("give either --store or --all-stores")
    with report_failures():
        settings, named = read_store_settings(database_url, os.environ), read_named_store(store, os.environ)
        # importing the server takes a moment, which `--help` need not wait for
        from magistrate.wiring.maintenance import revoke_all_sessions, revoke_sessions

        if revoke_all_sessions(settings) if all_stores else revoke_sessions(settings, named):
            echo("All sessions are ended: running services refuse their tokens within 10 seconds")
        else:
            echo("There was no session to end")
