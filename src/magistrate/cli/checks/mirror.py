"""Implements `magistrate mirror`, which keeps a table of access in the database of an application (docs/mirror.md)."""

import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

import click

from magistrate.cli.output import echo, print_json
from magistrate.cli.service import calls_service

if TYPE_CHECKING:
    from magistrate.client import Client
    from magistrate.mirror.mirroring import MirrorOptions
    from magistrate.mirror.rows import AccessKey
    from magistrate.mirror.target import MirrorTarget
    from magistrate.mirror.verification import Verification

DIFFERENT = 1
"""Sets the exit code of --verify if rows differ."""
TABLE = "access"


@click.command(short_help="Keep a table of access in your own database.")
@click.option(
    "--of",
    metavar="ACCESS",
    multiple=True,
    required=True,
    help="the access that the table has: document#can-read@user; can be repeated, or separated by commas",
)
@click.option(
    "--to", "url", metavar="URL", required=True, help="your database: postgresql://… or sqlite:///…, with its password"
)
@click.option("--table", metavar="NAME", default=TABLE, show_default=True, help="the name of the table")
@click.option("--once", is_flag=True, help="end when the table is up to date; a failure is not waited out")
@click.option("--verify", is_flag=True, help="compare the table with full queries as of its position, and end")
@click.option("--no-wildcards", is_flag=True, help="leave out the rows with *, which stand for subjects to come")
@calls_service
def mirror(
    client: "Client",
    as_json: bool,
    of: tuple[str, ...],
    url: str,
    table: str,
    once: bool,
    verify: bool,
    no_wildcards: bool,
) -> None:
    """Keep a table of access in the database of an application, which can then join its own rows with it, as in

    \b
    magistrate mirror --of document#can-read@user --to postgresql://app@db/app

    The table has the columns object_type, object_id, relation, subject_type, subject_id and conditional, and is exactly
    the access at the position in TABLE_position. The command goes on from there whenever it is started again, and ends
    at SIGTERM. With --verify alone, nothing is changed; with --once as well, the table is brought up to date before."""
    from magistrate.mirror.mirroring import Mirror, MirrorOptions, read_access
    from magistrate.mirror.open_target import choose_target

    options = MirrorOptions(read_access(of), not no_wildcards, once)
    target = choose_target(url, table)
    if once or not verify:
        stop = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: stop.set())
        Mirror(client, target, options, lambda text: echo(text, err=True), stop).run()
        if stop.is_set():
            return
    if verify:
        _verify(client, target, options, as_json)


def _verify(client: "Client", target: "MirrorTarget", options: "MirrorOptions", as_json: bool) -> None:
    from magistrate.errors import TargetRefused
    from magistrate.mirror.verification import verify_mirror

    try:
        verification = verify_mirror(client, target, options)
    finally:
        target.close()
    if verification is None:
        raise TargetRefused("nothing was loaded into the table yet; run the command without --verify first")
    if as_json:
        print_json(_build_json(verification))
    else:
        _print_differences(verification)
    if not verification.agrees:
        sys.exit(DIFFERENT)


def _print_differences(verification: "Verification") -> None:
    for word, keys in (
        ("missing", verification.missing),
        ("not in truth", verification.unexpected),
        ("not conditional", verification.not_conditional),
        ("only conditional", verification.only_conditional),
    ):
        for key in keys:
            echo(f"{word}  {_render_key(key)}")
    result = "all agree" if verification.agrees else f"{verification.total:,} differ"
    echo(f"{verification.rows:,} rows are compared as of {verification.position.time}: {result}")


def _build_json(verification: "Verification") -> dict[str, Any]:
    return {
        "agrees": verification.agrees,
        "token": verification.position.token,
        "time": verification.position.time,
        "rows": verification.rows,
        "differing": verification.total,
        "missing": [*map(_render_key, verification.missing)],
        "unexpected": [*map(_render_key, verification.unexpected)],
        "notConditional": [*map(_render_key, verification.not_conditional)],
        "onlyConditional": [*map(_render_key, verification.only_conditional)],
    }


def _render_key(key: "AccessKey") -> str:
    return f"{key.object_type}:{key.object_id}#{key.relation}@{key.subject_type}:{key.subject_id}"
