"""Implements `magistrate import --from-openfga` and `--from-spicedb`, and the import of test files.

Everything is converted to lines in a temporary file first. Only if nothing is wrong, or what is wrong may be left out,
the lines are imported like any others."""

from collections.abc import Callable
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from magistrate.cli.importing.foreign_models import (
    GivenFiles,
    ReadFiles,
    convert_files,
    count,
    demand_expressible,
    print_renamings,
)
from magistrate.cli.output import echo
from magistrate.cli.service import CommandFailed
from magistrate.engine.importers.conversion import ConvertedModel
from magistrate.engine.importers.names import Faults, ForeignRefusal
from magistrate.engine.importers.relationships import RelationshipConverter, RelationshipRefusal
from magistrate.engine.text.faults import MAX_FAULTS
from magistrate.engine.text.json_documents import render_body
from magistrate.errors import InvalidRequest
from magistrate.temporary_files import find_temporary_folder, open_temporary_file, writing_to

if TYPE_CHECKING:
    from magistrate.wiring.maintenance import Reached

PURPOSE = "this import needs"

ImportLines = Callable[[BufferedReader], "Reached"]
"""Imports the lines of a file."""


def import_foreign(read_files: ReadFiles, leaves_out: bool, import_lines: ImportLines) -> "Reached":
    """Converts what is read and imports it. Raises CommandFailed, and writes nothing, if anything is wrong or cannot be
    expressed and may not be left out."""
    find_temporary_folder(PURPOSE)  # rather than when everything was read
    faults = Faults()
    source = convert_files(read_files, faults)
    for path in source.files.empty:
        echo(f"{path}: nothing to import", err=True)
    with open_temporary_file(PURPOSE) as spool:
        try:
            with writing_to(spool):
                _write_model(source.converted, spool)
                refused = _write_relationships(source, spool, leaves_out)
        except ForeignRefusal as refusal:
            raise CommandFailed(refusal.describe()) from None
        except InvalidRequest as error:
            raise CommandFailed(f"{error.message}; nothing was written") from None
        demand_expressible(faults.total + refused, leaves_out)
        print_renamings(source.converted, to_errors=False)
        if faults.total + refused:
            echo(f"{count(faults.total + refused, 'fault')} above: left out", err=True)
        return _import_spool(spool, import_lines)


def import_setup(path: str, root: Path | None, import_lines: ImportLines) -> "Reached":
    """Imports the model and the warrants of a test file of ours, which may name its model below `root`. Raises
    CommandFailed, and writes nothing, if anything in the file is wrong."""
    from magistrate.cli.models.tests import find_product, read_test_file, read_value
    from magistrate.engine.testing.suites import list_setup_lines

    product = find_product(read_value(path))
    if product is not None:
        raise CommandFailed(f"{path} is a test file of another product; add --from-{product}")
    suite = read_test_file(path, root=root)
    with open_temporary_file(PURPOSE) as spool:
        encoder = msgspec.json.Encoder()
        with writing_to(spool):
            spool.writelines(encoder.encode(line) + b"\n" for line in list_setup_lines(suite))
        return _import_spool(spool, import_lines)


def _import_spool(spool: BinaryIO, import_lines: ImportLines) -> "Reached":
    spool.seek(0)
    with open(spool.fileno(), "rb", closefd=False) as lines:
        try:
            return import_lines(lines)
        except InvalidRequest as error:
            message = error.message.partition(": ")[2] if error.message.startswith("line ") else error.message
            raise CommandFailed(f"{message}; what was imported before it is stored") from error


def _write_model(converted: ConvertedModel, spool: BinaryIO) -> None:
    encoder, model = msgspec.json.Encoder(), render_body(converted.document)
    for body in (*model.policies, *model.object_types):
        spool.write(encoder.encode(body) + b"\n")


def _write_relationships(source: GivenFiles, spool: BinaryIO, names_all: bool) -> int:
    """Writes a line for each relationship, and returns how many are wrong; the first 100 are named, or all."""
    refused = 0
    converter = RelationshipConverter(source.model, source.converted)
    for read in source.files.relationships:
        for place, relationship in read():
            try:
                if isinstance(relationship, RelationshipRefusal):
                    raise relationship
                spool.write(converter.convert(relationship))
            except RelationshipRefusal as refusal:
                refused += 1
                if names_all or refused <= MAX_FAULTS:
                    echo(ForeignRefusal(place(), refusal.code, refusal.message).describe(), err=True)
                elif refused == MAX_FAULTS + 1:
                    echo("further relationships are wrong; --leave-out names all", err=True)
    return refused
