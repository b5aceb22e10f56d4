"""Defines the request and the result of every list of a store: a part of the list, at one revision."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec

from magistrate.engine.names import Revision
from magistrate.engine.warrants.warrant import WarrantPattern

T = TypeVar("T")


class Snapshot(msgspec.Struct, Generic[T], frozen=True):
    """Holds `value` as it is at `revision`."""

    revision: Revision
    value: T


@dataclass(frozen=True, slots=True)
class Slice:
    """Describes the wanted part of a sorted list.

    `sort` names one of the list's sorts: a sequence of columns that is unique as a whole, all in one direction.
    `boundary` holds the values of these columns in the row next to the wanted part, a row that may no longer exist;
    None stands for the start of the list. `backwards` requests the rows before the boundary instead of those after
    it."""

    sort: str
    limit: int
    descending: bool = False
    boundary: tuple[str | int, ...] | None = None
    backwards: bool = False


@dataclass(frozen=True, slots=True)
class PageSlice(Generic[T]):
    """Holds at most `limit` rows, always in the order of the list, backwards or not, and whether rows that match the
    filters precede the first of them and follow the last. Both are false when there is no row."""

    rows: tuple[T, ...]
    precedes: bool
    follows: bool


@dataclass(frozen=True, slots=True)
class ObjectFilter:
    """Selects objects by type and by text.

    `of_type` matches exactly this type. `text` matches objects whose id or JSON text of meta contains it; the case of
    ASCII letters is ignored. Neither may contain a NUL character, because PostgreSQL cannot store it."""

    of_type: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class ObjectTypeFilter:
    """Selects the object types whose name contains `text`; the case of ASCII letters is ignored."""

    text: str | None = None


@dataclass(frozen=True, slots=True)
class WarrantFilter:
    """Selects warrants by columns of `Warrant`: `equal` holds the required value of a column, `among` its allowed
    values. `unexpired_at` leaves out those that have expired by this time. With `is_expired`, it selects instead those
    that `end_expired` has ended. With `patterns`, it selects only those that have one of them, whatever their
    objects."""

    equal: Mapping[str, str] = field(default_factory=dict)
    among: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unexpired_at: int | None = None
    is_expired: bool = False
    patterns: frozenset[WarrantPattern] | None = None
