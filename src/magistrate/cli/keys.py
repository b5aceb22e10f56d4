"""Implements `magistrate keys`, with which operators manage the API key that a service generated."""

import os

import click

from magistrate.cli.service import report_failures, with_settings
from magistrate.config import SETTINGS, read_settings


@click.group(short_help="Replace the generated API key.")
def keys() -> None:
    """Manage the API key that a service generates at its first start if none is configured."""


@keys.command(short_help="Replace the generated API key and print the new one.")
@with_settings([setting for setting in SETTINGS if setting.name == "database_url"])
def reset(database_url: str | None) -> None:
    """Replace the API key that was generated in the database by a new one, and print it this once, for example if it is
    lost or leaked. Running services accept the new key, and refuse the old one, after SIGHUP or a restart. Services
    with --api-key or --api-key-file use neither."""
    with report_failures():
        settings = read_settings({"database_url": database_url}, os.environ)
        from magistrate import wiring  # importing the server takes a moment, which `--help` need not wait for

        click.echo(f"API key, shown only this once: {wiring.reset_key(settings)}")
        click.echo("Running services take it after SIGHUP or a restart, unless they have --api-key or --api-key-file")
