"""Writes rows of all kinds in one revision, as scripts: the batches of an import, and what one request requires,
deletes and creates, all or nothing.

A batch has very many rows, most of them new. Nothing is therefore looked up before it is inserted. The insertion
itself skips rows that exist already, and the inserted rows are read back by an index, as one range for all of them.
That takes a tenth of the time of a lookup for each row. Warrants that are stored with another creation time, or other
time limits, are ended and read back alike."""

from __future__ import annotations  # those of nested functions are evaluated for each write: 4 µs

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence, Set
from operator import attrgetter
from typing import Literal

import msgspec

from magistrate.engine.names import Revision
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import WarrantNames
from magistrate.errors import PreconditionFailed
from magistrate.store.contract.new_rows import (
    MAX_WARRANTS_IN_A_WRITE,
    ImportBatch,
    Imported,
    ImportProgress,
    NewWarrant,
    Stamp,
    ValidateTypes,
)
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.store import AtomicWrite, FindForbidden, OtherPolicies, Precondition, WriteCounts
from magistrate.store.database import Execute, Row, Script, Select
from magistrate.store.scripts.models import put_all_policies, put_all_types
from magistrate.store.scripts.objects import OBJECTS, end_objects, put_all
from magistrate.store.scripts.versions import (
    Effect,
    Key,
    VersionedWrite,
    WriteOutcome,
    find,
    find_called_revision,
    has_expired,
    put,
    write_one,
)
from magistrate.store.scripts.warrants import (
    WARRANTS,
    end_named,
    find_any_policy,
    insert_all,
    insert_warrants,
    keep_patterns,
    keep_policies,
    objects_of,
    render_key,
    warrant_key,
)
from magistrate.store.sql.objects import INSERT_MISSING_OBJECT, OBJECTS_CREATED
from magistrate.store.sql.requests import DELETE_IMPORT, KEEP_IMPORT
from magistrate.store.sql.warrants import END_WARRANT_THAT_DIFFERS, NUMBERS_BETWEEN, WARRANTS_ENDED


def import_batch(
    head: Revision,
    batch: ImportBatch,
    validate: ValidateTypes,
    stamp: Stamp,
    progress: ImportProgress | None = None,
    forbidden: FindForbidden | None = None,
) -> VersionedWrite[Imported]:
    def work(revision: Revision) -> Script[WriteOutcome[Imported]]:
        types = yield from put_all_types(batch.types, validate, stamp, revision, forbidden=forbidden)
        policies = (yield from put_all_policies(batch.policies, stamp, revision)).effects if batch.policies else []
        metas: dict[Key, str | None] = {(new.type, new.id): new.meta for new in batch.objects}
        objects = yield from _put_objects(metas, stamp, revision)
        warrants, missing = yield from _insert_warrants(batch.warrants, stamp, revision)
        objects += yield from _insert_objects({key: None for key in missing if key not in metas}, stamp, revision)
        if progress is not None:
            yield Execute(DELETE_IMPORT, [(progress.source,)])
            row = (progress.source, progress.lines, progress.size_bytes, progress.mark)
            yield Execute(KEEP_IMPORT, [] if progress.is_done else [row])
        written = sum(effect.action != "deleted" for effect in warrants)
        imported = Imported(len(types.effects), len(objects), written, len(policies))
        return WriteOutcome((imported,), [*types.effects, *policies, *objects, *warrants])

    return write_one(head, stamp, tuple[Imported, ...], work(Revision(head + 1)))


def _put_objects(metas: Mapping[Key, str | None], stamp: Stamp, revision: Revision) -> Script[list[Effect]]:
    effects = yield from _insert_objects(metas, stamp, revision)
    inserted = {effect.key for effect in effects}
    there = {key: meta for key, meta in metas.items() if key not in inserted}
    _, replaced = yield from put(OBJECTS, there, stamp, revision)
    return effects + replaced


