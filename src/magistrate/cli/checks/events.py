"""Implements `magistrate events`, which lists what was written and how checks were decided."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from magistrate.cli.completion import complete_types
from magistrate.cli.input import read_time
from magistrate.cli.output import Columns, Row, print_list, render_warrant
from magistrate.cli.service import Command, calls_service, limit_option, page_size
from magistrate.cli.writes.warrants import FILTERS

if TYPE_CHECKING:
    from magistrate.client import Client

RESOURCE_TYPES = ("created", "updated", "deleted")
DECISION_TYPES = ("access_allowed", "access_denied")
ACCESS_TYPES = ("access_granted", "access_revoked", *DECISION_TYPES)

RESOURCE_FILTERS = {"--resource-type": "resourceType", "--resource-id": "resourceId"}
"""Maps options to query parameters."""


def _render_access(event: Row) -> str:
    subject = {"objectType": event["subjectType"], "objectId": event["subjectId"]}
    subject["relation"] = event.get("subjectRelation", "")
    return render_warrant({**event, "subject": subject, "policy": event.get("meta", {}).get("policy", "")})


RESOURCE_COLUMNS: Columns = {
    "TIME": lambda event: event["createdAt"],
    "EVENT": lambda event: event["type"],
    "RESOURCE": lambda event: f"{event['resourceType']}:{event['resourceId']}",
    "BY": lambda event: event.get("actor", ""),
}
ACCESS_COLUMNS: Columns = {
    "TIME": lambda event: event["createdAt"],
    "EVENT": lambda event: event["type"].removeprefix("access_"),
    "WARRANT": _render_access,
    "BY": lambda event: event.get("actor", ""),
    "DECISION": lambda event: event["id"] if event["type"] in DECISION_TYPES else "",
}
"""Maps the titles of columns to their contents; DECISION has the ids that `magistrate replay` takes."""


@click.group(short_help="List what was written and decided.")
def events() -> None:
    """List events, the newest first: what was created, updated and deleted, and how checks were decided."""


def _event_options(types: tuple[str, ...], filters: dict[str, str]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for flag, parameter in reversed(filters.items()):
            completes = complete_types if parameter.endswith("Type") else None
            command = click.option(flag, parameter, metavar="TEXT", shell_complete=completes)(command)
        when = "a time, as in 2026-11-20T10:00Z, or how long ago, as in 90s, 15m, 2h or 3d"
        for flag, meaning in (("--until", "only events up to"), ("--since", "only events from")):
            command = click.option(flag, metavar="WHEN", help=f"{meaning} {when}")(command)
        after = "only events after the write of this token, or `begin` for all that are kept; the oldest come first"
        command = click.option("--after", metavar="TOKEN", help=after)(command)
        command = click.option("--oldest-first", is_flag=True, help="sort in the order in which they happened")(command)
        return click.option("--type", "type", type=click.Choice(types), help="only events of this type")(command)

    return decorate


@events.command("resources", short_help="List changes of objects, object types and policies.")
@_event_options(RESOURCE_TYPES, RESOURCE_FILTERS)
@limit_option
@calls_service
def list_resource_events(client: "Client", as_json: bool, limit: int, **options: Any) -> None:
    """List changes of objects, object types and named policies."""
    rows = client.events("/v2/resource-events", _read_options(options), page_size(limit))
    print_list(rows, limit, as_json, RESOURCE_COLUMNS)


@events.command("access", short_help="List changes of warrants, and decisions of checks.")
@_event_options(ACCESS_TYPES, FILTERS)
@limit_option
@calls_service
def list_access_events(client: "Client", as_json: bool, limit: int, **options: Any) -> None:
    """List warrants that were granted and revoked and, if the service runs with --decision-log, checks that were
    allowed and denied."""
    rows = client.events("/v2/access-events", _read_options(options), page_size(limit))
    print_list(rows, limit, as_json, ACCESS_COLUMNS, optional=("DECISION",))


def _read_options(options: dict[str, Any]) -> dict[str, str]:
    parameters = {name: text for name, text in options.items() if isinstance(text, str)}
    for name in ("since", "until"):
        if name in parameters:
            parameters[name] = str(read_time(parameters[name], f"--{name}"))
    return parameters | ({"sortOrder": "ASC"} if options["oldest_first"] else {})
