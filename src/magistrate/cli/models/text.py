"""Implements `magistrate model`, which formats, checks, converts and shows models as text (docs/models.md)."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from magistrate.cli.input import as_of_option, read_as_of, read_json
from magistrate.cli.models.named_files import root_option
from magistrate.cli.output import echo, echo_exactly, print_json, print_result
from magistrate.cli.service import CommandFailed, calls_service, report_failures
from magistrate.errors import InvalidRequest
from magistrate.terminal import printable_lines

if TYPE_CHECKING:
    from magistrate.client import Client
    from magistrate.engine.text.document import ModelDocument
    from magistrate.engine.text.faults import ModelFault
    from magistrate.engine.text.reports import ModelReport

# The modules of engine.text are imported where they are used: they take a moment, which `--help` need not wait
# for.

LINT_FAILED = 1
"""Sets the exit code of `lint` when there are errors, and of `fmt --check` when a file is not in the usual layout."""

FORMATS = ("text", "json")
PRODUCTS = ("openfga", "spicedb")
ORIGINS = (*FORMATS, *PRODUCTS)

files_argument = click.argument("files", metavar="FILE…", nargs=-1, required=True, type=click.Path())


@click.group(short_help="Format, check and convert models as text.")
def model() -> None:
    """Format, check, convert and show models: object types with their rules, and policies, as text or JSON."""


@model.command(short_help="Write models in the usual layout.")
@files_argument
@click.option("--check", is_flag=True, help="change nothing; the exit code is 1 if a file is not in the usual layout")
def fmt(files: Sequence[str], check: bool) -> None:
    """Write each FILE in the usual layout, in place; for - read standard input, and write standard output. Comments
    stay where they are, and the meaning does not change."""
    with report_failures():
        changed = [file for file in files if _format_file(file, check)]
        if changed and check:
            sys.exit(LINT_FAILED)


def _format_file(file: str, check: bool) -> bool:
    """Formats a file, or only looks at it; returns whether its layout is another one, and prints its name then."""
    from magistrate.engine.text.parser import parse_model
    from magistrate.engine.text.rendering import format_model
    from magistrate.engine.text.reports import is_json

    text = read_file(file)
    if is_json(text):
        raise CommandFailed(f"{file} is JSON; `magistrate model convert {file}` writes it as text")
    parsed = parse_model(text)
    demand_no_errors(file, parsed.text, parsed.faults)
    formatted = format_model(parsed)
    if file == "-" and not check:
        echo_exactly(formatted)
    elif formatted != text:
        if not check:
            Path(file).write_text(formatted, encoding="utf-8", newline="\n")
        echo(file)
    return formatted != text


@model.command(short_help="Find mistakes in models.")
@files_argument
@click.option("--strict", is_flag=True, help="fail if there are warnings, too")
@click.option("--json", "as_json", is_flag=True, help="print the findings as JSON")
def lint(files: Sequence[str], strict: bool, as_json: bool) -> None:
    """Find mistakes in each FILE (- for standard input), as text or JSON: what cannot be read, names that do not exist,
    relations that nobody can get, rules without effect. The exit code is 1 if there are errors, with --strict also if
    there are warnings."""
    from magistrate.engine.text.faults import describe_fault

    with report_failures():
        faults_of_files: list[tuple[str, ModelFault]] = []
        for file in files:
            text = read_file(file)
            faults = report_model(file, text).list_faults()
            faults_of_files += [(file, fault) for fault in faults]
            if not as_json:
                for fault in faults:
                    echo(describe_fault(text, fault, file))
        errors = [_render_fault(file, fault) for file, fault in faults_of_files if fault.is_error]
        warnings = [_render_fault(file, fault) for file, fault in faults_of_files if not fault.is_error]
        if as_json:
            print_json({"valid": not errors, "errors": errors, "warnings": warnings})
        elif faults_of_files:
            echo(f"{_count(errors, 'error')}, {_count(warnings, 'warning')}", err=True)
        if errors or (strict and warnings):
            sys.exit(LINT_FAILED)


def _count(faults: Sequence[object], word: str) -> str:
    return f"{len(faults)} {word}{'' if len(faults) == 1 else 's'}"


def _render_fault(file: str, fault: "ModelFault") -> dict[str, Any]:
    return {"file": file, **fault.render()}


@model.command(short_help="Convert a model from text to JSON, or back, or from another product.")
@click.argument("file", type=click.Path())
@click.option(
    "--from", "origin", type=click.Choice(ORIGINS), help="the format of FILE; by default detected by its content"
)
@click.option(
    "--to",
    "target",
    type=click.Choice(FORMATS),
    help="the format to write; by default JSON for text, and text for all others",
)
@click.option("--leave-out", "leaves_out", is_flag=True, help="leave out what cannot be expressed in another product")
@root_option
def convert(file: str, origin: str | None, target: str | None, leaves_out: bool, root: Path | None) -> None:
    """Print the model in FILE (- for standard input) in the other form: text as JSON, JSON as text, and a model of
    OpenFGA or SpiceDB as text. What of such a model cannot be expressed is reported, a line each, and so is what gets
    another name."""
    from magistrate.engine.text.document import exact_document
    from magistrate.engine.text.rendering import render_model
    from magistrate.engine.text.reports import render_json

    with report_failures():
        text = "" if origin in PRODUCTS else read_file(file)
        origin = origin or _guess_origin(file, text)
        if origin in PRODUCTS:
            document = _convert_foreign(origin, file, leaves_out, root)
        else:
            report = report_model(file, text, origin == "json")
            demand_no_errors(file, text, report.errors)
            document = report.document
        if (target or {"text": "json"}.get(origin, "text")) == "json":
            print_json(render_json(document))
        else:
            _print_text(render_model(exact_document(document)))


def _guess_origin(file: str, text: str) -> str:
    from magistrate.engine.importers.texts import guess_product
    from magistrate.engine.text.reports import is_json

    if Path(file).name == "fga.mod":
        return "openfga"
    return guess_product(text) or ("json" if is_json(text) else "text")


def _convert_foreign(origin: str, file: str, leaves_out: bool, root: Path | None) -> "ModelDocument":
    from magistrate.cli.importing.foreign_models import (
        choose_reader,
        convert_files,
        demand_expressible,
        print_renamings,
    )
    from magistrate.engine.importers.names import Faults

    if file == "-":
        raise CommandFailed("give a model of another product as a FILE, not on standard input")
    faults = Faults()
    source = convert_files(choose_reader("openfga" if origin == "openfga" else "spicedb", [file], root), faults)
    demand_expressible(faults.total, leaves_out)
    print_renamings(source.converted, to_errors=True)
    return source.converted.document


@model.command(short_help="Show the model of the service as text.")
@as_of_option
@calls_service
def show(client: "Client", as_json: bool, as_of: str | None) -> None:
    """Show all object types and policies of the service, as text; with --json in the form of the API."""
    stored = client.get_model(read_as_of(as_of))
    print_result(stored, as_json, lambda: _print_text(render_stored_model(stored)))


def _print_text(text: str) -> None:
    """Prints the text of a model, and says so if it has characters that had to be escaped: a model with them is another
    one."""
    if printable_lines(text) != text:
        echo("The text has characters that terminals obey; they are written as escapes, and only --json has them", True)
    echo(text, nl=False)


def render_stored_model(model: dict[str, Any]) -> str:
    """Returns the text of a model of the service. Raises CommandFailed if it has something that this version cannot
    read: a text without that would delete it when it is applied."""
    from magistrate.engine.text.rendering import render_model
    from magistrate.engine.text.reports import report_value

    report = report_value(model, "")
    if report.errors:
        raise CommandFailed(f"the model of the service cannot be written as text: {report.errors[0].describe()}")
    return render_model(report.document)


def read_file(file: str) -> str:
    """Returns the text of a file without a byte order mark; line ends stay as they are. Raises InvalidRequest if it is
    not UTF-8."""
    content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{_name_file(file)} is not valid UTF-8") from error


def _name_file(file: str) -> str:
    return "standard input" if file == "-" else file


def report_model(file: str, text: str, as_json: bool | None = None) -> "ModelReport":
    """Returns the model of the text in a file, whose content says whether it is JSON unless the caller does."""
    from magistrate.engine.text.reports import is_json, report_text, report_value

    if is_json(text) if as_json is None else as_json:
        return report_value(read_json(text, _name_file(file)), text)
    return report_text(text)


def demand_no_errors(file: str, text: str, errors: Sequence["ModelFault"]) -> None:
    """Prints the errors in a file. Raises CommandFailed if there are any."""
    from magistrate.engine.text.faults import describe_fault

    if errors:
        for fault in errors:
            echo(describe_fault(text, fault, file), err=True)
        raise CommandFailed(f"{file} cannot be read as a model: {_count(errors, 'error')}")
