"""Numbers warrants. A number encodes the revision that wrote the warrant and its place in that write, so numbers are
unique and in the order of writing without a counter."""

from typing import Literal

from magistrate.engine.terms import Revision
from magistrate.engine.warrants import Warrant

MAX_WARRANTS_IN_A_WRITE = 1_048_576
"""Limits the warrants of one write to 2^20: the place of a warrant in its write takes the last 20 bits of its number.
"""

FIRST_REPLACEMENT = MAX_WARRANTS_IN_A_WRITE // 2
"""Sets the first place for warrants of `put_warrants` that replace others; those that replace none have lower places.
So the numbers tell what the write did, also when its request is repeated."""

WarrantOutcome = Literal["created", "updated", "unchanged"]


def write_outcome(warrant: Warrant, revision: Revision) -> WarrantOutcome:
    """Returns what the `put_warrants` of this revision did to a warrant that it returned."""
    place = warrant.number - revision * MAX_WARRANTS_IN_A_WRITE
    if place < 0:
        return "unchanged"
    return "created" if place < FIRST_REPLACEMENT else "updated"
