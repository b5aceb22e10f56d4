"""Implements `magistrate stores`, with which operators manage the stores of a service (docs/stores.md)."""

from typing import TYPE_CHECKING, Any

import click

from magistrate.cli.output import Columns, echo, print_answer, print_deleted, print_done, print_list, print_result
from magistrate.cli.service import calls_whole_service, demand_yes, limit_option, page_size
from magistrate.errors import InvalidRequest, RequestRefused

if TYPE_CHECKING:
    from magistrate.client import Client, Json

NO_LIMIT = "none"

LIMITS = {
    "max_warrants": "warrants",
    "max_objects": "objects",
    "max_requests_per_second": "requestsPerSecond",
}
"""Maps the options to the names of limits in the API."""


def _show_limit(name: str) -> Any:
    return lambda store: str(store["limits"].get(name, ""))


def _show_usage(name: str) -> Any:
    return lambda store: str(store["usage"][name])


COLUMNS: Columns = {
    "NAME": lambda store: store["name"],
    "ID": lambda store: store["id"],
    "CREATED": lambda store: store["createdAt"],
    "MAX WARRANTS": _show_limit("warrants"),
    "MAX OBJECTS": _show_limit("objects"),
    "MAX REQUESTS/S": _show_limit("requestsPerSecond"),
    "DESCRIPTION": lambda store: store.get("description", ""),
}
OPTIONAL = frozenset(COLUMNS) - {"NAME", "ID", "CREATED"}

TOP_COLUMNS: Columns = {
    "NAME": lambda store: store["name"],
    "REQUESTS": lambda store: str(store.get("requests", "")),
    "WARRANTS": _show_usage("warrants"),
    "OBJECTS": _show_usage("objects"),
    "MAX REQUESTS/S": _show_limit("requestsPerSecond"),
    "DESCRIPTION": lambda store: store.get("description", ""),
}


class LimitType(click.ParamType[str]):
    """Represents a limit: a number, or `none`, which is the API's null."""

    name = "limit"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        text = str(value)
        if text == NO_LIMIT or (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) > 0):
            return text
        return self.fail(f"{text!r} is neither a number from 1 nor {NO_LIMIT}", param, ctx)


def _limit_options(command: Any) -> Any:
    """Adds an option for each limit."""
    meanings = {
        "max_requests_per_second": "the maximum number of requests a second to each node",
        "max_objects": "the maximum number of objects",
        "max_warrants": "the maximum number of warrants",
    }
    for name, meaning in meanings.items():
        flag = "--" + name.replace("_", "-")
        command = click.option(flag, name, metavar="N", type=LimitType(), help=f"{meaning}; {NO_LIMIT}: no limit")(
            command
        )
    return command


_named = click.argument("named", metavar="STORE")


@click.group(short_help="Manage stores.")
def stores() -> None:
    """Manage stores, each of which has a model, objects, warrants, keys and history of its own. The key must belong to
    the store default, and have the scope stores. All other commands use another store with --store."""


@stores.command(short_help="Create a store.")
@click.argument("name")
@click.option("--description", metavar="TEXT", help="what the store is for")
@click.option("--from", "model_of", metavar="STORE", help="copy the model of this store")
@_limit_options
@calls_whole_service
def create(
    client: "Client",
    as_json: bool,
    name: str,
    description: str | None,
    model_of: str | None,
    **limits: str | None,
) -> None:
    """Create a store with the name NAME: up to 63 letters a-z, digits and -. Without --from it has no model, or
    the predefined object types if the service is configured so."""
    store: Json = {"name": name}
    if description:
        store["description"] = description
    if model_of is not None:
        store["from"] = model_of
    if chosen := _replace_limits({}, limits):
        store["limits"] = chosen
    created = client.create_store(store)
    print_done("created", created, as_json, [created["name"]])


