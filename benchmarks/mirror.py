"""A mirror of a million rows of access, from a service that nobody else uses: the first load, and changes after it."""

import io
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from benchmarks.cores import LOAD_CORE, on_core
from benchmarks.databases import STORES, NewDatabase
from benchmarks.server import API_KEY, Server, serving
from benchmarks.table import markdown_table
from magistrate.cli.importing.command import CHUNK_LINES
from magistrate.client import Client
from magistrate.config.settings import ImportTarget, read_settings
from magistrate.wiring.maintenance import import_file

OF = "document#viewer@user"
GROUPS, MEMBERS = 100, 100
"""Count the groups, and the people in each."""
ROWS = 1_000_000
CHANGES = 2_000
JOINS = 500
"""Counts the people who become members of another group, each of whom gains all documents of it."""
TARGET_ROWS, TARGET_CHANGES = 20_000, 500


class MirrorRun(NamedTuple):
    """Holds how long a run of the command took, and the processor time that it and the service used, in seconds."""

    seconds: float
    own_cpu: float
    service_cpu: float


def measure_mirror(seconds: int, rows: int = ROWS) -> str:
    """A table. `seconds` has no effect; each database takes about two minutes."""
    lines: list[tuple[str, ...]] = []
    gained = rows // MEMBERS // GROUPS
    for store, databases in STORES.items():
        with databases() as new_database:
            loading, following, joining = _measure(new_database, rows)
        lines += [
            _render(f"first load, {store}, rows/s", rows, loading, TARGET_ROWS),
            _render(f"{CHANGES:,} writes of a row each, {store}, writes/s", CHANGES, following, TARGET_CHANGES),
            _render(f"{JOINS:,} writes of {gained:,} rows each, {store}, rows/s", JOINS * gained, joining),
        ]
    title = f"Mirror of {rows:,} rows of access in a database of the same kind"
    return markdown_table(title, ("", "", "processor time of the mirror and the service, s", "target"), lines)


def _render(name: str, count: int, run: MirrorRun, target: int | None = None) -> tuple[str, ...]:
    cpu = f"{run.own_cpu:.1f} and {run.service_cpu:.1f}"
    return name, f"{count / run.seconds:,.0f}", cpu, "" if target is None else f">= {target:,}"


def _measure(new_database: NewDatabase, rows: int) -> tuple[MirrorRun, MirrorRun, MirrorRun]:
    """Returns the runs of the command for the first load, after writes of documents, and after writes of groups. All
    that is to be followed is written before."""
    source, mirrored = new_database("source"), new_database("mirrored")
    content = b"".join(_list_lines(rows))
    imported = ImportTarget(read_settings({"database_url": source}, {}), CHUNK_LINES)
    import_file(imported, io.BufferedReader(io.BytesIO(content)), None, lambda _: None)
    with serving(source) as server:
        loading = _run_mirror(server, mirrored)
        with Client(server.url, API_KEY) as client:
            for number in range(CHANGES):
                # people of the group behind the one that has the document already
                person = _user((number + 1) % GROUPS * MEMBERS + number % MEMBERS)
                client.create_warrants([_warrant("document", f"d{number}", "viewer", person)])  # type: ignore[list-item]
            following = _run_mirror(server, mirrored)
            for number in range(JOINS):
                group = f"g{(number // MEMBERS + 50) % GROUPS}"
                client.create_warrants([_warrant("group", group, "member", _user(number))])  # type: ignore[list-item]
            return loading, following, _run_mirror(server, mirrored)


def _run_mirror(server: Server, mirrored: str) -> MirrorRun:
    """Runs the command until the table is up to date."""
    command = [sys.executable, "-m", "magistrate", "mirror", "--once", "--of", OF, "--to", mirrored]
    environment = os.environ | {"MAGISTRATE_API_KEY": API_KEY, "MAGISTRATE_SERVER": server.url}
    service_before, own_before, began_at = server.cpu_seconds(), _children_cpu(), time.perf_counter()
    with on_core(LOAD_CORE):
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - began_at
    return MirrorRun(seconds, _children_cpu() - own_before, server.cpu_seconds() - service_before)


def _children_cpu() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _list_lines(rows: int) -> Iterator[bytes]:
    """Yields lines to import: documents, each of which one of the groups can view."""
    types: dict[str, dict[str, dict[str, str]]] = {"user": {}, "group": {"member": {}}, "document": {"viewer": {}}}
    warrants = [
        *(_warrant("group", f"g{number // MEMBERS}", "member", _user(number)) for number in range(GROUPS * MEMBERS)),
        *(_warrant("document", f"d{number}", "viewer", _group(number)) for number in range(rows // MEMBERS)),
    ]
    for line in [*({"type": name, "relations": relations} for name, relations in types.items()), *warrants]:
        yield msgspec.json.encode(line) + b"\n"


def _user(number: int) -> dict[str, str]:
    return {"objectType": "user", "objectId": f"u{number}"}


def _group(number: int) -> dict[str, str]:
    return {"objectType": "group", "objectId": f"g{number % GROUPS}", "relation": "member"}


def _warrant(object_type: str, object_id: str, relation: str, subject: dict[str, str]) -> dict[str, object]:
    return {"objectType": object_type, "objectId": object_id, "relation": relation, "subject": subject}
