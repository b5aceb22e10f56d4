"""Implements `magistrate import --from-openfga-url URL --store NAME`, which makes a store that has the models and the
tuples of one of OpenFGA, and compares the two.

The source is read twice before anything is written, and what is written is one transaction. So nothing is there if it
fails, and the same command begins again. It is imported where it is used, because it takes a moment."""

import time
from collections.abc import Sequence
from contextlib import closing
from itertools import count as count_up
from typing import NamedTuple

import msgspec

from magistrate.cli.importing.foreign_models import count, demand_expressible
from magistrate.cli.importing.openfga_server import PAGE_SIZE, OpenFgaServer, open_openfga
from magistrate.cli.output import NowAndThen, echo, print_table
from magistrate.cli.service import CommandFailed
from magistrate.config.settings import ImportTarget
from magistrate.errors import Conflict, InvalidModel, InvalidParameter, InvalidRequest
from magistrate.retrying_client import UNREADABLE
from magistrate.temporary_files import find_temporary_folder
from magistrate.wiring.openfga_migration import (
    CollectedStore,
    SourceCheck,
    SourceFault,
    SourceModel,
    SourceRow,
    SourceStore,
    compare_store,
    make_store,
    read_assertions,
    require_empty_store,
)

MODELS_AT_ONCE = 20
"""Sets the models of a page: as many of the longest fit in an answer."""
MAX_IDLE_PAGES = 100
"""Limits the pages that follow one another and have nothing that was not read before."""
MAX_STORES = 10_000
MAX_NAMED = 20
MAX_FAULTS = 100
STORES = "/stores"


class OpenFgaOrigin(NamedTuple):
    """Says where to read, and whether what cannot be held here may be left out."""

    url: str
    token: str | None
    leaves_out: bool
    sample: int


class _SourcePage(msgspec.Struct, rename={"relationships": "tuples"}):
    relationships: list[SourceRow]
    continuation_token: str = ""


class _ModelsPage(msgspec.Struct):
    authorization_models: list[SourceModel]
    continuation_token: str = ""


class _StoreRow(msgspec.Struct):
    id: str
    name: str = ""


class _StoresPage(msgspec.Struct):
    stores: list[_StoreRow]
    continuation_token: str = ""


def move_openfga_store(origin: OpenFgaOrigin, target: ImportTarget) -> None:
    """Makes the store, compares it, and prints both. Raises CommandFailed unless everything is there, and all checks
    agree."""
    find_temporary_folder("this import needs")
    started = time.monotonic()
    source_url = _find_source(origin, target.store)
    try:
        require_empty_store(target)
    except Conflict as error:
        raise CommandFailed(error.message) from None
    with open_openfga(source_url, origin.token) as server, closing(_collect(server, origin, target)) as collected:
        source = SourceStore(source_url.rpartition("/")[2], server.read("", _StoreRow, "store").name)
        try:
            stored = make_store(target, source, collected)
        except (Conflict, InvalidModel, InvalidParameter) as error:
            raise CommandFailed(f"{error.message}; nothing was written") from None
        seconds = time.monotonic() - started
        models, rows = count(collected.models, "authorization model"), count(collected.tuples, "tuple")
        echo(f"{models} and {rows} in {seconds:.1f} s, stored as {stored.name}")
        echo(f"the id of the store is {stored.id}, {'as before' if stored.id == source.id else f'not {source.id}'}")
        checks = collected.draw_checks(origin.sample)
        compared = compare_store(target, stored, collected, checks, MAX_NAMED)
        if compared.missing or compared.extra:
            print_table([["TUPLE THAT DIFFERS"], *([key] for key in compared.named)])
            counted = f"{compared.missing:,} tuples are missing, and {compared.extra:,} are not there"
            raise CommandFailed(
                f"what is here is not what {server.url} has: {counted}; delete the store, and report this"
            )
        echo(f"all tuples were read back: {rows}")
        assert collected.newest is not None
        _compare_checks(server, collected.newest.id, checks, compared.decisions)


def _find_source(origin: OpenFgaOrigin, name: str) -> str:
    """Returns the URL of the store to be read: the one that is given, or of the only store of the server there, or of
    the only one with the name of the store here."""
    if STORES in origin.url:
        return origin.url.rstrip("/")
    with open_openfga(origin.url, origin.token) as server:
        rows: list[_StoreRow] = []
        for page in server.list_pages(STORES, _StoresPage, PAGE_SIZE):
            rows += page.stores
            if not page.stores or len(rows) > MAX_STORES:
                break
        named = rows if len(rows) == 1 else [row for row in rows if row.name == name]
        if len(named) == 1:
            return f"{server.url}{STORES}/{named[0].id}"
        if rows:
            print_table(
                [["STORE", "NAME"], *([f"{server.url}{STORES}/{row.id}", row.name] for row in rows[:MAX_NAMED])]
            )
        raise CommandFailed(f"{server.url} has {count(len(rows), 'store')}; give the URL of one, with /stores/ID")


