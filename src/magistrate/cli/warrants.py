"""Implements `magistrate warrants`, which creates, deletes and lists warrants."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING

import click

from magistrate.cli.completion import complete_objects, complete_types
from magistrate.cli.input import read_limit, read_warrant
from magistrate.cli.output import Columns, print_done, print_json, print_list, print_table, printable, render_warrant
from magistrate.cli.service import Command, calls_service, elements_named, limit_option, page_size, strict_option
from magistrate.errors import RequestRefused

if TYPE_CHECKING:
    from magistrate.client import Client, LimitsJson, WarrantJson

FILTERS = {
    "--object-type": "objectType",
    "--object-id": "objectId",
    "--relation": "relation",
    "--subject-type": "subjectType",
    "--subject-id": "subjectId",
    "--subject-relation": "subjectRelation",
}
"""Maps the options of `list` to query parameters."""

COLUMNS: Columns = {
    "WARRANT": render_warrant,
    "CREATED": lambda warrant: warrant["createdAt"],
    "STARTS": lambda warrant: warrant.get("startsAt", ""),
    "EXPIRES": lambda warrant: warrant.get("expiresAt", ""),
}


@click.group(short_help="Manage warrants.")
def warrants() -> None:
    """Manage warrants, such as document:plan#viewer@user:ann, for all members of a team
    document:plan#viewer@team:eng#member, or with a policy 'document:plan#viewer@user:ann[amount < 10]'."""


_named = click.argument("named", metavar="WARRANT...", nargs=-1, required=True, shell_complete=complete_objects)
_policy = click.option("--policy", metavar="TEXT", help="a policy for all of them, instead of one in brackets")


@warrants.command(short_help="Create warrants, all or none.")
@_named
@_policy
@click.option("--starts", metavar="TIME", help="when they begin to count: a time, or how far ahead, as in 15m or 3d")
@click.option("--expires", metavar="TIME", help="when they end: a time, as in 2026-12-01T10:00Z, or how far ahead")
@calls_service
def create(
    client: "Client",
    as_json: bool,
    named: tuple[str, ...],
    policy: str | None,
    starts: str | None,
    expires: str | None,
) -> None:
    """Create warrants, all or none. A warrant that exists already stays as it is, and is reported as unchanged; if its
    time limits are others, it gets the new ones, and is reported as updated."""
    limits: LimitsJson = {}
    if starts is not None:
        limits["startsAt"] = read_limit(starts, "--starts")
    if expires is not None:
        limits["expiresAt"] = read_limit(expires, "--expires")
    bodies = [read_warrant(text, policy, limits) for text in named]
    with elements_named(named):
        created, outcomes = client.create_warrants(bodies)
    if as_json:
        print_json(created)
    else:
        print_table([[word, render_warrant(one)] for word, one in zip(outcomes, created, strict=True)])


@warrants.command(short_help="Delete warrants, all or none.")
@_named
@_policy
@calls_service
def delete(client: "Client", as_json: bool, named: tuple[str, ...], policy: str | None) -> None:
    """Delete warrants, all or none. Write each policy exactly as it was created."""
    bodies = [read_warrant(text, policy, {}) for text in named]
    with elements_named(named), _policies_named(bodies):
        client.delete_warrants(bodies)
    deleted = [render_warrant(dict(body)) for body in bodies]
    if as_json:
        print_json({"deleted": deleted})
    else:
        print_done("deleted", deleted)


@contextmanager
def _policies_named(bodies: "Sequence[WarrantJson]") -> Iterator[None]:
    """Replaces the digest of a policy in an error, by which the service names it, with the policy."""
    try:
        yield
    except RequestRefused as error:
        for body in bodies:
            if policy := body.get("policy"):
                error.message = error.message.replace(
                    f"[{sha256(policy.encode()).hexdigest()}]", f"[{printable(policy)}]"
                )
        raise


def _filters(command: Command) -> Command:
    for flag, parameter in reversed(FILTERS.items()):
        completes = complete_types if parameter.endswith("Type") else None
        command = click.option(flag, parameter, metavar="TEXT", shell_complete=completes)(command)
    return command


@warrants.command("list", short_help="List warrants in the order of creation.")
@_filters
@click.option("--expired", "is_expired", is_flag=True, help="those that have expired, as long as they are kept")
@strict_option
@limit_option
@calls_service
def list_warrants(
    client: "Client", as_json: bool, limit: int, is_strict: bool, is_expired: bool, **filters: str | None
) -> None:
    """List the warrants that match all filters, in the order of creation. An id also finds warrants with *."""
    given = {parameter: text for parameter, text in filters.items() if text is not None}
    if is_expired:
        given["expired"] = "true"
    given["strict"] = "true" if is_strict else "false"
    print_list(client.warrants(given, page_size(limit)), limit, as_json, COLUMNS, optional=("STARTS", "EXPIRES"))
