"""Defines how a restore is requested, and what it reports."""

from collections.abc import Awaitable, Callable, Sequence
from typing import BinaryIO, NamedTuple

from magistrate.operations.backups.backup_file import BackupHeader
from magistrate.store.contract.stores import StoredStore


class RestoreRequest(NamedTuple):
    """Says where to restore to: the store with the name or id `store`, or the one with the name `into`, which is made
    unless it is there; if both are empty, the one that has the name it had. A backup of several stores can be restored
    if both are empty or it `may_have_parts`; they keep their names. With `replaces`, what a store has is replaced; with
    `verifies`, it is compared with the backup then."""

    store: str = ""
    into: str = ""
    replaces: bool = False
    verifies: bool = True
    may_have_parts: bool = False


class Restored(NamedTuple):
    """Holds the header of a store that was restored, the store and the token of its new revision, how many warrants
    were checked, and what differs from the backup."""

    header: BackupHeader
    stored: StoredStore
    token: str
    checks: int = 0
    differences: Sequence[str] = ()


RestoreUpload = Callable[[RestoreRequest, BinaryIO], Awaitable[Sequence[Restored]]]
"""Restores the backup in a file, without keeping the event loop waiting. Raises what `restore_backup` raises."""
