"""Implements `magistrate webhooks`, which manages where the changes of a store are sent (docs/webhooks.md)."""

import sys
from typing import TYPE_CHECKING

import click

from magistrate.cli.output import Columns, echo, print_answer, print_deleted, print_list, print_result
from magistrate.cli.service import calls_service, limit_option, page_size
from magistrate.errors import InvalidRequest

if TYPE_CHECKING:
    from magistrate.client import Client, Json

FILTERS = {"of": "of", "object_type": "objectType", "relation": "relation", "subject_type": "subjectType"}
"""Maps the options to the names of filters in the API."""


def _show_filter(webhook: "Json") -> str:
    return " ".join(f"{name}={','.join(webhook[name])}" for name in FILTERS.values() if name in webhook)


COLUMNS: Columns = {
    "ID": lambda webhook: webhook["id"],
    "URL": lambda webhook: webhook["url"],
    "STATE": lambda webhook: webhook["state"],
    "FILTER": _show_filter,
    "CREATED": lambda webhook: webhook["createdAt"],
    "BY": lambda webhook: webhook["createdBy"],
    "FAILED": lambda webhook: str(webhook.get("attempts", "")),
    "NEXT ATTEMPT": lambda webhook: webhook.get("nextAttemptAt", ""),
    "REASON": lambda webhook: webhook.get("reason", ""),
    "PREVIOUS SECRET UNTIL": lambda webhook: webhook.get("previousUntil", ""),
    "SKIPPED AFTER": lambda webhook: webhook.get("skipped", {}).get("after", ""),
    "DESCRIPTION": lambda webhook: webhook.get("description", ""),
}
OPTIONAL = frozenset(COLUMNS) - {"ID", "URL", "STATE", "CREATED", "BY"}

ATTEMPT_COLUMNS: Columns = {
    "TIME": lambda attempt: attempt["time"],
    "MESSAGE": lambda attempt: attempt["id"],
    "ATTEMPT": lambda attempt: str(attempt["attempt"]),
    "STATUS": lambda attempt: str(attempt.get("status", "")),
    "MILLISECONDS": lambda attempt: f"{attempt['duration']:.1f}",
    "ERROR": lambda attempt: attempt.get("error", ""),
}

_named = click.argument("webhook", metavar="ID")
_filter_options = (
    click.option("--of", multiple=True, metavar="ACCESS", help="access that is gained and lost: document#viewer@user"),
    click.option("--object-type", multiple=True, metavar="TYPE", help="only changes on objects of this type"),
    click.option("--relation", multiple=True, metavar="RELATION", help="only changes of warrants with this relation"),
    click.option("--subject-type", multiple=True, metavar="TYPE", help="only changes of warrants to such subjects"),
)


def _with_filters(command: click.decorators.FC) -> click.decorators.FC:
    """Adds an option for each filter, which may be repeated."""
    for option in reversed(_filter_options):
        command = option(command)
    return command


@click.group(short_help="Manage webhooks.")
def webhooks() -> None:
    """Manage webhooks: URLs to which the changes of a store are sent, in order and signed. The key must have the scope
    webhooks or admin."""


@webhooks.command(short_help="Create a webhook and print its secret.")
@click.argument("url")
@_with_filters
@click.option("--description", metavar="TEXT", help="what it is for")
@click.option("--disabled", is_flag=True, help="send nothing until it is enabled")
@calls_service
def create(
    client: "Client",
    as_json: bool,
    url: str,
    description: str | None,
    disabled: bool,
    **filters: tuple[str, ...],
) -> None:
    """Send all later changes to URL, or those that the filters select, and print this once the secret with which they
    are signed. Each filter may be repeated."""
    webhook: Json = {"url": url, "enabled": not disabled} | _read_filters(filters)
    if description:
        webhook["description"] = description
    _print_issued(client.create_webhook(webhook), as_json)


@webhooks.command("list", short_help="List webhooks in the order of creation.")
@limit_option
@calls_service
def list_webhooks(client: "Client", as_json: bool, limit: int) -> None:
    """List webhooks in the order of creation."""
    print_list(client.webhooks(page_size(limit)), limit, as_json, COLUMNS, optional=OPTIONAL)


@webhooks.command(short_help="Show a webhook.")
@_named
@calls_service
def show(client: "Client", as_json: bool, webhook: str) -> None:
    """Show the webhook with this id."""
    _show(client.get_webhook(webhook), as_json)


