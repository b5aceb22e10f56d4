"""Implements `magistrate model test`, which runs test files in process, without a service (docs/model-testing.md)."""

import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, tostring

import click

from magistrate.cli.checks.reasons import describe_denial, step
from magistrate.cli.models.named_files import find_named_file, root_option
from magistrate.cli.output import align_columns, echo
from magistrate.cli.service import CommandFailed, report_failures
from magistrate.errors import InvalidRequest
from magistrate.terminal import printable

if TYPE_CHECKING:
    from magistrate.engine.importers.texts import Product
    from magistrate.engine.testing.coverage import ModelCoverage
    from magistrate.engine.testing.suite_run import AssertionOutcome
    from magistrate.engine.testing.suites import ModelSuite


@dataclass(slots=True)
class FileResults:
    """Holds the names of the assertions of a test file, and the lines on each that failed, by its place."""

    file: str
    names: list[str] = field(default_factory=list)
    failures: dict[int, list[str]] = field(default_factory=dict)
    seconds: float = 0.0


def write_junit(files: Iterable[FileResults]) -> bytes:
    """Returns the document: a suite for each file, a case for each assertion."""
    root = Element("testsuites")
    for results in files:
        counts = {"tests": str(len(results.names)), "failures": str(len(results.failures)), "errors": "0"}
        suite = SubElement(root, "testsuite", {"name": results.file, **counts, "time": f"{results.seconds:.3f}"})
        for place, name in enumerate(results.names):
            case = SubElement(suite, "testcase", {"classname": results.file, "name": printable(name)})
            if place in results.failures:
                first, *others = map(printable, results.failures[place])
                SubElement(case, "failure", {"message": first}).text = "\n".join([first, *others])
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document


# The engine is imported where it is used: it takes a moment, which `--help` need not wait for.

TESTS_FAILED = 1
"""Sets the exit code if an assertion failed."""

SUFFIXES = (".test.yaml", ".fga.yaml", ".validation.yaml")
"""Lists the ends of the names of test files."""

_MODEL = re.compile(r"^model(?:_file)?:.*\n(?:[ \t].*\n|[ \t]*\n)*", re.MULTILINE)
"""Matches the model of a test file in YAML, up to the next member."""

_OPENFGA_MODEL = re.compile(r"\s*(?:#[^\n]*\n\s*)*model\s+schema\b")
_OPENFGA_FILES = (".fga", "fga.mod")
_OPENFGA_MEMBERS = ("list_objects", "list_users", "tuples")

MAX_FILE_BYTES = 4_194_304
"""Limits a test file, and each file that it names (4 MiB)."""


@click.command("test", short_help="Test models.")
@click.argument("files", metavar="FILE…", nargs=-1, required=True, type=click.Path())
@click.option("--junit", metavar="OUT", type=click.Path(), help="write the results to this file, too, as JUnit XML")
@click.option("--model", metavar="MODEL", type=click.Path(), help="the file of the model, for test files without one")
@click.option("--coverage", is_flag=True, help="print the relations and rules of the model that no test reached")
@root_option
def run_tests(files: Sequence[str], junit: str | None, model: str | None, coverage: bool, root: Path | None) -> None:
    """Run the tests in each FILE (- for standard input): YAML with a model, warrants, and checks and queries with
    their expected results. Store files of OpenFGA and validation files of SpiceDB are run, too. A folder stands for all
    files in it whose names end in .test.yaml, .fga.yaml or .validation.yaml. No service is needed, and nothing is
    written.

    Each test that fails is printed with the reason. The exit code is 1 if one failed, and 2 if a file cannot be
    read."""
    with report_failures():
        suites = [(file, read_test_file(file, model, root)) for file in _list_files(files)]
        tested = [_run_file(file, suite) for file, suite in suites]
        if junit is not None:
            Path(junit).write_bytes(write_junit(tested))
        if coverage:
            _print_coverage([suite for _, suite in suites])
        failed = sum(len(results.failures) for results in tested)
        echo(f"{sum(len(results.names) for results in tested) - failed} passed, {failed} failed")
        if failed:
            sys.exit(TESTS_FAILED)


def _list_files(files: Sequence[str]) -> Iterator[str]:
    for file in files:
        if Path(file).is_dir():
            yield from sorted(str(path) for path in Path(file).rglob("*.yaml") if path.name.endswith(SUFFIXES))
        else:
            yield file


