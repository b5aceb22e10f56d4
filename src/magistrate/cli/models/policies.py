"""Implements `magistrate policies`, which defines, shows and deletes named policies."""

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

import click

from magistrate.cli.input import as_of_option, read_as_of, read_json
from magistrate.cli.models.whole_models import Definition, DefinitionKind, apply_definitions
from magistrate.cli.output import Columns, echo, print_deleted, print_json, print_list, print_outcomes
from magistrate.cli.service import calls_service, limit_option, page_size
from magistrate.errors import InvalidRequest
from magistrate.terminal import printable

if TYPE_CHECKING:
    from magistrate.client import Client

MEMBERS = {"name", "parameters", "expression", "description", "createdAt"}

HOW = 'write {"name": "weekdays", "parameters": {"day": "integer"}, "expression": "day < 6"}, or an array of such'


def _render_parameters(definition: Definition) -> str:
    return ", ".join(f"{name} {of_type}" for name, of_type in definition["parameters"].items())


COLUMNS: Columns = {
    "POLICY": lambda definition: definition["name"],
    "PARAMETERS": _render_parameters,
    "EXPRESSION": lambda definition: " ".join(definition["expression"].split()),
    "CREATED": lambda definition: definition["createdAt"],
}


@click.group(short_help="Manage named policies.")
def policies() -> None:
    """Manage named policies: conditions on the context of a check that the rules of a model name."""


@policies.command(short_help="Create or change policies from a file.")
@click.argument("file", type=click.File(encoding="utf-8-sig"))
@calls_service
def apply(client: "Client", as_json: bool, file: IO[str]) -> None:
    """Create or change named policies from FILE (- for standard input): one policy in JSON, an array of them, or what
    `policies list --json` prints. Policies that the file does not name stay as they are.

    Policies that are new or differ are written in one request, all or none."""
    definitions = read_policies(file.read())
    print_outcomes(apply_definitions(client, KIND, definitions), "name", as_json)


def read_policies(text: str) -> list[Definition]:
    """Returns the policies in a JSON object, an array of them or a page of the list of the API. Raises InvalidRequest
    for any other form, for a policy that is named twice, and for an unknown member: the service ignores it, so that a
    typing error there would go unseen."""
    value = read_json(text, "the file")
    if isinstance(value, dict) and isinstance(value.get("results"), list):
        value = value["results"]
    definitions = [value] if isinstance(value, dict) else value
    if not isinstance(definitions, list):
        raise InvalidRequest(f"the file contains no policies; {HOW}")
    names: set[str] = set()
    for definition in definitions:
        name = definition.get("name") if isinstance(definition, dict) else None
        if not isinstance(name, str):
            raise InvalidRequest(f"the file does not contain policies; {HOW}")
        if name in names:
            raise InvalidRequest(f"the file names the policy {name} twice")
        if unknown := definition.keys() - MEMBERS:
            members = ", ".join(sorted(MEMBERS))
            raise InvalidRequest(f"{name}: {min(unknown)!r} is not a member of policies; the members are {members}")
        names.add(name)
    return [_leave_time_out(definition) for definition in definitions]


def _is_same(written: Definition, stored: Definition) -> bool:
    return {"parameters": {}, **written} == _leave_time_out(stored)


def _leave_time_out(definition: Definition) -> Definition:
    """Returns the policy without the time of its creation, which answers have and requests do not."""
    return {name: value for name, value in definition.items() if name != "createdAt"}


KIND = DefinitionKind(
    member="policies",
    name="name",
    is_same=_is_same,
    list_stored=lambda client: client.policies(),
    write=lambda client, changes, _: client.apply_policies(changes),
)


@policies.command("list", short_help="List policies by name.")
@as_of_option
@limit_option
@calls_service
def list_policies(client: "Client", as_json: bool, limit: int, as_of: str | None) -> None:
    """List named policies by name."""
    print_list(client.policies(page_size(limit), read_as_of(as_of)), limit, as_json, COLUMNS)


@policies.command(short_help="Show a policy.")
@click.argument("name")
@as_of_option
@calls_service
def show(client: "Client", as_json: bool, name: str, as_of: str | None) -> None:
    """Show a named policy: its description, its parameters and its expression."""
    definition = client.get_policy(_read_name(name), read_as_of(as_of))
    if as_json:
        print_json(definition)
        return
    for line in describe_policy(definition):
        echo(printable(line))


def describe_policy(definition: Definition) -> Iterator[str]:
    """Yields the lines of the description of a policy, its name with the parameters, and the expression."""
    yield from definition.get("description", "").splitlines()
    yield f"{definition['name']}({_render_parameters(definition)})"
    yield from (f"    {line}" for line in definition["expression"].strip().splitlines())


def _read_name(text: str) -> str:
    if not text:
        raise InvalidRequest("a policy has a name")
    return text


@policies.command(short_help="Delete a policy.")
@click.argument("name")
@calls_service
def delete(client: "Client", as_json: bool, name: str) -> None:
    """Delete a named policy. Rules that name it are unknown from then on, so they do not grant anything."""
    client.delete_policy(_read_name(name))
    print_deleted([name], as_json)