def _collect(server: OpenFgaServer, origin: OpenFgaOrigin, target: ImportTarget) -> CollectedStore:
    """Returns what the source has. Raises CommandFailed if something cannot be held here and may not be left out, or
    was changed meanwhile."""
    faults = _Faults(origin.leaves_out)
    collected = CollectedStore(time.time_ns() // 1_000, faults.report)
    try:
        _read_models(server, target, collected)
        _read_relationships(server, collected)
        demand_expressible(collected.faults, origin.leaves_out)
        _confirm_relationships(server, collected)
        collected.leave_faults_out()
    except InvalidRequest as error:
        collected.close()
        message = error.message if error.message.startswith(server.url) else f"{server.url}: {error.message}"
        raise CommandFailed(f"{message}; nothing was written, run the same command again to begin anew") from None
    except BaseException:
        collected.close()
        raise
    return collected


class _Faults:
    """Prints what cannot be held here: the first of it, or all if it is left out."""

    def __init__(self, names_all: bool) -> None:
        self._names_all = names_all
        self._total = 0

    def report(self, fault: SourceFault) -> None:
        self._total += 1
        if self._names_all or self._total <= MAX_FAULTS:
            echo(fault.describe(), err=True)
        elif self._total == MAX_FAULTS + 1:
            echo("there are further faults; --leave-out names all", err=True)


def _read_models(server: OpenFgaServer, target: ImportTarget, collected: CollectedStore) -> None:
    for page in server.list_pages("/authorization-models", _ModelsPage, MODELS_AT_ONCE):
        if not page.authorization_models:
            break
        for model in page.authorization_models:
            path = f"/assertions/{model.id}"
            content = server.request("GET", path)
            try:
                read = read_assertions(content, target)
            except UNREADABLE:
                raise InvalidRequest(f"{server.url}{path}: the answer is no assertions") from None
            collected.add_model(model, read)
    if collected.newest is None:
        raise InvalidRequest("the store has no model")


def _read_relationships(server: OpenFgaServer, collected: CollectedStore) -> None:
    now_and_then, idle = NowAndThen(), 0
    for page in server.list_relationship_pages(_SourcePage):
        idle = 0 if collected.add_tuples(page.relationships) else idle + 1
        _require_end(idle)
        if now_and_then.is_due():
            echo(f"{count(collected.tuples, 'tuple')} of {server.url} are read", err=True)


def _confirm_relationships(server: OpenFgaServer, collected: CollectedStore) -> None:
    """Reads all tuples once more. Raises InvalidRequest unless they are those that were read before: pages are read one
    by one, so that a write between them could be seen in part."""
    collected.begin_pass()
    now_and_then, idle, confirmed = NowAndThen(), 0, count_up()
    for page in server.list_relationship_pages(_SourcePage):
        seen = [collected.see_tuple(row.key.render(), row.key.render_condition()) for row in page.relationships]
        idle = 0 if any(seen) else idle + 1
        _require_end(idle)
        if next(confirmed) and now_and_then.is_due():
            echo(f"the tuples of {server.url} are read once more, to see that none was changed", err=True)
        for row, is_first in zip(page.relationships, seen, strict=True):
            if not is_first and not collected.has_tuple(row.key.render(), row.key.render_condition()):
                raise InvalidRequest(f"{row.key.render()} was written while it was read; stop writes to that store")
    missing, total = collected.list_unseen(1)
    if total:
        raise InvalidRequest(f"{missing[0]} was deleted while it was read; stop writes to that store")


def _require_end(idle_pages: int) -> None:
    if idle_pages > MAX_IDLE_PAGES:
        raise InvalidRequest(f"pages go on for ever: {MAX_IDLE_PAGES} had nothing that was not read before")


def _compare_checks(
    server: OpenFgaServer, model_id: str, checks: Sequence[SourceCheck], decisions: Sequence[bool | None]
) -> None:
    """Makes the checks there as well, and prints those that differ. Raises CommandFailed if there are any."""
    differing, errors = [], 0
    for check, here in zip(checks, decisions, strict=True):
        key = {"user": check.user, "relation": check.relation, "object": check.object}
        try:
            there = server.check(key, model_id)
        except InvalidRequest as error:
            raise CommandFailed(f"{error.message}; the store is complete, but its checks were not compared") from None
        errors += there is None
        if there != here:
            differing.append([check.render(), _describe(there), _describe(here)])
    made = f"{count(len(checks), 'check')} made on both sides" + (
        f", {errors:,} of them errors there" if errors else ""
    )
    if differing:
        print_table([["CHECK", "THERE", "HERE"], *differing[:MAX_NAMED]])
        raise CommandFailed(f"{made}: {len(differing):,} differ; the store is complete, see above")
    echo(f"{made}: all agree")


def _describe(decision: bool | None) -> str:
    return "error" if decision is None else "allowed" if decision else "denied"
