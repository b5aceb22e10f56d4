"""Implements `magistrate replay`, which makes a recorded decision again and explains it."""

from typing import TYPE_CHECKING, Any

import click

from magistrate.cli.explain import print_explanation
from magistrate.cli.output import print_json, print_table
from magistrate.cli.service import calls_service
from magistrate.errors import InvalidRequest

if TYPE_CHECKING:
    from magistrate.client import Client

DIFFERENT = 1
"""Sets the exit code of a replay that does not agree with the record."""


@click.command(short_help="Make a recorded decision again as of then, and explain it.")
@click.argument("id", metavar="ID")
@calls_service
def replay(client: "Client", as_json: bool, id: str) -> None:
    """Make a recorded decision again with the warrants, the model, the time and the context of then, and explain it.

    ID is that of an event in `magistrate events access`, which lists decisions if the service runs with --decision-log.
    The exit code is 0 if the decision is the same again, 1 if it is not, 2 if there is no result."""
    if not id:
        raise InvalidRequest("the ID is empty; `magistrate events access` shows those of decisions")
    answer = client.replay_decision(id)
    if as_json:
        print_json(answer)
    else:
        _print_replay(answer)
    if not answer["agrees"]:
        raise click.exceptions.Exit(DIFFERENT)


def _print_replay(answer: dict[str, Any]) -> None:
    recorded, explanation = answer["recorded"], answer["explanation"]
    again = "the same" if answer["agrees"] else "NOT the same"
    print_table(
        [
            ["recorded", recorded["decision"], recorded["decidedAt"]],
            ["replayed", explanation["decision"], again],
        ]
    )
    print_explanation(explanation)
