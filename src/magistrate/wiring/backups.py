"""Backs up and restores the stores of a database, which services may use meanwhile."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import BinaryIO, NamedTuple

import magistrate
from magistrate.config.settings_table import Settings
from magistrate.errors import InvalidRequest, NotFound
from magistrate.operations.backups.backup import BackupRequest, back_up_store
from magistrate.operations.backups.backup_file import BackupHeader as BackupHeader
from magistrate.operations.backups.backup_file import BackupReader, BackupWriter
from magistrate.operations.backups.backup_file import compress as compress
from magistrate.operations.backups.restore import (
    ACTOR,
    VerifiedStore,
    describe_contents,
    find_differences,
    verify_backup,
)
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


class Restore(NamedTuple):
    """Says where to restore to: the store with the name or id `store`, or the one with the name `into`, which is made
    unless it is there; if both are empty, the one that has the name it had. With `replaces`, what it has is replaced;
    with `verifies`, it is compared with the backup then."""

    settings: Settings
    store: str = ""
    into: str = ""
    replaces: bool = False
    verifies: bool = True


class Restored(NamedTuple):
    """Holds the header of a store that was restored, the store and the token of its new revision, how many warrants
    were checked, and what differs from the backup."""

    header: BackupHeader
    stored: StoredStore
    token: str
    checks: int = 0
    differences: Sequence[str] = ()


def restore_backup(restore: Restore, file: BinaryIO) -> Sequence[Restored]:
    """Restores a backup into a database, which is created and brought up to date first. Nothing is written unless the
    whole backup is as it was written. Raises DamagedBackup, NotFound, Conflict, LimitReached, StoreUnavailable or
    SchemaMismatch."""
    settings = replace(restore.settings, secret_key_file="")
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
    stores: Stores, restore: Restore, reader: BackupReader, verified: Sequence[VerifiedStore]
) -> Sequence[Restored]:
    await stores.default.check()
    stamp = Stamp(ACTOR, stores.default.now())
    if len(verified) == 1:
        return [await _restore_store(stores, restore, reader, verified[0].header, stamp)]
    if restore.store or restore.into:
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
    stores: Stores, restore: Restore, reader: BackupReader, header: BackupHeader, stamp: Stamp
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
    return NewStore(name, header.store.description, header.store.limits, stamp.actor, stamp.at)


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
