"""Writes whole models, as a script: the object types and the named policies in one revision, all or nothing."""

from collections.abc import Callable

from magistrate.engine.terms import Revision
from magistrate.errors import ModelChanged
from magistrate.store import sql_models
from magistrate.store.contract import FindForbidden, Judge, NewModel, Snapshot, Stamp
from magistrate.store.database import Script, Select
from magistrate.store.known_revisions import RevisionId
from magistrate.store.object_types import put_all_types
from magistrate.store.policies import put_all_policies
from magistrate.store.versioned import WriteOutcome, find_called_revision, write

Written = Script[Snapshot[tuple[None, ...]]]


def put_model(
    new: NewModel, judge: Judge, stamp: Stamp, forbidden: FindForbidden | None
) -> Callable[[Revision], Written]:
    def work(revision: Revision) -> Script[WriteOutcome[None]]:
        if new.expected is not None:
            yield from _require_unchanged(new.expected, Revision(revision - 1))
        types = yield from put_all_types(new.types, judge, stamp, revision, is_whole_model=True, forbidden=forbidden)
        policies = yield from put_all_policies(new.policies, stamp, revision, is_whole_set=True)
        return WriteOutcome((), [*types.effects, *policies.effects])

    return lambda head: write(head, stamp, tuple[None, ...], work)


def _require_unchanged(expected: RevisionId, newest: Revision) -> Script[None]:
    """Raises RevisionLost if the expected revision is not in the store, and ModelChanged if the model has changed since
    then, or if that cannot be known."""
    yield from find_called_revision([expected], newest)
    [rows] = yield Select(sql_models.MODEL_CHANGED, [()])
    horizon, changed = rows[0]
    if not max(horizon, changed or 0) <= expected.revision:
        raise ModelChanged
