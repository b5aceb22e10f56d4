"""What commands print: JSON documents, aligned columns, and warrants in written form."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import click

Row = dict[str, Any]
Columns = Mapping[str, Callable[[Row], str]]


def print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_list(rows: Iterator[Row], limit: int, as_json: bool, columns: Columns) -> None:
    """At most `limit` rows, as a table of columns (title and what to show of a row) or as JSON, in the envelope of
    the API; whether there are more goes to stderr."""
    shown = list(islice(rows, limit))
    if as_json:
        print_json({"results": shown})
    elif shown:
        print_table([list(columns), *([show(row) for show in columns.values()] for row in shown)])
    if next(rows, None) is not None:
        click.echo(f"These are the first {limit}; --limit shows more", err=True)
    elif not shown and not as_json:
        click.echo("There are none", err=True)


def print_table(rows: Sequence[Sequence[str]]) -> None:
    for line in aligned(rows):
        click.echo(line)


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows as lines, cells two blanks apart below each other."""
    safe = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*safe, strict=True)]
    for row in safe:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def printable(text: str) -> str:
    """With escapes in place of what could move the cursor or break a line."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def written_subject(subject: dict[str, Any]) -> str:
    group = f"#{subject['relation']}" if subject.get("relation") else ""
    return f"{subject['objectType']}:{subject['objectId']}{group}"


def written_object(ref: dict[str, Any]) -> str:
    return f"{ref['objectType']}:{ref['objectId']}"


def written_warrant(warrant: dict[str, Any]) -> str:
    """`document:plan#viewer@team:eng#member[amount < 10]`, as commands take it."""
    policy = f"[{warrant['policy']}]" if warrant.get("policy") else ""
    return f"{written_object(warrant)}#{warrant['relation']}@{written_subject(warrant['subject'])}{policy}"


def compact_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if value else ""


def print_done(word: str, names: Iterable[str]) -> None:
    """A line for each thing something was done to."""
    print_table([[word, name] for name in names])
