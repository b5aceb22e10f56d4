"""Implements `magistrate types`, which defines, shows and deletes object types."""

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

import click

from magistrate.cli.completion import complete_types
from magistrate.cli.definitions import Definition, describe_relations, describe_texts, is_same, read_definitions
from magistrate.cli.input import as_of_option, read_as_of, read_type
from magistrate.cli.output import Columns, echo, print_done, print_json, print_list, print_outcomes, print_table
from magistrate.cli.service import calls_service, elements_named, limit_option, page_size
from magistrate.cli.whole_model import write_into_model

if TYPE_CHECKING:
    from magistrate.client import Client

BATCH = 100
"""Limits the definitions that one request may contain; only the whole model may have more."""

COLUMNS: Columns = {
    "TYPE": lambda found: found["type"],
    "RELATIONS": lambda found: ", ".join(found["relations"]),
    "CREATED": lambda found: found["createdAt"],
}


@click.group(short_help="Manage object types.")
def types() -> None:
    """Manage object types: the relations of their objects, and the rules by which they are inherited."""


@types.command(short_help="Create or change object types from a file.")
@click.argument("file", type=click.File(encoding="utf-8-sig"))
@click.option("--keep-existing", is_flag=True, help="keep warrants that are not allowed any more, without effect")
@calls_service
def apply(client: "Client", as_json: bool, file: IO[str], keep_existing: bool) -> None:
    """Create or change object types from FILE (- for standard input): one object type in JSON, an array of them, or
    relations by type. Types that the file does not name stay as they are.

    Types that are new or differ are written in one request, all or none."""
    wanted = read_definitions(file.read())
    print_outcomes(_apply_types(client, wanted, keep_existing), "type", as_json)


def _apply_types(client: "Client", wanted: list[Definition], keep_existing: bool) -> Iterator[tuple[str, Definition]]:
    """Writes the types, all or none, and yields the outcome of each."""
    known = {definition["type"]: definition for definition in client.object_types()}
    unchanged = [one for one in wanted if one["type"] in known and is_same(one, known[one["type"]])]
    changes = [one for one in wanted if one not in unchanged]
    for written in _write_types(client, changes, keep_existing):
        before = known.get(written["type"])
        yield "created" if before is None else "unchanged" if written == before else "changed", written
    for definition in unchanged:
        yield "unchanged", known[definition["type"]]


def _write_types(client: "Client", changes: list[Definition], keep_existing: bool) -> list[Definition]:
    """Returns the types as the service has them now."""
    if len(changes) > BATCH:
        write_into_model(client, "objectTypes", changes, keep_existing)
        stored = {definition["type"]: definition for definition in client.object_types()}
        return [stored[one["type"]] for one in changes]
    with elements_named([definition["type"] for definition in changes]):
        return client.apply_object_types(changes, keep_existing) if changes else []


@types.command("list", short_help="List object types by name.")
@as_of_option
@limit_option
@calls_service
def list_types(client: "Client", as_json: bool, limit: int, as_of: str | None) -> None:
    """List object types by name."""
    print_list(client.object_types(page_size(limit), read_as_of(as_of)), limit, as_json, COLUMNS)


@types.command(short_help="Show the relations and rules of an object type.")
@click.argument("name", shell_complete=complete_types)
@as_of_option
@calls_service
def show(client: "Client", as_json: bool, name: str, as_of: str | None) -> None:
    """Show the relations and rules of an object type."""
    found = client.get_object_type(read_type(name), read_as_of(as_of))
    if as_json:
        print_json(found)
    else:
        for line in describe_texts(found):
            echo(line)
        allowed = found.get("allowedTypes")
        limits = ["ALLOWED TYPES"] if allowed else []
        rows = describe_relations(found["relations"], allowed)
        print_table([["RELATION", *limits, "GRANTED BY WARRANT, OR TO"], *rows])


@types.command(short_help="Delete an object type.")
@click.argument("name", shell_complete=complete_types)
@calls_service
def delete(client: "Client", as_json: bool, name: str) -> None:
    """Delete an object type. Its objects and warrants stay."""
    client.delete_object_type(read_type(name))
    if as_json:
        print_json({"deleted": [name]})
    else:
        print_done("deleted", [name])
