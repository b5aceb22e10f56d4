"""Reads the events of the feed of access, which come as lines of JSON (docs/watch.md#the-effective-feed)."""

from collections.abc import Iterator, Sequence

import msgspec

from magistrate.errors import ServiceUnreachable
from magistrate.mirror.rows import AccessKey, MirroredAccess

ACCESS_PATH = "/v2/watch/access"
CHECKPOINT, ACCESS, RESYNC, END = "checkpoint", "access", "resync", "end"
"""Name events."""


class FeedSubject(msgspec.Struct, rename="camel", frozen=True):
    """Represents a subject of a row."""

    object_type: str
    object_id: str


class FeedRow(msgspec.Struct, rename="camel", frozen=True):
    """Represents access that there is, or that was gained or lost."""

    object_type: str
    object_id: str
    relation: str
    subject: FeedSubject
    conditional: bool = False


class FeedEvent(msgspec.Struct, frozen=True):
    """Represents an event of any kind, with the members that it has."""

    event: str
    token: str = ""
    id: str = ""
    time: str = ""
    access: Sequence[FeedRow] = ()
    gained: Sequence[FeedRow] = ()
    lost: Sequence[FeedRow] = ()
    resync: str = ""
    reason: str = ""

    @property
    def place(self) -> str:
        """Returns where the feed goes on behind this event."""
        return self.id or self.token


_DECODER = msgspec.json.Decoder(FeedEvent)


def read_events(url: str, lines: Sequence[bytes]) -> Iterator[FeedEvent]:
    """Yields the events of lines. Raises ServiceUnreachable for one that no Magistrate at this URL would send."""
    for line in lines:
        try:
            if line:
                yield _DECODER.decode(line)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise ServiceUnreachable(url, f"an event cannot be read: {error}") from error


def list_rows(rows: Sequence[FeedRow], has_wildcards: bool) -> list[MirroredAccess]:
    """Returns the rows, without those that have a wildcard unless they are wanted."""
    mirrored = [
        MirroredAccess(
            AccessKey(row.object_type, row.object_id, row.relation, row.subject.object_type, row.subject.object_id),
            row.conditional,
        )
        for row in rows
    ]
    return mirrored if has_wildcards else [row for row in mirrored if not row.key.has_wildcard]