def _insert_objects(metas: Mapping[Key, str | None], stamp: Stamp, revision: Revision) -> Script[list[Effect]]:
    """Inserts those of the objects that do not exist yet. None of them may have been written by this write already."""
    if not metas:
        return []
    yield Execute(INSERT_MISSING_OBJECT, [(*key, meta, stamp.at, revision) for key, meta in metas.items()])
    [created] = yield Select(OBJECTS_CREATED, [(stamp.at, stamp.at, revision)])
    inserted = set(created)
    return [Effect("created", "object", key, after=meta) for key, meta in metas.items() if key in inserted]


def _insert_warrants(
    new: Sequence[NewWarrant], stamp: Stamp, revision: Revision
) -> Script[tuple[list[Effect], dict[Key, None]]]:
    """Inserts those of the warrants that do not exist yet, or state another creation time or other limits than the
    stored ones, which are ended. Of equal warrants the last counts, as in a batch of its own: without a creation time,
    it keeps that of the one before. Returns the effects, and the objects that new warrants name."""
    warrants: dict[Key, NewWarrant] = {}
    for warrant in new:
        former = warrants.get(key := warrant_key(warrant))
        if former is None or warrant.created_at is not None:
            warrants[key] = warrant
        else:
            warrants[key] = msgspec.structs.replace(warrant, created_at=former.created_at)
    if not warrants:
        return [], {}
    first = revision * MAX_WARRANTS_IN_A_WRITE
    rows: dict[Key, Row] = {}
    for number, (key, new_warrant) in enumerate(warrants.items(), first):
        rows[key] = (*key, number, new_warrant.created_at, new_warrant.starts_at, new_warrant.expires_at)
    yield from insert_warrants(rows.values(), stamp.at, revision, only_missing=True)
    [numbers] = yield Select(NUMBERS_BETWEEN, [(first, first + len(rows))])
    inserted = {number for (number,) in numbers}
    keys = [key for number, key in enumerate(warrants, first) if number in inserted]
    policies = {key[6]: warrants[key].policy for key in keys if key[6]}
    yield from keep_policies(policies)
    yield from keep_patterns(keys, revision)
    effects = [_describe("created", rows[key], warrants[key].policy) for key in keys]
    there = [row for row in rows.values() if row[7] not in inserted]
    replaced = yield from _replace_warrants(there, stamp.at, revision)
    for row, is_redated in replaced:
        policy = warrants[row[:7]].policy
        if is_redated:
            effects.append(Effect("deleted", "warrant", row[:7], before=policy or None))
        effects.append(_describe("created" if is_redated else "updated", row, policy))
    return effects, dict.fromkeys(objects_of(keys))


def _replace_warrants(rows: Sequence[Row], at: int, revision: Revision) -> Script[Sequence[tuple[Row, bool]]]:
    """Ends each stored warrant whose creation time or limits differ from those of its row, and inserts the row instead.
    Returns these rows, and whether the creation time differs; a row without one keeps that of the stored warrant."""
    if not rows:
        return []
    yield Execute(END_WARRANT_THAT_DIFFERS, [(revision, *row[:7], *row[8:]) for row in rows])
    [former] = yield Select(WARRANTS_ENDED, [(revision,)])
    created_at = {row[:7]: row[7] for row in former}
    ended = [row for row in rows if row[:7] in created_at]
    replacing = [(*row[:8], created_at[row[:7]] if row[8] is None else row[8], *row[9:]) for row in ended]
    yield from insert_warrants(replacing, at, revision)
    return [(row, row[8] != created_at[row[:7]]) for row in replacing]


def _describe(action: Literal["created", "updated"], row: Row, policy: str) -> Effect:
    """Returns what was done to a warrant, given its row and the text of its policy."""
    after = policy or None
    before = after if action == "updated" else None
    return Effect(action, "warrant", row[:7], before=before, after=after, starts_at=row[9], expires_at=row[10])


