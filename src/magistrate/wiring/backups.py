"""Backs up and restores the stores of a database, which services may use meanwhile."""

import asyncio
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import BinaryIO, NamedTuple

import magistrate
from magistrate.config.settings_table import Settings
from magistrate.errors import InvalidRequest, NotFound
from magistrate.operations.backups.backup import BackupRequest, back_up_store
from magistrate.operations.backups.backup_file import BackupHeader as BackupHeader
from magistrate.operations.backups.backup_file import BackupReader as BackupReader
from magistrate.operations.backups.backup_file import BackupWriter as BackupWriter
from magistrate.operations.backups.backup_file import compress as compress
from magistrate.operations.backups.backup_file import copy_store as copy_store
from magistrate.operations.backups.restore import (
    ACTOR,
    VerifiedStore,
    describe_contents,
    find_differences,
    verify_backup,
)
from magistrate.operations.backups.restored import Restored as Restored
from magistrate.operations.backups.restored import RestoreRequest as RestoreRequest
from magistrate.operations.consistency import read_token, write_token
from magistrate.operations.history.points_in_time import AsOf, read_as_of
from magistrate.operations.stores.stores import read_store_name
from magistrate.store.contract.lists import Slice
from magistrate.store.contract.new_rows import Stamp
from magistrate.store.contract.stores import DEFAULT_NAME, NewStore, StoredStore, Stores
from magistrate.wiring.contexts import context_of
from magistrate.wiring.garbage_collection import SURVIVORS
from magistrate.wiring.stores import migrate_store, open_stores, reach_store

PAGE_SIZE = 1_000
BACKUP_TIMEOUT_MS = 60_000
"""Limits how long a page of rows is waited for."""


class Backup(NamedTuple):
    """Says what to back up: the store with this name or id, `default` if it is empty, or with `has_all_stores` all; as
    of a time or token, empty for now; perhaps with the keys, or as the lines alone."""

    settings: Settings
    store: str = ""
    has_all_stores: bool = False
    as_of: str = ""
    has_keys: bool = False
    is_bare: bool = False


def back_up(backup: Backup, file: BinaryIO) -> Sequence[BackupHeader]:
    """Writes a backup, and returns the header of each store. Raises NotFound, InvalidParameter, NotRetained, Conflict,
    StoreUnavailable or SchemaMismatch."""
    settings = replace(backup.settings, secret_key_file="")  # keys of sessions are not read
    reach_store(settings)
    SURVIVORS.install()
    settings = replace(settings, store_timeout_ms=max(settings.store_timeout_ms, BACKUP_TIMEOUT_MS))

    async def write_all() -> Sequence[BackupHeader]:
        stores = await open_stores(settings)
        try:
            return await _write_all(stores, backup, BackupWriter(file, backup.is_bare))
        finally:
            await stores.close()

    return asyncio.run(write_all())


async def _write_all(stores: Stores, backup: Backup, writer: BackupWriter) -> Sequence[BackupHeader]:
    await stores.default.check()
    stored = await _list_stores(stores, backup) if backup.has_all_stores else [await _find_store(stores, backup.store)]
    headers = []
    for part, each in enumerate(stored, 1):
        context = context_of(stores.open_store(each), backup.settings)
        as_of = read_as_of(context.store.identity, backup.as_of) if backup.as_of else None
        request = BackupRequest(magistrate.__version__, as_of, backup.has_keys, part, len(stored))
        headers.append(await back_up_store(context, each, writer, request))
    return headers


RESTORE_TIMEOUT_MS = 21_600_000
"""Limits how long a restore takes (6 hours), which is one write: that of a hundred million warrants takes an hour or
two."""


