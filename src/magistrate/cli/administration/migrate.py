"""Implements `magistrate migrate`, which brings the schema of a database up to date without serving it
(docs/operating.md#upgrading)."""

import os
import sys

import click

from magistrate.cli.output import echo, print_json, print_table
from magistrate.cli.service import report_failures, with_settings
from magistrate.config.settings import read_store_settings
from magistrate.config.settings_table import SETTINGS, Settings
from magistrate.errors import SchemaMismatch

PENDING = 1
"""Sets the exit code of --plan if there is something to apply."""

NOTHING_PENDING = "There is nothing to apply"


@click.command(short_help="Bring the schema of a database up to date.")
@with_settings([setting for setting in SETTINGS if setting.name == "database_url"])
@click.option("--plan", "is_plan", is_flag=True, help="print what would be applied, and change nothing")
@click.option("--json", "as_json", is_flag=True, help="with --plan: print it as JSON, with the statements")
@click.option("--to", metavar="N", type=click.IntRange(min=1), help="stop at schema N; by default at the newest")
def migrate(database_url: str | None, is_plan: bool, as_json: bool, to: int | None) -> None:
    """Create the tables of a database, or bring their schema up to date: completely, or not at all if it fails. There
    is no way back. Services may use the database meanwhile, and afterwards those of older versions as well, as far as
    the plan says so.

    `magistrate serve` does the same when it starts, unless it has --migrate never. The exit code of --plan is 1 if
    there is something to apply, and 0 otherwise."""
    if as_json and not is_plan:
        raise click.UsageError("--json goes with --plan only")
    with report_failures():
        settings = read_store_settings(database_url, os.environ)
        if is_plan:
            sys.exit(_print_plan(settings, to, as_json))
        _migrate(settings, to)


def _migrate(settings: Settings, to: int | None) -> None:
    from magistrate.wiring.stores import MigrationRun, apply_migrations  # takes a moment, which `--help` need not wait

    applied = apply_migrations(settings, MigrationRun(to=to))
    for migration in applied:
        echo(f"Applied {migration.number:04}_{migration.name}")
    if not applied:
        echo(NOTHING_PENDING)


def _print_plan(settings: Settings, to: int | None, as_json: bool) -> int:
    """Returns the exit code. Raises SchemaMismatch if the database cannot be migrated."""
    from magistrate.wiring.stores import MigrationRun, inspect_store, translate_migration  # as above

    plan = inspect_store(settings, MigrationRun(to=to))
    if plan.mismatch is not None:
        raise SchemaMismatch(plan.mismatch)
    if as_json:
        pending = [
            {
                "number": migration.number,
                "name": migration.name,
                "breaksBefore": migration.breaks_before,
                "sql": translate_migration(settings, migration),
            }
            for migration in plan.pending
        ]
        print_json({"schema": plan.version, "known": plan.known, "pending": pending})
    else:
        echo(f"The database has schema {plan.version}, and this version knows {plan.known}")
        rows = [[str(step.number), step.name, str(step.breaks_before)] for step in plan.pending]
        print_table([["NUMBER", "NAME", "BREAKS BEFORE"], *rows] if rows else [[NOTHING_PENDING]])
    return PENDING if plan.pending else 0
