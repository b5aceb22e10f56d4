"""Defines what one request asks to have decided, and in which form it gets its decisions."""

from collections.abc import Sequence

import msgspec

from magistrate.engine.evaluation.check import Check, Decision
from magistrate.operations.readers.contextual_warrants import ContextualWarrants
from magistrate.store.contract.lists import Snapshot

Decisions = Snapshot[list[Decision]]
"""Holds one decision per check, in order, up to the last that is needed, all computed at one revision."""

StopAt = bool | None
"""Says which decision makes those after it unnecessary: the first that authorizes (True), the first that denies
(False), or none."""
ALL_NEEDED: StopAt = None
UNTIL_AUTHORIZED: StopAt = True
UNTIL_DENIED: StopAt = False

NO_TYPES: frozenset[str] = frozenset()
"""Are the visible types of checks that are denied if any object type is not defined."""


class CheckBatch(msgspec.Struct, frozen=True):
    """Holds checks to be decided in order, up to the last that is needed, at one time (`now`, in microseconds since
    1970 UTC) and with at most `most_work` units of work. With `with_path`, decisions carry the warrants they rest
    on. `contextual` counts as if it were written. A check that cannot be decided because an object type is not defined
    is an error if the type is among the `visible_types`, None being all, and otherwise denied: the caller may not know
    whether there is such a type."""

    checks: Sequence[Check]
    stop_at: StopAt
    now: int
    most_work: int
    with_path: bool = False
    contextual: ContextualWarrants | None = None
    visible_types: frozenset[str] | None = None

    def shows(self, object_type: str) -> bool:
        return self.visible_types is None or object_type in self.visible_types
