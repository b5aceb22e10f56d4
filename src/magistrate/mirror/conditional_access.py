"""Finds the conditional access as of a position, which no query has: the access of a snapshot, which is newer, with the
difference between the two."""

from base64 import urlsafe_b64decode
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from itertools import groupby, repeat

import apsw
import msgspec

from magistrate.client import PAGE_SIZE, Client
from magistrate.errors import ServiceUnreachable
from magistrate.mirror.feed_events import ACCESS_PATH, CHECKPOINT, END, FeedEvent, FeedRow, list_rows, read_events
from magistrate.mirror.rows import KEY_COLUMNS, AccessKey, MirroredAccess, MirrorPosition

MirroredObject = tuple[str, str]
ObjectRows = tuple[MirroredObject, Sequence[MirroredAccess]]
"""Represents an object, and rows of access to it."""

GAINED = "gained"
_KEYS = ", ".join(KEY_COLUMNS)
_MAKE = f"CREATE TABLE conditional_access ({_KEYS}, PRIMARY KEY ({_KEYS})) WITHOUT ROWID"
_ADD = "INSERT OR IGNORE INTO conditional_access VALUES (?, ?, ?, ?, ?)"
_REMOVE = "DELETE FROM conditional_access WHERE " + " AND ".join(f"{column} = ?" for column in KEY_COLUMNS)
_READ = f"SELECT {_KEYS} FROM conditional_access ORDER BY {_KEYS}"


class ChangedRow(FeedRow, frozen=True, kw_only=True):
    """Represents access that was gained or lost, by `change`."""

    change: str


@contextmanager
def read_conditional_access(client: Client, position: MirrorPosition) -> Iterator[Iterator[ObjectRows]]:
    """Yields each object to which there is conditional access, and that, in the order of code points. It is kept in a
    temporary file, which vanishes with the connection.

    Raises what the client raises: RequestRefused if more has changed since than a difference may have."""
    with closing(apsw.Connection("")) as connection:
        connection.execute(_MAKE)
        newest = _read_snapshot(client, position, connection)
        is_newer = _order_by(newest) >= _order_by(position)
        earlier, later = (position.id, newest.place) if is_newer else (newest.place, position.id)
        if earlier != later:
            parameters = {"of": position.of, "from": earlier, "to": later}
            for page in client.difference(parameters, repeat(PAGE_SIZE)):
                rows = msgspec.convert(page["results"], list[ChangedRow])
                # what was gained up to the snapshot was not there before, and what was lost was
                _add(connection, [row for row in rows if (row.change == GAINED) != is_newer], position)
                _remove(connection, [row for row in rows if (row.change == GAINED) == is_newer], position)
        yield _read_objects(connection)


def _read_snapshot(client: Client, position: MirrorPosition, connection: apsw.Connection) -> FeedEvent:
    """Adds the conditional access that there is now, and returns the checkpoint behind it."""
    with client.open_stream(ACCESS_PATH, {"of": position.of, "snapshot": "true"}) as stream:
        for line in stream.read_lines():
            for event in read_events(client.url, [line]):
                if event.event == CHECKPOINT:
                    return event
                if event.event == END:
                    raise ServiceUnreachable(client.url, f"the snapshot has ended ({event.reason})")
                _add(connection, event.access, position)
    raise ServiceUnreachable(client.url, "the snapshot has ended")


def _add(connection: apsw.Connection, rows: Sequence[FeedRow], position: MirrorPosition) -> None:
    connection.executemany(_ADD, _list_keys(rows, position))


def _remove(connection: apsw.Connection, rows: Sequence[FeedRow], position: MirrorPosition) -> None:
    connection.executemany(_REMOVE, _list_keys(rows, position))


def _list_keys(rows: Sequence[FeedRow], position: MirrorPosition) -> list[AccessKey]:
    return [row.key for row in list_rows(rows, position.has_wildcards) if row.is_conditional]


def _read_objects(connection: apsw.Connection) -> Iterator[ObjectRows]:
    keys = (AccessKey(*map(str, row)) for row in connection.execute(_READ))
    for named, group in groupby(keys, lambda key: key[:2]):
        yield named, [MirroredAccess(key, True) for key in group]


def _order_by(place: MirrorPosition | FeedEvent) -> tuple[bytes, datetime]:
    """Returns what orders positions of one store: the number of the revision in the token, then the time
    (docs/consistency.md)."""
    number = urlsafe_b64decode(place.token + "=" * (-len(place.token) % 4))[9:17]
    return number, datetime.fromisoformat(place.time)
