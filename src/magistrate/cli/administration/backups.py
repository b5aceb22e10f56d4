"""Implements `magistrate backup`, `magistrate restore` and `magistrate export`, which work on a database, served or
not, or through a service (docs/backup.md)."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click

from magistrate.cli.input import read_as_of, read_time
from magistrate.cli.output import echo
from magistrate.cli.service import connect_client, report_failures, with_settings
from magistrate.config.settings import read_named_store, read_store_settings
from magistrate.config.settings_table import CLIENT_SETTINGS, SETTINGS
from magistrate.errors import InvalidRequest, RequestRefused
from magistrate.temporary_files import create_file, open_temporary_file, writing_to

if TYPE_CHECKING:
    from magistrate.client import Client
    from magistrate.wiring.backups import BackupHeader

DIFFERENT = 1
"""Sets the exit code if a restored store is not what the backup has."""
STANDARD = "-"
"""Stands for standard output, or standard input."""

[DATABASE_SETTING] = [setting for setting in SETTINGS if setting.name == "database_url"]
[SERVER_SETTING] = [setting for setting in CLIENT_SETTINGS if setting.name == "server"]
place_options = with_settings([DATABASE_SETTING, *CLIENT_SETTINGS])
all_stores_option = click.option("--all-stores", is_flag=True, help="every store of the database")
point_option = click.option(
    "--as-of", metavar="TIME", help="the state at this time or token, as far back as the past is kept; by default now"
)


class Place(NamedTuple):
    """Says where the stores are: in the database of --database-url, or in the service that the other flags name."""

    flags: Mapping[str, str | None]

    @property
    def is_service(self) -> bool:
        """Returns whether it is a service. Raises UsageError if the flags name both."""
        has_server, has_database = (
            self.flags[setting.name] is not None for setting in (SERVER_SETTING, DATABASE_SETTING)
        )
        if has_server and has_database:
            raise click.UsageError("give either --url URL or --database-url URL")
        if has_server or has_database or os.environ.get(DATABASE_SETTING.variable):
            return has_server
        return any(os.environ.get(variable) for variable in SERVER_SETTING.variables)

    @contextmanager
    def connect(self) -> Iterator["Client"]:
        """Yields a client of the service."""
        with connect_client({setting.name: self.flags[setting.name] for setting in CLIENT_SETTINGS}) as client:
            yield client

    def read_store(self, has_all_stores: bool = False) -> str:
        """Returns the store that is named, an empty text if none is."""
        if self.flags["store"] is not None and has_all_stores:
            raise click.UsageError("give either --store NAME or --all-stores")
        return "" if has_all_stores else read_named_store(self.flags["store"], os.environ)


def at_place(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options that say where the stores are, and calls the command with their `place`."""

    @wraps(command)
    def call_at_place(**options: Any) -> None:
        settings = (DATABASE_SETTING, *CLIENT_SETTINGS)
        place = Place({setting.name: options.pop(setting.name) for setting in settings})
        with report_failures():
            command(place=place, **options)

    return place_options(call_at_place)


class BackupOptions(NamedTuple):
    """Says what a backup is to have."""

    has_all_stores: bool = False
    as_of: str | None = None
    has_keys: bool = False
    is_bare: bool = False


@click.command(short_help="Write a backup of a store, or of all.")
@click.argument("path", metavar="FILE", type=click.Path(allow_dash=True))
@at_place
@all_stores_option
@point_option
@click.option("--with-keys", is_flag=True, help="the API keys as well: their digests, from which no key can be made")
def backup(path: str, place: Place, all_stores: bool, as_of: str | None, with_keys: bool) -> None:
    """Write everything that a store has to FILE (- for standard output), at one revision, while services may write to
    it. `magistrate restore` puts it into a store of any database.

    It is read from the database, or with --url from a service, whose key needs the scope admin. FILE is compressed if
    its name ends with .zst or .gz. It appears when it is complete, readable to its owner only; one that exists is
    replaced. Two backups of one revision are equal to the byte."""
    _write(path, place, BackupOptions(all_stores, read_as_of(as_of), has_keys=with_keys))


@click.command(short_help="Write all rows of a store as lines that `import` reads.")
@click.argument("path", metavar="[FILE]", type=click.Path(allow_dash=True), default=STANDARD)
@at_place
@point_option
def export(path: str, place: Place, as_of: str | None) -> None:
    """Write the object types, policies, objects and warrants of a store to FILE, or to standard output, a line of JSON
    each, as `magistrate import` reads them. They are read from the database, or with --url from a service, whose key
    needs the scope admin. A backup has the same lines, and shows whether it is complete."""
    _write(path, place, BackupOptions(as_of=read_as_of(as_of), is_bare=True))


