"""Lists events: what was written, and how checks were decided (docs/compatibility.md#events).

The id of an event encodes its place: 36 characters, URL-safe base64 of its revision, its source, its position or
number, a zero, whether the bits of the revision are known, and these, in 8, 1, 8, 1, 1 and 4 bytes, big-endian, and of
the CRC-32 of all that and the store id. A page can therefore begin after an event without looking it up, even if the
event no longer exists.

Events can also be followed: the cursor of a request with `after` holds an EventPosition, and there is always one."""

import re
import struct
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace

from magistrate.engine.names import Revision
from magistrate.engine.terms import object_id, object_id_or_wildcard, relation_name, type_name
from magistrate.errors import InvalidParameter, InvalidRequest
from magistrate.operations.consistency import Freshness, TokenCodec, compute_crc, read_revision, require_stored
from magistrate.operations.context import Context
from magistrate.operations.paging import (
    ListKind,
    Page,
    PageRequest,
    Sort,
    read_cursor,
    read_page,
    read_revision_id,
    write_cursor,
)
from magistrate.store.contract.events import (
    DECISIONS,
    Action,
    Event,
    EventFilter,
    EventKind,
    EventPosition,
    EventsOfKind,
    Place,
    build_position,
)
from magistrate.store.contract.lists import PageSlice, Slice, Snapshot
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.stored_rows import Identity

Boundary = tuple[int, int, int, int]
"""Holds the place of an event and the bits of the revision in it, or NO_BITS."""
NO_BITS = -1

_SORTS: Mapping[str, Sort[Event]] = {"createdAt": Sort("createdAt", lambda event: _build_boundary(event))}
RESOURCE_EVENT_LIST: ListKind[Event] = ListKind("resource-events", _SORTS, is_log=True)
ACCESS_EVENT_LIST: ListKind[Event] = ListKind("access-events", _SORTS, is_log=True)

AFTER, BEGIN = "after", "begin"
"""Name the parameter with which events are followed, and its value for the oldest that is kept."""

SOURCE = "api"
"""Names the source of every event."""
OBJECTS = "object"
DEFINITIONS: Mapping[EventKind, str] = {"object-type": "object-type", "policy": "named-policy", "webhook": "webhook"}
"""Maps what is a resource without being an object to its type as a resource, which is its kind as well. Objects may
have a type of that name, too: their kind is OBJECTS."""
RESOURCE_KINDS = (OBJECTS, *DEFINITIONS.values())
KIND = "kind"
"""Names the parameter and the member that tell the kinds from each other."""

RESOURCE_TYPES: Mapping[str, Action] = {"created": "created", "updated": "updated", "deleted": "deleted"}
ACCESS_TYPES: Mapping[str, tuple[tuple[EventKind, Action], ...]] = {
    "access_granted": (("warrant", "created"), ("warrant", "updated")),
    "access_revoked": (("warrant", "deleted"), ("warrant", "expired")),
    "access_allowed": (("decision", "allowed"),),
    "access_denied": (("decision", "denied"),),
}
"""Maps the types of events to what was done: a warrant that gets other time limits is granted again."""

_Allowed = Callable[[str, str], str]
RESOURCE_NAMES: Mapping[str, _Allowed] = {"resourceType": type_name, "resourceId": object_id}
ACCESS_NAMES: Mapping[str, _Allowed] = {
    "objectType": type_name,
    "objectId": object_id_or_wildcard,
    "relation": relation_name,
    "subjectType": type_name,
    "subjectId": object_id_or_wildcard,
    "subjectRelation": relation_name,
}
"""Maps parameters to the values they can have at all, in the order of the key of an event."""

_LATEST = 2**62
"""Bounds times from above, as 0 does from below: no event is outside."""
_EVENT_IDS = TokenCodec(compute_crc, check_bytes=4)
_ID = struct.Struct(">QBQx?I")


def render_resource_kind(event: Event) -> str:
    """Returns the kind of the resource of an event."""
    return DEFINITIONS.get(event.kind, OBJECTS)


