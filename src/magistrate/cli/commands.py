"""The command line. Options of `serve` are read off config.SETTINGS."""

import os
import sys
from collections.abc import Callable
from typing import Any

import click

import magistrate
from magistrate.config import SETTINGS, Setting, read_settings
from magistrate.errors import MagistrateError


@click.group(help="Magistrate answers one question: may this subject do this to that object?")
@click.version_option(magistrate.__version__, prog_name="magistrate")
def main() -> None: ...


def _option(setting: Setting) -> Callable[[Callable[..., None]], Callable[..., None]]:
    default = f"; default: {setting.default}" if setting.default != "" else ""
    shown = f"{setting.meaning}  [env: {setting.variable}{default}]"
    return click.option(setting.flag, setting.name, metavar="TEXT" if setting.default == "" else "", help=shown)


def _with_settings(command: Callable[..., None]) -> Callable[..., None]:
    for setting in reversed(SETTINGS):
        command = _option(setting)(command)
    return command


@main.command(short_help="Run the service until it is told to stop.")
@_with_settings
def serve(**flags: Any) -> None:
    """Run the service until SIGTERM or SIGINT, which let requests in flight finish.

    Without any option it listens on http://127.0.0.1:8000 and keeps everything in magistrate.db in the working
    directory, a SQLite file that is made if there is none. At the first start without a configured key it makes one
    and prints it once."""
    from magistrate import wiring  # the server takes a moment to import, which `--help` need not wait for

    try:
        sys.exit(wiring.serve(read_settings(flags, os.environ)))
    except MagistrateError as error:
        raise click.ClickException(error.message) from error
