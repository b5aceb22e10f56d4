"""Implements `magistrate explain`, which prints why a check is allowed or denied, with every rule on the way."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from magistrate.cli.checks.check import DENIED
from magistrate.cli.checks.foreign_names import show_names
from magistrate.cli.checks.reasons import describe_limit, describe_policy, describe_suggestions
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
from magistrate.cli.output import echo, echo_coloured, print_result, print_table, render_warrant
from magistrate.cli.service import calls_service, contextual_named, strict_option
from magistrate.errors import InvalidRequest
from magistrate.terminal import printable

if TYPE_CHECKING:
    from magistrate.client import Client


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

    Each line says whether a check or a rule holds (yes, no or ?), and through which warrant the line above reaches it.
    For a denied check, the smallest changes that would allow it follow. The exit code is 0 if the check is allowed, 1
    if it is denied, 2 if there is no result."""
    contextual_warrants, point = read_contextual(contextual), read_as_of(as_of)
    with contextual_named(contextual):
        answer = client.explain(
            read_check(check),
            read_context(context),
            strict=is_strict,
            contextual_warrants=contextual_warrants,
            as_of=point,
        )
    print_result(answer, as_json, lambda: print_explanation(answer))
    if answer["decision"] == "denied":
        raise click.exceptions.Exit(DENIED)


def print_explanation(answer: dict[str, Any]) -> None:
    colour = "green" if answer["decision"] == "allowed" else "red"
    echo_coloured(answer["decision"], colour, "")
    tree = _draw_tree(show_names(answer)["because"])
    for line in (*map(printable, answer["unknown"]), *tree, *describe_suggestions(answer)):
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


DIFFERENT = 1
"""Sets the exit code of a replay that does not agree with the record."""


@click.command(short_help="Make a recorded decision again as of its time, and explain it.")
@click.argument("decision_id", metavar="ID")
@calls_service
def replay(client: "Client", as_json: bool, decision_id: str) -> None:
    """Make a recorded decision again with the warrants, the model, the clock and the context of that time, and
    explain it.

    ID is that of an event in `magistrate events access`, which lists decisions if the service runs with --decision-log.
    The exit code is 0 if the decision is the same again, 1 if it is not, 2 if there is no result."""
    if not decision_id:
        raise InvalidRequest("the ID is empty; `magistrate events access` shows those of decisions")
    answer = client.replay_decision(decision_id)
    print_result(answer, as_json, lambda: _print_replay(answer))
    if not answer["agrees"]:
        raise click.exceptions.Exit(DIFFERENT)


def _print_replay(answer: dict[str, Any]) -> None:
    recorded, explanation = answer["recorded"], answer["explanation"]
    again = "the same" if answer["agrees"] else "NOT the same"
    decided = ["recorded", recorded["decision"], recorded["decidedAt"]]
    print_table([decided, ["replayed", explanation["decision"], again]])
    print_explanation(explanation)