@webhooks.command(short_help="Change the URL, the filters or the description of a webhook.")
@_named
@click.option("--to", "url", metavar="URL", help="the new URL")
@_with_filters
@click.option("--description", metavar="TEXT", help="the new description; an empty one removes it")
@calls_service
def update(
    client: "Client",
    as_json: bool,
    webhook: str,
    url: str | None,
    description: str | None,
    **filters: tuple[str, ...],
) -> None:
    """Change the webhook with this id. What no option names stays; a filter is replaced, and removed if it is empty."""
    change: Json = {name: [text for text in texts if text] for name, texts in _read_filters(filters).items()}
    if url is not None:
        change["url"] = url
    if description is not None:
        change["description"] = description or None
    if not change:
        raise InvalidRequest("nothing is to be changed: give --to, --description or a filter")
    _show(client.update_webhook(webhook, change), as_json)


@webhooks.command(short_help="Send changes to a webhook again.")
@_named
@calls_service
def enable(client: "Client", as_json: bool, webhook: str) -> None:
    """Send changes to a webhook that is disabled or dead, from the first on that it has not got."""
    _show(client.update_webhook(webhook, {"enabled": True}), as_json)


@webhooks.command(short_help="Send nothing more to a webhook.")
@_named
@calls_service
def disable(client: "Client", as_json: bool, webhook: str) -> None:
    """Send nothing more to a webhook until it is enabled."""
    _show(client.update_webhook(webhook, {"enabled": False}), as_json)


@webhooks.command(short_help="Delete webhooks.")
@click.argument("named", metavar="ID...", nargs=-1, required=True)
@calls_service
def delete(client: "Client", as_json: bool, named: tuple[str, ...]) -> None:
    """Delete the webhooks with these ids."""
    for webhook in dict.fromkeys(named):
        client.delete_webhook(webhook)
    print_deleted([*dict.fromkeys(named)], as_json)


@webhooks.command(short_help="Replace the secret of a webhook and print the new one.")
@_named
@calls_service
def rotate(client: "Client", as_json: bool, webhook: str) -> None:
    """Replace the secret of a webhook, and print the new one this once. Both sign for 24 hours."""
    _print_issued(client.rotate_webhook(webhook), as_json)


@webhooks.command(short_help="Send changes again.")
@_named
@click.option("--since", metavar="TOKEN", required=True, help="the token after whose write the changes begin")
@calls_service
def replay(client: "Client", as_json: bool, webhook: str, since: str) -> None:
    """Send all changes after a token again, with the same ids, and go on from there."""
    _show(client.replay_webhook(webhook, since), as_json)


@webhooks.command(short_help="Send a test.")
@_named
@calls_service
def test(client: "Client", as_json: bool, webhook: str) -> None:
    """Send a message that is a test, once, and show what came of it; the exit code is 1 if the receiver has not got
    it."""
    attempt = client.test_webhook(webhook)
    print_result(attempt, as_json, lambda: print_answer({"results": [attempt]}, as_json, ATTEMPT_COLUMNS, ""))
    if "error" in attempt:
        sys.exit(1)


@webhooks.command(short_help="List the last attempts to deliver.")
@_named
@limit_option
@calls_service
def deliveries(client: "Client", as_json: bool, webhook: str, limit: int) -> None:
    """List the last attempts to deliver to a webhook, the newest first; 100 are kept."""
    attempts = client.webhook_deliveries(webhook)
    hint = "--limit shows more" if len(attempts) > limit else ""
    optional = frozenset({"STATUS", "ERROR"})
    print_answer({"results": attempts[:limit]}, as_json, ATTEMPT_COLUMNS, hint, optional=optional)


def _read_filters(filters: dict[str, tuple[str, ...]]) -> "Json":
    return {FILTERS[option]: [*texts] for option, texts in filters.items() if texts}


def _show(webhook: "Json", as_json: bool) -> None:
    print_result(
        webhook, as_json, lambda: print_answer({"results": [webhook]}, as_json, COLUMNS, "", optional=OPTIONAL)
    )


def _print_issued(issued: "Json", as_json: bool) -> None:
    _show(issued, as_json)
    if not as_json:
        echo(f"Secret, shown only this once: {issued['secret']}")
