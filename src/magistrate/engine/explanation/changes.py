"""Defines the changes that could allow a denied check, and sets of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import msgspec

from magistrate.engine.names import WarrantNames
from magistrate.engine.warrants import Warrant


class ChangeKind(IntEnum):
    """Represents what a change does. Of changes that are equally many, those of a lower kind are suggested first: to
    remove what excludes the subject, to send other values, to add the subject to a userset, to write another warrant;
    last a warrant that counts although a combination, such as an exclusion, says otherwise."""

    DELETE = 0
    SET_VARIABLE = 1
    ADD_TO_USERSET = 2
    CREATE = 3
    OVERRIDE = 4


class Change(msgspec.Struct, frozen=True):
    """Represents one change: a warrant to create, a stored warrant to delete, or a variable of the context.

    `names` are those of a warrant to create, `warrant` is the one to delete; `value` is the JSON text of the new value
    of `variable`.
    """

    names: WarrantNames | None = None
    warrant: Warrant | None = None
    variable: str = ""
    value: str = ""

    @staticmethod
    def delete(warrant: Warrant) -> "Change":
        return Change(warrant=warrant)

    @staticmethod
    def set_variable(name: str, value: Any) -> "Change":
        text = msgspec.json.encode(value, order="deterministic").decode()
        return Change(variable=name, value=text)

    def read_value(self) -> Any:
        return msgspec.json.decode(self.value)


ChangeSet = frozenset[Change]
NO_CHANGE: ChangeSet = frozenset()

Order = tuple[int, Sequence[tuple[int, ...]]]


class ChangeOrder:
    """Orders sets of changes: fewer first, then by kind, then by how near to the checked object they were found."""

    def __init__(self) -> None:
        self._ranks: dict[Change, tuple[int, ...]] = {}

    def note(self, change: Change, kind: ChangeKind) -> Change:
        """Returns the change; when it is new, it comes after all others of this kind."""
        if change not in self._ranks:
            self._ranks[change] = (kind, len(self._ranks))
        return change

    def kind(self, change: Change) -> ChangeKind:
        return ChangeKind(self._ranks[change][0])

    def key(self, changes: Iterable[Change]) -> Order:
        """Returns the key by which sets are sorted."""
        ranks = sorted(self._ranks[change] for change in changes)
        return len(ranks), ranks

    def sort(self, changes: Iterable[Change]) -> list[Change]:
        return sorted(changes, key=self._ranks.__getitem__)

    @property
    def changes(self) -> Iterable[Change]:
        return self._ranks


def is_consistent(changes: Iterable[Change]) -> bool:
    """Returns whether no variable has two values."""
    names = [change.variable for change in changes if change.variable]
    return len(names) == len(set(names))


def change_context(context: Mapping[str, Any], changes: Iterable[Change]) -> Mapping[str, Any]:
    """Returns the context with the values that the changes give to variables."""
    new = {change.variable: change.read_value() for change in changes if change.variable}
    return {**context, **new} if new else context


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Represents changes all of which together allow the check, and no fewer of them.

    `missing` and `different` name the variables of the context that are absent or have another value; `example` has
    values of them that suffice. `note` says in a sentence what else to know.
    """

    create: Sequence[WarrantNames]
    delete: Sequence[Warrant]
    missing: Sequence[str]
    different: Sequence[str]
    example: Mapping[str, Any]
    note: str
