"""Defines what a store returns, and how the rows of its lists are selected."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

import msgspec

from magistrate.engine.names import ObjectId, PolicyName, Revision, TypeName
from magistrate.engine.warrants.warrant import WarrantPattern

ALIVE = 9_223_372_036_854_775_807
"""Marks a row as part of the newest revision, as the value of its column `deleted_revision` (the largest 64-bit
integer)."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Holds the identity of a store, which is generated when the store is created and never changes.

    `store_id` is 16 hex digits and is part of tokens: the last 8 bytes, which are random, of the ULID by which callers
    name the store. `cursor_key` is 32 hex digits, secret, and signs cursors."""

    store_id: str
    cursor_key: str


class StoredObject(msgspec.Struct, frozen=True):
    """Holds an object as it is stored: ('document', 'plan', '{"title":"Plan"}', 1763683200000000).

    `meta` is compact JSON of a non-empty object, or None; `created_at` is in microseconds since 1970 UTC."""

    type: TypeName
    id: ObjectId
    meta: str | None
    created_at: int


class StoredObjectType(msgspec.Struct, frozen=True):
    """Holds an object type as it is stored: ('document', '{"relations":{"viewer":{}}}', 1763683200000000).

    `definition` is compact JSON; `created_at` is in microseconds since 1970 UTC."""

    name: TypeName
    definition: str
    created_at: int


class StoredPolicy(msgspec.Struct, frozen=True):
    """Holds a named policy as it is stored: ('hours', '{"parameters":{},"expression":"true"}', 1763683200000000).

    `definition` is compact JSON; `created_at` is in microseconds since 1970 UTC."""

    name: PolicyName
    definition: str
    created_at: int


ObjectName = tuple[TypeName, ObjectId]
"""Names an object as an ObjectRef does, but as a plain tuple, because there may be very many."""


@dataclass(frozen=True, slots=True)
class StoredModel:
    """Holds every object type and named policy at one revision, the definitions by name, and the pattern of every
    warrant that ever existed, by then or later.

    `written_at` is the revision that last changed any of it, then or later. `span` is set if it was read at a given
    revision: the object types are the same from its first revision to its last."""

    written_at: Revision
    definitions: Mapping[TypeName, str]
    patterns: Set[WarrantPattern] = frozenset()
    policies: Mapping[PolicyName, str] = field(default_factory=dict)
    span: tuple[Revision, Revision] | None = None
