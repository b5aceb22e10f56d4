"""What a query finds, before it is known which objects exist."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from magistrate.engine.query.spread import EXPLICIT, Spread
from magistrate.engine.terms import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.truth import TRUE
from magistrate.engine.warrants import Warrant


class Row(NamedTuple):
    """('document', 'plan', 'viewer', <the warrant it is reported for>, True). The first three are unique in a listing.
    The warrant is None where the row rests on others not holding."""

    type: TypeName
    id: ObjectId
    relation: RelationName
    warrant: Warrant | None
    is_implicit: bool


@dataclass(frozen=True, slots=True)
class Listed:
    """The rows of one type and one relation. `report` gives the warrant of a row by its id. `is_for_everyone`: all
    subjects of the type have it because a warrant says so with `*`, which is a row too."""

    type: TypeName
    relation: RelationName
    spread: Spread
    report: Callable[[ObjectId], Warrant | None]
    is_for_everyone: bool = False

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

    def row(self, id: ObjectId) -> Row:
        return Row(self.type, id, self.relation, self.report(id), self.spread.value(id) < EXPLICIT)


@dataclass(frozen=True, slots=True)
class Findings:
    """`listed` is None if no set of rows can be worked out as a whole, because groups tie a relation to its own
    negation: then every candidate is to be checked by itself. `read_clock`: at another time the rows may differ."""

    listed: Sequence[Listed] | None
    read_clock: bool = False
