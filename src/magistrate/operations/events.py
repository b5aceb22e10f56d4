"""Lists events: what was written, and how checks were decided (docs/compatibility.md#events).

The id of an event encodes its place: 36 characters, URL-safe base64 of its time, its source, its revision or number and
its position, in 8, 1, 8 and 6 bytes, big-endian, and of the CRC-32 of these and the store id. A page can therefore
begin after an event without looking it up, even if the event no longer exists."""

import re
import struct
from collections.abc import Callable, Container, Mapping

from magistrate.engine.terms import Revision, object_id, object_id_or_wildcard, relation_name, type_name
from magistrate.errors import InvalidParameter
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.opaque_tokens import TokenCodec, compute_crc
from magistrate.operations.paging import ListKind, Page, Sort, Wanted, read_page
from magistrate.store.contract import Identity, PageSlice, Slice, Snapshot
from magistrate.store.events import DECISIONS, Action, Event, EventFilter, EventKind, EventsOfKind, Place

_SORTS: Mapping[str, Sort[Event]] = {"createdAt": Sort("createdAt", lambda event: event.place)}
RESOURCE_EVENT_LIST: ListKind[Event] = ListKind("resource-events", _SORTS, is_log=True)
ACCESS_EVENT_LIST: ListKind[Event] = ListKind("access-events", _SORTS, is_log=True)

SOURCE = "api"
"""Names the source of every event."""
DEFINITIONS: Mapping[EventKind, str] = {"object-type": "object-type", "policy": "named-policy"}
"""Maps what is a resource without being an object to its type as a resource; objects may have that type too."""

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
_ID = struct.Struct(">QBQ")
_POSITION_LENGTH = 6


def read_resource_filter(parameters: Mapping[str, str]) -> EventFilter:
    """Returns the filter that the parameters describe; it matches nothing if a parameter has a value that no event has.
    Raises InvalidParameter for since, then until."""
    since, until = _read_span(parameters)
    names = _read_names(parameters, RESOURCE_TYPES, RESOURCE_NAMES)
    if names is None:
        return EventFilter((), since, until)
    action = RESOURCE_TYPES.get(parameters.get("type", ""))
    kinds = [EventsOfKind("object", action, names)]
    for kind, resource_type in DEFINITIONS.items():
        if names.get(0, resource_type) == resource_type:
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
    ctx: Context, kind: ListKind[Event], wanted: Wanted, only: EventFilter, freshness: Freshness
) -> Snapshot[Page[Event]]:
    async def read(wanted: Slice, *, at: Revision | None) -> Snapshot[PageSlice[Event]]:
        return await ctx.store.list_events(wanted, only)

    return await read_page(kind, wanted, freshness, ctx.store.identity, read)


def event_id(identity: Identity, event: Event) -> str:
    at, source, number, position = event.place
    place = _ID.pack(at, source, number) + position.to_bytes(_POSITION_LENGTH, "big")
    return _EVENT_IDS.encode(place, bytes.fromhex(identity.store_id))


def read_event_id(identity: Identity, text: str) -> Place:
    """Returns the place of an event of this store. Raises InvalidParameter, naming lastId."""
    place = _read_place(identity, text)
    if place is None:
        raise InvalidParameter("lastId", "invalid lastId")
    return place


def find_decision_place(identity: Identity, text: str) -> Place | None:
    """Returns the place of the event of a decision of this store; None if the text is not the id of one."""
    place = _read_place(identity, text)
    return place if place is not None and place[1] == DECISIONS else None


def _read_place(identity: Identity, text: str) -> Place | None:
    place = _EVENT_IDS.decode(text, bytes.fromhex(identity.store_id))
    if place is None or len(place) != _ID.size + _POSITION_LENGTH:
        return None
    at, source, number = _ID.unpack_from(place)
    # Anyone can compute the checksum, and databases have no larger integers.
    if source > 1 or max(at, number) > _LATEST:
        return None
    return at, source, number, int.from_bytes(place[_ID.size :], "big")


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
