"""What a query finds, before it is known which objects exist."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from magistrate.engine.query.result_set import EXPLICIT, ResultSet
from magistrate.engine.terms import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.truth import TRUE
from magistrate.engine.warrants import Warrant

STEPS_FOR_A_NODE = 10
"""Of those to the warrant of a row: so many take as long as a node."""


class Row(NamedTuple):
    """('document', 'plan', 'viewer', <the warrant it is reported for>, True). The first three are unique in a listing.
    The warrant is None where the row rests on others not holding."""

    type: TypeName
    id: ObjectId
    relation: RelationName
    warrant: Warrant | None
    is_implicit: bool


class Reports(NamedTuple):
    """Where the warrants of rows are: `find` gives one by the id of its row, in at most so many `steps`. `entries`: how
    many values and warrants are held for that."""

    find: Callable[[ObjectId], Warrant | None]
    entries: int = 0
    steps: int = 1


@dataclass(frozen=True, slots=True)
class Listed:
    """The rows of one type and one relation; with None those of any type that has no Listed of its own.
    `is_for_everyone`: all subjects of the type have it because a warrant says so with `*`, which is a row too."""

    type: TypeName | None
    relation: RelationName
    spread: ResultSet
    reports: Reports
    is_for_everyone: bool = False

    @property
    def entries(self) -> int:
        """How many values and warrants are held in memory."""
        return len(self.spread.named) + self.reports.entries

    @property
    def needs_existing(self) -> bool:
        """Whether all objects of the type that exist may be rows; otherwise all rows are named."""
        return self.spread.rest >= TRUE

    def ids(self, existing: Iterable[ObjectId]) -> list[ObjectId]:
        """One for each row. `existing`: the ids of all objects of the type, if they are needed."""
        ids = [id for id, value in self.spread.named.items() if value >= TRUE]
        if self.needs_existing:
            ids += [id for id in existing if id not in self.spread.named]
        return [*ids, WILDCARD] if self.is_for_everyone else ids

    def row(self, of_type: TypeName, id: ObjectId) -> Row:
        return Row(of_type, id, self.relation, self.reports.find(id), self.spread.value(id) < EXPLICIT)


@dataclass(frozen=True, slots=True)
class Findings:
    """`listed` is None if no set of rows can be worked out as a whole, because groups tie a relation to its own
    negation: then every candidate is to be checked by itself. `read_clock`: at another time the rows may differ."""

    listed: Sequence[Listed] | None
    read_clock: bool = False

    @property
    def types_to_read(self) -> set[TypeName | None]:
        """Of which types it must be known what exists; None, which is then the only one, stands for all there are."""
        needed = {one.type for one in self.listed or () if one.needs_existing}
        return {None} if None in needed else needed

    def by_name(self, existing: Iterable[TypeName]) -> dict[tuple[TypeName, RelationName], Listed]:
        """Every Listed by its type and relation, if objects of these types exist among others."""
        named = {(one.type, one.relation): one for one in self.listed or () if one.type is not None}
        for other in [one for one in self.listed or () if one.type is None and one.needs_existing]:
            for of_type in existing:
                named.setdefault((of_type, other.relation), other)
        return named
