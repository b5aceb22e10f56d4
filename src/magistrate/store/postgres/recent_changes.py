"""Keeps the changes of warrants that the last writes of this process made, so that those who follow the change log need
not read them."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from magistrate.engine.byte_sizes import OBJECT_BYTES, CacheBytes, measure_text
from magistrate.engine.names import Revision
from magistrate.store.contract.revisions import Mark, RevisionId
from magistrate.store.database import Row, Rows

MAX_GROUPS = 64
"""Limits the groups that are looked through for the changes after a revision."""
MAX_BYTES = 4_194_304
"""Limits what the groups of all stores take in memory together (4 MiB)."""
MAX_ROWS = 100
"""Limits the changes of one group; followers read those of a larger group from the log."""
BYTES_OF_A_VALUE = 40
"""Counts a value of a row that is not a text, with its place in the row."""


@dataclass(frozen=True, slots=True)
class GroupChanges:
    """Holds what a group of writes changed between two revisions, with nothing else in between. `changes` are the rows
    on warrants that it added to the change log, None if they are incomplete. At the time of the `mark`, nobody
    else could write."""

    before: RevisionId
    newest: RevisionId
    model_revision: Revision
    changes: Sequence[Row] | None
    mark: Mark


class RecentGroups:
    """Limits what the groups of all stores take together: the oldest are discarded first."""

    def __init__(self) -> None:
        self._order: deque[tuple[deque[GroupChanges], int]] = deque()
        """Has for each group, the oldest first, the groups of its store, which begin with it once it is the oldest
        here, and the bytes that it takes."""
        self._bytes = 0

    def measure(self) -> CacheBytes:
        """Returns how many bytes the groups take, and the limit on them."""
        return CacheBytes("changes", self._bytes, MAX_BYTES)

    def add(self, groups: deque[GroupChanges], group: GroupChanges) -> None:
        """Adds a group to those of its store."""
        size = _measure_group(group)
        groups.append(group)
        self._order.append((groups, size))
        self._bytes += size
        while self._bytes > MAX_BYTES:
            oldest, size = self._order.popleft()
            oldest.popleft()
            self._bytes -= size


class RecentChanges:
    """Holds the changes of the last groups that were committed to a store."""

    def __init__(self, shared: RecentGroups) -> None:
        self._shared = shared
        self._groups: deque[GroupChanges] = deque()
        """Has the oldest group first."""

    def add(self, group: GroupChanges) -> None:
        self._shared.add(self._groups, group)

    def find(self, after: RevisionId, most: int, writes: int) -> tuple[Mark, Rows] | None:
        """Returns the mark of the last group, and the changes after a revision, as rows of LIST_WARRANT_CHANGES.

        Returns None if these are more than `most`, if other processes may have made some, if the last group is not the
        one that `writes` counts, or if the revision belongs to another history."""
        if not self._groups or self._groups[-1].mark[1] != writes:
            return None
        last, changes = self._groups[-1], deque[Row]()
        reached = last.newest
        for group in islice(reversed(self._groups), MAX_GROUPS):
            if reached.revision <= after.revision:
                break
            if group.newest != reached or group.changes is None:
                return None
            changes.extendleft(reversed(group.changes))
            if len(changes) > most:
                return None
            reached = group.before
        is_beyond = after.revision > last.newest.revision
        if reached != after and not is_beyond:
            return None
        newest = after if is_beyond else last.newest
        head = (newest.revision, 0, newest.bits, *after, last.model_revision)
        rows = [
            (*head, made_by, position, key, action, starts_at, expires_at)
            for made_by, position, action, _, key, _, _, starts_at, expires_at in changes
        ]
        return last.mark, rows or [(*head, *[None] * 6)]


def _measure_group(group: GroupChanges) -> int:
    return OBJECT_BYTES + sum(map(_measure_row, group.changes or ()))


def _measure_row(row: Row) -> int:
    before, after = row[5:7]
    return OBJECT_BYTES + BYTES_OF_A_VALUE * len(row) + sum(map(measure_text, (*row[2:5], before or "", after or "")))
