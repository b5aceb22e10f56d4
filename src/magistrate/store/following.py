"""What a store tells those who follow it: whether anything was written, and which warrants came or went."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from magistrate.engine.graph import WarrantChange
from magistrate.engine.terms import Revision

STALE_MS = 50
"""What a check on PostgreSQL may be behind, at the most, what other processes wrote."""
AGING_MS = 20
"""After so long it is looked again, while answers go on."""

Mark = tuple[float, int]
"""Something like the time, as one store tells it: it means nothing to anyone else."""


class Staleness(Enum):
    """Of something that was read after a mark.

    CURRENT: no revision was made since, but what other processes wrote on PostgreSQL less than AGING_MS ago. AGING:
    the same, but for STALE_MS: it is time to look again. STALE: what is not said by the other two.
    """

    CURRENT = 0
    AGING = 1
    STALE = 2


@dataclass(frozen=True, slots=True)
class Touches:
    """The warrants that came or went up to `revision`, in no order; None if they are more than was asked for, or if
    nobody can say, because changes that were asked for are forgotten.
    `model_revision` is the one that last changed the model."""

    revision: Revision
    model_revision: Revision
    touches: Sequence[WarrantChange] | None