@click.command(short_help="Restore a backup.")
@click.argument("path", metavar="FILE", type=click.Path(allow_dash=True))
@at_place
@with_settings([setting for setting in SETTINGS if setting.name == "migrate"])
@click.option("--into", metavar="NAME", help="restore into the store with this name, which is made unless it is there")
@click.option("--replace", "replaces", is_flag=True, help="replace what the store has; without it, it must be empty")
@click.option("--no-verify", is_flag=True, help="do not compare the restored store with the backup")
def restore(path: str, place: Place, migrate: str | None, into: str | None, replaces: bool, no_verify: bool) -> None:
    """Put the backup in FILE (- for standard input) into the store of the same name, into the one of --store, or with
    --into into one that is made. The database may be of the other kind than the one that was backed up, is created or
    migrated if necessary, and may be served meanwhile. With --url, a service restores it into its own, for a key with
    the scope admin.

    All of FILE is read first: if anything in it is not as it was written, nothing is restored. The store is restored at
    once or not at all. Its history begins anew: tokens of before are refused, and no earlier state can be read. Then
    the store is compared with the backup: the number of its rows, their digest, and up to 1,000 checks. The exit code
    is 1 if they differ."""
    if into is not None and place.flags["store"] is not None:
        raise click.UsageError("give either --store NAME or --into NAME")
    options = RestoreOptions("" if into is not None else place.read_store(), into or "", replaces, not no_verify)
    started, is_service = time.monotonic(), place.is_service
    if is_service and migrate is not None:
        raise click.UsageError("--migrate is for databases; a service migrates its own when it starts")
    with _open_input(path) as file:
        stores = (
            _restore_service(place, options, file) if is_service else _restore_database(place, migrate, options, file)
        )
    for each in stores:
        _print_restored(each, is_verified=not no_verify)
    _print_rate(sum(sum(each.counts.values()) for each in stores), started, is_error=False)
    if any(each.differences for each in stores):
        sys.exit(DIFFERENT)


class RestoreOptions(NamedTuple):
    """Says where to restore to, and how, in the words of RestoreRequest."""

    store: str
    into: str
    replaces: bool
    verifies: bool


class RestoredStore(NamedTuple):
    """Holds what is printed of a store that was restored."""

    name: str
    token: str
    counts: Mapping[str, int]
    checks: int
    differences: Sequence[str]


def _restore_database(
    place: Place, migrate: str | None, options: RestoreOptions, file: BinaryIO
) -> Sequence[RestoredStore]:
    # importing the server takes a moment, which `--help` need not wait for
    from magistrate.wiring.backups import RestoreRequest, restore_backup

    settings = read_store_settings(place.flags["database_url"], os.environ, migrate)
    return [
        RestoredStore(each.stored.name, each.token, _name_counts(each.header), each.checks, each.differences)
        for each in restore_backup(settings, RestoreRequest(*options), file)
    ]


def _restore_service(place: Place, options: RestoreOptions, file: BinaryIO) -> Sequence[RestoredStore]:
    from magistrate.wiring.backups import BackupReader

    header = BackupReader(file).read_header()
    named = options.into or options.store
    if named and header.parts > 1:
        raise InvalidRequest(f"the backup is of {header.parts} stores, which keep their names: name none")
    flags = {"replace": options.replaces, "verify": options.verifies}
    with place.connect() as client:
        if options.into:
            _create_store(client, options.into, header)
        of_store = client if header.parts > 1 else client.of_store(named or header.store.name)
        restored = of_store.restore(file, {name: str(flag).lower() for name, flag in flags.items()})
    return [
        RestoredStore(each["store"], each["token"], each["counts"], each["checks"], each["differences"])
        for each in restored
    ]


def _create_store(client: "Client", name: str, header: "BackupHeader") -> None:
    """Makes a store like the one of a backup, unless there is one with this name."""
    try:
        client.get_store(name)
    except RequestRefused as error:
        if error.status != 404:
            raise
        limits = header.store.limits
        named = {
            "warrants": limits.warrants,
            "objects": limits.objects,
            "requestsPerSecond": limits.requests_per_second,
        }
        client.create_store({"name": name, "description": header.store.description, "limits": named})


