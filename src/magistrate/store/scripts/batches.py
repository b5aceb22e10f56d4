"""Writes the batches of an import, as scripts: very many rows of all kinds in one write, most of them new.

Nothing is therefore looked up before it is inserted. The insertion itself skips rows that exist already, and the
inserted rows are read back by an index, as one range for all of them. That takes a tenth of the time of a lookup for
each row. Warrants that are stored with another creation time, or other time limits, are ended and read back in the same
way."""

from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from operator import attrgetter

import msgspec

from magistrate.engine.names import PolicyName, Revision, TypeName
from magistrate.engine.terms import ObjectRef
from magistrate.errors import PreconditionFailed
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import (
    MAX_WARRANTS_IN_A_WRITE,
    ImportBatch,
    Imported,
    ImportProgress,
    NewObjectType,
    NewWarrant,
    Stamp,
)
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.store import AtomicWrite, FindForbidden, Judge, Precondition, WriteCounts
from magistrate.store.scripts.database import NOTHING, Compute, Execute, Row, Script, Select
from magistrate.store.scripts.models import NAMED_POLICIES, OBJECT_TYPES, refuse_stranding
from magistrate.store.scripts.objects import OBJECTS, end_objects, put_all
from magistrate.store.scripts.versions import (
    Effect,
    Key,
    WriteOutcome,
    find,
    find_called_revision,
    has_expired,
    put,
    write,
)
from magistrate.store.scripts.warrants import (
    WARRANTS,
    end_named,
    insert_all,
    insert_warrants,
    keep_patterns,
    keep_policies,
    objects_of,
    render_key,
    warrant_key,
)
from magistrate.store.sql.head import MOVE_MODEL
from magistrate.store.sql.models import LIST_DEFINITIONS
from magistrate.store.sql.objects import INSERT_MISSING_OBJECT, OBJECTS_CREATED
from magistrate.store.sql.requests import DELETE_IMPORT, KEEP_IMPORT
from magistrate.store.sql.warrants import END_WARRANT_THAT_DIFFERS, NUMBERS_BETWEEN, WARRANTS_ENDED

ImportWritten = Script[Snapshot[tuple[Imported, ...]]]


def import_batch(
    batch: ImportBatch,
    judge: Judge,
    stamp: Stamp,
    progress: ImportProgress | None,
    forbidden: FindForbidden | None = None,
) -> Callable[[Revision], ImportWritten]:
    def work(revision: Revision) -> Script[WriteOutcome[Imported]]:
        types = yield from _put_types(batch.types, judge, forbidden, stamp, revision)
        policies = yield from _put_policies(batch.policies, stamp, revision)
        wanted: dict[Key, str | None] = {(new.type, new.id): new.meta for new in batch.objects}
        objects = yield from _put_objects(wanted, stamp, revision)
        warrants, missing = yield from _insert_warrants(batch.warrants, stamp, revision)
        objects += yield from _insert_objects({key: None for key in missing if key not in wanted}, stamp, revision)
        if progress is not None:
            yield Execute(DELETE_IMPORT, [(progress.source,)])
            row = (progress.source, progress.lines, progress.size_bytes, progress.mark)
            yield Execute(KEEP_IMPORT, [] if progress.is_done else [row])
        written = sum(effect.action != "deleted" for effect in warrants)
        imported = Imported(len(types), len(objects), written, len(policies))
        return WriteOutcome((imported,), [*types, *policies, *objects, *warrants])

    return lambda head: write(head, stamp, tuple[Imported, ...], work)


def _put_types(
    types: Sequence[NewObjectType],
    judge: Judge,
    forbidden: FindForbidden | None,
    stamp: Stamp,
    revision: Revision,
) -> Script[list[Effect]]:
    [defined] = yield Select(LIST_DEFINITIONS, [()])
    before: dict[TypeName, str] = dict(defined)
    after = before | {new.name: new.definition for new in types}
    yield Compute(partial(judge, after))
    if types and forbidden is not None:
        yield from refuse_stranding(before, after, forbidden, stamp.at)
    wanted: dict[Key, str | None] = {(new.name,): new.definition for new in types}
    _, effects = yield from put(OBJECT_TYPES, wanted, stamp, revision)
    yield Execute(MOVE_MODEL, [(revision,)] if effects else [], NOTHING)
    return effects


def _put_policies(new: Sequence[tuple[PolicyName, str]], stamp: Stamp, revision: Revision) -> Script[list[Effect]]:
    wanted: dict[Key, str | None] = {(name,): definition for name, definition in new}
    _, effects = yield from put(NAMED_POLICIES, wanted, stamp, revision)
    yield Execute(MOVE_MODEL, [(revision,)] if effects else [])
    return effects


