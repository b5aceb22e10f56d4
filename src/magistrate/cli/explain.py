"""Implements `magistrate explain`, which prints why a check is allowed or denied, with every rule on the way."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from magistrate.cli.completion import complete_objects
from magistrate.cli.input import (
    as_of_option,
    context_option,
    read_as_of,
    read_check,
    read_context,
    read_contextual,
    with_option,
)
from magistrate.cli.output import echo, echo_coloured, print_json, render_warrant
from magistrate.cli.reasons import describe_limit, describe_policy, describe_suggestions
from magistrate.cli.service import calls_service, contextual_named, strict_option
from magistrate.terminal import printable

if TYPE_CHECKING:
    from magistrate.client import Client

DENIED = 1
"""Sets the exit code of a denied check."""

_MARKS = {True: "yes", False: "no"}


@click.command(short_help="Explain why a check is allowed or denied, and what would allow it.")
@click.argument("check", metavar="CHECK", shell_complete=complete_objects)
@context_option
@with_option
@as_of_option
@strict_option
@calls_service
def explain(
    client: "Client",
    as_json: bool,
    check: str,
    context: tuple[str, ...],
    contextual: tuple[str, ...],
    as_of: str | None,
    is_strict: bool,
) -> None:
    """Explain why a check is allowed or denied, as in

    magistrate explain document:plan#viewer@user:ann

    Each line says whether a check or a rule holds (yes, no or ?), and by which warrant the line above comes to it. For
    a denied check follow the smallest changes that would allow it. The exit code is 0 if the check is allowed, 1 if it
    is denied, 2 if there is no result."""
    given, point = read_contextual(contextual), read_as_of(as_of)
    with contextual_named(contextual):
        answer = client.explain(read_check(check), read_context(context), is_strict, given, point)
    if as_json:
        print_json(answer)
    else:
        print_explanation(answer)
    if answer["decision"] == "denied":
        raise click.exceptions.Exit(DENIED)


def print_explanation(answer: dict[str, Any]) -> None:
    colour = "green" if answer["decision"] == "allowed" else "red"
    echo_coloured(answer["decision"], colour, "")
    for line in (*map(printable, answer["unknown"]), *_draw_tree(answer["because"]), *describe_suggestions(answer)):
        echo("  " + line)


def _draw_tree(root: dict[str, Any]) -> Iterator[str]:
    """Yields a line for each node, indented by its level."""
    waiting = [(root, 0)]
    while waiting:
        node, level = waiting.pop()
        mark = _MARKS.get(node["holds"], "?").ljust(3)
        yield f"{'  ' * level}{mark}  {printable(_describe_node(node))}"
        waiting += [(child, level + 1) for child in reversed(node.get("children", []))]


def _describe_node(node: dict[str, Any]) -> str:
    words = [node.get("rule") or node["check"]]
    if "via" in node:
        words.append(f"by {render_warrant({**node['via'], 'policy': ''})}")
    if "outOfForce" in node:
        words.append(describe_limit(node))
    if "policy" in node:
        words.append(describe_policy(node["policy"]))
    if node.get("loop"):
        words.append("(a loop: it depends on itself)")
    if "cut" in node:
        words.append(f"(+ {node['cut']} not shown)")
    return "  ".join(words)
