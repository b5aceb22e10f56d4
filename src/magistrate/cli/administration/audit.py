"""Implements `magistrate audit`, which verifies audit logs."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

import click

from magistrate.cli.output import echo, print_json, print_table
from magistrate.cli.service import CommandFailed, report_failures

if TYPE_CHECKING:
    from magistrate.api.audit.chain import ChainVerifier, SealedLine

MAX_FAULTS = 20
"""Limits the faults that are printed."""


@click.group(short_help="Verify audit logs.")
def audit() -> None:
    """Verify audit logs, which a service with --audit-log writes."""


@audit.command(short_help="Verify that the lines of an audit log are complete and unchanged.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.File("rb"))
@click.option("--tail", is_flag=True, help="the lines at the beginning may be missing: older files are not given")
@click.option("--includes", metavar="HASH", help="fail unless a line has this hash, as noted after an earlier run")
@click.option("--json", "as_json", is_flag=True, help="print the result as JSON")
def verify(files: tuple[BinaryIO, ...], tail: bool, includes: str | None, as_json: bool) -> None:
    """Verify that no line of the files, given in the order in which they were written, was changed, removed, added or
    moved; - is standard input.

    Anyone who can write the files can replace the log with one that verifies. Therefore keep the last hash, which is
    printed, somewhere else, and pass it with --includes the next time: this shows that everything up to that line is
    unchanged."""
    from magistrate.api.audit.chain import (
        ChainVerifier,  # decoding JSON takes a moment to import, for this command alone
    )

    with report_failures():
        verifier = ChainVerifier(may_begin_late=tail)
        watch = _HashWatch(includes)
        faults = [*islice(_verify_all(verifier, files, watch), MAX_FAULTS)]
        if faults:
            raise CommandFailed("\n".join(["the audit log is not as it was written:", *faults]), "audit_failed")
        if includes and not watch.is_included:
            raise CommandFailed(f"no line has the hash {includes}: lines were removed or replaced", "audit_failed")
        _print_result(verifier, as_json)


class _HashWatch:
    """Looks for the line with a hash."""

    def __init__(self, last_hash: str | None) -> None:
        self._suffix = None if last_hash is None else f'"hash":"{last_hash}"}}'.encode()
        self.is_included = False

    def observe(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        for line in lines:
            if self._suffix is not None and line.rstrip(b"\n").endswith(self._suffix):
                self.is_included = True
            yield line


def _verify_all(verifier: "ChainVerifier", files: tuple[BinaryIO, ...], watch: _HashWatch) -> Iterator[str]:
    for file in files:
        for number, fault in verifier.verify(watch.observe(iter(file))):
            yield f"{file.name}, line {number}: {fault}"


def _print_result(verifier: "ChainVerifier", as_json: bool) -> None:
    ends = list(verifier.last_lines.values())
    if as_json:
        chains = [{"chain": end.link.chain, "sequence": end.link.sequence, "hash": end.hash} for end in ends]
        print_json({"records": verifier.records, "chains": chains})
        return
    echo(f"{verifier.records} records are as they were written")
    if ends:
        print_table([["CHAIN", "LAST RECORD", "LAST HASH"], *map(_render_end, ends)])


def _render_end(last: "SealedLine") -> list[str]:
    return [last.link.chain, str(last.link.sequence), last.hash]
