"""Implements `magistrate write`, which makes one atomic change of warrants and objects."""

from collections.abc import Callable, Sequence
from typing import IO, TYPE_CHECKING, Any

import click

from magistrate.cli.input import read_json, read_ref, read_warrant
from magistrate.cli.output import print_result, print_table
from magistrate.cli.service import calls_service
from magistrate.errors import InvalidRequest

if TYPE_CHECKING:
    from magistrate.client import Client


Json = dict[str, Any]

HOW = 'write {"create": {"warrants": ["document:plan#viewer@user:ann"]}}, or the same in YAML'


def read_write(text: str) -> Json:
    """Returns the body that a file describes. Raises InvalidRequest for what is neither JSON nor YAML, and for a text
    that does not read as a warrant or an object. Everything else is left to the service."""
    value = _read_document(text)
    if not isinstance(value, dict):
        raise InvalidRequest(f"the file contains no write; {HOW}")
    for name in ("delete", "create"):
        if isinstance(value.get(name), dict):
            value[name] = _read_lists(value[name], name)
    if isinstance(value.get("preconditions"), list):
        value["preconditions"] = [
            _read_precondition(precondition, f"preconditions[{index}]")
            for index, precondition in enumerate(value["preconditions"])
        ]
    return value


def read_proposal(text: str, created: Sequence[str], deleted: Sequence[str]) -> Json:
    """Returns the proposal that a file describes, and these warrants besides: the member `proposal` of the body of
    POST /v2/difference, in which a warrant may be a text. Raises InvalidRequest like `read_write`."""
    value = _read_document(text)
    if not isinstance(value, dict):
        raise InvalidRequest('the file contains no proposal; write {"create": ["document:plan#viewer@user:ann"]}')
    for name, further in (("delete", deleted), ("create", created)):
        if isinstance(value.get(name, []), list):
            warrants = [*value.get(name, []), *further]
            value[name] = [
                _read_text(warrant, read_warrant, f"{name}[{index}]") for index, warrant in enumerate(warrants)
            ]
    return value


def _read_lists(lists: Json, name: str) -> Json:
    """Returns the members of `delete` or `create`, with every text in an array read."""
    readers: dict[str, Callable[[str], Any]] = {"warrants": read_warrant, "objects": read_ref}
    return {
        member: [_read_text(row, readers[member], f"{name}.{member}[{index}]") for index, row in enumerate(value)]
        if member in readers and isinstance(value, list)
        else value
        for member, value in lists.items()
    }


def _read_precondition(precondition: Any, place: str) -> Any:
    if not isinstance(precondition, dict):
        return precondition
    named = {member: precondition[member] for member in ("exists", "absent") if member in precondition}
    return precondition | {
        member: _read_text(value, _read_warrant_or_ref, f"{place}.{member}") for member, value in named.items()
    }


def _read_text(value: Any, read: Callable[[str], Any], place: str) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return read(value)
    except InvalidRequest as error:
        raise InvalidRequest(f"{place}: {error.message}") from error


def _read_warrant_or_ref(text: str) -> Any:
    """Reads a text that has a relation as a warrant, and any other as an object: no id contains `#`."""
    return read_warrant(text) if "#" in text else read_ref(text)


def _read_document(text: str) -> Any:
    """Reads JSON if the text begins with a bracket, whose faults YAML would describe less well, and otherwise YAML."""
    if text.lstrip().startswith(("{", "[")):
        return read_json(text, "the file")
    from magistrate.engine.testing.yaml_documents import read_yaml  # see there

    return read_yaml(text, "the file")


@click.command(short_help="Delete and create warrants and objects, all or none.")
@click.argument("file", type=click.File(encoding="utf-8-sig"))
@calls_service
def write(client: "Client", as_json: bool, file: IO[str]) -> None:
    """Make one atomic change of warrants and objects: if all preconditions in FILE (- for standard input) hold, what it
    deletes and creates is written, deletions first; otherwise nothing is.

    FILE is JSON or YAML, the body of POST /v2/writes. Warrants and objects may be texts:

    \b
    preconditions:
      - exists: document:plan#owner@user:ann
    delete:
      warrants: ["document:plan#owner@user:ann"]
    create:
      warrants: ["document:plan#owner@user:bob"]
      objects: ["user:carol"]"""
    counts = client.write(read_write(file.read()))
    rows = [[word, str(counts[word])] for word in ("created", "deleted", "unchanged")]
    print_result(counts, as_json, lambda: print_table(rows))