def read_test_file(file: str, model: str | None = None, root: Path | None = None) -> "ModelSuite":
    """Returns the suite of a file, whatever its format; it may name files below `root`, besides those in its own
    folder. Raises CommandFailed or OSError."""
    from magistrate.engine.testing.suites import GivenModel, read_suite

    path = Path(file)
    value = read_value(file)
    now = time.time_ns() // 1_000
    product = find_product(value)
    try:
        if product is not None and isinstance(value, Mapping):
            from magistrate.cli.importing.foreign_models import read_foreign_suite

            return read_foreign_suite(product, file, value, now, root=root)
        given_model = None if model is None else GivenModel(model, _read_text(Path(model), model))
        return read_suite(value, lambda name: _read_text(find_named_file(path, name, root), name), now, given_model)
    except InvalidRequest as fault:
        raise CommandFailed(f"{file}: {fault.message}") from fault


def read_tests(file: str, suite: "ModelSuite") -> str:
    """Returns the text of a test file without its model, which the page Tests of the console edits; for a file of
    another product the same in our format, with the names of the model here. Raises OSError."""
    from magistrate.engine.testing.suites import render_tests

    is_ours = find_product(read_value(file)) is None
    return _MODEL.sub("", _read_text(Path(file), file)) if is_ours else render_tests(suite)


def read_value(file: str) -> object:
    """Returns what a test file says. Raises InvalidRequest or OSError."""
    from magistrate.engine.testing.yaml_documents import read_yaml

    return read_yaml(_read_text(Path(file), file), file)


def find_product(value: object) -> "Product | None":
    """Returns the product that a test file is for, as its members show, or None if it is one of ours."""
    if not isinstance(value, Mapping):
        return None
    if {"schema", "schemaFile"} & value.keys():
        return "spicedb"
    tests = value.get("tests")
    first = tests[0] if isinstance(tests, list) and tests and isinstance(tests[0], Mapping) else {}
    uses_lists = isinstance(first.get("check"), list) or any(name in first for name in _OPENFGA_MEMBERS)
    names_data = bool({"tuples", "tuple_file", "tuple_files"} & value.keys())
    names_model = _OPENFGA_MODEL.match(str(value.get("model"))) or str(value.get("model_file")).endswith(_OPENFGA_FILES)
    return "openfga" if uses_lists or names_data or names_model else None


def _read_text(path: Path, name: str) -> str:
    if name == "-":
        content = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    else:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise InvalidRequest(f"{name} is larger than {MAX_FILE_BYTES} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidRequest(f"{name} is not valid UTF-8") from None


def _run_file(file: str, suite: "ModelSuite") -> FileResults:
    from magistrate.engine.testing.suite_run import SuiteRun

    tested = FileResults(file)
    began_at = time.perf_counter()
    for outcome in SuiteRun(suite).list_outcomes():
        name = outcome.assertion.name
        tested.names.append(name)
        if outcome.failure:
            lines = [suite.restore_names(line) for line in (outcome.failure, *_describe_reason(outcome))]
            tested.failures[len(tested.names) - 1] = lines
            echo(f"FAILED {printable(f'{file}: {name}')}: {printable(lines[0])}")
            for line in lines[1:]:
                echo(f"  {line}")
    tested.seconds = time.perf_counter() - began_at
    return tested


def _describe_reason(outcome: "AssertionOutcome") -> Iterator[str]:
    """Yields lines that say why the check of an outcome is allowed or denied."""
    if outcome.explanation is None:
        return
    from magistrate.wiring.examples import explain_outcome  # takes longest to import: only where needed

    answer = explain_outcome(outcome)
    if answer["decision"] == "denied":
        yield from describe_denial(answer)
    elif answer["path"]:
        yield "it is allowed because"
        yield from (f"  {line}" for line in align_columns([step(warrant) for warrant in answer["path"]]))
    else:
        yield "it is allowed without a warrant"


def _print_coverage(suites: Sequence["ModelSuite"]) -> None:
    from magistrate.engine.testing.coverage import ModelCoverage, measure_coverage

    merged = ModelCoverage()
    for suite in suites:
        merged.merge(measure_coverage(suite))
    for line in _describe_coverage(merged):
        echo(line)


def _describe_coverage(coverage: "ModelCoverage") -> Iterator[str]:
    for kind, reached in (("relation", coverage.relations), ("rule", coverage.rules)):
        yield from (f"not reached: {kind} {name}" for name, is_reached in reached.items() if not is_reached)
    counts = [
        f"{sum(reached.values())} of {len(reached)} {kind}"
        for kind, reached in (("relations", coverage.relations), ("rules", coverage.rules))
    ]
    unfinished = "" if coverage.is_complete else "; there was too much to follow, so it may be more"
    yield f"reached: {' and '.join(counts)}{unfinished}"
