"""Defines which rows of a list a caller of a store wants."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from magistrate.engine.warrants import WarrantPattern


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
