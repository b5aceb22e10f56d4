"""Makes a store that has what was collected of a store of OpenFGA, and compares the two (docs/openfga.md)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import msgspec

from magistrate.api.openfga.assertions import AssertionsBody, render_assertions
from magistrate.config.settings import ImportTarget
from magistrate.engine.openfga.documents import OpenFgaDocument
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import BudgetExceeded, Conflict, OpenFgaRefusal
from magistrate.operations.checks.decision_log import UNKNOWN
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.models.object_types import new_object_types, validate_and_warn
from magistrate.operations.openfga.checks import build_check, decide_by_model
from magistrate.operations.openfga.collected_store import ULID, render_stored
from magistrate.operations.openfga.collected_store import CollectedStore as CollectedStore
from magistrate.operations.openfga.collected_store import SourceCheck as SourceCheck
from magistrate.operations.openfga.collected_store import SourceFault as SourceFault
from magistrate.operations.openfga.collected_store import SourceModel as SourceModel
from magistrate.operations.openfga.collected_store import SourceRow as SourceRow
from magistrate.operations.openfga.documents import UsedModel
from magistrate.operations.openfga.names import find_names
from magistrate.operations.stores.stores import OPENFGA_NAME, read_store_name
from magistrate.store.contract.new_rows import Stamp
from magistrate.store.contract.stores import NewStore, StoredStore, StoreLimits, Stores, read_ulid_time
from magistrate.wiring.backups import RESTORE_TIMEOUT_MS
from magistrate.wiring.contexts import context_of
from magistrate.wiring.garbage_collection import SURVIVORS
from magistrate.wiring.stores import migrate_store, open_stores

T = TypeVar("T")
ACTOR = "import"


class SourceStore(NamedTuple):
    """Names a store of OpenFGA."""

    id: str
    name: str


class ComparedStore(NamedTuple):
    """Holds what differs between a store and what was collected for it: how many tuples are missing and extra, the
    first of them, and the decisions of the checks here, None where a check is an error."""

    missing: int
    extra: int
    named: Sequence[str]
    decisions: Sequence[bool | None]


def read_assertions(content: bytes, target: ImportTarget) -> Callable[[OpenFgaDocument], str]:
    """Returns what returns the assertions that a server answers as they are stored, given their model. Raises
    msgspec.MsgspecError, UnicodeError or RecursionError for another answer."""
    bodies = msgspec.json.decode(content, type=AssertionsBody).assertions or []
    return lambda document: render_assertions(bodies, document, target.settings.max_context_bytes)


def require_empty_store(target: ImportTarget) -> None:
    """Creates the database if necessary, and brings it up to date. Raises Conflict if the store is there and holds
    something, InvalidParameter if it is not there and cannot have this name, StoreUnavailable or SchemaMismatch."""
    migrate_store(target.settings)
    SURVIVORS.install()

    async def find(stores: Stores) -> None:
        stored = await stores.find_store(target.store)
        if stored is None:
            read_store_name(target.store)
        elif stored.usage.warrants or stored.usage.objects:
            raise Conflict(f"the store {target.store} is not empty; give a name that no store has")

    asyncio.run(_run(target, find))


def make_store(target: ImportTarget, source: SourceStore, collected: CollectedStore) -> StoredStore:
    """Makes a store that holds what was collected, in one write, and returns it. It has the id of the source unless a
    store here had it before. Raises Conflict if there is one with this name that is not empty, InvalidParameter if it
    cannot have the model, StoreUnavailable or SchemaMismatch."""

    async def restore(stores: Stores) -> StoredStore:
        stamp = Stamp(ACTOR, stores.default.now())
        await stores.default.check()
        stored = await stores.find_store(target.store)
        _require_model(context_of(stores.default, target.settings), collected)
        if stored is None:
            new = _describe_new(target.store, source, stamp)
        else:
            new = NewStore(stored.name, stored.description, stored.limits, ACTOR, stamp.at)
        try:
            [(made, _)] = await stores.restore_stores([(new, collected.list_contents())], stamp, replaces=False)
        except Conflict:
            raise Conflict(f"the store {target.store} is not empty; give a name that no store has") from None
        await stores.analyze()
        return made

    return asyncio.run(_run(target, restore))


def _describe_new(name: str, source: SourceStore, stamp: Stamp) -> NewStore:
    has_id = ULID.fullmatch(source.id) is not None and read_ulid_time(source.id) <= stamp.at
    new = NewStore(name, "", StoreLimits(), ACTOR, stamp.at, wanted_id=source.id if has_id else None)
    is_named = OPENFGA_NAME.fullmatch(source.name) is not None
    return replace(new, openfga_name=source.name) if is_named and source.name != name else new


def _require_model(context: Context, collected: CollectedStore) -> None:
    """Raises InvalidParameter or InvalidModel unless a store can have the newest model."""
    assert collected.newest is not None
    document, definitions = collected.newest.document, collected.newest.definitions
    new_object_types(context, document.object_types)
    policies = {policy.name for policy in document.policies}
    validate_and_warn(document.object_types, policies, [])(definitions)


def compare_store(
    target: ImportTarget, stored: StoredStore, collected: CollectedStore, checks: Sequence[SourceCheck], most: int
) -> ComparedStore:
    """Reads all tuples of a store, as a service reads it, and makes the checks; at most `most` tuples are named."""

    async def compare(stores: Stores) -> ComparedStore:
        context = context_of(stores.open_store(stored), target.settings)
        newest = await context.caches.openfga.find_newest()
        collected.begin_pass()
        extra, named = await _count_extra(context, collected, most)
        unseen, missing = collected.list_unseen(most)
        used = UsedModel(newest.compiled, newest.is_live)
        decisions = [await _decide(context, used, check) for check in checks]
        return ComparedStore(missing, extra, [*unseen, *named][:most], decisions)

    return asyncio.run(_run(target, compare))


async def _count_extra(context: Context, collected: CollectedStore, most: int) -> tuple[int, Sequence[str]]:
    """Returns how many tuples of a store were not collected, and the first of them; all others were seen."""
    at, names, extra = await context.store.check(), await find_names(context, ()), 0
    after: Warrant | None = None
    named: list[str] = []
    while rows := await context.store.list_rows(Warrant, after, at):
        if not all(map(names.knows, rows)):
            names = await find_names(context, rows)
        for key, condition in (render_stored(row, names) for row in rows):
            if not collected.see_tuple(key, condition):
                extra += 1
                named += [key] if len(named) < most else []
        after = rows[-1]
    return extra, named


async def _decide(context: Context, used: UsedModel, check: SourceCheck) -> bool | None:
    try:
        built = build_check(used.compiled.document, check.key, {})
        [decision] = (await decide_by_model(context, used, [built], NO_DEMAND, UNKNOWN, ())).value
    except (OpenFgaRefusal, BudgetExceeded):
        return None
    return None if decision.is_unknown else decision.is_authorized


async def _run(target: ImportTarget, work: Callable[[Stores], Awaitable[T]]) -> T:
    settings = replace(
        target.settings,
        secret_key_file="",  # imports have nothing to do with sessions
        store_timeout_ms=max(target.settings.store_timeout_ms, RESTORE_TIMEOUT_MS),
    )
    stores = await open_stores(settings)
    try:
        return await work(stores)
    finally:
        await stores.close()
