"""Implements `magistrate model plan` and `apply`, which show what a model would change in a service, and write it
(docs/models.md#plan-and-apply)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import unified_diff
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from magistrate.cli.checks.diff import COLUMNS
from magistrate.cli.checks.query import list_page_sizes
from magistrate.cli.models.text import demand_no_errors, read_file, render_stored_model, report_model
from magistrate.cli.output import echo, print_answer, print_json, render_warrant, tolerate_closed_output
from magistrate.cli.service import INTERRUPTED, CommandFailed, calls_service, demand_yes
from magistrate.errors import RequestRefused

if TYPE_CHECKING:
    from magistrate.client import Client

Json = dict[str, Any]

CHANGES = 2
"""Sets the exit code of `plan` if something would change."""
ERROR = 1
"""Sets the exit code of every failure of both commands."""

MAX_PROPOSED = 100
"""Limits the object types, and the policies, that a service compares in one proposal."""
SHOWN_ROWS = 100
"""Limits the access that is shown; `magistrate diff --proposal` shows all."""


class PlanCommand(click.Command):
    """Represents a command whose failures have the exit code 1, because 2 says that something would change."""

    def make_context(self, *arguments: Any, **settings: Any) -> click.Context:
        with _errors_exit_with(ERROR):
            return super().make_context(*arguments, **settings)

    def invoke(self, context: click.Context) -> Any:
        with _errors_exit_with(ERROR):
            return super().invoke(context)


@contextmanager
def _errors_exit_with(code: int) -> Iterator[None]:
    try:
        yield
    except click.ClickException as error:
        # The class of a ClickException has the exit code, but those who handle it read that of the instance.
        if error.exit_code != INTERRUPTED:
            vars(error)["exit_code"] = code
        raise


class PlannedModel(NamedTuple):
    """Holds what a model would change: `names` by kind and change, `lines` of the text, and the access that would be
    gained and lost, or why it is not known. `token` is that of the state that was compared."""

    model: Json
    names: Json
    lines: list[str]
    access: Json
    fault: str
    token: str

    @property
    def is_empty(self) -> bool:
        kinds = (self.names["objectTypes"], self.names["policies"])
        return not any(names for kind in kinds for names in kind.values())


def _with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the argument and the options that both commands have."""
    keep = click.option(
        "--keep-existing", is_flag=True, help="keep warrants that are not allowed any more, without effect"
    )
    of = click.option("--of", metavar="ACCESS", multiple=True, help="show only such access: document#viewer@user")
    return click.argument("file", type=click.Path())(keep(of(command)))


@click.command("plan", cls=PlanCommand, short_help="Show what a model would change.")
@_with_options
@calls_service
def plan_command(client: "Client", as_json: bool, file: str, keep_existing: bool, of: tuple[str, ...]) -> None:
    """Show what the model in FILE (- for standard input), as text or JSON, would change in the service, which it
    replaces as a whole: its text, the warrants that it does not allow any more, and the access that is gained and lost.

    Nothing is written. The exit code is 0 if nothing would change, 2 if something would, and 1 after an error."""
    plan = _make_plan(client, file, of)
    with tolerate_closed_output():
        if as_json:
            print_json({**plan.names, "access": plan.access, "token": plan.token})
        else:
            _print_plan(plan, keep_existing)
    if not plan.is_empty:
        raise click.exceptions.Exit(CHANGES)


@click.command("apply", cls=PlanCommand, short_help="Replace the model of the service.")
@click.option("--yes", is_flag=True, help="do not prompt")
@click.option("--expected-revision", metavar="TOKEN", help="apply only if the model is still that of the plan at TOKEN")
@_with_options
@calls_service
def apply_command(
    client: "Client",
    as_json: bool,
    file: str,
    keep_existing: bool,
    of: tuple[str, ...],
    yes: bool,
    expected_revision: str | None,
) -> None:
    """Replace the model of the service, as a whole, by that in FILE (- for standard input), as text or JSON. What it
    changes is shown first, as by `model plan`, and confirmed.

    Nothing is written if the model of the service has changed since it was shown. The exit code is 1 if it was not
    written, or not confirmed."""
    plan = _make_plan(client, file, of)
    if not as_json:
        with tolerate_closed_output():
            _print_plan(plan, keep_existing)
    if not plan.is_empty:
        if not yes:
            if file == "-":
                raise CommandFailed("the model was read from standard input, so nobody can confirm; add --yes")
            demand_yes("Apply this?", "not applied")
        client.put_model(plan.model, expected_revision or plan.token, keep_existing)
    with tolerate_closed_output():
        if as_json:
            print_json({**plan.names, "access": plan.access})
        elif not plan.is_empty:
            echo("applied")