def write_atomically(
    head: Revision, batch: AtomicWrite, validate: ValidateTypes, stamp: Stamp
) -> VersionedWrite[WriteCounts]:
    def work(revision: Revision) -> Script[WriteOutcome[WriteCounts]]:
        yield from _check_preconditions(batch.preconditions, stamp.at, head)
        to_delete = batch.warrants_to_delete
        if batch.deletes_any_policy:
            to_delete = yield from find_any_policy(to_delete, stamp.at)
        effects = yield from end_named(to_delete, stamp, revision, batch.ignores_missing)
        effects += yield from end_objects(batch.objects_to_delete, stamp.at, revision)
        _, objects = yield from put_all(batch.objects, stamp, revision)
        _, warrants = yield from insert_all(
            batch.warrants, validate, stamp, revision, only_absent=batch.creates_only_absent
        )
        counts = _count(batch, objects, warrants)
        return WriteOutcome((counts,), [*effects, *objects, *warrants])

    return write_one(head, stamp, tuple[WriteCounts, ...], work(Revision(head + 1)))


def _count(batch: AtomicWrite, objects: Sequence[Effect], warrants: Sequence[Effect]) -> WriteCounts:
    """Counts elements; the effects on warrants include the objects that were created for them."""
    of_warrants = list(map(attrgetter("kind", "action"), warrants))
    created = len(objects) + sum(of_warrants.count(("warrant", action)) for action in ("created", "updated"))
    return WriteCounts(
        created=created,
        deleted=len(batch.warrants_to_delete) + len(batch.objects_to_delete),
        unchanged=len(batch.objects) + len(batch.warrants) - created,
    )


def _check_preconditions(preconditions: Sequence[Precondition], at: int, newest: Revision) -> Script[None]:
    """Raises RevisionLost, then PreconditionFailed for the first that does not hold in the newest revision, at this
    time."""
    required = [element.required for element in preconditions]
    expected = [element for element in required if isinstance(element, RevisionId)]
    called = yield from find_called_revision(expected, newest)
    warrants = {warrant_key(element): None for element in required if isinstance(element, NewWarrant)}
    objects: dict[Key, None] = {
        (element.type, element.id): None for element in required if isinstance(element, ObjectRef)
    }
    rows = yield from find(WARRANTS, warrants)
    unexpired = {key: row for key, row in rows.items() if not has_expired(row, at)}
    stored = {**unexpired, **(yield from find(OBJECTS, objects))}
    alone = [element.warrant for element in required if isinstance(element, OtherPolicies)]
    named: dict[WarrantNames, set[str]] = defaultdict(set)
    for warrant in (yield from find_any_policy(alone, at)) if alone else ():
        named[warrant.names].add(warrant.policy)
    for index, element in enumerate(preconditions):
        if isinstance(element.required, OtherPolicies):
            reason = _find_other_policy(element.required.warrant, named)
        else:
            reason = _find_reason(element.required, element.is_absent, stored, called)
        if reason is not None:
            raise PreconditionFailed(index, reason)


def _find_other_policy(warrant: NewWarrant, named: Mapping[WarrantNames, Set[str]]) -> str | None:
    others = named[warrant.names] - {warrant.policy}
    return f"the warrant {warrant.names.render()} exists with another policy" if others else None


def _find_reason(
    required: ObjectRef | NewWarrant | RevisionId, is_absent: bool, stored: Container[Key], called: int
) -> str | None:
    """Returns why a precondition does not hold, or None if it does. `called` is the newest revision that a caller has
    written."""
    match required:
        case NewWarrant():
            key = warrant_key(required)
        case ObjectRef():
            key = (required.type, required.id)
        case expected:
            return None if expected.revision >= called else "the store is at another revision"
    exists = key in stored
    if exists != is_absent:
        return None
    name = f"the warrant {render_key(key)}" if isinstance(required, NewWarrant) else "the object {}:{}".format(*key)
    return f"{name} exists" if exists else f"{name} does not exist"
