"""Implements `magistrate watch`, which prints what is written to a store while it happens (docs/watch.md)."""

import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from magistrate.cli.checks.event_position import PositionFile
from magistrate.cli.completion import complete_types
from magistrate.cli.output import tolerate_closed_output
from magistrate.cli.service import CommandFailed, calls_service
from magistrate.errors import InvalidParameter, RequestRefused

if TYPE_CHECKING:
    from magistrate.client import Client

WATCH_PATH, ACCESS_PATH = "/v2/watch", "/v2/watch/access"
OF_CHANGES = {"object_type": "objectType", "relation": "relation", "subject_type": "subjectType"}
OF_ACCESS = {"subject": "subject", "object_ref": "object"}
"""Map options to the parameters of the API: those that select changes, and those that select access with --of."""
LOST_CODES = ("gone", "revision_lost")


@click.command(short_help="Print what is written, as it happens.")
@click.option("--object-type", metavar="TYPE", multiple=True, shell_complete=complete_types, help="only this type")
@click.option("--relation", metavar="RELATION", multiple=True, help="only warrants with this relation")
@click.option(
    "--subject-type",
    metavar="TYPE",
    multiple=True,
    shell_complete=complete_types,
    help="only warrants to subjects of this type",
)
@click.option(
    "--of", metavar="ACCESS", multiple=True, help="access that is gained and lost: document#viewer@user; repeatable"
)
@click.option("--subject", metavar="SUBJECT", help="with --of: only the access of this subject")
@click.option("--object", "object_ref", metavar="OBJECT", help="with --of: only the access to this object")
@click.option("--since", metavar="TOKEN", help="begin with what follows this token, instead of now")
@click.option("--snapshot", "has_snapshot", is_flag=True, help="begin with the state, and go on with what follows it")
@click.option(
    "--position",
    "position_path",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="go on from the position in FILE, if there is one, and keep it there",
)
@click.option("--once", is_flag=True, help="end when everything up to now is printed; a failure is not waited out")
@calls_service
def watch(
    client: "Client",
    as_json: bool,
    of: tuple[str, ...],
    since: str | None,
    has_snapshot: bool,
    position_path: Path | None,
    once: bool,
    **selected: Any,
) -> None:
    """Print an event for each write, as a line of JSON, as in

    \b
    magistrate watch --object-type document --position printed

    Every filter but --subject and --object may be repeated: one of its values must match. The command goes on until it
    is interrupted, and goes on by itself after the connection was lost. The position in FILE is written after the event
    was printed: started again, the command prints what follows, and perhaps the last events once more."""
    from magistrate.cli.checks.event_following import EventFollower, FollowOptions

    if since and has_snapshot:
        raise InvalidParameter("--since", "cannot be given with --snapshot, which begins anew")
    parameters = _read_filters(bool(of), selected) | ({"of": ",".join(of)} if of else {})
    begin = {"snapshot": "true"} if has_snapshot else {"since": since} if since else {}
    file = None if position_path is None else PositionFile(position_path)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    options = FollowOptions(ACCESS_PATH if of else WATCH_PATH, parameters, begin, once)
    follower = EventFollower(client, options, file, stop)
    with tolerate_closed_output():
        try:
            follower.run()
        except RequestRefused as error:
            if error.code in LOST_CODES:
                place = "" if file is None else f" and without {file.path}"
                message = f"{error.message.removesuffix('.')}; begin anew with --snapshot{place}"
                raise CommandFailed(message, error.code) from error
            raise


def _read_filters(is_access: bool, selected: dict[str, Any]) -> dict[str, Any]:
    """Returns the parameters of options. Raises InvalidParameter for those of the other feed."""
    names, others = (OF_ACCESS, OF_CHANGES) if is_access else (OF_CHANGES, OF_ACCESS)
    for option in others:
        if selected[option]:
            flag = "--" + others[option].replace("T", "-t")
            raise InvalidParameter(flag, "cannot be given with --of" if is_access else "needs --of")
    return {names[option]: selected[option] for option in names if selected[option]}
