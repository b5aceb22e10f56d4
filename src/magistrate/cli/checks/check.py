"""Implements `magistrate check`, which prints the result of a check and reports it by the exit code."""

from typing import TYPE_CHECKING, Any

import click

from magistrate.cli.checks.reasons import describe_denial, step
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
from magistrate.cli.output import align_columns, echo, echo_coloured, print_json
from magistrate.cli.service import calls_service, contextual_named, strict_option
from magistrate.terminal import printable

if TYPE_CHECKING:
    from magistrate.client import Client, Operator

DENIED = 1
"""Sets the exit code of a denied check."""


@click.command(short_help="Check whether subjects have relations on objects.")
@click.argument("checks", metavar="CHECK...", nargs=-1, required=True, shell_complete=complete_objects)
@click.option("--any", "any_of", is_flag=True, help="succeed if at least one of several checks is allowed")
@click.option("--all", "all_of", is_flag=True, help="succeed if all of several checks are allowed")
@click.option("--batch", is_flag=True, help="print a result for each check; exit code 0 if all are allowed")
@context_option
@with_option
@click.option(
    "--explain",
    is_flag=True,
    help="show the warrants that the result depends on, from the subject to the object; for a denial, what is missing "
    "and what would allow it",
)
@as_of_option
@strict_option
@calls_service
def check(
    client: "Client",
    as_json: bool,
    checks: tuple[str, ...],
    any_of: bool,
    all_of: bool,
    batch: bool,
    context: tuple[str, ...],
    contextual: tuple[str, ...],
    explain: bool,
    as_of: str | None,
    is_strict: bool,
) -> None:
    """Check whether a subject has a relation on an object, as in

    magistrate check document:plan#viewer@user:ann

    The exit code is 0 if the check is allowed, 1 if it is denied, 2 if there is no result."""
    op = _operator(len(checks), {"anyOf": any_of, "allOf": all_of, "batch": batch})
    typed, variables = [read_check(check_text) for check_text in checks], read_context(context)
    contextual_warrants, point = read_contextual(contextual), read_as_of(as_of)
    with contextual_named(contextual):
        answered = client.check(
            typed,
            op,
            variables,
            debug=explain,
            strict=is_strict,
            contextual_warrants=contextual_warrants,
            as_of=point,
        )
    answers = answered if op == "batch" else [answered]
    if as_json:
        print_json(answered)
    else:
        for place, answer in enumerate(answers):
            _print_answer(answer, checks[place] if op == "batch" else "")
            if explain and not _is_allowed(answer) and op not in ("anyOf", "allOf"):
                _print_denial(
                    client.explain(typed[place], variables, contextual_warrants=contextual_warrants, as_of=point)
                )
            elif explain:
                _print_reasons(answer, with_names=op in ("anyOf", "allOf"))
    if not all(map(_is_allowed, answers)):
        raise click.exceptions.Exit(DENIED)


def _operator(checks: int, is_given_by_operator: "dict[Operator, bool]") -> "Operator | None":
    chosen = [op for op, is_given in is_given_by_operator.items() if is_given]
    if len(chosen) > 1:
        raise click.UsageError("only one of --any, --all and --batch can be given", click.get_current_context())
    if checks > 1 and not chosen:
        raise click.UsageError("several checks need one of --any, --all and --batch", click.get_current_context())
    return chosen[0] if chosen else None


def _is_allowed(answer: dict[str, Any]) -> bool:
    return bool(answer["code"] == 200)


def _print_answer(answer: dict[str, Any], check_text: str) -> None:
    word, colour = ("allowed", "green") if _is_allowed(answer) else ("denied", "red")
    gap = " " * (len("allowed  ") - len(word))
    echo_coloured(word, colour, gap + printable(check_text) if check_text else "")


def _print_reasons(answer: dict[str, Any], with_names: bool) -> None:
    for check_text, path in answer.get("decisionPath", {}).items():
        if with_names:
            echo("  " + printable(check_text))
        for line in align_columns([step(warrant) for warrant in path]):
            echo("  " + line)
    echo(f"  {_reason(answer)}; took {answer.get('processingTime') or 'less than 1'} ms")


def _print_denial(explained: dict[str, Any]) -> None:
    """Prints the reasons of a denial. The service decides again for it, and may have been changed in between."""
    if explained["decision"] == "allowed":
        echo("  it is allowed by now")
        return
    for line in describe_denial(explained):
        echo("  " + line)


def _reason(answer: dict[str, Any]) -> str:
    if not _is_allowed(answer):
        return "no warrants grant it, or a rule or policy does not hold"
    if not answer["isImplicit"]:
        return "explicit: a warrant grants it directly"
    if "decisionPath" not in answer:
        return "implicit: a rule grants it because no warrant excludes the subject"
    return "implicit: it follows from these warrants, by groups or rules"
