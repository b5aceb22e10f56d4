"""Defines the request and the result of every list of a store: a part of the list, at one revision."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from magistrate.engine.terms import Revision

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