@stores.command("list", short_help="List stores by name.")
@click.option("--prefix", metavar="TEXT", help="only stores whose names begin with this")
@limit_option
@calls_whole_service
def list_stores(client: "Client", as_json: bool, prefix: str | None, limit: int) -> None:
    """List stores by name."""
    rows = client.stores({"q": prefix} if prefix else {}, page_size(limit))
    print_list(rows, limit, as_json, COLUMNS, optional=OPTIONAL)


@stores.command(short_help="Show a store.")
@_named
@calls_whole_service
def show(client: "Client", as_json: bool, named: str) -> None:
    """Show the store with this name or id."""
    _show(client.get_store(named), as_json)


@stores.command(short_help="Change the name, the description or limits of a store.")
@_named
@click.option("--name", metavar="NAME", help="the new name")
@click.option("--description", metavar="TEXT", help="the new description; an empty one removes it")
@_limit_options
@calls_whole_service
def update(
    client: "Client", as_json: bool, named: str, name: str | None, description: str | None, **limits: str | None
) -> None:
    """Change the store with this name or id. What no option names stays."""
    change: Json = {}
    if name is not None:
        change["name"] = name
    if description is not None:
        change["description"] = description or None
    if any(limit is not None for limit in limits.values()):
        change["limits"] = _replace_limits(client.get_store(named)["limits"], limits)
    if not change:
        raise InvalidRequest("nothing is to be changed: give --name, --description or a limit")
    _show(client.update_store(named, change), as_json)


@stores.command(short_help="Delete a store with everything in it.")
@_named
@click.option("--yes", is_flag=True, help="do not prompt")
@calls_whole_service
def delete(client: "Client", as_json: bool, named: str, yes: bool) -> None:
    """Delete the store with this name or id, and everything in it. It is refused everywhere within a second; its rows
    are removed in the background, and then its name is free."""
    stored = client.get_store(named)
    if not yes:
        demand_yes(f"Delete the store {stored['name']} and everything in it?", "not deleted")
    client.delete_store(stored["id"])
    print_deleted([stored["name"]], as_json)


@stores.command(short_help="Show which stores are used most.")
@limit_option
@calls_whole_service
def top(client: "Client", as_json: bool, limit: int) -> None:
    """Show how many requests each store has had since the service was started, and how many warrants and objects it
    holds: those with the most requests first, and among equals those with the most warrants. The service counts
    requests by store only with `serve --metrics-store-label`."""
    counts, why_not = _count_requests(client)
    listed = [*client.stores({})]
    if counts is not None:
        listed = [{**store, "requests": counts.get(store["name"], 0)} for store in listed]
    listed.sort(key=_rank)
    hint = "--limit shows more" if len(listed) > limit else ""
    optional = frozenset(TOP_COLUMNS) - {"NAME"}
    print_answer({"results": listed[:limit]}, as_json, TOP_COLUMNS, hint, optional=optional)
    if why_not:
        echo(why_not, err=True)


def _rank(store: "Json") -> tuple[int, int, int, str]:
    usage = store["usage"]
    return -store.get("requests", 0), -usage["warrants"], -usage["objects"], store["name"]


def _count_requests(client: "Client") -> tuple[dict[str, int] | None, str]:
    """Returns how many requests were about each store, or None, and why."""
    try:
        counts = client.count_store_requests()
    except RequestRefused as refusal:
        if refusal.status not in (403, 404):
            raise
        return None, f"Requests are not shown: {refusal.message}"
    if counts is None:
        return None, "Requests are not counted by store; `magistrate serve --metrics-store-label` does"
    return counts, ""


def _replace_limits(before: "Json", replacing: dict[str, str | None]) -> "Json":
    """Returns the limits that a store has after some have been replaced, or removed."""
    limits = dict(before)
    for option, text in replacing.items():
        if text is not None:
            limits[LIMITS[option]] = None if text == NO_LIMIT else int(text)
    return {name: limit for name, limit in limits.items() if limit is not None}


def _show(store: "Json", as_json: bool) -> None:
    print_result(store, as_json, lambda: print_answer({"results": [store]}, as_json, COLUMNS, "", optional=OPTIONAL))
