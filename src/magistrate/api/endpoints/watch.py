"""Handles /v2/watch (docs/watch.md)."""

from collections.abc import Callable

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.http.event_frames import STREAM_HEADERS, choose_frames
from magistrate.api.http.request_values import list_values, read_boolean
from magistrate.api.http.streams import Stream
from magistrate.engine.terms import relation_name, type_name
from magistrate.errors import InvalidParameter
from magistrate.operations.consistency import read_revision
from magistrate.operations.difference.filters import OBJECT, OF, SUBJECT, read_narrowing
from magistrate.operations.history.points_in_time import read_position
from magistrate.operations.history.times import render_time
from magistrate.operations.watch.access_feed import FROM_NOW, Start
from magistrate.operations.watch.access_reader import AccessReader, AccessRequest
from magistrate.operations.watch.tickets import issue_ticket
from magistrate.operations.watch.watch_events import WatchFilter
from magistrate.operations.watch.watch_reader import KEY_ENDED, SHUTTING_DOWN, SNAPSHOT, WatchReader, WatchRequest
from magistrate.store.contract.revisions import RevisionId

PIECE_TIMEOUT_MS = 60_000
"""Limits how long a stream may be silent, which has an event at least every 15 seconds."""
MAX_NAMES = 100
"""Limits how often a filter may be repeated."""
OBJECT_TYPE, RELATION, SUBJECT_TYPE = "objectType", "relation", "subjectType"
SINCE, SNAPSHOT_PARAMETER, LAST_EVENT_ID = "since", "snapshot", "Last-Event-ID"


class TicketAnswer(msgspec.Struct, rename="camel"):
    """Represents a new ticket, which opens one stream, as the parameter `ticket` of its URL."""

    ticket: str
    expires_at: str


async def watch(call: Call[None]) -> Answer[Stream]:
    since, has_snapshot = _read_place(call)
    request = WatchRequest(choose_frames(call.accept), since, has_snapshot, _read_filter(call.query))
    return await _begin_stream(call, WatchReader(call.context, request), request.frames.media_type)


async def watch_access(call: Call[None]) -> Answer[Stream]:
    start, has_snapshot = _read_start(call)
    of, subject, on_object = (call.parameters.get(name) for name in (OF, SUBJECT, OBJECT))
    narrowing = read_narrowing(of, subject, on_object, None)
    request = AccessRequest(choose_frames(call.accept), narrowing, start, has_snapshot)
    return await _begin_stream(call, AccessReader(call.context, request), request.frames.media_type)


async def create_ticket(call: Call[None]) -> Answer[TicketAnswer]:
    issued = await issue_ticket(call.context, call.caller)
    call.freshness.demand(issued.revision)
    ticket, expires_at = issued.value
    return Answer(TicketAnswer(ticket, render_time(expires_at)), issued.revision, {"Cache-Control": "no-store"})


async def _begin_stream(call: Call[None], reader: WatchReader | AccessReader, media_type: str) -> Answer[Stream]:
    try:
        await reader.begin()
        newest = call.context.feed.newest
        revision = await call.context.store.check() if newest is None else newest.revision
    except BaseException:
        await reader.close()
        raise
    stream = Stream(
        reader.read(),
        media_type,
        PIECE_TIMEOUT_MS,
        stop=lambda: reader.end(SHUTTING_DOWN),
        close=reader.close,
        refuse=lambda: reader.end(KEY_ENDED),
        reading=reader,
        is_whole=lambda: not reader.is_within_event,
    )
    return Answer(stream, revision, STREAM_HEADERS)


def _read_start(call: Call[None]) -> tuple[Start, bool]:
    """Returns where a reader of access goes on, and whether it gets all access first. Raises InvalidParameter."""
    has_snapshot = read_boolean(call.parameters, SNAPSHOT_PARAMETER)
    for name, text in ((LAST_EVENT_ID, call.last_event_id), (SINCE, call.parameters.get(SINCE))):
        if text and text.startswith(f"{SNAPSHOT}-"):
            return FROM_NOW, True
        if text:
            return Start(*read_position(call.context.store.identity, name, text)), False
    return FROM_NOW, has_snapshot


def _read_place(call: Call[None]) -> tuple[RevisionId | None, bool]:
    """Returns the revision from which a reader goes on, None for the newest, and whether it gets the state first. The
    id of the last event wins; those of snapshots begin the snapshot anew. Raises InvalidParameter."""
    has_snapshot = read_boolean(call.parameters, SNAPSHOT_PARAMETER)
    for name, text in ((LAST_EVENT_ID, call.last_event_id), (SINCE, call.parameters.get(SINCE))):
        if text and text.startswith(f"{SNAPSHOT}-"):
            return None, True
        if text:
            return read_revision(call.context.store.identity, name, text), False
    return None, has_snapshot


def _read_filter(query: bytes) -> WatchFilter:
    return WatchFilter(
        _read_names(query, OBJECT_TYPE, type_name),
        _read_names(query, RELATION, relation_name),
        _read_names(query, SUBJECT_TYPE, type_name),
    )


def _read_names(query: bytes, parameter: str, read: Callable[[str, str], str]) -> frozenset[str]:
    names = list_values(query, parameter)
    if len(names) > MAX_NAMES:
        raise InvalidParameter(parameter, f"must not be given more than {MAX_NAMES} times")
    return frozenset(read(name, parameter) for name in names)