def _make_plan(client: "Client", file: str, of: tuple[str, ...]) -> PlannedModel:
    from magistrate.engine.text.reports import find_meaningless, render_json

    text = read_file(file)
    report = report_model(file, text)
    # The service refuses what has no meaning, too, but it could only name a place in the JSON that it is sent.
    demand_no_errors(file, text, report.errors or find_meaningless(report.document))
    model = _sort_model(render_json(report.document))
    names, token = client.plan_model(model)
    stored = client.get_model(token)
    before, after = (render_stored_model(shown).splitlines() for shown in (stored, model))
    lines = [*unified_diff(before, after, lineterm="", n=2)][2:]
    plan = PlannedModel(model=model, names=names, lines=lines, access={"results": []}, fault="", token=token)
    if plan.is_empty:
        return plan
    if _is_large(model) and (names["objectTypes"]["deleted"] or names["policies"]["deleted"]):
        return plan._replace(fault=f"something is deleted, and more than {MAX_PROPOSED} types or policies stay")
    try:
        return plan._replace(access=_compare_access(client, model, names, of))
    except RequestRefused as refusal:
        if refusal.code != "invalid_parameter":
            raise
        return plan._replace(fault=refusal.message)


def _sort_model(model: Json) -> Json:
    """Returns the model in the order in which the service returns it, so that the order is no difference."""
    by_type = sorted(model["objectTypes"], key=lambda definition: str(definition["type"]))
    return {
        "objectTypes": by_type,
        "policies": sorted(model["policies"], key=lambda definition: str(definition["name"])),
    }


def _compare_access(client: "Client", model: Json, names: Json, of: tuple[str, ...]) -> Json:
    """Returns the first rows of access that would be gained and lost."""
    proposal = {"objectTypes": model["objectTypes"], "policies": model["policies"], "replace": True}
    if _is_large(model):
        types, policies = _list_changed(names["objectTypes"]), _list_changed(names["policies"])
        proposal = {
            "objectTypes": [definition for definition in model["objectTypes"] if definition["type"] in types],
            "policies": [definition for definition in model["policies"] if definition["name"] in policies],
        }
    narrower = {"of": ",".join(of)} if of else {}
    page: Json = next(iter(client.compare_proposal(proposal, narrower, list_page_sizes(SHOWN_ROWS, False))))
    return page


def _is_large(model: Json) -> bool:
    """Returns whether the model is too large to be proposed as a whole; what changes in it may still be."""
    return max(len(model["objectTypes"]), len(model["policies"])) > MAX_PROPOSED


def _list_changed(names: Json) -> set[str]:
    return {*names["created"], *names["changed"]}


def _print_plan(plan: PlannedModel, keep_existing: bool) -> None:
    if plan.is_empty:
        echo("nothing changes")
        return
    for kind, word in (("objectTypes", "type"), ("policies", "policy")):
        for change in ("created", "changed", "deleted"):
            for name in plan.names[kind][change]:
                echo(f"{change:<7}  {word} {name}")
    echo()
    for line in plan.lines:
        echo(line)
    stranded = plan.names["stranded"]
    if stranded:
        more = ", and others" if plan.names["more"] else ""
        effect = "will have no effect any more" if keep_existing else "are not allowed any more; the model is refused"
        echo(f"\nThese warrants{more} {effect}:")
        for warrant in stranded:
            echo(f"  {render_warrant(warrant)}")
    echo("\nAccess that changes:")
    if plan.fault:
        echo(f"  it is not known: {plan.fault}")
    elif plan.access["results"]:
        hint = "`magistrate diff --proposal` shows all" if "nextCursor" in plan.access else ""
        print_answer(plan.access, False, COLUMNS, hint, optional=("IF",))
    else:
        echo("  none")
    echo(f"\nplanned at {plan.token}")
