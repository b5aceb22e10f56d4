"""Implements `magistrate diff`, which lists the access that was gained and lost between two revisions, or that a
proposal would change."""

from collections.abc import Iterable
from typing import IO, TYPE_CHECKING, Any

import click

from magistrate.cli.checks.query import SHOWN, join_pages, list_page_sizes
from magistrate.cli.completion import complete_objects
from magistrate.cli.input import read_as_of
from magistrate.cli.output import (
    Answer,
    Columns,
    count_rows,
    print_answer,
    render_object,
    render_subject,
    render_warrant,
)
from magistrate.cli.service import calls_service
from magistrate.cli.writes.write import read_proposal
from magistrate.errors import InvalidRequest

if TYPE_CHECKING:
    from magistrate.client import Client

COLUMNS: Columns = {
    "CHANGE": lambda row: row["change"],
    "ACCESS": lambda row: f"{render_object(row)}#{row['relation']}@{render_subject(row['subject'])}",
    "IF": lambda row: "the context allows it" if row.get("conditional") else "",
    "CAUSE": lambda row: ", ".join(_describe_cause(row["cause"])),
}


@click.command(short_help="List the access that was gained and lost, or that a proposal would change.")
@click.option("--from", "since", metavar="WHEN", help="compare with this state: a past time, how long ago, or a token")
@click.option("--to", "until", metavar="WHEN", help="compare this state, likewise; now by default")
@click.option(
    "--proposal",
    type=click.File(encoding="utf-8-sig"),
    metavar="FILE",
    help="compare the state now with that after a proposal, in JSON or YAML (- for standard input)",
)
@click.option(
    "--create",
    "created",
    metavar="WARRANT",
    multiple=True,
    shell_complete=complete_objects,
    help="compare the state now with that after this warrant is created; can be repeated",
)
@click.option(
    "--delete",
    "deleted",
    metavar="WARRANT",
    multiple=True,
    shell_complete=complete_objects,
    help="the same for a warrant that is deleted",
)
@click.option("--of", metavar="ACCESS", multiple=True, help="only such access: document#viewer@user; can be repeated")
@click.option("--subject", metavar="SUBJECT", shell_complete=complete_objects, help="only access of this subject")
@click.option(
    "--object", "of_object", metavar="OBJECT", shell_complete=complete_objects, help="only access to this object"
)
@click.option("--query", metavar="Q", help="only access that this query finds")
@click.option("--limit", type=click.IntRange(min=1), help=f"the maximum number of rows, {SHOWN} by default")
@click.option("--all", "shows_all", is_flag=True, help="show all rows, however many requests it takes")
@calls_service
def diff(
    client: "Client",
    as_json: bool,
    since: str | None,
    until: str | None,
    proposal: IO[str] | None,
    created: tuple[str, ...],
    deleted: tuple[str, ...],
    of: tuple[str, ...],
    subject: str | None,
    of_object: str | None,
    query: str | None,
    limit: int | None,
    shows_all: bool,
) -> None:
    """List the access that was gained and lost between two points in time, as in

    magistrate diff --from 3d --of document#viewer@user

    or what a change would do, without making it, as in

    magistrate diff --create team:eng#member@user:kim --delete document:plan#viewer@user:bob

    The file of a larger proposal has the members of that of POST /v2/difference; warrants may be texts:

    \b
    create: ["team:eng#member@user:kim"]
    delete: ["document:plan#viewer@user:bob"]"""
    narrower = {"of": ",".join(of) or None, "subject": subject, "object": of_object, "q": query}
    parameters = {name: text for name, text in narrower.items() if text is not None}
    sizes = list_page_sizes(limit, shows_all)
    if proposal is not None or created or deleted:
        if since is not None or until is not None:
            raise InvalidRequest("a proposal is compared with the state now; leave out --from and --to")
        proposed = read_proposal("{}" if proposal is None else proposal.read(), created, deleted)
        pages = client.compare_proposal(proposed, parameters, sizes)
    elif since is None:
        raise InvalidRequest("say what to compare with: --from, or --create, --delete or --proposal")
    else:
        times = {"from": read_as_of(since, "--from"), "to": read_as_of(until, "--to")}
        points = {name: text for name, text in times.items() if text is not None}
        pages = client.difference(points | parameters, sizes)
    answer: Answer = join_pages(count_rows(pages) if shows_all else pages)
    hint = "--limit shows more, --all shows all" if "nextCursor" in answer else ""
    print_answer(answer, as_json, COLUMNS, hint, optional=("IF",))


def _describe_cause(cause: dict[str, Any]) -> Iterable[str]:
    for word, row in [*(("+", row) for row in cause["created"]), *(("-", row) for row in cause["deleted"])]:
        yield word + (render_warrant(row) if "relation" in row else render_object(row))
    yield from (f"type {name}" for name in cause["objectTypes"])
