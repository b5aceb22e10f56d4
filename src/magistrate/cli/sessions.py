"""Implements `magistrate sessions`, with which operators manage the sessions of users."""

import os

import click

from magistrate.cli.service import failures_told, with_settings
from magistrate.config import SETTINGS, read_settings


@click.group(short_help="End the sessions of users.")
def sessions() -> None:
    """End the sessions of users. Sessions are created over HTTP and expire by themselves."""


@sessions.command(short_help="End all sessions now.")
@with_settings([setting for setting in SETTINGS if setting.name == "database_url"])
def revoke(database_url: str | None) -> None:
    """End all sessions in the database now, for example after a leak, by deleting the keys that signed them. Running
    services refuse the old tokens within ten seconds, and sign new ones with a new key."""
    with failures_told():
        settings = read_settings({"database_url": database_url}, os.environ)
        from magistrate import wiring  # importing the server takes a moment, which `--help` need not wait for

        if wiring.revoke_sessions(settings):
            click.echo("All sessions are ended: running services refuse their tokens within 10 seconds")
        else:
            click.echo("There was no session to end")