async def restore_upload(settings: Settings, restore: RestoreRequest, file: BinaryIO) -> Sequence[Restored]:
    """Restores a backup into the database of a running service, as the command does: in a thread with connections of
    its own, which may wait for longer than those of requests. If this is cancelled, the file should be closed: then
    nothing is restored, unless all of it was written. No stop of the service waits for the thread."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[Sequence[Restored]] = loop.create_future()

    def report(restored: Sequence[Restored] | None, error: BaseException | None) -> None:
        if outcome.done():
            return  # nobody waits for it any more
        if error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(restored or ())

    def work() -> None:
        restored, fault = None, None
        try:
            restored = restore_backup(settings, restore, file)
        except BaseException as error:  # it is raised in the event loop
            fault = error
        with suppress(RuntimeError):  # the event loop has ended
            loop.call_soon_threadsafe(report, restored, fault)

    threading.Thread(target=work, name="restore", daemon=True).start()
    return await outcome


def restore_backup(settings: Settings, restore: RestoreRequest, file: BinaryIO) -> Sequence[Restored]:
    """Restores a backup into a database, which is created and brought up to date first. Nothing is written unless the
    whole backup is as it was written. Raises DamagedBackup, NotFound, Conflict, LimitReached, StoreUnavailable or
    SchemaMismatch."""
    settings = replace(settings, secret_key_file="")
    reader = BackupReader(file)
    SURVIVORS.install()
    verified = verify_backup(reader)
    migrate_store(settings)
    settings = replace(settings, store_timeout_ms=max(settings.store_timeout_ms, RESTORE_TIMEOUT_MS))

    async def restore_all() -> Sequence[Restored]:
        stores = await open_stores(settings)
        try:
            written = await _restore_all(stores, restore, reader, verified)
            await stores.analyze()
        finally:
            await stores.close()
        return await _verify_all(settings, written, verified) if restore.verifies else written

    return asyncio.run(restore_all())


async def _restore_all(
    stores: Stores, restore: RestoreRequest, reader: BackupReader, verified: Sequence[VerifiedStore]
) -> Sequence[Restored]:
    await stores.default.check()
    stamp = Stamp(ACTOR, stores.default.now())
    if len(verified) == 1:
        return [await _restore_store(stores, restore, reader, verified[0].header, stamp)]
    if (restore.store or restore.into) and not restore.may_have_parts:
        raise InvalidRequest(f"the backup is of {len(verified)} stores, which keep their names: name none")
    restored = [
        (_describe_new(store.header, store.header.store.name, stamp), describe_contents(reader, store.header))
        for store in verified
    ]
    written = await stores.restore_stores(restored, stamp, restore.replaces)
    return [
        Restored(store.header, stored, write_token(stored.identity, newest))
        for store, (stored, newest) in zip(verified, written, strict=True)
    ]


async def _restore_store(
    stores: Stores, restore: RestoreRequest, reader: BackupReader, header: BackupHeader, stamp: Stamp
) -> Restored:
    named = restore.into or restore.store or header.store.name
    stored = await stores.find_store(named)
    if stored is None and not restore.into:
        hint = f" in this database; --into {named} makes it, and --into {DEFAULT_NAME} restores to that store"
        raise NotFound("Store", named, hint)
    is_new = stored is None
    stored = stored or await stores.create(_describe_new(header, read_store_name(named), stamp))
    # In another store, a key could do something else: `admin` may do more in `default`.
    contents = describe_contents(reader, header, has_keys=stored.name == header.store.name)
    newest = await stores.open_store(stored).restore(contents, stamp, restore.replaces, heeds_limits=not is_new)
    return Restored(header, stored, write_token(stored.identity, newest))


def _describe_new(header: BackupHeader, name: str, stamp: Stamp) -> NewStore:
    store = header.store
    columns = (name, store.description, store.limits, stamp.actor, stamp.at)
    return NewStore(*columns, openfga_name=store.openfga_name)


async def _verify_all(
    settings: Settings, written: Sequence[Restored], verified: Sequence[VerifiedStore]
) -> Sequence[Restored]:
    """Compares what is stored with the backup, through connections of its own, as a service reads it."""
    stores = await open_stores(settings)
    try:
        compared = []
        for restored, backup in zip(written, verified, strict=True):
            context = context_of(stores.open_store(restored.stored), settings)
            revision = read_token(context.store.identity, "token", restored.token).id
            differences = await find_differences(context, backup, revision)
            compared.append(restored._replace(differences=differences, checks=len(backup.sample)))
        return compared
    finally:
        await stores.close()


async def _find_store(stores: Stores, named: str) -> StoredStore:
    stored = await stores.find_store(named or DEFAULT_NAME)
    if stored is None:
        raise NotFound("Store", named, " in this database")
    return stored


async def _list_stores(stores: Stores, backup: Backup) -> Sequence[StoredStore]:
    """Returns all stores, by name, but for those that were made after the time of the backup."""
    as_of = read_as_of(stores.default.identity, backup.as_of) if backup.as_of else AsOf()
    listed: list[StoredStore] = []
    part = Slice("name", PAGE_SIZE)
    while (page := await stores.list_stores(part, "")).rows:
        listed += page.rows
        part = Slice("name", PAGE_SIZE, boundary=(page.rows[-1].name,))
    return [stored for stored in listed if as_of.time is None or stored.created_at <= as_of.time]
