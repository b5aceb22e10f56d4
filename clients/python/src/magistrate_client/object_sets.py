"""Holds on which objects of a type a subject has a relation, and reads their ids as values of a column.

An id is a value of a column exactly if the value's text is the id: the integer 7 is `document:7`, and no column of
integers has `document:07`. So a row is compared as a check of `f"document:{row.id}"` would name it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from enum import Enum
from typing import Callable, NamedTuple, Union
from uuid import UUID

from magistrate_client.errors import ObjectSetTooLarge
from magistrate_client.refs import AnySubject, render_subject

MAX_BYTES = 67_108_864
"""Limits the ids of a set, in bytes of UTF-8 (64 MiB): 1.8 million UUIDs."""

PROBED_IDS = 10_000
"""Sets up to how many ids each is looked up in an index of the column. More are hashed, and compared with rows."""

Value = Union[str, int, UUID]

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Kind(Enum):
    """Says what values a column has."""

    TEXT = "text"
    INTEGER = "integer"
    UUID = "uuid"


class ObjectSet(NamedTuple):
    """Says for each object of a type, existing or not, whether a subject has a relation on it, at one revision:
    `default`, except for the ids in `exceptions`, for which it is the opposite. `token` names the revision."""

    default: bool
    exceptions: frozenset[str]
    token: str

    def has(self, object_id: str) -> bool:
        """Returns whether the subject has the relation on the object with this id, as a check decides."""
        return self.default != (object_id in self.exceptions)

    def read_exceptions(self, kind: Kind) -> list[Value]:
        """Returns the exceptions that a column can have, sorted; all others are no row's."""
        read = _READERS[kind]
        return [value for object_id in sorted(self.exceptions) if (value := read(object_id)) is not None]


class IdCollection:
    """Collects ids of one type. Raises ObjectSetTooLarge beyond MAX_BYTES, so that a set is never cut off."""

    def __init__(self, type: str) -> None:
        self._prefix = len(type) + 1
        self._bytes = 0
        self.ids: set[str] = set()

    def add(self, objects: Iterable[str]) -> None:
        """Adds objects, which are `type:id`."""
        ids = [named[self._prefix :] for named in objects]
        self._bytes += sum(len(object_id.encode()) for object_id in ids)
        if self._bytes > MAX_BYTES:
            raise ObjectSetTooLarge(
                f"the ids of the objects exceed {MAX_BYTES:,} bytes; join with a mirror in your database instead"
            )
        self.ids.update(ids)


def choose_samples(subject: AnySubject, type: str) -> list[str]:
    """Returns the ids of objects that stand for those that do not exist: one that is made up, and the subject's if it
    is of the type."""
    named = render_subject(subject)
    made_up = f"none-{os.urandom(16).hex()}"
    return [made_up, named["objectId"]] if named["objectType"] == type else [made_up]


def render_json(values: Iterable[str | int]) -> str:
    """Returns a list of values as JSON, as SQLite reads it."""
    return json.dumps([*values], ensure_ascii=False, separators=(",", ":"))


def _read_text(object_id: str) -> str | None:
    return object_id


def _read_integer(object_id: str) -> int | None:
    if not _INTEGER.fullmatch(object_id):
        return None
    value = int(object_id)
    return value if -(2**63) <= value < 2**63 else None


def _read_uuid(object_id: str) -> UUID | None:
    return UUID(object_id) if _UUID.fullmatch(object_id) else None


_READERS: dict[Kind, Callable[[str], Value | None]] = {
    Kind.TEXT: _read_text,
    Kind.INTEGER: _read_integer,
    Kind.UUID: _read_uuid,
}
