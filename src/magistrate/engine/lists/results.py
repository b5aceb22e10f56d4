"""Holds the value of one relation for many ids at once: for every subject of a type, or on every object of a type."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import Final, NamedTuple, Protocol

import msgspec

from magistrate.engine.evaluation.conditions import ALWAYS
from magistrate.engine.model.plans import Expansion, Plan
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.rules.rule import Combined, Quantifier
from magistrate.engine.subjects import split_subject_type
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import FALSE, TRUE, Truth
from magistrate.engine.warrants.warrant import Warrant, WarrantPattern
from magistrate.engine.work import ITEMS_AT_ONCE, ITEMS_FOR_A_NODE, Container, Linked, Pieces

VALUES_FOR_A_NODE = 50
"""Counts the values that are combined in the time of one unit of work."""
VALUES_AT_ONCE = 5_000
"""Limits the values of result sets that are combined as one piece; about a millisecond."""


class Explicit(IntEnum):
    """Stands for TRUE by warrants of the relation itself, without any rule (docs/compatibility.md#query). Only lists
    distinguish it from TRUE, which it exceeds."""

    EXPLICIT = TRUE + 1


EXPLICIT: Final = Explicit.EXPLICIT

ListValue = Truth | Explicit
"""Represents the value of one id in a list."""


def limit_of(plan: Plan, branch: Expansion | None, warrant: Warrant | WarrantPattern) -> ListValue:
    """Returns the greatest value that a warrant can give by a branch of the plan; None stands for the warrant to the
    subject itself."""
    is_explicit = branch is None or branch.is_explicit
    return EXPLICIT if is_explicit and warrant.relation == plan.relation else TRUE


def truth_of(value: ListValue) -> Truth:
    return TRUE if value is EXPLICIT else value


class Valued(Protocol):
    """Represents a value for every id: `exceptions` has those of some ids, all others have the value `default`."""

    exceptions: dict[ObjectId, ListValue]
    default: ListValue


# A search replaces tens of thousands of them by others, which would be one young generation; see PlanOnObject. They
# have no cycles, and their dicts are collected by themselves.
class ResultSet(msgspec.Struct, gc=False):
    """Implements Valued. `reports` and `default_report` are the warrants to be reported where it holds; None where
    there can be none."""

    default: ListValue = FALSE
    exceptions: dict[ObjectId, ListValue] = msgspec.field(default_factory=dict)
    default_report: Warrant | None = None
    reports: dict[ObjectId, Warrant | None] = msgspec.field(default_factory=dict)

    def value(self, object_id: ObjectId) -> ListValue:
        return self.exceptions.get(object_id, self.default)

    def report(self, object_id: ObjectId) -> Warrant | None:
        return self.reports.get(object_id, self.default_report)


class Share(NamedTuple):
    """Holds what one alternative adds: a result set, limited to the value `limit`. `report` takes the place of its
    reports."""

    result_set: ResultSet
    limit: ListValue
    report: Warrant | None


_NOTHING = ResultSet()
"""Serves all shares that add nothing, of which there may be tens of thousands. It is never changed."""


def restrict_to_explicit(share: Share) -> Share:
    """Returns the same share restricted to where it is EXPLICIT."""
    result_set = share.result_set
    if share.limit < EXPLICIT or not (result_set.exceptions or result_set.default):
        return Share(_NOTHING, share.limit, None)
    default = result_set.default if result_set.default is EXPLICIT else FALSE
    exceptions = {
        object_id: value if value is EXPLICIT else FALSE for object_id, value in result_set.exceptions.items()
    }
    return Share(ResultSet(default, exceptions, result_set.default_report, result_set.reports), EXPLICIT, share.report)


def restrict_each(shares: Sequence[Share]) -> Pieces[list[Share]]:
    """Returns the EXPLICIT part of each share."""
    branches: list[Share] = []
    for share in shares:
        branches.append(restrict_to_explicit(share))
        yield ITEMS_FOR_A_NODE + len(share.result_set.exceptions)
    return branches


def unite_shares(shares: Sequence[Share]) -> Pieces[ResultSet]:
    """Returns the maximum of the shares. The report is that of the first share that holds and has one."""
    all_ids: dict[ObjectId, None] = {}
    if (yield from _has_default(shares)):
        all_ids = yield from collect_ids(share.result_set for share in shares)
    total = ResultSet(FALSE, dict.fromkeys(all_ids, FALSE))
    for share in shares:
        yield from _add(total, share, all_ids)
        yield ITEMS_FOR_A_NODE  # most shares may be empty
    for number, object_id in enumerate(all_ids, 1):
        total.reports.setdefault(object_id, None)
        if not number % ITEMS_AT_ONCE:
            yield ITEMS_AT_ONCE
    return total


def _has_default(shares: Sequence[Share]) -> Pieces[bool]:
    """Returns whether a share has a value for all ids."""
    for start in range(0, len(shares), ITEMS_AT_ONCE):
        if any([share.result_set.default for share in shares[start : start + ITEMS_AT_ONCE]]):
            return True
        yield ITEMS_AT_ONCE
    return False


def _add(total: ResultSet, share: Share, all_ids: Iterable[ObjectId]) -> Pieces[None]:
    result_set, limit, report = share
    exceptions, default = result_set.exceptions, result_set.default
    values, reports = total.exceptions, total.reports
    each = ((object_id, exceptions.get(object_id, default)) for object_id in all_ids) if default else exceptions.items()
    for number, (object_id, value) in enumerate(each, 1):
        value = value if value < limit else limit
        if value > values.get(object_id, FALSE):
            values[object_id] = value
        if value >= TRUE and object_id not in reports:
            placed = report or result_set.report(object_id)
            if placed is not None:
                reports[object_id] = placed
        if not number % ITEMS_AT_ONCE:
            yield ITEMS_AT_ONCE
    value = min(default, limit)
    total.default = max(total.default, value)
    if value >= TRUE and total.default_report is None:
        total.default_report = report or result_set.default_report


def combine_result_sets(rule: Combined, result_sets: Sequence[ResultSet], ids: Iterable[ObjectId]) -> Pieces[ResultSet]:
    """Returns the result set of a combination of result sets, given all ids that they name."""
    combined = ResultSet(rule.combine([truth_of(result_set.default) for result_set in result_sets]))
    if combined.default is TRUE:
        combined.default_report = _report(
            rule, [(result_set.default, result_set.default_report) for result_set in result_sets]
        )
    for some in _divide(ids, result_sets):
        for object_id, value in zip(some, combine_values(rule.combine, result_sets, some), strict=True):
            if value or combined.default:
                combined.exceptions[object_id] = value
            if value is TRUE or combined.default:
                branches = [(result_set.value(object_id), result_set.report(object_id)) for result_set in result_sets]
                combined.reports[object_id] = _report(rule, branches) if value is TRUE else None
        yield len(some) * (1 + len(result_sets))
    return combined


def restrict_result_set(
    result_set: ResultSet, others: Sequence[ResultSet], ids: Iterable[ObjectId], is_negated: bool
) -> Pieces[None]:
    """Makes a result set FALSE where none of the others holds, or with `is_negated` where one does. `ids` are those
    that it names, and with a default those that any of the others names, too."""

    def meets(object_id: ObjectId | None) -> bool:
        values = (other.default if object_id is None else other.value(object_id) for other in others)
        return any(value >= TRUE for value in values) is not is_negated

    for some in _divide(ids, others):
        for object_id in some:
            result_set.exceptions[object_id] = result_set.value(object_id) if meets(object_id) else FALSE
        yield len(some) * (1 + len(others))
    if not meets(None):
        result_set.default = FALSE


def weigh_result_set(quantifier: Quantifier, limit: ListValue, result_set: ResultSet) -> ResultSet:
    """Returns what a linked object contributes to a quantifier, given the value of the conditions of its link. Only a
    certain link can be reported."""
    if limit >= TRUE:
        return result_set
    link_value, values = truth_of(limit), result_set.exceptions.items()
    exceptions: dict[ObjectId, ListValue] = {
        object_id: quantifier.weigh(link_value, truth_of(value)) for object_id, value in values
    }
    return ResultSet(quantifier.weigh(link_value, truth_of(result_set.default)), exceptions)


def combine_each(
    combine: Callable[[Iterable[Truth]], Truth], result_sets: Sequence[Valued], ids: Sequence[ObjectId]
) -> Pieces[list[Truth]]:
    """Returns the combined value of the result sets for each of the ids."""
    values: list[Truth] = []
    for some in _divide(ids, result_sets):
        values += combine_values(combine, result_sets, some)
        yield len(some)
    return values


def combine_values(
    combine: Callable[[Iterable[Truth]], Truth], result_sets: Sequence[Valued], ids: Sequence[ObjectId]
) -> Iterator[Truth]:
    """Returns the combined value of the result sets for each of a few ids."""
    getters = [(result_set.exceptions.get, result_set.default) for result_set in result_sets]
    columns = [[value_of(object_id, default) for object_id in ids] for value_of, default in getters]
    capped = [[TRUE if value is EXPLICIT else value for value in column] for column in columns]
    return map(combine, zip(*capped, strict=True))


def _divide(ids: Iterable[ObjectId], result_sets: Sequence[Valued]) -> Iterator[Sequence[ObjectId]]:
    """Yields the ids in pieces that have a bounded number of values in these result sets."""
    waiting, at_once = iter(ids), 1 + VALUES_AT_ONCE // max(len(result_sets), 1)
    while some := [*islice(waiting, at_once)]:
        yield some


def _report(rule: Combined, branches: Sequence[tuple[ListValue, Warrant | None]]) -> Warrant | None:
    """Returns the report of a combination that holds."""
    values = [TRUE if value is EXPLICIT else value for value, _ in branches]
    for place in rule.reasons(values):
        report = branches[place][1]
        if report is not None:
            return report
    return None


def collect_ids(result_sets: Iterable[Valued]) -> Pieces[dict[ObjectId, None]]:
    """Returns the ids that the result sets name, in order."""
    collected: dict[ObjectId, None] = {}
    for result_set in result_sets:
        collected.update(dict.fromkeys(result_set.exceptions))
        yield ITEMS_FOR_A_NODE + len(result_set.exceptions)
    return collected


class QueryRow(NamedTuple):
    """Represents a row: ('document', 'plan', 'viewer', <the warrant it is reported for>, True). The first three are
    unique in a listing; the type is a subject type, `team#member` for the usersets of teams. The warrant is None where
    the row depends on other relations not holding."""

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
    `remains` has the values and warrants that are held for that, which are to be freed afterwards."""

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
        yield from (object_id for object_id, value in exceptions.items() if value >= TRUE)
        if self.needs_existing:
            yield from (object_id for object_id in existing if object_id not in exceptions)
        if self.has_wildcard:
            yield WILDCARD

    def row(self, of_type: TypeName, object_id: ObjectId) -> QueryRow:
        return QueryRow(
            of_type,
            object_id,
            self.relation,
            self.reports.find(object_id),
            is_implicit=self.result_set.value(object_id) < EXPLICIT,
        )


@dataclass(frozen=True, slots=True)
class Findings:
    """Holds the rows of a query. `relation_results` is None if the result sets cannot be computed as a whole, because
    groups connect a relation to its own negation: then every candidate has to be checked by itself. From `valid_until`
    on, the rows may differ. `self_objects` are the objects that the query names, if a rule made rows of them (`self`):
    unlike all others, which warrants name, they need not exist."""

    relation_results: Sequence[RelationResult] | None
    valid_until: int = ALWAYS
    self_objects: Collection[ObjectRef] = ()

    def without(self, ref: ObjectRef) -> "Findings":
        """Returns the findings for the case that one of `self_objects` does not exist."""
        for relation_result in self.relation_results or ():
            if relation_result.type == ref.type:
                relation_result.result_set.exceptions[ref.id] = FALSE
        return self

    @property
    def types_to_read(self) -> set[TypeName | None]:
        """Returns the types whose existing objects must be known; None, which is then the only one, stands for all
        types there are."""
        needed = {result.type for result in self.relation_results or () if result.needs_existing}
        return {None} if None in needed else needed

    def by_name(self, existing: Iterable[TypeName]) -> dict[tuple[TypeName, RelationName], RelationResult]:
        """Returns every RelationResult by its type and relation, given that objects of these types, among others,
        exist."""
        exceptions = {
            (result.type, result.relation): result for result in self.relation_results or () if result.type is not None
        }
        for other in [
            result for result in self.relation_results or () if result.type is None and result.needs_existing
        ]:
            for of_type in existing:
                exceptions.setdefault((of_type, other.relation), other)
        return exceptions
