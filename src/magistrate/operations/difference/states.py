"""Defines the two states that are compared."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from magistrate.engine.difference.comparing import Existence
from magistrate.engine.difference.origins import WarrantChange
from magistrate.engine.plans import Model
from magistrate.engine.terms import Revision
from magistrate.engine.warrant_reader import AnyRead, ReadResult, WarrantReader
from magistrate.engine.warrants import Warrant


@dataclass(frozen=True, slots=True)
class ComparedState:
    """Represents a state: the warrants that `reader` reads at this revision, and the time at which policies are
    evaluated, in microseconds since 1970 UTC."""

    model: Model
    reader: WarrantReader
    at: Revision
    now: int


@dataclass(frozen=True, slots=True)
class StateComparison:
    """Holds two states and what differs between them, except the object types. `united` reads the warrants of both."""

    before: ComparedState
    after: ComparedState
    united: WarrantReader
    warrants: Sequence[WarrantChange]
    existence: Existence

    @property
    def has_same_warrants(self) -> bool:
        """Returns whether the same warrants count in both states, so that the object types alone differ."""
        return not self.warrants and self.before.model.stranded == self.after.model.stranded

    def without_rules(self) -> "StateComparison":
        """Returns the comparison of what warrants give explicitly."""
        before = replace(self.before, model=self.before.model.without_rules())
        return replace(self, before=before, after=replace(self.after, model=self.after.model.without_rules()))


class UnitedReader:
    """Implements WarrantReader: returns the warrants of two revisions, each once."""

    def __init__(self, reader: WarrantReader, first: Revision, second: Revision) -> None:
        self._reader = reader
        self._first = first
        self._second = second

    async def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> ReadResult:
        first = await self._reader.read_warrants(reads, self._first, most)
        if self._first == self._second:
            return first
        second = await self._reader.read_warrants(reads, self._second, most)
        both = zip(first.warrants, second.warrants, strict=True)
        return replace(second, warrants=[_unite(one, other) for one, other in both])


def _unite(one: Sequence[Warrant], other: Sequence[Warrant]) -> Sequence[Warrant]:
    return [*{warrant.number: warrant for warrant in (*one, *other)}.values()] if one and other else one or other
