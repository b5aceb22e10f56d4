"""Defines the command line: `serve`, `migrate`, `import`, `sessions`, `keys`, `stores`, `audit` and the commands that
call a service, a file a noun. Options are generated from the settings in config/."""

import gc
import io
import os
import sys
from typing import Any, NoReturn

import click

import magistrate
from magistrate.cli.administration.audit import audit
from magistrate.cli.administration.backups import backup, export, restore
from magistrate.cli.administration.doctor import doctor
from magistrate.cli.administration.forward import forward
from magistrate.cli.administration.keys import keys
from magistrate.cli.administration.migrate import migrate
from magistrate.cli.administration.playground import EXAMPLES, playground
from magistrate.cli.administration.sessions import sessions
from magistrate.cli.administration.stores import stores
from magistrate.cli.administration.webhooks import webhooks
from magistrate.cli.agents.command import mcp_command
from magistrate.cli.checks.check import check
from magistrate.cli.checks.diff import diff
from magistrate.cli.checks.events import events
from magistrate.cli.checks.explain import explain, replay
from magistrate.cli.checks.mirror import mirror
from magistrate.cli.checks.query import query
from magistrate.cli.checks.watch import watch
from magistrate.cli.completion import completion
from magistrate.cli.importing.command import import_command
from magistrate.cli.models.generated_types import types_command
from magistrate.cli.models.object_types import types
from magistrate.cli.models.plans import apply_command, plan_command
from magistrate.cli.models.policies import policies
from magistrate.cli.models.tests import run_tests
from magistrate.cli.models.text import model
from magistrate.cli.output import echo
from magistrate.cli.service import INTERRUPTED, with_settings
from magistrate.cli.writes.objects import objects
from magistrate.cli.writes.warrants import warrants
from magistrate.cli.writes.write import write
from magistrate.commit import COMMIT
from magistrate.config.settings import adopt_client_key, find_service_links, read_settings
from magistrate.config.settings_table import SETTINGS
from magistrate.errors import MagistrateError
from magistrate.terminal import printable_lines

SERVE = "serve"


class CommandLine(click.Group):
    """Represents all commands together, and ends each in the same way: with the exit code 130 after SIGINT wherever it
    came, and with messages that are safe to show. Those of `serve` are lines of its log."""

    def invoke(self, ctx: click.Context) -> Any:
        sys.stdin = sys.stdin or io.TextIOWrapper(io.BytesIO())  # the caller may have closed it
        try:
            return super().invoke(ctx)
        except (click.Abort, KeyboardInterrupt):
            if ctx.invoked_subcommand != SERVE:
                echo(err=True)
            sys.exit(INTERRUPTED)
        except click.ClickException as error:
            if ctx.invoked_subcommand == SERVE:
                _report_failed_start(error)
            vars(error)["message"] = printable_lines(error.message)  # others must not change it, the types say
            raise


def _report_failed_start(error: click.ClickException) -> NoReturn:
    from magistrate.log import render_failed_start  # a start that succeeds imports it later

    echo(render_failed_start(error.format_message()), err=True)
    sys.exit(error.exit_code)


@click.group(cls=CommandLine, help="Magistrate decides whether a subject may do something to an object.")
@click.version_option(
    magistrate.__version__, prog_name="magistrate", message=f"%(prog)s, version %(version)s, commit {COMMIT}"
)
def main() -> None: ...


@main.command(SERVE, short_help="Run the service.")
@with_settings(SETTINGS)
@click.option("--example", type=click.Choice(EXAMPLES), help="load a worked example first, and print checks to try")
@click.option(
    "--fix-permissions", is_flag=True, help="make SQLite files that others can read private to their owner (0600)"
)
def serve(example: str | None, fix_permissions: bool, **flags: Any) -> None:
    """Run the service until SIGTERM or SIGINT; requests in flight are finished first.

    By default it listens on http://127.0.0.1:8000 and stores everything in magistrate.db in the working directory, a
    SQLite file that is created if it does not exist. If no API key is configured, the first start creates one and
    prints it once."""
    try:
        settings = adopt_client_key(read_settings(flags, os.environ), os.environ)
        # Importing the server takes a moment, which `--help` and a wrong setting need not wait for. It leaves no
        # garbage, and looking for some again and again would take an eighth of that moment.
        gc.disable()
        from magistrate.wiring import server

        gc.enable()
        sys.exit(server.serve(settings, example, fix_permissions, find_service_links(os.environ)))
    except MagistrateError as error:
        raise click.ClickException(error.message) from error


for command in (run_tests, plan_command, apply_command, types_command):
    model.add_command(command)
for command in (
    audit,
    check,
    explain,
    query,
    diff,
    watch,
    mirror,
    write,
    warrants,
    types,
    policies,
    model,
    objects,
    events,
    replay,
    import_command,
    backup,
    restore,
    export,
    sessions,
    keys,
    webhooks,
    stores,
    forward,
    playground,
    mcp_command,
    migrate,
    doctor,
    completion,
):
    main.add_command(command)
