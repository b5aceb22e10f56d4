"""Holds the value of one relation for many ids at once: for every subject of a type, or on every object of a type."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

from magistrate.engine.expansion import Expansion, Plan
from magistrate.engine.query.search import Turns
from magistrate.engine.rules.rule import Combined
from magistrate.engine.terms import ObjectId
from magistrate.engine.truth import FALSE, TRUE, Truth
from magistrate.engine.warrants import Warrant, WarrantPattern
from magistrate.engine.work import Work

IDS_FOR_A_NODE = 10
"""Converts ids named in an alternative that is added to others into nodes: this many take as long as one node."""

CELLS_FOR_A_NODE = 50
"""Converts values of one part for one id into nodes: this many take as long as one node."""
CELLS_AT_ONCE = 50_000


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
    is_grant = branch is None or branch.is_grant
    return EXPLICIT if is_grant and warrant.relation == plan.relation else TRUE


def truth_of(value: ListValue) -> Truth:
    return TRUE if value is EXPLICIT else value


class Valued(Protocol):
    """Represents a value for every id: `named` has those of some ids, all others have the value `rest`."""

    named: dict[ObjectId, ListValue]
    rest: ListValue


@dataclass(slots=True)
class ResultSet:
    """Implements Valued. `reports` and `rest_report` are the warrants to be reported where it holds; None where there
    can be none."""

    rest: ListValue = FALSE
    named: dict[ObjectId, ListValue] = field(default_factory=dict)
    rest_report: Warrant | None = None
    reports: dict[ObjectId, Warrant | None] = field(default_factory=dict)

    def value(self, id: ObjectId) -> ListValue:
        return self.named.get(id, self.rest)

    def report(self, id: ObjectId) -> Warrant | None:
        return self.reports.get(id, self.rest_report)


class Share(NamedTuple):
    """Holds what one alternative adds: a result set, limited to the value `cap`. `report` takes the place of its
    reports."""

    spread: ResultSet
    cap: ListValue
    report: Warrant | None


def explicit_part(share: Share) -> Share:
    """Returns the same share restricted to where it is EXPLICIT."""
    spread = share.spread
    if share.cap < EXPLICIT:
        return Share(ResultSet(), share.cap, None)
    rest = spread.rest if spread.rest is EXPLICIT else FALSE
    named = {id: value if value is EXPLICIT else FALSE for id, value in spread.named.items()}
    return Share(ResultSet(rest, named, spread.rest_report, spread.reports), EXPLICIT, share.report)


def explicit_parts(shares: Sequence[Share], work: Work) -> Turns[list[Share]]:
    """Returns the EXPLICIT part of each share. Yields when its turn is over."""
    parts: list[Share] = []
    for share in shares:
        parts.append(explicit_part(share))
        work.shorten_turn(1 + len(share.spread.named) // IDS_FOR_A_NODE)
        if work.turn_is_over:
            yield None
    return parts


def highest(shares: Sequence[Share], work: Work) -> Turns[ResultSet]:
    """Returns the maximum of the shares. The report is that of the first share that holds and has one. Yields when its
    turn is over."""
    everyone = _collect_ids(share.spread for share in shares) if any(share.spread.rest for share in shares) else {}
    found = ResultSet(FALSE, dict.fromkeys(everyone, FALSE))
    for share in shares:
        _add(found, share, everyone)
        work.spend(len(share.spread.named) // IDS_FOR_A_NODE)
        work.shorten_turn(1)  # most shares may be empty
        if work.turn_is_over:
            yield None
    for id in everyone:
        found.reports.setdefault(id, None)
    return found


def _add(found: ResultSet, share: Share, everyone: Iterable[ObjectId]) -> None:
    spread, cap, report = share
    named, rest = spread.named, spread.rest
    values, reports = found.named, found.reports
    for id, value in [(id, named.get(id, rest)) for id in everyone] if rest else named.items():
        value = value if value < cap else cap
        if value > values.get(id, FALSE):
            values[id] = value
        if value >= TRUE and id not in reports:
            told = report or spread.report(id)
            if told is not None:
                reports[id] = told
    value = min(rest, cap)
    found.rest = max(found.rest, value)
    if value >= TRUE and found.rest_report is None:
        found.rest_report = report or spread.rest_report


def combine_result_sets(rule: Combined, spreads: Sequence[ResultSet], work: Work) -> Turns[ResultSet]:
    """Returns the result set of a combination of result sets. Yields when its turn is over."""
    found = ResultSet(rule.combine([truth_of(spread.rest) for spread in spreads]))
    if found.rest is TRUE:
        found.rest_report = _report(rule, [(spread.rest, spread.rest_report) for spread in spreads])
    ids = list(_collect_ids(spreads))
    values = yield from combine_by_id(rule.combine, spreads, ids, work)
    for id, value in zip(ids, values, strict=True):
        if value or found.rest:
            found.named[id] = value
        if value is TRUE or found.rest:
            parts = [(spread.value(id), spread.report(id)) for spread in spreads]
            found.reports[id] = _report(rule, parts) if value is TRUE else None
        work.spend(1 + len(spreads) // CELLS_FOR_A_NODE)
        if work.turn_is_over:
            yield None
    return found


def combine_by_id(
    combine: Callable[[Iterable[Truth]], Truth], spreads: Sequence[Valued], ids: Sequence[ObjectId], work: Work
) -> Turns[list[Truth]]:
    """Returns the combined value of the result sets for each of the ids. Yields when its turn is over."""
    values: list[Truth] = []
    getters = [(spread.named.get, spread.rest) for spread in spreads]
    at_once = 1 + CELLS_AT_ONCE // len(spreads)
    for start in range(0, len(ids), at_once):
        some = ids[start : start + at_once]
        columns = [[value_of(id, rest) for id in some] for value_of, rest in getters]
        capped = [[TRUE if value is EXPLICIT else value for value in column] for column in columns]
        values += map(combine, zip(*capped, strict=True))
        work.spend(len(some) * len(spreads) // CELLS_FOR_A_NODE)
        if work.turn_is_over:
            yield None
    return values


def _report(rule: Combined, parts: Sequence[tuple[ListValue, Warrant | None]]) -> Warrant | None:
    """Returns the report of a combination that holds."""
    values = [TRUE if value is EXPLICIT else value for value, _ in parts]
    for place in rule.reasons(values):
        report = parts[place][1]
        if report is not None:
            return report
    return None


def _collect_ids(spreads: Iterable[ResultSet]) -> Mapping[ObjectId, None]:
    return {id: None for spread in spreads for id in spread.named}
