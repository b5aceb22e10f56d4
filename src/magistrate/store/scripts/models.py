"""Writes object types, as scripts."""

from collections.abc import Mapping, Sequence
from functools import partial

from magistrate.engine.names import WILDCARD, PolicyName, Revision, TypeName, warrant_names
from magistrate.engine.warrants.warrant import WarrantPattern
from magistrate.errors import ModelChanged, NotFound, OrphanedWarrants
from magistrate.store.contract.new_rows import NewModel, NewObjectType, Stamp
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.store import FindForbidden, ValidateTypes
from magistrate.store.contract.stored_rows import StoredObjectType, StoredPolicy
from magistrate.store.database import NOTHING, Compute, Execute, Row, Script, ScriptStart, Select
from magistrate.store.scripts.versions import (
    Key,
    Versioned,
    VersionedWrite,
    WriteOutcome,
    end,
    find_called_revision,
    put,
    write,
)
from magistrate.store.sql.head import MOVE_MODEL
from magistrate.store.sql.models import (
    LIST_DEFINITIONS,
    LIST_PATTERNS,
    LIST_POLICY_NAMES,
    MODEL_CHANGED,
    NAMED_POLICY,
    OBJECT_TYPE,
)
from magistrate.store.sql.warrants import WARRANTS_OF_PATTERN, WARRANTS_OF_WILDCARD_PATTERN

MAX_NAMED = 10
"""Limits the warrants that the error names."""


def refuse_orphans(
    before: Mapping[TypeName, str], after: Mapping[TypeName, str], forbidden: FindForbidden, at: int
) -> Script[None]:
    """Raises OrphanedWarrants if a stored warrant that has not expired by the time `at` counts with the definitions
    before and does not with those after. Takes one lookup of an index for each pattern that is concerned."""
    [rows] = yield Select(LIST_PATTERNS, [()])
    patterns = [WarrantPattern(warrant_names(*row)) for row in rows]
    concerned: list[WarrantPattern] = []
    yield Compute(lambda: concerned.extend(forbidden(before, after, patterns)))
    orphans: dict[str, None] = {}
    for pattern in dict.fromkeys(map(_without_object, concerned)):
        if len(orphans) > MAX_NAMED:
            break
        orphans.update(dict.fromkeys((yield from _find_warrants(pattern, at))))
    if orphans:
        raise OrphanedWarrants(sorted(orphans)[:MAX_NAMED], len(orphans) > MAX_NAMED)


def _without_object(pattern: WarrantPattern) -> WarrantPattern:
    return WarrantPattern(pattern._replace(object_id=pattern.subject_id))


def _find_warrants(pattern: WarrantPattern, at: int) -> Script[Sequence[str]]:
    of_type, _, relation, subject_type, subject_id, subject_relation = pattern
    limits = (at, MAX_NAMED + 1)
    if subject_id == WILDCARD:
        names = (subject_type, subject_relation, of_type, relation)
        [rows] = yield Select(WARRANTS_OF_WILDCARD_PATTERN, [(*names, *limits)])
    else:
        names_of_type = (f"{of_type}#{relation}", subject_relation, subject_type)
        [rows] = yield Select(WARRANTS_OF_PATTERN, [(*names_of_type, *limits)])
    return [warrant_names(*row).render() for row in rows]


def build_object_type(row: Row) -> StoredObjectType:
    return StoredObjectType(*row)


OBJECT_TYPES: Versioned[StoredObjectType] = Versioned(
    kind="object-type",
    key_length=1,
    statements=OBJECT_TYPE,
    stored=build_object_type,
    missing=lambda key: NotFound("ObjectType", *key),
)


def put_object_types(
    types: Sequence[NewObjectType],
    validate: ValidateTypes,
    stamp: Stamp,
    must_exist: bool = False,
    is_whole_model: bool = False,
    forbidden: FindForbidden | None = None,
) -> VersionedWrite[StoredObjectType]:
    def work(revision: Revision) -> Script[WriteOutcome[StoredObjectType]]:
        return put_all_types(
            types,
            validate,
            stamp,
            revision,
            must_exist=must_exist,
            is_whole_model=is_whole_model,
            forbidden=forbidden,
        )

    return write(stamp, tuple[StoredObjectType, ...], work)


