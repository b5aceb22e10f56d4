"""Implements `magistrate warrants`, which creates, deletes and lists warrants."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING

import click

from magistrate.cli.completion import complete_objects, complete_types
from magistrate.cli.input import as_of_option, read_as_of, read_limit, read_warrant
from magistrate.cli.output import (
    Columns,
    echo,
    print_deleted,
    print_json,
    print_list,
    print_result,
    print_table,
    render_warrant,
)
from magistrate.cli.service import Command, calls_service, elements_named, limit_option, page_size, strict_option
from magistrate.engine.names import unquote_id
from magistrate.errors import InvalidRequest, MagistrateError, RequestRefused
from magistrate.terminal import printable

if TYPE_CHECKING:
    from magistrate.client import Client, LimitsJson, WarrantJson


MEMBERS = ("objectType", "objectId", "relation", "subjectType", "subjectId", "subjectRelation")

_NEXT = rf",(?=(?:{'|'.join(MEMBERS)})=)"
_PART = re.compile(rf"(\w+)=(\"[^\"]*\"|.*?)(?:{_NEXT}|$)", re.DOTALL)


def read_where(texts: Iterable[str]) -> dict[str, str]:
    """Reads `objectType=document,relation=viewer`, perhaps in several texts. A comma ends a value only if a member
    follows it, and not within double quotes, because an id may have commas.

    Raises InvalidRequest for other texts, unknown members, and members that are given twice."""
    values: dict[str, str] = {}
    for text in texts:
        for member, value in _read_content(text):
            if member not in MEMBERS:
                raise InvalidRequest(f"--where {text!r} names {member}; the members are {', '.join(MEMBERS)}")
            if member in values:
                raise InvalidRequest(f"--where gives {member} twice")
            values[member] = unquote_id(value)
    return values


def _read_content(text: str) -> Sequence[tuple[str, str]]:
    parts: list[tuple[str, str]] = []
    end = 0
    while end < len(text) or not parts:
        part = _PART.match(text, end)
        if part is None or not part[2]:
            raise InvalidRequest(f"--where {text!r} does not read as member=value,member=value")
        parts.append((part[1], part[2]))
        end = part.end()
    return parts


def complete_where(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Returns the members, or the names of object types behind one that takes them."""
    before, comma, part = begun.rpartition(",")
    member, equals, value = part.partition("=")
    if equals:
        types = complete_types(ctx, parameter, value) if member.endswith("Type") else []
        return [f"{before}{comma}{member}={name}" for name in types]
    return [f"{before}{comma}{name}=" for name in MEMBERS if name.startswith(member)]


FILTERS = {
    "--object-type": "objectType",
    "--object-id": "objectId",
    "--relation": "relation",
    "--subject-type": "subjectType",
    "--subject-id": "subjectId",
    "--subject-relation": "subjectRelation",
}
"""Maps the options that select warrants to query parameters."""

DELETED_AT_ONCE = 5_000
"""Sets the number of warrants that one request of `delete --where` deletes, which takes a second or two at most."""
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
    rows = [[word, render_warrant(warrant)] for word, warrant in zip(outcomes, created, strict=True)]
    print_result(created, as_json, lambda: print_table(rows))


@warrants.command(short_help="Delete warrants: those named, all or none, or those that match a filter.")
@click.argument("named", metavar="[WARRANT...]", nargs=-1, shell_complete=complete_objects)
@_policy
@click.option(
    "--where",
    metavar="MEMBER=VALUE[,...]",
    multiple=True,
    shell_complete=complete_where,
    help="instead of naming warrants, delete all that match, as in objectType=document,relation=viewer; can be "
    "repeated, and then all must match",
)
@click.option("--dry-run", is_flag=True, help="with --where: count the warrants, and delete none")
@calls_service
def delete(
    client: "Client",
    as_json: bool,
    named: tuple[str, ...],
    policy: str | None,
    where: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Delete warrants, all or none. Write each policy exactly as it was created.

    With --where, delete all warrants that match, in steps: if the command is interrupted, some are deleted, and
    running it again deletes the rest. Values are compared exactly: an id does not match *, and * matches only *."""
    if named and where:
        raise click.UsageError("name the warrants, or give --where, not both")
    if not named and not where:
        raise click.UsageError("name the warrants, or give --where")
    if where and policy is not None:
        raise click.UsageError("--policy goes with warrants that are named, not with --where")
    if dry_run and not where:
        raise click.UsageError("--dry-run goes with --where")
    if where:
        _delete_matching(client, as_json, read_where(where), dry_run)
    else:
        _delete_named(client, as_json, named, policy)


def _delete_named(client: "Client", as_json: bool, named: tuple[str, ...], policy: str | None) -> None:
    bodies = [read_warrant(text, policy) for text in named]
    with elements_named(named), _policies_named(bodies):
        client.delete_warrants(bodies)
    print_deleted([render_warrant(dict(body)) for body in bodies], as_json)


def _delete_matching(client: "Client", as_json: bool, only: dict[str, str], dry_run: bool) -> None:
    """Deletes all that match, however many requests it takes, and prints their number. A dry run is one request."""
    answer = client.delete_matching_warrants(only, DELETED_AT_ONCE, dry_run)
    deleted = answer["deleted"]
    while answer["more"] and not dry_run:
        with _count_reported(deleted):
            answer = client.delete_matching_warrants(only, DELETED_AT_ONCE)
        deleted += answer["deleted"]
    if as_json:
        print_json({"deleted": deleted, "more": answer["more"]})
    else:
        number = f"more than {deleted}" if answer["more"] else str(deleted)
        echo(f"{'would delete' if dry_run else 'deleted'}  {number} warrant{'' if number == '1' else 's'}")


@contextmanager
def _count_reported(deleted: int) -> Iterator[None]:
    """Adds to an error how many warrants were deleted before it."""
    try:
        yield
    except MagistrateError as error:
        error.message = f"{error.message.removesuffix('.')}; {deleted} warrants were deleted before that"
        raise


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
        names = (flag, "--type") if parameter == "objectType" else (flag,)
        command = click.option(*names, parameter, metavar="TEXT", shell_complete=completes)(command)
    return command


@warrants.command("list", short_help="List warrants in the order of creation.")
@_filters
@as_of_option
@click.option("--expired", "is_expired", is_flag=True, help="those that have expired, as long as they are kept")
@click.option("--stranded", "is_stranded", is_flag=True, help="those without effect, which allowed types forbid")
@strict_option
@limit_option
@calls_service
def list_warrants(
    client: "Client",
    as_json: bool,
    limit: int,
    is_strict: bool,
    is_expired: bool,
    is_stranded: bool,
    as_of: str | None,
    **filters: str | None,
) -> None:
    """List the warrants that match all filters, in the order of creation. An id also finds warrants with *."""
    filters["asOf"] = read_as_of(as_of)
    parameters = {parameter: text for parameter, text in filters.items() if text is not None}
    if is_expired:
        parameters["expired"] = "true"
    if is_stranded:
        parameters["stranded"] = "true"
    parameters["strict"] = "true" if is_strict else "false"
    print_list(client.warrants(parameters, page_size(limit)), limit, as_json, COLUMNS, optional=("STARTS", "EXPIRES"))
