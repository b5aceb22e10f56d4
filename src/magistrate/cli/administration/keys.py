"""Implements `magistrate keys`, which manages the keys of callers, and replaces the key that a service generated."""

import os
from typing import TYPE_CHECKING, Any

import click

from magistrate.cli.input import read_limit
from magistrate.cli.output import Columns, echo, print_done, print_json, print_list, print_table
from magistrate.cli.service import calls_service, limit_option, page_size, report_failures, with_settings
from magistrate.config.settings import read_store_settings
from magistrate.config.settings_table import SETTINGS
from magistrate.errors import InvalidRequest

if TYPE_CHECKING:
    from magistrate.client import Client, Json

SCOPES = (
    "check",
    "forward",
    "query",
    "read",
    "write",
    "model",
    "events",
    "metrics",
    "keys",
    "webhooks",
    "stores",
    "admin",
)
"""Lists the scopes. They are repeated here so that `--help` need not import the service."""

COLUMNS: Columns = {
    "NAME": lambda key: key["name"],
    "KEY": lambda key: f"{key['prefix']}...",
    "SCOPES": lambda key: " ".join(key["scopes"]),
    "OBJECT TYPES": lambda key: " ".join(key.get("objectTypes", [])),
    "CREATED": lambda key: key["createdAt"],
    "BY": lambda key: key["createdBy"],
    "USED": lambda key: key.get("lastUsedAt", ""),
    "EXPIRES": lambda key: key.get("expiresAt", ""),
    "PREVIOUS UNTIL": lambda key: key.get("previousUntil", ""),
}


@click.group(short_help="Manage API keys.")
def keys() -> None:
    """Manage API keys. A key has scopes, which say what its holder may do, and perhaps object types that it is limited
    to. A change is in force within a second."""


@keys.command(short_help="Create a key and print it.")
@click.argument("name")
@click.option(
    "--scope", "scopes", multiple=True, required=True, type=click.Choice(SCOPES), help="what the key is for; repeatable"
)
@click.option(
    "--object-type", "object_types", metavar="TYPE", multiple=True, help="limit the key to this type; repeatable"
)
@click.option("--expires", metavar="TIME", help="when it ends: a time, as in 2026-12-01T10:00Z, or how far ahead: 90d")
@calls_service
def create(
    client: "Client",
    as_json: bool,
    name: str,
    scopes: tuple[str, ...],
    object_types: tuple[str, ...],
    expires: str | None,
) -> None:
    """Create a key with the name NAME, which the change log shows, and print it this once."""
    key: Json = {"name": name, "scopes": scopes}
    if object_types:
        key["objectTypes"] = object_types
    if expires is not None:
        key["expiresAt"] = read_limit(expires, "--expires")
    _print_issued(client.create_key(key), as_json)


@keys.command("list", short_help="List keys in the order of creation.")
@limit_option
@calls_service
def list_keys(client: "Client", as_json: bool, limit: int) -> None:
    """List keys in the order of creation, those that have expired included. The time of the last use may be behind by a
    minute or two."""
    optional = ("OBJECT TYPES", "USED", "EXPIRES", "PREVIOUS UNTIL")
    print_list(client.api_keys(page_size(limit)), limit, as_json, COLUMNS, optional=optional)


@keys.command(short_help="Revoke keys.")
@click.argument("named", metavar="KEY...", nargs=-1, required=True)
@calls_service
def revoke(client: "Client", as_json: bool, named: tuple[str, ...]) -> None:
    """Revoke the keys with these names or ids: services refuse them within a second."""
    by_id = {key["id"]: key for key in [_find(client, name) for name in named]}  # a key may be named twice
    revoked = [*by_id.values()]
    for key in revoked:
        client.delete_key(key["id"])
    print_done("revoked", {"revoked": [key["id"] for key in revoked]}, as_json, [key["name"] for key in revoked])


@keys.command(short_help="Replace the secret of a key and print the new one.")
@click.argument("named", metavar="KEY")
@click.option(
    "--grace",
    metavar="SECONDS",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="how long the old secret stays valid, at most 7 days",
)
@calls_service
def rotate(client: "Client", as_json: bool, named: str, grace: int) -> None:
    """Replace the secret of the key with this name or id, and print the new one this once."""
    _print_issued(client.rotate_key(_find(client, named)["id"], grace), as_json)


@keys.command(short_help="Replace the generated API key and print the new one.")
@with_settings([setting for setting in SETTINGS if setting.name == "database_url"])
def reset(database_url: str | None) -> None:
    """Replace the API key that was generated in the database by a new one, and print it this once, for example if it is
    lost or leaked. Running services accept the new key, and refuse the old one, within a second. Services with
    --api-key or --api-key-file use neither."""
    with report_failures():
        settings = read_store_settings(database_url, os.environ)
        # importing the server takes a moment, which `--help` need not wait for
        from magistrate.wiring.maintenance import reset_key

        echo(f"API key, shown only this once: {reset_key(settings)}")
        echo("Running services take it within a second, unless they have --api-key or --api-key-file")


def _find(client: "Client", named: str) -> "Json":
    """Returns the key with this name or id. Raises InvalidRequest if there is none."""
    for key in client.api_keys():
        if named in (key["name"], key["id"]):
            return key
    raise InvalidRequest(f"there is no key {named!r}; `magistrate keys list` shows those there are")


def _print_issued(issued: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(issued)
    else:
        print_table([["name", issued["name"]], ["scopes", " ".join(issued["scopes"])]])
        echo(f"API key, shown only this once: {issued['key']}")