def put_all_types(
    types: Sequence[NewObjectType],
    validate: ValidateTypes,
    stamp: Stamp,
    revision: Revision,
    must_exist: bool = False,
    is_whole_model: bool = False,
    forbidden: FindForbidden | None = None,
) -> Script[WriteOutcome[StoredObjectType]]:
    """Writes object types as a part of this revision; see Store.put_object_types."""
    [defined] = yield Select(LIST_DEFINITIONS, [()])
    before: dict[TypeName, str] = dict(defined)
    unknown = next((new.name for new in types if new.name not in before), None)
    if must_exist and unknown is not None:
        raise OBJECT_TYPES.missing((unknown,))
    named: dict[Key, str | None] = {(new.name,): new.definition for new in types}
    surplus = [(name,) for name in before if (name,) not in named] if is_whole_model else []
    after = {name: text for name, text in before.items() if (name,) not in surplus}
    after |= {new.name: new.definition for new in types}
    yield Compute(partial(validate, after))
    if forbidden is not None and after != before:
        yield from refuse_orphans(before, after, forbidden, stamp.at)
    stored, effects = yield from put(OBJECT_TYPES, named, stamp, revision)
    if surplus:
        effects += yield from end(OBJECT_TYPES, surplus, revision)
    yield Execute(MOVE_MODEL, [(revision,)] if effects else [], NOTHING)
    return WriteOutcome(tuple(stored[(new.name,)] for new in types), effects)


def seed(types: Sequence[NewObjectType], stamp: Stamp) -> ScriptStart[bool]:
    def script(head: Revision) -> Script[bool]:
        if head == 0:
            yield from put_object_types(types, lambda model: None, stamp)(head)
        return head == 0

    return script


def delete_object_type(name: TypeName, stamp: Stamp) -> VersionedWrite[StoredObjectType]:
    def work(revision: Revision) -> Script[WriteOutcome[StoredObjectType]]:
        effects = yield from end(OBJECT_TYPES, [(name,)], revision)
        yield Execute(MOVE_MODEL, [(revision,)], NOTHING)
        return WriteOutcome((), effects)

    return write(stamp, tuple[StoredObjectType, ...], work)


def build_policy(row: Row) -> StoredPolicy:
    return StoredPolicy(*row)


NAMED_POLICIES: Versioned[StoredPolicy] = Versioned(
    kind="policy",
    key_length=1,
    statements=NAMED_POLICY,
    stored=build_policy,
    missing=lambda key: NotFound("Policy", *key),
)


def put_policies(
    new: Sequence[tuple[PolicyName, str]], stamp: Stamp, must_exist: bool, is_whole_set: bool
) -> VersionedWrite[StoredPolicy]:
    def work(revision: Revision) -> Script[WriteOutcome[StoredPolicy]]:
        return put_all_policies(new, stamp, revision, must_exist=must_exist, is_whole_set=is_whole_set)

    return write(stamp, tuple[StoredPolicy, ...], work)


def put_all_policies(
    new: Sequence[tuple[PolicyName, str]],
    stamp: Stamp,
    revision: Revision,
    must_exist: bool = False,
    is_whole_set: bool = False,
) -> Script[WriteOutcome[StoredPolicy]]:
    """Writes named policies as a part of this revision; see PolicyStore.put_policies."""
    [rows] = yield Select(LIST_POLICY_NAMES, [()])
    stored_keys: set[Key] = set(rows)
    named: dict[Key, str | None] = {(name,): definition for name, definition in new}
    unknown = next((key for key in named if key not in stored_keys), None)
    if must_exist and unknown is not None:
        raise NAMED_POLICIES.missing(unknown)
    stored, effects = yield from put(NAMED_POLICIES, named, stamp, revision)
    surplus = sorted(stored_keys - named.keys()) if is_whole_set else []
    if surplus:
        effects += yield from end(NAMED_POLICIES, surplus, revision)
    yield Execute(MOVE_MODEL, [(revision,)] if effects else [], NOTHING)
    return WriteOutcome(tuple(stored[(name,)] for name, _ in new), effects)


def delete_policy(name: PolicyName, stamp: Stamp) -> VersionedWrite[StoredPolicy]:
    def work(revision: Revision) -> Script[WriteOutcome[StoredPolicy]]:
        effects = yield from end(NAMED_POLICIES, [(name,)], revision)
        yield Execute(MOVE_MODEL, [(revision,)], NOTHING)
        return WriteOutcome((), effects)

    return write(stamp, tuple[StoredPolicy, ...], work)


def put_model(
    new: NewModel, validate: ValidateTypes, stamp: Stamp, forbidden: FindForbidden | None
) -> VersionedWrite[None]:
    def work(revision: Revision) -> Script[WriteOutcome[None]]:
        if new.expected is not None:
            yield from _require_unchanged(new.expected, Revision(revision - 1))
        types = yield from put_all_types(new.types, validate, stamp, revision, is_whole_model=True, forbidden=forbidden)
        policies = yield from put_all_policies(new.policies, stamp, revision, is_whole_set=True)
        return WriteOutcome((), [*types.effects, *policies.effects])

    return write(stamp, tuple[None, ...], work)


def _require_unchanged(expected: RevisionId, newest: Revision) -> Script[None]:
    """Raises RevisionLost if the expected revision is not in the store, and ModelChanged if the model has changed since
    then, or if that cannot be known."""
    yield from find_called_revision([expected], newest)
    [rows] = yield Select(MODEL_CHANGED, [()])
    horizon, changed = rows[0]
    if not max(horizon, changed or 0) <= expected.revision:
        raise ModelChanged