@contextmanager
def _open_input(path: str) -> Iterator[BinaryIO]:
    """Yields a file that can be read twice."""
    if path != STANDARD and Path(path).is_file():
        with open(path, "rb") as file:
            yield file
        return
    with ExitStack() as opened:
        spooled = opened.enter_context(open_temporary_file("a backup that is no file needs"))
        source = sys.stdin.buffer if path == STANDARD else opened.enter_context(open(path, "rb"))
        with writing_to(spooled):
            shutil.copyfileobj(source, spooled)
        yield spooled


def _print_restored(restored: RestoredStore, is_verified: bool) -> None:
    echo(f"store {restored.name}, now at token {restored.token}: {_count(restored.counts)}")
    for difference in restored.differences:
        echo(f"store {restored.name} differs from the backup: {difference}", err=True)
    if is_verified and not restored.differences:
        echo(f"verified: the number of rows, their digest, and {restored.checks:,} checks")


def _write(path: str, place: Place, options: BackupOptions) -> None:
    started, is_service, named = time.monotonic(), place.is_service, place.read_store(options.has_all_stores)
    with _open_output(path) as file:
        headers = (_back_up_service if is_service else _back_up_database)(place, named, options, file)
    for header in headers:
        echo(_describe(header), err=path == STANDARD)
    _print_rate(sum(header.counts.lines for header in headers), started, is_error=path == STANDARD)


def _back_up_database(place: Place, named: str, options: BackupOptions, file: BinaryIO) -> Sequence["BackupHeader"]:
    # importing the server takes a moment, which `--help` need not wait for
    from magistrate.wiring.backups import Backup, back_up

    settings = read_store_settings(place.flags["database_url"], os.environ)
    as_of = options.as_of or ""
    return back_up(Backup(settings, named, options.has_all_stores, as_of, options.has_keys, options.is_bare), file)


def _back_up_service(place: Place, named: str, options: BackupOptions, file: BinaryIO) -> Sequence["BackupHeader"]:
    from magistrate.wiring.backups import BackupWriter, copy_store

    parameters = {} if options.as_of is None else {"asOf": options.as_of}
    if options.has_keys:
        parameters["withKeys"] = "true"
    headers, writer = [], BackupWriter(file, options.is_bare)
    with place.connect() as client:
        clients = _list_clients(client, options.as_of) if options.has_all_stores else [client]
        for part, each in enumerate(clients, 1):
            with each.back_up(parameters) as pieces:
                headers.append(copy_store(pieces, writer, part, len(clients)))
    return headers


def _list_clients(client: "Client", as_of: str | None) -> Sequence["Client"]:
    """Returns a client of each store, by name, but for those that were made after the time of the backup."""
    is_time = as_of is not None and as_of.endswith("Z")
    return [
        client.of_store(store["name"])
        for store in client.stores({})
        if not is_time or read_time(store["createdAt"], "createdAt") <= read_time(as_of or "", "--as-of")
    ]


def _print_rate(lines: int, started: float, is_error: bool) -> None:
    seconds = time.monotonic() - started
    echo(f"{lines:,} lines in {seconds:.1f} s ({lines / max(seconds, 0.001):,.0f} lines/s)", err=is_error)


@contextmanager
def _open_output(path: str) -> Iterator[BinaryIO]:
    if path == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    from magistrate.wiring.backups import compress

    with create_file(Path(path)) as file, compress(file, Path(path).suffix) as compressed:
        yield compressed


def _describe(header: "BackupHeader") -> str:
    return f"store {header.store.name} at {header.time}, token {header.token}: {_count(_name_counts(header))}"


def _name_counts(header: "BackupHeader") -> Mapping[str, int]:
    counts = header.counts
    return {
        "objectTypes": counts.object_types,
        "policies": counts.policies,
        "objects": counts.objects,
        "warrants": counts.warrants,
        "keys": counts.keys,
        "webhooks": counts.webhooks,
        "openfgaModels": counts.openfga_models,
        "savedQueries": counts.saved_queries,
    }


COUNTED = {"objectTypes": "object types", "openfgaModels": "authorization models", "savedQueries": "saved queries"}
"""Maps the members of counts to the words for them, where these differ."""


def _count(counts: Mapping[str, int]) -> str:
    members = ["objectTypes", "policies", "objects", "warrants", "keys"]
    members += [member for member in ("webhooks", "savedQueries", "openfgaModels") if counts[member]]
    return ", ".join(f"{counts[member]:,} {COUNTED.get(member, member)}" for member in members)
