"""Reads the test files of OpenFGA and SpiceDB for `magistrate model test`. It is imported where it is used, because it
takes a moment."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from magistrate.cli.foreign_models import Product, choose_reader, convert_files, count, describe_refusal
from magistrate.cli.service import CommandFailed
from magistrate.engine.foreign.names import Faults, ForeignRefusal
from magistrate.engine.foreign.suites import SuiteReader
from magistrate.engine.model_tests.suite import ModelSuite


def read_foreign_suite(
    product: Product, path: str, value: Mapping[str, Any], now: int, root: Path | None = None
) -> ModelSuite:
    """Returns the suite of a file with this value, which may name files below `root`. Raises CommandFailed, and
    InvalidRequest with the place of the first fault in the assertions."""
    faults = Faults()
    given = convert_files(choose_reader(product, [path], root), faults)
    if faults.total:
        raise CommandFailed(f"{count(faults.total, 'part')} of the model above cannot be expressed")
    try:
        return SuiteReader(given.model, given.converted, now).read(value, given.files.relationships)
    except ForeignRefusal as refusal:
        raise CommandFailed(describe_refusal(refusal)) from None
