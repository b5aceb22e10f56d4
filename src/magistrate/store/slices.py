"""What every list of a store is asked for, and what it answers: a part of it, at one revision."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from magistrate.engine.terms import Revision

T = TypeVar("T")


class Snapshot(msgspec.Struct, Generic[T], frozen=True):
    """`value` as it is at `revision`."""

    revision: Revision
    value: T


@dataclass(frozen=True, slots=True)
class Slice:
    """Which part of a sorted list is wanted.

    `sort` names one of the list's sorts: a sequence of columns that is unique as a whole, all in one direction.
    `boundary` holds the values of these columns in the row next to the wanted part, which need not exist any more;
    None stands for the start of the list. `backwards` asks for the rows before the boundary instead of those after
    it."""

    sort: str
    limit: int
    descending: bool = False
    boundary: tuple[str | int, ...] | None = None
    backwards: bool = False


@dataclass(frozen=True, slots=True)
class Portion(Generic[T]):
    """At most `limit` rows, always in the order of the list, backwards or not; and whether rows that match the
    filters precede the first of them, and follow the last. Both are false when there is no row."""

    rows: tuple[T, ...]
    precedes: bool
    follows: bool