def _put_objects(wanted: Mapping[Key, str | None], stamp: Stamp, revision: Revision) -> Script[list[Effect]]:
    effects = yield from _insert_objects(wanted, stamp, revision)
    inserted = {effect.key for effect in effects}
    there = {key: meta for key, meta in wanted.items() if key not in inserted}
    _, replaced = yield from put(OBJECTS, there, stamp, revision)
    return effects + replaced


def _insert_objects(wanted: Mapping[Key, str | None], stamp: Stamp, revision: Revision) -> Script[list[Effect]]:
    """Inserts those of the objects that do not exist yet. None of them may have been written by this write already."""
    if not wanted:
        return []
    yield Execute(INSERT_MISSING_OBJECT, [(*key, meta, stamp.at, revision) for key, meta in wanted.items()])
    [found] = yield Select(OBJECTS_CREATED, [(stamp.at, revision)])
    inserted = set(found)
    return [Effect("created", "object", key, None, meta) for key, meta in wanted.items() if key in inserted]


def _insert_warrants(
    new: Sequence[NewWarrant], stamp: Stamp, revision: Revision
) -> Script[tuple[list[Effect], dict[Key, None]]]:
    """Inserts those of the warrants that do not exist yet, or state another creation time or other limits than the
    stored ones, which are ended. Of equal warrants the last counts, as in a batch of its own: without a creation time,
    it keeps that of the one before. Returns the effects, and the objects that new warrants name."""
    wanted: dict[Key, NewWarrant] = {}
    for warrant in new:
        former = wanted.get(key := warrant_key(warrant))
        if former is None or warrant.created_at is not None:
            wanted[key] = warrant
        else:
            wanted[key] = msgspec.structs.replace(warrant, created_at=former.created_at)
    if not wanted:
        return [], {}
    first = revision * MAX_WARRANTS_IN_A_WRITE
    rows: dict[Key, Row] = {}
    for number, (key, new_warrant) in enumerate(wanted.items(), first):
        rows[key] = (*key, number, new_warrant.created_at, new_warrant.starts_at, new_warrant.expires_at)
    yield from insert_warrants(rows.values(), stamp.at, revision, only_missing=True)
    [found] = yield Select(NUMBERS_BETWEEN, [(first, first + len(rows))])
    inserted = {number for (number,) in found}
    keys = [key for number, key in enumerate(wanted, first) if number in inserted]
    policies = {key[6]: wanted[key].policy for key in keys if key[6]}
    yield from keep_policies(policies)
    yield from keep_patterns(keys, revision)
    effects = [_creation(rows[key], wanted[key]) for key in keys]
    there = [row for row in rows.values() if row[7] not in inserted]
    replaced = yield from _replace_warrants(there, stamp.at, revision)
    for row, is_redated in replaced:
        warrant = wanted[row[:7]]
        if is_redated:
            effects += [Effect("deleted", "warrant", row[:7], warrant.policy or None, None), _creation(row, warrant)]
        else:
            effects.append(_update(row, warrant))
    return effects, dict.fromkeys(objects_of(keys))


def _replace_warrants(rows: Sequence[Row], at: int, revision: Revision) -> Script[Sequence[tuple[Row, bool]]]:
    """Ends each stored warrant whose creation time or limits differ from those of its row, and inserts the row instead.
    Returns these rows, and whether the creation time differs; a row without one keeps that of the stored warrant."""
    if not rows:
        return []
    yield Execute(END_WARRANT_THAT_DIFFERS, [(revision, *row[:7], *row[8:]) for row in rows])
    [found] = yield Select(WARRANTS_ENDED, [(revision,)])
    created_at = {row[:7]: row[7] for row in found}
    ended = [row for row in rows if row[:7] in created_at]
    replacing = [(*row[:8], created_at[row[:7]] if row[8] is None else row[8], *row[9:]) for row in ended]
    yield from insert_warrants(replacing, at, revision)
    return [(row, row[8] != created_at[row[:7]]) for row in replacing]


def _creation(row: Row, warrant: NewWarrant) -> Effect:
    return Effect("created", "warrant", row[:7], None, warrant.policy or None, *row[9:])


def _update(row: Row, warrant: NewWarrant) -> Effect:
    return Effect("updated", "warrant", row[:7], warrant.policy or None, warrant.policy or None, *row[9:])


BatchWritten = Script[Snapshot[tuple[WriteCounts, ...]]]


def write_atomically(wanted: AtomicWrite, judge: Judge, stamp: Stamp) -> Callable[[Revision], BatchWritten]:
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