def read_resource_filter(parameters: Mapping[str, str], only_objects: bool) -> EventFilter:
    """Returns the filter that the parameters describe; it matches nothing if a parameter has a value that no event has.
    With `only_objects`, the caller may see no definitions. Raises InvalidParameter for since, then until."""
    since, until = _read_span(parameters)
    names = _read_names(parameters, RESOURCE_TYPES, RESOURCE_NAMES)
    if names is None:
        return EventFilter((), since, until)
    action = RESOURCE_TYPES.get(parameters.get("type", ""))
    of_kind = parameters.get(KIND) or None
    kinds = [EventsOfKind("object", action, names)] if of_kind in (None, OBJECTS) else []
    for kind, resource_type in DEFINITIONS.items():
        is_wanted = of_kind in (None, resource_type) and not only_objects
        if is_wanted and names.get(0, resource_type) == resource_type:
            kinds.append(EventsOfKind(kind, action, {0: names[1]} if 1 in names else {}))
    return EventFilter(kinds, since, until)


def read_access_filter(parameters: Mapping[str, str]) -> EventFilter:
    """Returns the filter for access events, like `read_resource_filter`."""
    since, until = _read_span(parameters)
    names = _read_names(parameters, ACCESS_TYPES, ACCESS_NAMES)
    if names is None:
        return EventFilter((), since, until)
    of_type = ACCESS_TYPES.get(parameters.get("type", ""))
    if of_type is not None:
        return EventFilter([EventsOfKind(kind, action, names) for kind, action in of_type], since, until)
    return EventFilter([EventsOfKind("warrant", None, names), EventsOfKind("decision", None, names)], since, until)


async def list_events(
    ctx: Context, kind: ListKind[Event], page_request: PageRequest, only: EventFilter, freshness: Freshness
) -> Snapshot[Page[Event]]:
    async def read(bounds: Slice, *, at: Revision | None) -> Snapshot[PageSlice[Event]]:
        if bounds.boundary is not None:
            *place, bits = bounds.boundary
            if bits != NO_BITS:
                await require_stored(ctx.store, RevisionId(Revision(int(place[0])), int(bits)))
            bounds = replace(bounds, boundary=tuple(place))
        return await ctx.store.list_events(bounds, only)

    return await read_page(kind, page_request, freshness, ctx.store, read=read)


@dataclass(frozen=True, slots=True)
class Following:
    """Represents from where a request follows the events: a position, in the history with this write, or None for the
    oldest event that is kept."""

    position: EventPosition | None
    id: RevisionId | None = None


def read_following(
    kind: ListKind[Event], parameters: Mapping[str, str], identity: Identity, cursor: str
) -> Following | None:
    """Returns from where a request follows the events: the position of its cursor, which is in this parameter, or that
    of its token `after`. Returns None if the request is for a page.

    Raises InvalidParameter, and InvalidRequest if it has both."""
    after, text = parameters.get(AFTER), parameters.get(cursor)
    following = None if text is None else _read_position_cursor(kind, identity, text)
    if following is None and not after:
        return None
    if parameters.get("sortOrder") == "DESC":
        raise InvalidParameter("sortOrder", "must be ASC, because events are followed in the order in which they come")
    if "prevCursor" in parameters:
        raise InvalidRequest("cannot pass both after and prevCursor")
    if following is not None:
        return following
    if text is not None:
        raise InvalidParameter(cursor, "invalid cursor: it is not of a request with after")
    if after == BEGIN:
        return Following(None)
    revision_id = read_revision(identity, AFTER, str(after))
    return Following(build_position(revision_id.revision), revision_id)


def _read_position_cursor(kind: ListKind[Event], identity: Identity, text: str) -> Following | None:
    """Returns the position that a cursor holds; None if it is none of such a request."""
    try:
        of_kind, how, *values = read_cursor(identity, AFTER, text)
    except InvalidParameter:
        return None
    if of_kind != kind.name or how != AFTER:
        return None
    at, source, number, changes_deleted, decisions_deleted = values
    revision_id = read_revision_id(at)
    return Following(
        EventPosition((revision_id.revision, source, number), changes_deleted, decisions_deleted), revision_id
    )


