"""Implements `magistrate import`, which loads many rows directly into a store, without a running service."""

import os
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from magistrate.cli.importing.warrant_migration import NAMED_ROWS, SAMPLE_SIZE, Move, describe_imported, move
from magistrate.cli.models.named_files import root_option
from magistrate.cli.output import NowAndThen, echo
from magistrate.cli.service import INTERRUPTED, CommandFailed, report_failures, with_settings
from magistrate.config.settings import ImportTarget, read_named_store, read_store_settings
from magistrate.config.settings_table import MOVING_SETTINGS, SETTINGS, STORE_SETTING
from magistrate.errors import InvalidRequest

if TYPE_CHECKING:
    from magistrate.cli.importing.foreign_import import ImportLines
    from magistrate.engine.importers.texts import Product
    from magistrate.wiring.maintenance import Reached

CHUNK_LINES = 10_000
MAX_CHUNK_LINES = 100_000
MAX_SAMPLE_SIZE = 100_000
MAX_NAMED_ROWS = 100_000

ProgressCallback = Callable[["Reached"], None]


@click.command("import", short_help="Load everything from JSON Lines, OpenFGA, SpiceDB or a Warrant server.")
@click.argument("paths", metavar="[FILE]...", nargs=-1, type=click.Path(allow_dash=True))
@with_settings([*(setting for setting in SETTINGS if setting.name in ("database_url", "migrate")), STORE_SETTING])
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
    help="with --from-warrant, and --from-openfga-url with --store: the number of checks to make on both servers  "
    f"[default: {SAMPLE_SIZE}]",
)
@click.option(
    "--differences",
    "differences",
    metavar="N",
    type=click.IntRange(0, MAX_NAMED_ROWS),
    help="with --from-warrant: the number of rows to name of each kind that are missing, extra or other  "
    f"[default: {NAMED_ROWS}]",
)
@click.option("--from-openfga", "from_openfga", is_flag=True, help="the FILEs are those of OpenFGA")
@click.option("--from-spicedb", "from_spicedb", is_flag=True, help="the FILEs are those of SpiceDB")
@click.option(
    "--from-openfga-url",
    "openfga_url",
    metavar="URL",
    help="import everything from this store of a running OpenFGA, as in http://127.0.0.1:8080/stores/01J...; with "
    "--store, make that store, for its API",
)
@click.option(
    "--openfga-token",
    "openfga_token",
    metavar="TOKEN",
    envvar="FGA_API_TOKEN",
    help="the token for the API of OpenFGA; better in the environment variable FGA_API_TOKEN",
)
@click.option(
    "--leave-out",
    "leaves_out",
    is_flag=True,
    help="with --from-openfga or --from-spicedb: leave out what is wrong or cannot be expressed",
)
@click.option("--json", "json", is_flag=True, help="with --verify-only: print the comparison as JSON")
@root_option
def import_command(
    paths: tuple[str, ...],
    database_url: str | None,
    migrate: str | None,
    store: str | None,
    chunk_lines: int,
    from_openfga: bool,
    from_spicedb: bool,
    openfga_url: str | None,
    openfga_token: str | None,
    leaves_out: bool,
    root: Path | None,
    **moving: Any,
) -> None:
    """Load FILE (- for standard input) into the database: each line is an object type, a named policy, an object or a
    warrant, in the JSON of the HTTP API. Services may use the database at the same time.

    Rows that are stored already stay as they are; an object, object type or policy that differs is replaced, and so is
    a warrant with another creation time. An invalid line ends the import: its chunk is not written, the chunks before
    it are. Run the same command again to resume after the last chunk that was written.

    Of a test file, whose name ends in .yaml or .yml, the model and the warrants of its setup are loaded.

    With --from-openfga or --from-spicedb, the FILEs are a model and relationships of that product; with
    --from-openfga-url, the newest model and all tuples are read from the API of OpenFGA. What is wrong or cannot be
    expressed is reported, a line each, and nothing is written unless --leave-out says so; what gets another name is
    printed.

    With --from-openfga-url and --store, make that store, with all models, their ids, assertions and tuples, so that the
    SDKs of OpenFGA go on with this service; then read all tuples back, and make the same checks on both. The exit code
    is 2 unless all of it is the same.

    With --from-warrant, load everything that a running Warrant server lists, and then compare every row of both sides,
    and the results of the same checks on both. All rows that are refused are reported, and end the import at their
    chunk unless --skip-refused leaves them out. The exit code is 2 unless everything was copied and all checks
    agree."""
    products = [from_openfga or openfga_url is not None, from_spicedb]
    if paths and openfga_url:
        raise click.UsageError("give either a FILE or --from-openfga-url URL")
    if all(products):
        raise click.UsageError("give either --from-openfga or --from-spicedb")
    _check_arguments(
        [*paths, *([openfga_url] if openfga_url else [])],
        any(products),
        leaves_out,
        moving,
        samples=openfga_url is not None,
    )
    with report_failures():
        settings, started = read_store_settings(database_url, os.environ, migrate), time.monotonic()
        target = ImportTarget(settings, chunk_lines, read_named_store(store, os.environ))
        import_lines = partial(_import_lines, target)
        reached: Reached | None = None
        if openfga_url is not None and target.store:
            _move_openfga_store(openfga_url, openfga_token, target, moving["sample"], leaves_out=leaves_out)
        elif openfga_url is not None:
            if moving["sample"] is not None:
                raise click.UsageError("--sample goes with --from-openfga-url and --store only")
            reached = _import_openfga_store(openfga_url, openfga_token, import_lines, leaves_out)
        elif any(products):
            product: Product = "spicedb" if from_spicedb else "openfga"
            reached = _import_foreign(product, paths, root, import_lines, leaves_out=leaves_out)
        elif paths and Path(paths[0]).suffix.lower() in (".yaml", ".yml"):
            reached = _import_test_file(paths[0], root, import_lines)
        elif paths:
            reached = _import_file(paths[0], target)
        else:
            move(Move(target, **moving))
        if reached is not None:
            echo(_summary(reached, time.monotonic() - started))


