"""Implements `magistrate import`, which loads many rows directly into a store, without a running service."""

import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import TYPE_CHECKING, Any, cast

import click

from magistrate.cli.output import NowAndThen
from magistrate.cli.service import CommandFailed, report_failures, with_settings
from magistrate.cli.warrant_migration import NAMED_ROWS, SAMPLE_SIZE, Move, move
from magistrate.config import MOVING_SETTINGS, SETTINGS, Settings, read_settings
from magistrate.errors import InvalidRequest

if TYPE_CHECKING:
    from magistrate.wiring import Reached

CHUNK_LINES = 10_000
MAX_CHUNK_LINES = 100_000
MAX_SAMPLE_SIZE = 100_000
MAX_NAMED_ROWS = 100_000

ProgressCallback = Callable[["Reached"], None]


@click.command("import", short_help="Load object types, objects and warrants from JSON Lines or a Warrant server.")
@click.argument("path", metavar="[FILE]", type=click.Path(allow_dash=True), required=False)
@with_settings([setting for setting in SETTINGS if setting.name == "database_url"])
@click.option(
    "--chunk",
    "chunk_lines",
    metavar="N",
    type=click.IntRange(1, MAX_CHUNK_LINES),
    default=CHUNK_LINES,
    show_default=True,
    help="the number of lines that are written together, all or none",
)
@click.option(
    "--from-warrant", "origin_url", metavar="URL", help="import everything from the Warrant server at this URL"
)
@with_settings(MOVING_SETTINGS)
@click.option("--skip-refused", is_flag=True, help="with --from-warrant: leave out rows that are refused")
@click.option("--verify-only", is_flag=True, help="with --from-warrant: compare only, write nothing")
@click.option(
    "--sample",
    "sample",
    metavar="N",
    type=click.IntRange(0, MAX_SAMPLE_SIZE),
    help=f"with --from-warrant: the number of checks to make on both servers  [default: {SAMPLE_SIZE}]",
)
@click.option(
    "--differences",
    "differences",
    metavar="N",
    type=click.IntRange(0, MAX_NAMED_ROWS),
    help="with --from-warrant: the number of rows to name of each kind that are missing, extra or other  "
    f"[default: {NAMED_ROWS}]",
)
@click.option("--json", "json", is_flag=True, help="with --verify-only: print the comparison as JSON")
def import_command(path: str | None, database_url: str | None, chunk_lines: int, **moving: Any) -> None:
    """Load FILE (- for standard input) into the database: each line is an object type, an object or a warrant, in the
    JSON of the HTTP API. Services may use the database at the same time.

    Rows that are stored already stay as they are; an object or object type that differs is replaced, and so is a
    warrant with another creation time. An invalid line ends the import: its chunk is not written, the chunks before it
    are. Run the same command again to resume after the last chunk that was written.

    With --from-warrant, load everything that a running Warrant server lists, and then compare every row of both sides,
    and the results of the same checks on both. All rows that are refused are reported, and end the import at their
    chunk unless --skip-refused leaves them out. The exit code is 2 unless everything was copied and all checks
    agree."""
    if (path is None) == (moving["origin_url"] is None):
        raise click.UsageError("give either a FILE or --from-warrant URL")
    if moving["json"] and path is None and not moving["verify_only"]:
        raise click.UsageError("--json goes with --verify-only only")
    with report_failures():
        settings = read_settings({"database_url": database_url}, os.environ)
        if path is None:
            move(_build_move(settings, chunk_lines, **moving))
        elif unfitting := [name for name, value in moving.items() if value is not None and value is not False]:
            raise click.UsageError(f"--{unfitting[0].replace('_', '-')} goes with --from-warrant only")
        else:
            _import_file(path, settings, chunk_lines)


def _build_move(
    settings: Settings,
    chunk_lines: int,
    origin_url: str,
    warrant_api_key: str | None,
    skip_refused: bool,
    verify_only: bool,
    sample: int | None,
    differences: int | None,
    json: bool,
) -> Move:
    size = SAMPLE_SIZE if sample is None else sample
    max_named = NAMED_ROWS if differences is None else differences
    return Move(
        settings, origin_url, warrant_api_key, chunk_lines, skip_refused, verify_only, size, max_named, as_json=json
    )


def _import_file(path: str, settings: Settings, chunk_lines: int) -> None:
    from magistrate import wiring  # importing the server takes a moment, which `--help` need not wait for

    started = time.monotonic()
    with _open_source(path) as (file, source), _report_progress(file, source) as report_progress:
        try:
            reached = wiring.import_file(settings, file, source, chunk_lines, report_progress)
        except InvalidRequest as error:
            raise CommandFailed(_describe_line(error, path, source)) from error
    click.echo(_summary(reached, time.monotonic() - started))


@contextmanager
def _open_source(path: str) -> Iterator[tuple[BufferedReader, str | None]]:
    """Opens the file, and yields it with the name that identifies its import, or None if it cannot be read again."""
    if path == "-":
        yield cast(BufferedReader, sys.stdin.buffer), None
        return
    with open(path, "rb") as file:
        is_regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        name = os.fsencode(os.path.realpath(path)).decode(errors="backslashreplace")
        yield file, name if is_regular else None


@contextmanager
def _report_progress(file: BufferedReader, source: str | None) -> Iterator[ProgressCallback]:
    """Yields a callback that reports the progress after each chunk on stderr: as a bar on a terminal, otherwise as
    occasional lines."""
    size_bytes = os.fstat(file.fileno()).st_size if source is not None else 0
    if not size_bytes or not sys.stderr.isatty():
        yield _report_lines(size_bytes)
        return
    with click.progressbar(length=size_bytes, label="Importing", file=sys.stderr) as bar:

        def print_progress(reached: "Reached") -> None:
            if reached.lines == reached.first - 1:
                _report_resumption(reached)
            bar.update(reached.size_bytes - bar.pos)

        yield print_progress


def _report_lines(size_bytes: int) -> ProgressCallback:
    now_and_then = NowAndThen()

    def print_progress(reached: "Reached") -> None:
        if reached.lines == reached.first - 1:
            _report_resumption(reached)
        elif now_and_then.is_due():
            share = f" ({reached.size_bytes / size_bytes:.0%})" if size_bytes else ""
            click.echo(f"{reached.lines:,} lines are stored{share}", err=True)

    return print_progress


def _report_resumption(reached: "Reached") -> None:
    if reached.lines:
        click.echo(f"Resuming at line {reached.first:,}: those before it are stored", err=True)


def _describe_line(error: InvalidRequest, path: str, source: str | None) -> str:
    name = "standard input" if path == "-" else path
    how = (
        "run the same command again to resume at its chunk" if source is not None else "the chunks before it are stored"
    )
    return f"{name}, {error.message.removesuffix('.')}; fix the line; {how}"


def _summary(reached: "Reached", seconds: float) -> str:
    lines, imported = reached.lines - reached.first + 1, reached.imported
    return (
        f"{lines:,} lines in {seconds:.1f} s ({lines / max(seconds, 0.001):,.0f} lines/s); new or changed: "
        f"{imported.types:,} object types, {imported.objects:,} objects, {imported.warrants:,} warrants"
    )
