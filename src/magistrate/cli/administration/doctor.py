"""Implements `magistrate doctor`, which looks for what is wrong with a service before or while it runs."""

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from magistrate.cli.output import echo, print_json
from magistrate.cli.service import FAILED, report_failures, with_settings
from magistrate.config.settings import adopt_client_key, read_settings
from magistrate.config.settings_table import SETTINGS
from magistrate.errors import InvalidSetting

if TYPE_CHECKING:
    from magistrate.wiring.diagnosis import DoctorFinding

WARNED = 1
"""Sets the exit code if there are warnings, and no errors."""


@click.command(short_help="Look for what is wrong with a service.")
@with_settings(SETTINGS)
@click.option("--json", "as_json", is_flag=True, help="print the findings as JSON")
def doctor(as_json: bool, **flags: Any) -> None:
    """Look for what is wrong, or soon will be: settings that do not fit together, files that others can use, the
    version and clock of the database, space on disk, certificates and keys that expire. Nothing is changed.

    It takes the same settings as `magistrate serve`, and is best run by the same user. The exit code is 0 if nothing is
    wrong, 1 if there are warnings only, and 2 if the service would not start or not work."""
    with report_failures():
        findings = _find(flags)
        errors = sum(finding.level == "error" for finding in findings)
        if as_json:
            _print_as_json(findings, errors)
        else:
            _print(findings, errors)
        sys.exit(FAILED if errors else WARNED if findings else 0)


def _find(flags: dict[str, Any]) -> "list[DoctorFinding]":
    from magistrate.wiring.diagnosis import ERROR, DoctorFinding, diagnose  # importing the server takes a moment

    try:
        settings = adopt_client_key(read_settings(flags, os.environ), os.environ)
    except InvalidSetting as error:
        return [DoctorFinding(ERROR, "settings", error.message, "`magistrate serve --help` lists all settings")]
    return diagnose(settings)


def _print(findings: "list[DoctorFinding]", errors: int) -> None:
    for finding in findings:
        echo(f"{finding.level}: {finding.check}: {finding.message}")
        echo(f"  {finding.remedy}")
    if findings:
        echo(f"errors: {errors}, warnings: {len(findings) - errors}")
    else:
        echo("nothing is wrong")


def _print_as_json(findings: "list[DoctorFinding]", errors: int) -> None:
    rows = [
        {"level": finding.level, "check": finding.check, "message": finding.message, "remedy": finding.remedy}
        for finding in findings
    ]
    print_json({"errors": errors, "warnings": len(findings) - errors, "findings": rows})
