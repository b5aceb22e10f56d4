"""Implements `magistrate objects`, which creates, gets, updates, deletes and lists objects."""

from typing import TYPE_CHECKING, Any

import click

from magistrate.cli.completion import complete_objects, complete_types
from magistrate.cli.input import as_of_option, read_as_of, read_json_object, read_ref
from magistrate.cli.output import (
    Columns,
    compact_json,
    print_deleted,
    print_done,
    print_list,
    print_result,
    print_table,
    render_object,
)
from magistrate.cli.service import calls_service, elements_named, limit_option, page_size, strict_option
from magistrate.engine.names import unquote_id

if TYPE_CHECKING:
    from magistrate.client import Client

_named = click.argument("named", metavar="TYPE:ID", shell_complete=complete_objects)

COLUMNS: Columns = {
    "OBJECT": render_object,
    "META": lambda definition: compact_json(definition.get("meta")),
    "CREATED": lambda definition: definition["createdAt"],
}


@click.group(short_help="Manage objects.")
def objects() -> None:
    """Manage objects and their meta. Creating a warrant also creates the objects it names; deleting an object deletes
    all its warrants."""


@objects.command(short_help="Create an object.")
@click.argument("named", metavar="TYPE[:ID]", shell_complete=complete_objects)
@click.option("--meta", metavar="JSON", help='the meta of the object, as in {"title": "Plan"}')
@calls_service
def create(client: "Client", as_json: bool, named: str, meta: str | None) -> None:
    """Create an object. Without an id, the service generates one. If the object exists, its meta is replaced."""
    of_type, _, object_id = named.partition(":")
    content = read_json_object(meta, "--meta") if meta is not None else None
    with elements_named([named]):
        created = client.create_object(of_type, unquote_id(object_id) or None, content)
    print_done("created", created, as_json, [render_object(created)])


@objects.command(short_help="Show an object.")
@_named
@as_of_option
@calls_service
def get(client: "Client", as_json: bool, named: str, as_of: str | None) -> None:
    """Show an object."""
    _show(client.get_object(read_ref(named), read_as_of(as_of)), as_json)


@objects.command(short_help="Replace the meta of an object.")
@_named
@click.option("--meta", metavar="JSON", required=True, help="the new meta; {} clears it")
@calls_service
def update(client: "Client", as_json: bool, named: str, meta: str) -> None:
    """Replace all of the meta of an object."""
    _show(client.update_object(read_ref(named), read_json_object(meta, "--meta")), as_json)


@objects.command(short_help="Delete objects and all warrants that name them.")
@click.argument("named", metavar="TYPE:ID...", nargs=-1, required=True, shell_complete=complete_objects)
@calls_service
def delete(client: "Client", as_json: bool, named: tuple[str, ...]) -> None:
    """Delete objects, all or none, and all warrants that name them."""
    refs = [read_ref(text) for text in named]
    with elements_named(named):
        client.delete_objects(refs)
    print_deleted(named, as_json)


@objects.command("list", short_help="List objects by id.")
@click.option(
    "--object-type",
    "--type",
    "of_type",
    metavar="TYPE",
    help="only objects of this type",
    shell_complete=complete_types,
)
@click.option("-q", "--query", metavar="TEXT", help="only objects whose id or meta contains this text")
@as_of_option
@strict_option
@limit_option
@calls_service
def list_objects(
    client: "Client",
    as_json: bool,
    of_type: str | None,
    query: str | None,
    as_of: str | None,
    limit: int,
    is_strict: bool,
) -> None:
    """List objects by id."""
    strict = "true" if is_strict else "false"
    filters = {"objectType": of_type, "q": query, "strict": strict, "asOf": read_as_of(as_of)}
    parameters = {parameter: text for parameter, text in filters.items() if text is not None}
    print_list(client.objects(parameters, page_size(limit)), limit, as_json, COLUMNS)


def _show(shown_object: dict[str, Any], as_json: bool) -> None:
    rows = [list(COLUMNS), [show(shown_object) for show in COLUMNS.values()]]
    print_result(shown_object, as_json, lambda: print_table(rows))
