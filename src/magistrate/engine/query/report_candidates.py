"""Holds the warrants that may be reported for the subjects of a page (see subject_reports.py)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from magistrate.engine.expansion import Operation, Plan
from magistrate.engine.names import WarrantNames
from magistrate.engine.query.plan_edges import SubjectEdge
from magistrate.engine.warrants import Warrant, creation_order

Place = tuple[Plan | Operation, int]
"""Names a plan or a combination on the object with this number."""


class ReportCandidate(NamedTuple):
    """Represents a warrant that may be reported for some subjects, or the `target` that has the report. `bits` are
    these subjects; `order` is that among the alternatives."""

    order: tuple[int, tuple[int, int]]
    bits: int
    warrant: Warrant | None
    target: Place | None


class ReportCandidates:
    """Holds candidates so that those for one subject are found without looking at those for another one alone."""

    __slots__ = ("_of_one", "_of_several")

    def __init__(self) -> None:
        self._of_one: dict[int, list[ReportCandidate]] = defaultdict(list)
        self._of_several: list[ReportCandidate] = []

    def add(self, candidate: ReportCandidate) -> None:
        if candidate.bits & (candidate.bits - 1):
            self._of_several.append(candidate)
        else:
            self._of_one[candidate.bits].append(candidate)

    def find(self, bit: int) -> Sequence[ReportCandidate]:
        """Returns the candidates for the subject with this bit, in order."""
        found = [*self._of_one.get(bit, ()), *(one for one in self._of_several if one.bits & bit)]
        found.sort(key=_order)
        return found


class Granting(NamedTuple):
    """Represents a warrant that gives the value of its subject to some subjects; only the names are known of one that
    has to be read. `place` is that of its subject."""

    edge: SubjectEdge
    bits: int
    warrant: Warrant | WarrantNames
    place: Place | None

    def find_candidate(self, warrants: Mapping[WarrantNames, Warrant]) -> ReportCandidate:
        """Returns the candidate, given the warrants that had to be read."""
        warrant = warrants[self.warrant] if isinstance(self.warrant, WarrantNames) else self.warrant
        order = (self.edge.position, creation_order(warrant))
        return ReportCandidate(order, self.bits, warrant, None if self.edge.is_reported else self.place)


@dataclass(slots=True)
class Walked:
    """Holds what a walked place leads to: the warrants, those that give the explicit value, and then candidates."""

    granting: list[Granting] = field(default_factory=list)
    granting_explicit: list[Granting] = field(default_factory=list)
    candidates: ReportCandidates = field(default_factory=ReportCandidates)
    explicit: ReportCandidates = field(default_factory=ReportCandidates)


def _order(candidate: ReportCandidate) -> tuple[int, tuple[int, int]]:
    return candidate.order
