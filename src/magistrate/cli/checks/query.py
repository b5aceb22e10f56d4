"""Implements `magistrate query`, which finds objects or subjects and shows the warrants that they depend on."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import repeat
from typing import TYPE_CHECKING

import click

from magistrate.cli.input import (
    as_of_option,
    context_option,
    read_as_of,
    read_context,
    read_contextual,
    with_option,
)
from magistrate.cli.output import Answer, Columns, count_rows, echo, print_answer, render_object, render_warrant
from magistrate.cli.service import Interrupted, calls_service, contextual_named, strict_option

if TYPE_CHECKING:
    from magistrate.client import Client

SHOWN = 100
"""Limits the rows that are shown unless --limit or --all says otherwise."""

COLUMNS: Columns = {
    "FOUND": lambda row: render_object(row) + (f"#{row['subjectRelation']}" if "subjectRelation" in row else ""),
    "RELATION": lambda row: row["relation"],
    "HOW": lambda row: "implicit" if row["isImplicit"] else "explicit",
    "WARRANT": lambda row: render_warrant(row["warrant"]) if row["warrant"] else "-",
}


@click.command(short_help="List the objects of a subject, or the subjects of an object.")
@click.argument("q", metavar="Q")
@context_option
@with_option
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help=f"the maximum number of rows, {SHOWN} by default; with --all, the number of rows per request",
)
@click.option("--all", "shows_all", is_flag=True, help="show all rows, however many requests it takes")
@click.option(
    "--sort-by",
    type=click.Choice(["id", "createdAt"]),
    help="sort by what is listed, or by when the shown warrants were created; id by default",
)
@click.option("--order", type=click.Choice(["ASC", "DESC"], case_sensitive=False), help="asc by default")
@click.option("--count", "is_counted", is_flag=True, help="show only how many rows there are, on all pages together")
@as_of_option
@strict_option
@calls_service
def query(
    client: "Client",
    as_json: bool,
    q: str,
    context: tuple[str, ...],
    contextual: tuple[str, ...],
    limit: int | None,
    shows_all: bool,
    sort_by: str | None,
    order: str | None,
    is_counted: bool,
    as_of: str | None,
    is_strict: bool,
) -> None:
    """List the objects that a subject has relations on, or the subjects that have relations on an object, as in

    magistrate query 'select document where user:ann is viewer'

    A row is returned if a check of it is allowed, and shows a warrant that it depends on. It is explicit if warrants of
    the relation itself grant it, and implicit if rules are needed. There are two forms:

    \b
    select [explicit] TYPES where TYPE:ID is RELATIONS [and [not] TYPE:ID is RELATIONS]...
    select [explicit] RELATIONS of type TYPES for TYPE:ID

    TYPES and RELATIONS are names separated by commas, or * for all; of type team#member lists groups."""
    strict = "true" if is_strict else "false"
    texts = {
        "q": q,
        "strict": strict,
        "sortBy": sort_by,
        "sortOrder": order,
        "context": json.dumps(read_context(context)),
        "asOf": read_as_of(as_of),
    }
    parameters = {name: text for name, text in texts.items() if text is not None}
    if is_counted:
        with contextual_named(contextual):
            [page] = client.query(parameters | {"total": "true"}, [1], read_contextual(contextual))
        echo(json.dumps({"total": page["total"]}) if as_json else page["total"])
        return
    with _report_interruption(), contextual_named(contextual):
        pages = client.query(parameters, list_page_sizes(limit, shows_all), read_contextual(contextual))
        answer = join_pages(count_rows(pages) if shows_all else pages)
        has_more = "nextCursor" in answer
        print_answer(answer, as_json, COLUMNS, "--limit shows more, --all shows all" if has_more else "")


def list_page_sizes(limit: int | None, shows_all: bool) -> Iterable[int]:
    """Returns how many rows to request at a time."""
    from magistrate.client import PAGE_SIZE  # imports httpx, which `--help` need not wait for

    if shows_all:
        return repeat(min(limit or PAGE_SIZE, PAGE_SIZE))
    return (min(missing, PAGE_SIZE) for missing in range(limit or SHOWN, 0, -PAGE_SIZE))


def join_pages(pages: Iterable[Answer]) -> Answer:
    """Joins all pages into the answer to a request for that many rows."""
    rows, cursor = [], {}
    for page in pages:
        rows += page["results"]
        cursor = {"nextCursor": page["nextCursor"]} if "nextCursor" in page else {}
    return {"results": rows} | cursor


@contextmanager
def _report_interruption() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted("interrupted before all rows were shown") from None
