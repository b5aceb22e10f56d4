"""Answers reads as if some warrants had been created and others deleted."""

from collections.abc import Iterable, Sequence

from magistrate.engine.explanation.changes import Change
from magistrate.engine.names import WarrantNames
from magistrate.engine.terms import WILDCARD, Subject
from magistrate.engine.warrant_reader import WarrantRead, WarrantsByObject
from magistrate.engine.warrants import Warrant

FIRST_NUMBER = 1 << 62
"""Sets the number of the first created warrant; stored warrants come before it."""


class ChangedWarrants:
    """Holds the created warrants, which come after all that is stored, and the deleted ones."""

    def __init__(self, changes: Iterable[Change], now: int) -> None:
        changes = list(changes)
        names = sorted(change.names for change in changes if change.names is not None)
        self._added = [Warrant(*one, "", now, FIRST_NUMBER + place) for place, one in enumerate(names)]
        self._removed = {change.warrant.number for change in changes if change.warrant is not None}

    def merge(self, read: WarrantRead, stored: Sequence[Warrant]) -> Sequence[Warrant]:
        """Returns the warrants that the read has with these changes, given those that are stored."""
        added = [warrant for warrant in self._added if matches_read(read, warrant.names)]
        remaining = [warrant for warrant in stored if warrant.number not in self._removed] if self._removed else stored
        return [*remaining, *added] if added else remaining


def matches_read(read: WarrantRead, names: WarrantNames) -> bool:
    """Returns whether a warrant with these names is among those that the read requests."""
    request, ids = read
    if names.object_type != request.type or names.relation not in request.relations:
        return False
    return (ids is None or names.object_id in ids) and _is_subject(request, names)


def _is_subject(request: WarrantsByObject, names: WarrantNames) -> bool:
    subjects = request.subjects
    if subjects is None:
        return names.subject_relation != ""
    if not isinstance(subjects, Subject):
        return (names.subject_type, names.subject_relation) == (subjects, "")
    kind = (subjects.type, subjects.relation or "")
    return (names.subject_type, names.subject_relation) == kind and names.subject_id in (subjects.id, WILDCARD)
