"""The value of one thing for many ids at once: for every subject of a type, or on every object of a type."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from magistrate.engine.query.search import Turns
from magistrate.engine.rules.rule import Combined
from magistrate.engine.terms import ObjectId
from magistrate.engine.truth import FALSE, TRUE, Truth
from magistrate.engine.warrants import Warrant
from magistrate.engine.work import Work

EXPLICIT = Truth(TRUE + 1)
"""TRUE, and by warrants of the relation itself, without any rule (contract section 6.2). Only lists tell it apart."""


@dataclass(slots=True)
class Spread:
    """`named` has the values of some ids; all others have the value `rest`. `reports` and `rest_report` are the
    warrants to be reported where it holds; None where none can be."""

    rest: Truth = FALSE
    named: dict[ObjectId, Truth] = field(default_factory=dict)
    rest_report: Warrant | None = None
    reports: dict[ObjectId, Warrant | None] = field(default_factory=dict)

    def value(self, id: ObjectId) -> Truth:
        return self.named.get(id, self.rest)

    def report(self, id: ObjectId) -> Warrant | None:
        return self.reports.get(id, self.rest_report)


class Share(NamedTuple):
    """What one alternative adds: a spread, at most as strong as `cap`. `report` takes the place of its reports."""

    spread: Spread
    cap: Truth
    report: Warrant | None


def explicit_part(share: Share) -> Share:
    """The same share where it is EXPLICIT."""
    spread = share.spread
    if share.cap < EXPLICIT:
        return Share(Spread(), share.cap, None)
    rest = spread.rest if spread.rest == EXPLICIT else FALSE
    named = {id: value if value == EXPLICIT else FALSE for id, value in spread.named.items()}
    return Share(Spread(rest, named, spread.rest_report, spread.reports), EXPLICIT, share.report)


def highest(shares: Sequence[Share], work: Work) -> Turns[Spread]:
    """Where any of them holds. The report is that of the first that holds and has one. Yields when its turn is over."""
    everyone = _named_in(share.spread for share in shares) if any(share.spread.rest for share in shares) else {}
    found = Spread(FALSE, dict.fromkeys(everyone, FALSE))
    for share in shares:
        _add(found, share, share.spread.named if share.spread.rest == FALSE else everyone)
        work.spend(len(share.spread.named))
        if work.turn_is_over:
            yield None
    for id in everyone:
        found.reports.setdefault(id, None)
    return found


def _add(found: Spread, share: Share, ids: Iterable[ObjectId]) -> None:
    spread, cap, report = share
    values, reports = found.named, found.reports
    for id in ids:
        value = min(spread.value(id), cap)
        if value > values.get(id, FALSE):
            values[id] = value
        if value >= TRUE and id not in reports:
            told = report or spread.report(id)
            if told is not None:
                reports[id] = told
    value = min(spread.rest, cap)
    found.rest = max(found.rest, value)
    if value >= TRUE and found.rest_report is None:
        found.rest_report = report or spread.rest_report


def combined(rule: Combined, spreads: Sequence[Spread], work: Work) -> Turns[Spread]:
    """Where a combination of them holds. Yields when its turn is over."""
    found = Spread()
    found.rest, found.rest_report = _combined(rule, [(spread.rest, spread.rest_report) for spread in spreads])
    for id in _named_in(spreads):
        value, report = _combined(rule, [(spread.value(id), spread.report(id)) for spread in spreads])
        if value or found.rest:
            found.named[id], found.reports[id] = value, report
        work.spend(1)
        if work.turn_is_over:
            yield None
    return found


def _combined(rule: Combined, parts: Sequence[tuple[Truth, Warrant | None]]) -> tuple[Truth, Warrant | None]:
    value = rule.combined([min(value, TRUE) for value, _ in parts])
    if value != TRUE:
        return value, None
    reports = [report if value >= TRUE else None for value, report in parts]
    witness = rule.witness([0 if report is None else 1 for report in reports])
    return value, None if witness is None else reports[witness]


def _named_in(spreads: Iterable[Spread]) -> Mapping[ObjectId, None]:
    return {id: None for spread in spreads for id in spread.named}
