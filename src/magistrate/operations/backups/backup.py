"""Backs up stores: lists all rows at one revision, a page at a time, and writes them as lines.

Nothing waits for a backup, and no transaction is open between two pages: they are read at a revision, like the pages of
any list. So others can write meanwhile."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple

from magistrate.engine.names import Revision
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import Conflict, RevisionUnavailable
from magistrate.operations.backups.backup_file import FORMAT, BackupHeader, BackupWriter, LineCounts, StoreHeader
from magistrate.operations.consistency import NO_DEMAND, write_token
from magistrate.operations.context import Context
from magistrate.operations.history.points_in_time import AsOf, find_point
from magistrate.operations.history.times import render_time
from magistrate.store.contract.backups import (
    ROWS_AT_ONCE,
    BackedUpWebhook,
    KeyDigest,
    RestoredRow,
    StoreContents,
    VersionedRow,
)
from magistrate.store.contract.keys import StoredKey
from magistrate.store.contract.openfga import LAST_ULID, StoredOpenFgaModel
from magistrate.store.contract.revisions import NOTHING_WRITTEN, Presence, RevisionId
from magistrate.store.contract.saved_queries import SavedQuery
from magistrate.store.contract.store import Store
from magistrate.store.contract.stored_rows import StoredObject, StoredObjectType, StoredPolicy
from magistrate.store.contract.stores import StoredStore

KINDS: Sequence[type[VersionedRow]] = (StoredPolicy, StoredObjectType, StoredObject, Warrant)
"""Lists the kinds of rows in the order of a backup: each depends on those before it."""


COLLECTED = (
    "the revision was deleted before its backup was complete, because it is past --retention-hours: run the command "
    "again, or serve with a longer retention"
)


class BackedUpRevision(NamedTuple):
    """Holds a revision, its bits, and when it was written."""

    revision: Revision
    bits: int | None
    written_at: int


BackedUpState = tuple[BackedUpRevision, StoreContents | None]
"""Holds the revision to be backed up, and what it has if it is the newest."""


class BackupRequest(NamedTuple):
    """Says what a backup of a store contains: the state at `as_of`, or the newest one, and perhaps the keys. It is the
    `part` of a file with so many `parts`, written by a `version` of Magistrate."""

    version: str
    as_of: AsOf | None = None
    has_keys: bool = False
    part: int = 1
    parts: int = 1


async def back_up_store(
    ctx: Context, stored: StoredStore, writer: BackupWriter, request: BackupRequest
) -> BackupHeader:
    """Writes a store, and returns its header. Raises what `find_backed_up` and `write_backup` raise."""
    backed_up = await find_backed_up(ctx, request.as_of)
    headers = [step async for step in write_backup(ctx, stored, backed_up, writer, request) if step is not None]
    return headers[-1]


async def write_backup(
    ctx: Context, stored: StoredStore, backed_up: BackedUpState, writer: BackupWriter, request: BackupRequest
) -> AsyncGenerator[BackupHeader | None, None]:
    """Writes a store, and yields after each page that was read, at last the header. Raises Conflict if its revision is
    deleted before the end of the backup."""
    point, counts = backed_up
    at = point.revision
    try:
        unversioned = [] if writer.are_bare else await _list_unversioned(ctx.store)
        unversioned += await _list_keys(ctx.store) if request.has_keys else []
        models = 0 if writer.are_bare else await _count_openfga_models(ctx.store, at)
        counted = Counter[type]({type(rows[0]): len(rows) for rows in unversioned})
        async for _ in _count_rows(ctx.store, at, counts, counted):
            yield None
        header = BackupHeader(
            FORMAT,
            request.version,
            _describe_store(stored),
            write_token(ctx.store.identity, RevisionId(at, point.bits)),
            render_time(point.written_at),
            _build_counts(counted, models),
            request.part,
            request.parts,
        )
        writer.begin(header)
        lines = 0
        async with aclosing(_write_rows(ctx.store, at, writer)) as writing:
            async for written in writing:
                lines += written
                yield None
    except RevisionUnavailable as error:
        raise Conflict(COLLECTED) from error
    for rows in unversioned:
        lines += writer.write_rows(rows)
    if models:
        async for page in _list_openfga_models(ctx.store, at):
            lines += await asyncio.to_thread(writer.write_rows, page)
            yield None
    if await ctx.store.locate(RevisionId(at, point.bits)) is not Presence.STORED:
        raise Conflict("the store was restored while it was backed up; run the command again")
    if lines != header.counts.lines:
        raise Conflict(f"the store counts {header.counts.lines} rows, but has {lines}; run `magistrate doctor`")
    writer.end(lines)
    yield header


async def list_pages(store: Store, at: Revision) -> AsyncIterator[Sequence[VersionedRow]]:
    """Yields all rows of a store at a revision, in pages of one kind each; none if nothing was ever written to it."""
    if at == NOTHING_WRITTEN.revision:
        return
    for kind in KINDS:
        last: Any = None
        while rows := await store.list_rows(kind, last, at):
            yield rows
            if len(rows) < ROWS_AT_ONCE:
                break
            last = rows[-1]


async def _write_rows(store: Store, at: Revision, writer: BackupWriter) -> AsyncGenerator[int, None]:
    """Writes all rows, each page while the next one is read, and yields how many were written."""
    writing: asyncio.Future[int] | None = None
    try:
        async for rows in list_pages(store, at):
            if writing is not None:
                yield await writing
            writing = asyncio.ensure_future(asyncio.to_thread(writer.write_rows, rows))
        if writing is not None:
            yield await writing
    finally:
        if writing is not None:
            await asyncio.wait([writing])


async def find_backed_up(ctx: Context, as_of: AsOf | None) -> BackedUpState:
    """Returns the revision to be backed up and, if it is the newest, what it has. Raises what `find_point` raises."""
    if as_of is not None:
        point = await find_point(ctx, as_of, NO_DEMAND)
        bits = (await ctx.store.identify(point.revision)).bits
        state = await ctx.store.find_revision(point.revision)
        return BackedUpRevision(point.revision, bits, state.match.written_at if state.match else point.now), None
    contents = await ctx.store.measure_contents()
    state = await ctx.store.find_revision(contents.newest.revision)
    return BackedUpRevision(*contents.newest, state.match.written_at if state.match else 0), contents


async def _count_rows(
    store: Store, at: Revision, contents: StoreContents | None, counts: Counter[type]
) -> AsyncIterator[None]:
    """Adds the rows of each kind to `counts`, and yields after each page; what the newest revision has is counted
    already."""
    async for rows in list_pages(store, at):
        if contents is not None and type(rows[0]) in (StoredObject, Warrant):
            break
        counts[type(rows[0])] += len(rows)
        yield
    if contents is not None:
        counts[StoredObject], counts[Warrant] = contents.objects, contents.warrants


def _build_counts(counted: Mapping[type, int], openfga_models: int) -> LineCounts:
    policies, types, objects, warrants = (counted[kind] for kind in KINDS)
    keys = counted[StoredKey] + counted[KeyDigest]
    return LineCounts(
        policies, types, objects, warrants, keys, counted[BackedUpWebhook], openfga_models, counted[SavedQuery]
    )


MODELS_AT_ONCE = 20
"""Limits the authorization models of a page, which take up to 256 KiB each, with as much for their assertions."""


async def _list_openfga_models(store: Store, at: Revision) -> AsyncIterator[Sequence[StoredOpenFgaModel]]:
    """Yields the authorization models of a revision in pages, the newest first, with the assertions of now."""
    last = LAST_ULID
    while listed := (await store.list_openfga_models(last, MODELS_AT_ONCE)).value:
        if page := [stored for stored in listed if stored.created_revision <= at]:
            yield page
        last = listed[-1].id


async def _count_openfga_models(store: Store, at: Revision) -> int:
    count = 0
    async for page in _list_openfga_models(store, at):
        count += len(page)
    return count


async def _list_keys(store: Store) -> Sequence[Sequence[RestoredRow]]:
    keys = (await store.list_keys()).keys
    return [rows for rows in (await store.list_key_digests(), keys) if rows]


async def _list_unversioned(store: Store) -> list[Sequence[RestoredRow]]:
    """Returns the webhooks and the saved queries that there are now, of whatever revision the rest is."""
    listed: tuple[Sequence[RestoredRow], ...] = (
        await _list_webhooks(store),
        (await store.list_saved_queries()).value,
    )
    return [rows for rows in listed if rows]


async def _list_webhooks(store: Store) -> Sequence[BackedUpWebhook]:
    stored = (await store.list_webhooks()).value
    return [
        BackedUpWebhook(row.id, row.url, row.filter, row.description, row.created_at, row.created_by) for row in stored
    ]


def _describe_store(stored: StoredStore) -> StoreHeader:
    columns = (stored.id, stored.name, render_time(stored.created_at), stored.description, stored.limits)
    return StoreHeader(*columns, stored.openfga_name)
