"""Prints the output of commands: JSON documents, aligned columns, and warrants in written form."""

import json
import os
import sys
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import click

from magistrate.terminal import printable, printable_json, printable_lines

PROGRESS_EVERY_SECONDS = 10.0

Row = dict[str, Any]
Answer = dict[str, Any]
Columns = Mapping[str, Callable[[Row], str]]


@contextmanager
def tolerate_closed_output() -> Iterator[None]:
    """Ends the printing within it, and not the command, if the reader of stdout has seen enough, as `head` has."""
    try:
        yield
    except BrokenPipeError:
        discard_output()


def discard_output() -> None:
    """Sends what is still printed nowhere, also what the interpreter flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_outcomes(applied: Iterable[tuple[str, Row]], name: str, as_json: bool) -> None:
    """Prints whether each of the rows that are applied was created, changed or unchanged, with the member that names
    it. All of them are applied before the first one is printed."""
    outcomes = [*applied]
    with tolerate_closed_output():
        if as_json:
            words = ("created", "changed", "unchanged")
            print_json({word: [row for outcome, row in outcomes if outcome == word] for word in words})
        else:
            print_table([[f"{outcome:<9}", row[name]] for outcome, row in outcomes])


def echo(text: object = "", err: bool = False, nl: bool = True) -> None:
    """Prints a text of one line or several, of which callers may have written parts. Nothing in this package prints in
    another way."""
    click.echo(printable_lines(str(text)), nl=nl, err=err)


def echo_coloured(word: str, colour: str, text: str) -> None:
    """Prints a word of ours in a colour, and a text behind it."""
    click.echo(click.style(word, fg=colour) + printable_lines(text))


def echo_exactly(text: str) -> None:
    """Prints a text that the user gave on standard input: to a terminal like any other, elsewhere as it is."""
    click.echo(printable_lines(text) if sys.stdout.isatty() else text, nl=False)


def print_json(value: object, err: bool = False) -> None:
    """Prints an indented document; on stderr, one in a line."""
    click.echo(printable_json(json.dumps(value, indent=None if err else 2, ensure_ascii=False)), err=err)


def print_json_line(document: str) -> None:
    """Prints a document that is JSON in one line already."""
    click.echo(printable_json(document))


def print_list(rows: Iterator[Row], limit: int, as_json: bool, columns: Columns, optional: Container[str] = ()) -> None:
    """Prints at most `limit` rows, in the format of `print_answer`."""
    shown = list(islice(rows, limit))
    has_more = next(rows, None) is not None
    print_answer({"results": shown}, as_json, columns, "--limit shows more" if has_more else "", optional=optional)


def print_answer(
    answer: Answer, as_json: bool, columns: Columns, how_to_see_more: str, optional: Container[str] = ()
) -> None:
    """Prints rows in the envelope of the API: as JSON, or as a table of columns (a title and a function of the row).
    Optional columns are left out if they are empty. If there are more rows, a hint on stderr says how to see them."""
    rows = answer["results"]
    if as_json:
        print_json(answer)
    elif rows:
        cells = {title: [show(row) for row in rows] for title, show in columns.items()}
        shown = {title: column for title, column in cells.items() if any(column) or title not in optional}
        print_table([list(shown), *zip(*shown.values(), strict=True)])
    if how_to_see_more:
        echo(f"These are the first {len(rows)}; {how_to_see_more}", err=True)
    elif not rows and not as_json:
        echo("There are none", err=True)


def count_rows(pages: Iterable[Answer]) -> Iterator[Answer]:
    """Yields the pages. If stderr is a terminal, it shows the number of rows while the next page is fetched, and erases
    it before anything else is printed. (A progress bar of click would stay, and would appear for a single page,
    too.)"""
    rows, progress = 0, ""
    try:
        for page in pages:
            rows += len(page["results"])
            if "nextCursor" in page and sys.stderr.isatty():
                progress = f"\rrows so far: {rows}"
                click.echo(progress, nl=False, err=True)
            yield page
    finally:
        if progress:
            click.echo("\r" + " " * len(progress) + "\r", nl=False, err=True)


class NowAndThen:
    """Decides when a long command reports progress on stderr where that is not a terminal; it skips the first
    seconds."""

    def __init__(self) -> None:
        self._last_due = time.monotonic()

    def is_due(self) -> bool:
        """Returns True once per interval, and False in between."""
        is_due = time.monotonic() - self._last_due >= PROGRESS_EVERY_SECONDS
        if is_due:
            self._last_due = time.monotonic()
        return is_due


def print_table(rows: Sequence[Sequence[str]]) -> None:
    for line in align_columns(rows):
        echo(line)


def align_columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Returns the rows as lines, with cells aligned in columns two blanks apart."""
    safe = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*safe, strict=True)]
    for row in safe:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def render_subject(subject: dict[str, Any]) -> str:
    group = f"#{subject['relation']}" if subject.get("relation") else ""
    return f"{subject['objectType']}:{subject['objectId']}{group}"


def render_object(ref: dict[str, Any]) -> str:
    return f"{ref['objectType']}:{ref['objectId']}"


def render_warrant(warrant: dict[str, Any]) -> str:
    """Renders a warrant in the form that commands accept: `document:plan#viewer@team:eng#member[amount < 10]`."""
    policy = f"[{warrant['policy']}]" if warrant.get("policy") else ""
    return f"{render_object(warrant)}#{warrant['relation']}@{render_subject(warrant['subject'])}{policy}"


def compact_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if value else ""


def print_result(document: object, as_json: bool, show: Callable[[], None]) -> None:
    """Prints a document of the API as JSON, or else as `show` does."""
    if as_json:
        print_json(document)
    else:
        show()


def print_done(word: str, document: object, as_json: bool, names: Iterable[str]) -> None:
    """Prints a document of the API as JSON, or else a line for each item that was processed."""
    print_result(document, as_json, lambda: print_table([[word, name] for name in names]))


def print_deleted(names: Sequence[str], as_json: bool) -> None:
    print_done("deleted", {"deleted": names}, as_json, names)
