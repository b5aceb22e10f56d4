"""Counts what a store holds while a transaction writes to it, and refuses what exceeds its limits.

The numbers are those of `head`, so they change in the transaction that changes the rows. Each write says how many more
there are of each kind, which follows from what it adds to the change log."""

from typing import Any, NamedTuple

from magistrate.engine.names import Revision
from magistrate.errors import LimitReached
from magistrate.store.contract.revisions import NOTHING_WRITTEN, RevisionId
from magistrate.store.contract.stores import StoreLimits, read_limits
from magistrate.store.database import Execute, Row


class HeadMove(NamedTuple):
    """Holds the revision that a write makes, and how many more warrants and objects the store holds at it."""

    newest: RevisionId
    warrants: int
    objects: int


class StoreHead(NamedTuple):
    """Holds the newest revision of a store, how many warrants and objects it holds, and its limits."""

    newest: RevisionId
    warrants: int
    objects: int
    limits: StoreLimits

    def check_limits(self, move: HeadMove) -> None:
        """Raises LimitReached if a write adds warrants or objects beyond a limit."""
        limits = self.limits
        if limits.warrants is not None and 0 < move.warrants > limits.warrants - self.warrants:
            raise LimitReached("warrants", limits.warrants)
        if limits.objects is not None and 0 < move.objects > limits.objects - self.objects:
            raise LimitReached("objects", limits.objects)

    def move(self, move: HeadMove) -> "StoreHead":
        """Returns the head after a write."""
        return StoreHead(move.newest, self.warrants + move.warrants, self.objects + move.objects, self.limits)

    def values_after(self, stored: "StoreHead") -> Row:
        """Returns the values of MOVE_HEAD that make the stored head this one."""
        return *self.newest, self.warrants - stored.warrants, self.objects - stored.objects


NO_HEAD = StoreHead(NOTHING_WRITTEN, 0, 0, StoreLimits())


def read_head(row: Row) -> StoreHead:
    """Builds a head from the columns of OPEN_HEAD."""
    revision, _, bits, _, warrants, objects, limits = row
    return StoreHead(RevisionId(Revision(revision), bits), warrants, objects, read_limits(limits))


def read_move(step: Execute) -> HeadMove:
    """Returns what a step with MOVE_HEAD says."""
    values: tuple[Any, ...] = step.values[-1]
    revision, bits, warrants, objects = values
    return HeadMove(RevisionId(Revision(revision), bits), warrants, objects)