def _check_arguments(
    origins: Sequence[str], is_foreign: bool, leaves_out: bool, moving: Mapping[str, Any], samples: bool
) -> None:
    """Raises click.UsageError for options that do not go together. `origins` are the files and the URL of OpenFGA, and
    `samples` says whether `--sample` goes with them."""
    if bool(origins) == (moving["origin_url"] is not None):
        raise click.UsageError("give either a FILE or --from-warrant URL")
    if len(origins) > 1 and not is_foreign:
        raise click.UsageError("several FILEs go with --from-openfga and --from-spicedb only")
    if leaves_out and not is_foreign:
        raise click.UsageError("--leave-out goes with --from-openfga and --from-spicedb only")
    if moving["json"] and not origins and not moving["verify_only"]:
        raise click.UsageError("--json goes with --verify-only only")
    unfitting = [name for name, value in moving.items() if value is not None and value is not False]
    unfitting = [name for name in unfitting if name != "sample" or not samples]
    if origins and unfitting:
        raise click.UsageError(f"--{unfitting[0].replace('_', '-')} goes with --from-warrant only")


def _import_file(path: str, target: ImportTarget) -> "Reached":
    # importing the server takes a moment, which `--help` need not wait for
    from magistrate.wiring.maintenance import import_file

    with _open_source(path) as (file, source), _report_progress(file, source) as report_progress:
        try:
            return import_file(target, file, source, report=report_progress)
        except InvalidRequest as error:
            raise CommandFailed(_describe_line(error, path, source)) from error


def _import_foreign(
    product: "Product", paths: tuple[str, ...], root: Path | None, import_lines: "ImportLines", leaves_out: bool
) -> "Reached | None":
    """Returns None if there is nothing to import, and says so."""
    from magistrate.cli.importing.foreign_import import import_foreign
    from magistrate.cli.importing.foreign_models import NothingToImport, choose_reader

    try:
        return import_foreign(choose_reader(product, paths, root), leaves_out, import_lines)
    except NothingToImport as nothing:
        echo(nothing.message)
        return None


def _import_test_file(path: str, root: Path | None, import_lines: "ImportLines") -> "Reached":
    from magistrate.cli.importing.foreign_import import import_setup

    return import_setup(path, root, import_lines)


def _import_openfga_store(url: str, token: str | None, import_lines: "ImportLines", leaves_out: bool) -> "Reached":
    from magistrate.cli.importing.foreign_import import import_foreign
    from magistrate.cli.importing.openfga_server import connect_openfga

    with connect_openfga(url, token) as read_store:
        return import_foreign(read_store, leaves_out, import_lines)


def _move_openfga_store(
    url: str, token: str | None, target: ImportTarget, sample: int | None, leaves_out: bool
) -> None:
    from magistrate.cli.importing.openfga_store import OpenFgaOrigin, move_openfga_store

    move_openfga_store(OpenFgaOrigin(url, token, leaves_out, SAMPLE_SIZE if sample is None else sample), target)


def _import_lines(target: ImportTarget, file: BufferedReader) -> "Reached":
    from magistrate.wiring.maintenance import import_file

    with _report_progress(file, None) as report_progress:
        return import_file(target, file, None, report=report_progress)


@contextmanager
def _open_source(path: str) -> Iterator[tuple[BufferedReader, str | None]]:
    """Opens the file, and yields it with the name that identifies its import, or None if it cannot be read again."""
    if path == "-":
        # Lines are read in a thread, for which Python would wait at its end, and nothing ends a read. What is being
        # written is undone, as after any other end of the process.
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
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
            echo(f"{reached.lines:,} lines are stored{share}", err=True)

    return print_progress


def _report_resumption(reached: "Reached") -> None:
    if reached.lines:
        echo(f"Resuming at line {reached.first:,}: those before it are stored", err=True)


def _describe_line(error: InvalidRequest, path: str, source: str | None) -> str:
    name = "standard input" if path == "-" else path
    how = (
        "run the same command again to resume at its chunk" if source is not None else "the chunks before it are stored"
    )
    return f"{name}, {error.message.removesuffix('.')}; fix the line; {how}"


def _summary(reached: "Reached", seconds: float) -> str:
    lines = reached.lines - reached.first + 1
    return (
        f"{lines:,} lines in {seconds:.1f} s ({lines / max(seconds, 0.001):,.0f} lines/s); new or changed: "
        f"{describe_imported(reached)}"
    )
