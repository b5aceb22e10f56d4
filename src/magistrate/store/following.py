"""Defines what a store reports to those who follow it: whether anything was written, and which warrants began or
ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from magistrate.engine.terms import Revision
from magistrate.engine.warrants import ChangedWarrant
from magistrate.store.known_revisions import RevisionId

STALE_MS = 50
"""Limits how far a check on PostgreSQL may lag behind the writes of other processes."""
AGING_MS = 20
"""Sets the age after which a mark is renewed in the background while checks continue to be answered."""

Mark = tuple[float, int]
"""Holds a point in time of one store; it has no meaning anywhere else."""


class Staleness(Enum):
    """Tells how stale a value is that was read after a mark.

    CURRENT: no revision was made since, except by other processes on PostgreSQL less than AGING_MS ago. AGING: the
    same, but with STALE_MS; it is time to read again. STALE: neither of the two holds."""

    CURRENT = 0
    AGING = 1
    STALE = 2


@dataclass(frozen=True, slots=True)
class WarrantChanges:
    """Holds the warrants that began or ended up to the revision `newest`, in the order of the log.

    `changes` is None if there are more than requested, or if the answer is unknown because the requested changes are
    deleted, or the revision after which they were made. `model_revision` is the one that last changed the model."""

    newest: RevisionId
    model_revision: Revision
    changes: Sequence[ChangedWarrant] | None

    @property
    def revision(self) -> Revision:
        return self.newest.revision
