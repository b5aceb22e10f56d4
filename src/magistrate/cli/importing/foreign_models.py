"""Reads and converts models of other products for commands, and reports what is wrong. It is imported where it is used,
because it takes a moment."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from magistrate.cli.importing.foreign_files import ForeignFiles, read_openfga_files, read_spicedb_files
from magistrate.cli.output import echo
from magistrate.cli.service import CommandFailed
from magistrate.engine.importers.conversion import ConvertedModel, convert_model
from magistrate.engine.importers.names import Faults, ForeignRefusal
from magistrate.engine.importers.relationships import RelationshipRefusal
from magistrate.engine.importers.schema import ForeignModel
from magistrate.engine.importers.suites import SuiteReader
from magistrate.engine.importers.texts import Product
from magistrate.engine.testing.suites import ModelSuite
from magistrate.errors import InvalidRequest

ReadFiles = Callable[[Faults], ForeignFiles]
"""Reads a model and relationships, and reports what is wrong with the model."""


class NothingToImport(CommandFailed):
    """Reports that nothing but comments is in the files."""


class GivenFiles(NamedTuple):
    """Holds what files say, and their model in our form."""

    files: ForeignFiles
    model: ForeignModel
    converted: ConvertedModel


def choose_reader(product: Product, paths: Sequence[str], root: Path | None) -> ReadFiles:
    """Returns a function that reads these files; `root` is the folder below which they may name others, besides their
    own."""
    return partial(read_openfga_files if product == "openfga" else read_spicedb_files, paths, root)


def convert_files(read_files: ReadFiles, faults: Faults) -> GivenFiles:
    """Reads files and converts their model. What is wrong is reported at once, and what cannot be expressed. Raises
    CommandFailed if anything is wrong, and NothingToImport if the files are empty."""
    try:
        files = read_files(faults)
        if files.model is None:
            if files.empty and not files.relationships:
                names = ", ".join(map(str, files.empty))
                raise NothingToImport(f"nothing to import: there is nothing but comments in {names}")
            _demand_readable(files)
            raise CommandFailed("none of the files has the model; give it as well, because the names depend on it")
        converted = convert_model(files.model, faults)
    except ForeignRefusal as refusal:
        raise CommandFailed(refusal.describe()) from None
    except InvalidRequest as error:
        raise CommandFailed(error.message) from None
    report_faults(faults.kept)
    if faults.errors:
        raise CommandFailed(f"{count(faults.errors, 'error')} in the model; nothing was written")
    return GivenFiles(files, files.model, converted)


def _demand_readable(files: ForeignFiles) -> None:
    """Raises ForeignRefusal for the first relationship that cannot be read, whatever the model is."""
    for place, relationship in (placed for read in files.relationships for placed in read()):
        if isinstance(relationship, RelationshipRefusal):
            raise ForeignRefusal(place(), relationship.code, relationship.message)


def report_faults(faults: Sequence[ForeignRefusal]) -> None:
    """Prints each fault in one line, in the order of the files."""
    for fault in faults:
        echo(fault.describe(), err=True)


def print_renamings(converted: ConvertedModel, to_errors: bool) -> None:
    """Prints what has another name than before."""
    for renaming in converted.renamings:
        echo(renaming.describe(), err=to_errors)


def count(number: int, word: str) -> str:
    """Returns `1 error` or `2 errors`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def demand_expressible(faults: int, leaves_out: bool) -> None:
    """Raises CommandFailed if there are faults that may not be left out."""
    if faults and not leaves_out:
        message = f"{count(faults, 'fault')} above; nothing was written"
        raise CommandFailed(f"{message}; fix them, or leave them out with --leave-out")


def read_foreign_suite(
    product: Product, path: str, value: Mapping[str, Any], now: int, root: Path | None = None
) -> ModelSuite:
    """Returns the suite of a file with this value, which may name files below `root`. Raises CommandFailed, and
    InvalidRequest with the place of the first fault in the assertions."""
    faults = Faults()
    source = convert_files(choose_reader(product, [path], root), faults)
    if faults.total:
        raise CommandFailed(f"{count(faults.total, 'part')} of the model above cannot be expressed")
    try:
        return SuiteReader(source.model, source.converted, now).read(value, source.files.relationships)
    except ForeignRefusal as refusal:
        raise CommandFailed(refusal.describe()) from None
