"""Defines the handlers of /v2/backup and /v2/restore (docs/backup.md#through-a-service)."""

from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import BinaryIO, NamedTuple

import msgspec

import magistrate
from magistrate.api.calls import Answer, Call
from magistrate.api.http.request_values import read_boolean
from magistrate.api.http.streams import Stream, StreamKind
from magistrate.api.http.uploads import UploadKind
from magistrate.operations.backups.backup import BackedUpState, BackupRequest, find_backed_up, write_backup
from magistrate.operations.backups.backup_file import BackupWriter
from magistrate.operations.backups.restored import Restored, RestoreRequest
from magistrate.operations.context import Context
from magistrate.operations.keys.callers import Scope
from magistrate.store.contract.stores import DEFAULT_STORE, StoredStore

LINES_TYPE, FILE_TYPE = "application/x-ndjson", "application/octet-stream"
BACKUPS = StreamKind((LINES_TYPE,), max_open=2)
"""Describes backups: a worker sends two at a time, each of which takes a part of its processor."""
PIECE_TIMEOUT_MS = 60_000
"""Limits how long a page of rows is waited for."""
PIECE_BYTES = 65_536
WITH_KEYS = "withKeys"


REPLACE, VERIFY = "replace", "verify"
RESTORE_TIMEOUT_MS = 21_600_000
"""Limits how long a restore takes (6 hours)."""
UPLOADED = UploadKind((FILE_TYPE, LINES_TYPE), max_open=1, timeout_ms=RESTORE_TIMEOUT_MS)
"""Describes the bodies of restores: a worker makes one at a time."""


class CountsAnswer(msgspec.Struct, rename="camel"):
    """Represents the number of lines of each kind that a backup has."""

    policies: int
    object_types: int
    objects: int
    warrants: int
    keys: int
    webhooks: int
    openfga_models: int
    saved_queries: int


class RestoredAnswer(msgspec.Struct):
    """Represents a store that was restored: its token, what the backup has, how many of its warrants were checked
    then, and what differs from it, which should be nothing."""

    store: str
    token: str
    counts: CountsAnswer
    checks: int
    differences: list[str]


class RestoreAnswer(msgspec.Struct):
    """Represents the stores that a request has restored."""

    stores: list[RestoredAnswer]


async def restore(call: Call[BinaryIO]) -> Answer[RestoreAnswer]:
    ctx, caller = call.context, call.caller
    assert ctx.stores is not None
    assert ctx.restore is not None
    stored = await ctx.stores.read_store(ctx.store_number)
    request = RestoreRequest(
        stored.id,
        replaces=read_boolean(call.parameters, REPLACE),
        verifies=read_boolean(call.parameters, VERIFY, default=True),
        may_have_parts=ctx.store_number == DEFAULT_STORE and Scope.STORES in caller.scopes,
    )
    restored = await ctx.restore(request, call.body)
    await ctx.take_over_keys()
    await ctx.store.confirm_history()
    return Answer(RestoreAnswer([_render_restored(each) for each in restored]), await ctx.store.check())


def _render_restored(restored: Restored) -> RestoredAnswer:
    counts = restored.header.counts
    counted = CountsAnswer(
        counts.policies,
        counts.object_types,
        counts.objects,
        counts.warrants,
        counts.keys,
        counts.webhooks,
        counts.openfga_models,
        counts.saved_queries,
    )
    return RestoredAnswer(restored.stored.name, restored.token, counted, restored.checks, [*restored.differences])


class _Source(NamedTuple):
    """Holds what is backed up."""

    context: Context
    stored: StoredStore
    state: BackedUpState
    request: BackupRequest


async def back_up(call: Call[None]) -> Answer[Stream]:
    ctx, as_of = call.context, call.as_of
    request = BackupRequest(magistrate.__version__, has_keys=read_boolean(call.parameters, WITH_KEYS))
    state = await find_backed_up(ctx, as_of)
    if as_of is None:
        call.freshness.demand(state[0].revision)
    assert ctx.stores is not None
    stored = await ctx.stores.read_store(ctx.store_number)
    pieces = _list_pieces(_Source(ctx, stored, state, request))
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return Answer(Stream(pieces, LINES_TYPE, PIECE_TIMEOUT_MS), state[0].revision, headers)


async def _list_pieces(source: _Source) -> AsyncGenerator[bytes, None]:
    """Yields the lines of a backup in pieces, and an empty one after each page of rows."""
    lines = _LineBuffer()
    writing = write_backup(source.context, source.stored, source.state, BackupWriter(lines), source.request)
    async with aclosing(writing):
        async for _ in writing:
            while lines.pieces:
                yield lines.pieces.popleft()
            yield b""


class _LineBuffer:
    """Holds the lines of a page, which are written in another thread, until they are sent."""

    def __init__(self) -> None:
        self.pieces: deque[bytes] = deque()

    def write(self, content: bytes) -> None:
        self.pieces.extend(content[start : start + PIECE_BYTES] for start in range(0, len(content), PIECE_BYTES))
