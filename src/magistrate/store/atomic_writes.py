"""Writes everything that one request requires, deletes and creates, as a script: one revision, all or nothing.

The steps are those of the writes of one kind. Deletions come first, warrants before objects: deleting an object also
deletes its warrants, and none of them may then be missing. Objects are created before the warrants that name them."""

from collections.abc import Callable, Container, Sequence
from operator import attrgetter

from magistrate.engine.terms import ObjectRef, Revision
from magistrate.errors import PreconditionFailed
from magistrate.store.cascading import end_objects
from magistrate.store.contract import AtomicWrite, Judge, NewWarrant, Precondition, Snapshot, Stamp, WriteCounts
from magistrate.store.database import Script
from magistrate.store.expiry import has_expired
from magistrate.store.known_revisions import RevisionId
from magistrate.store.objects import OBJECTS, put_all
from magistrate.store.versioned import Effect, Key, WriteOutcome, find, find_called_revision, write
from magistrate.store.warrants import WARRANTS, end_named, insert_all, render_key, warrant_key

Written = Script[Snapshot[tuple[WriteCounts, ...]]]


def write_atomically(wanted: AtomicWrite, judge: Judge, stamp: Stamp) -> Callable[[Revision], Written]:
    def work(revision: Revision) -> Script[WriteOutcome[WriteCounts]]:
        yield from _check_preconditions(wanted.preconditions, stamp.at, revision)
        effects = yield from end_named(wanted.warrants_to_delete, stamp, revision)
        effects += yield from end_objects(wanted.objects_to_delete, stamp.at, revision)
        _, objects = yield from put_all(wanted.objects, stamp, revision)
        _, warrants = yield from insert_all(wanted.warrants, judge, stamp, revision)
        counts = _count(wanted, objects, warrants)
        return WriteOutcome((counts,), [*effects, *objects, *warrants])

    return lambda head: write(head, stamp, tuple[WriteCounts, ...], work)


def _count(wanted: AtomicWrite, objects: Sequence[Effect], warrants: Sequence[Effect]) -> WriteCounts:
    """Counts elements; the effects on warrants include the objects that were created for them."""
    of_warrants = list(map(attrgetter("kind", "action"), warrants))
    created = len(objects) + sum(of_warrants.count(("warrant", action)) for action in ("created", "updated"))
    return WriteCounts(
        created=created,
        deleted=len(wanted.warrants_to_delete) + len(wanted.objects_to_delete),
        unchanged=len(wanted.objects) + len(wanted.warrants) - created,
    )


def _check_preconditions(preconditions: Sequence[Precondition], at: int, revision: Revision) -> Script[None]:
    """Raises RevisionLost, then PreconditionFailed for the first that does not hold in the revision before this one, at
    this time."""
    required = [one.required for one in preconditions]
    expected = [one for one in required if isinstance(one, RevisionId)]
    called = yield from find_called_revision(expected, Revision(revision - 1))
    warrants = {warrant_key(one): None for one in required if isinstance(one, NewWarrant)}
    objects: dict[Key, None] = {(one.type, one.id): None for one in required if isinstance(one, ObjectRef)}
    rows = yield from find(WARRANTS, warrants)
    unexpired = {key: row for key, row in rows.items() if not has_expired(row, at)}
    stored = {**unexpired, **(yield from find(OBJECTS, objects))}
    for index, one in enumerate(preconditions):
        reason = _find_reason(one, stored, called)
        if reason is not None:
            raise PreconditionFailed(index, reason)


def _find_reason(one: Precondition, stored: Container[Key], called: int) -> str | None:
    """Returns why a precondition does not hold, or None if it does. `called` is the newest revision that a caller has
    written."""
    match one.required:
        case NewWarrant():
            key = warrant_key(one.required)
            name = f"the warrant {render_key(key)}"
        case ObjectRef():
            key = (one.required.type, one.required.id)
            name = f"the object {one.required.type}:{one.required.id}"
        case expected:
            return None if expected.revision >= called else "the store is at another revision"
    exists = key in stored
    if exists != one.is_absent:
        return None
    return f"{name} exists" if exists else f"{name} does not exist"