async def follow_events(
    ctx: Context, kind: ListKind[Event], following: Following, limit: int, only: EventFilter
) -> Snapshot[Page[Event]]:
    """Returns the events behind a position, oldest first, and always a cursor that goes on from there.

    Raises RevisionLost if the store does not hold the write of the position, and EventsNotKept."""
    if following.id is not None:
        await require_stored(ctx.store, following.id)
    batch = await ctx.store.follow_events(following.position, limit, only)
    if following.id is not None:
        Freshness(AFTER, following.id.revision).demand(batch.revision)
    (revision, *place), *deleted = batch.value.position
    at = await ctx.store.identify(Revision(revision))
    cursor = write_cursor(ctx.store.identity, [kind.name, AFTER, at, *place, *deleted])
    return Snapshot(batch.revision, Page(batch.value.rows, None, cursor))


def event_id(identity: Identity, event: Event) -> str:
    *place, bits = _build_boundary(event)
    content = _ID.pack(*place, *((False, 0) if bits == NO_BITS else (True, bits)))
    return _EVENT_IDS.encode(content, bytes.fromhex(identity.store_id))


def read_event_id(identity: Identity, text: str) -> Boundary:
    """Returns the boundary of a page that begins behind an event of this store. Raises InvalidParameter, naming
    lastId."""
    boundary = _read_boundary(identity, text)
    if boundary is None:
        raise InvalidParameter("lastId", "invalid lastId")
    return boundary


def find_decision_place(identity: Identity, text: str) -> Place | None:
    """Returns the place of the event of a decision of this store; None if the text is not the id of one."""
    boundary = _read_boundary(identity, text)
    return boundary[:3] if boundary is not None and boundary[1] == DECISIONS else None


def _build_boundary(event: Event) -> Boundary:
    """Returns the place of an event, and the bits of the revision in it: a decision has those of another one."""
    is_known = event.bits is not None and event.kind != "decision"
    return *event.place, (event.bits or 0) if is_known else NO_BITS


def _read_boundary(identity: Identity, text: str) -> Boundary | None:
    place = _EVENT_IDS.decode(text, bytes.fromhex(identity.store_id))
    if place is None or len(place) != _ID.size:
        return None
    revision, source, number, has_bits, bits = _ID.unpack(place)
    # Anyone can compute the checksum, and databases have no larger integers.
    if source > 1 or max(revision, number) > _LATEST:
        return None
    return revision, source, number, bits if has_bits else NO_BITS


def _read_names(
    parameters: Mapping[str, str], types: Container[str], allowed: Mapping[str, _Allowed]
) -> dict[int, str] | None:
    """Returns the names to filter by, by their place in the key; None if no event has this type, source, or such a
    name."""
    of_type, source = parameters.get("type"), parameters.get("source")
    if (of_type and of_type not in types) or (source and source != SOURCE):
        return None
    names: dict[int, str] = {}
    for place, (parameter, check) in enumerate(allowed.items()):
        if text := parameters.get(parameter):
            try:
                names[place] = check(text, parameter)
            except InvalidParameter:
                return None
    return names


def _read_span(parameters: Mapping[str, str]) -> tuple[int | None, int | None]:
    since, until = (_read_time(parameters, name) for name in ("since", "until"))
    if since is not None and until is not None and since > until:
        raise InvalidParameter("since", "Must be a date occurring before the until date")
    return since, until


def _read_time(parameters: Mapping[str, str], name: str) -> int | None:
    text = parameters.get(name)
    if not text:
        return None
    if not re.fullmatch(r"[+-]?[0-9]{1,100}", text):
        raise InvalidParameter(name, "Must be an integer specifying a unix timestamp in microseconds")
    return min(max(int(text), 0), _LATEST)
