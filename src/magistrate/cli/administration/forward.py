"""Implements `magistrate forward`, which tests the rules of forward authorization, without a service
(docs/gateways.md)."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from magistrate.cli.output import echo, print_json
from magistrate.cli.service import report_failures
from magistrate.terminal import printable

if TYPE_CHECKING:
    from magistrate.engine.forwarding.rules import Resolution

# The engine is imported where it is used: it takes a moment, which `--help` need not wait for.

REQUESTS_FAILED = 1
"""Sets the exit code if a request has another result than the one that was expected."""


@click.group(short_help="Test the rules for gateways.")
def forward() -> None:
    """Test the rules by which the requests of gateways become checks, which a service with --forward-rules applies."""


@forward.command("test", short_help="Show what rules say about requests.")
@click.argument("file", metavar="FILE", type=click.Path())
@click.argument("requests", metavar="[REQUEST]…", nargs=-1)
@click.option("--as", "subject_id", default="", metavar="ID", help="the id in the header of the identity")
def test_rules(file: str, requests: Sequence[str], subject_id: str) -> None:
    """Validate the rules in FILE, and show which of them decides each REQUEST, written as in
    'GET https://docs.example/documents/plan'. The path is taken as it is written, percent-encoding included.

    With an expected result, as in 'GET https://docs.example/documents/plan -> document:plan#viewer', the exit code is 1
    if a result differs. The other results are anyone, authenticated and 403."""
    from magistrate.engine.forwarding.written_requests import read_written_request, render_resolution
    from magistrate.wiring.rule_files import read_rule_file

    with report_failures():
        table = read_rule_file(file)
        written_requests = [read_written_request(text) for text in requests]
        has_failed = False
        for written in written_requests:
            resolution = written.apply_rules(table, subject_id)
            result = render_resolution(resolution)
            request = printable(f"{written.method} {written.host}{written.target}")
            failed = (
                "" if written.expected in (None, result) else f"FAILED, expected {printable(written.expected or '')}: "
            )
            has_failed = has_failed or bool(failed)
            echo(f"{failed}{request}: {printable(result)} ({describe_reason(resolution)})")
        if not written_requests:
            echo(f"{printable(file)}: {len(table.rules)} rules are valid")
        if has_failed:
            sys.exit(REQUESTS_FAILED)


@forward.command("schema", short_help="Print the JSON Schema of rules.")
def print_schema() -> None:
    """Print the JSON Schema of files of rules, with which editors complete and check them."""
    from magistrate.engine.forwarding.rule_files import build_schema

    print_json(build_schema())


def describe_reason(resolution: "Resolution") -> str:
    """Returns which rule decided, and why it refused a request if it did."""
    rule = f"rule {resolution.place}, line {resolution.line}" if resolution.place else ""
    return "; ".join(filter(None, (rule, resolution.reason)))
