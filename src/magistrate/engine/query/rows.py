"""Holds the result of a query before it is known which objects exist."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from magistrate.engine.conditions import ALWAYS
from magistrate.engine.dismantling import Container, Linked
from magistrate.engine.names import split_subject_type
from magistrate.engine.query.result_set import EXPLICIT, ResultSet
from magistrate.engine.terms import WILDCARD, ObjectId, ObjectRef, RelationName, TypeName
from magistrate.engine.truth import FALSE, TRUE
from magistrate.engine.warrants import Warrant

STEPS_FOR_A_NODE = 10
"""Converts steps to the warrant of a row into nodes: this many steps take as long as one node."""


class QueryRow(NamedTuple):
    """Represents a row: ('document', 'plan', 'viewer', <the warrant it is reported for>, True). The first three are
    unique in a listing; the type is a subject type, `team#member` for the usersets of teams. The warrant is None where
    the row rests on other relations not holding."""

    type: TypeName
    id: ObjectId
    relation: RelationName
    warrant: Warrant | None
    is_implicit: bool

    @property
    def ref(self) -> ObjectRef:
        """Returns the object of the row, or that of its userset."""
        return ObjectRef(split_subject_type(self.type)[0], self.id)

    @property
    def subject_relation(self) -> str:
        """Returns the relation of the userset, the empty text if the row is an object."""
        return split_subject_type(self.type)[1]


class Reports(NamedTuple):
    """Holds how to look up the warrants of rows: `find` returns one by the id of its row, in at most `steps` steps.
    `remains` has the values and warrants that are held for that, which are to be dismantled afterwards."""

    find: Callable[[ObjectId], Warrant | None]
    steps: int = 1
    remains: Sequence[Container] = ()


@dataclass(frozen=True, slots=True)
class RelationResult(Linked):
    """Holds the rows of one type and one relation; with None, those of any type that has no RelationResult of its own.
    `has_wildcard`: a wildcard warrant gives the relation to all subjects of the type, which is a row too."""

    type: TypeName | None
    relation: RelationName
    result_set: ResultSet
    reports: Reports
    has_wildcard: bool = False

    @property
    def containers(self) -> Sequence[Container]:
        """Returns what holds the values, and the warrants of rows by id."""
        return (self.result_set.exceptions, *self.reports.remains)

    def unlink(self) -> Sequence[Container]:
        return self.containers

    @property
    def needs_existing(self) -> bool:
        """Returns whether all existing objects of the type may be rows; otherwise all rows are named."""
        return self.result_set.default >= TRUE

    def ids(self, existing: Iterable[ObjectId]) -> Iterator[ObjectId]:
        """Yields one id for each row. `existing` has the ids of all objects of the type, if they are needed."""
        exceptions = self.result_set.exceptions
        yield from (id for id, value in exceptions.items() if value >= TRUE)
        if self.needs_existing:
            yield from (id for id in existing if id not in exceptions)
        if self.has_wildcard:
            yield WILDCARD

    def row(self, of_type: TypeName, id: ObjectId) -> QueryRow:
        return QueryRow(of_type, id, self.relation, self.reports.find(id), self.result_set.value(id) < EXPLICIT)


@dataclass(frozen=True, slots=True)
class Findings:
    """Holds the rows of a query. `relation_results` is None if the result sets cannot be computed as a whole, because
    groups connect a relation to its own negation: then every candidate has to be checked by itself. From `valid_until`
    on, the rows may differ. `itself` is the object that the query names, if a rule made a row of it (`self`): unlike
    all others, which warrants name, it need not exist."""

    relation_results: Sequence[RelationResult] | None
    valid_until: int = ALWAYS
    itself: ObjectRef | None = None

    def without_itself(self) -> "Findings":
        """Returns the findings for the case that this object does not exist."""
        assert self.itself is not None
        for one in self.relation_results or ():
            if one.type == self.itself.type:
                one.result_set.exceptions[self.itself.id] = FALSE
        return self

    @property
    def types_to_read(self) -> set[TypeName | None]:
        """Returns the types whose existing objects must be known; None, which is then the only one, stands for all
        types there are."""
        needed = {one.type for one in self.relation_results or () if one.needs_existing}
        return {None} if None in needed else needed

    def by_name(self, existing: Iterable[TypeName]) -> dict[tuple[TypeName, RelationName], RelationResult]:
        """Returns every RelationResult by its type and relation, given that objects of these types, among others,
        exist."""
        exceptions = {(one.type, one.relation): one for one in self.relation_results or () if one.type is not None}
        for other in [one for one in self.relation_results or () if one.type is None and one.needs_existing]:
            for of_type in existing:
                exceptions.setdefault((of_type, other.relation), other)
        return exceptions
