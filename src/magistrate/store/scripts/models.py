"""Writes object types, as scripts."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from magistrate.engine.names import WILDCARD, PolicyName, Revision, TypeName, warrant_names
from magistrate.engine.warrants.warrant import WarrantPattern
from magistrate.errors import ModelChanged, NotFound, StrandedWarrants
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import NewModel, NewObjectType, Stamp
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.store import FindForbidden, Judge
from magistrate.store.contract.stored_rows import StoredObjectType, StoredPolicy
from magistrate.store.scripts.database import NOTHING, Compute, Execute, Row, Script, Select
from magistrate.store.scripts.versions import Key, Versioned, WriteOutcome, end, find_called_revision, put, write
from magistrate.store.sql.head import MOVE_MODEL
from magistrate.store.sql.models import (
    END_OBJECT_TYPE,
    END_POLICY,
    FIND_OBJECT_TYPE,
    FIND_OBJECT_TYPES,
    FIND_POLICIES,
    FIND_POLICY,
    INSERT_OBJECT_TYPE,
    INSERT_POLICY,
    LIST_DEFINITIONS,
    LIST_PATTERNS,
    LIST_POLICY_NAMES,
    MODEL_CHANGED,
)
from magistrate.store.sql.warrants import WARRANTS_OF_PATTERN, WARRANTS_OF_WILDCARD_PATTERN

MOST_NAMED = 10
"""Limits the warrants that the error names."""


def refuse_stranding(
    before: Mapping[TypeName, str], after: Mapping[TypeName, str], forbidden: FindForbidden, at: int
) -> Script[None]:
    """Raises StrandedWarrants if a stored warrant that has not expired by the time `at` counts with the definitions
    before and does not with those after. Takes one lookup of an index for each pattern that is concerned."""
    [rows] = yield Select(LIST_PATTERNS, [()])
    patterns = [WarrantPattern(warrant_names(*row)) for row in rows]
    concerned: list[WarrantPattern] = []
    yield Compute(lambda: concerned.extend(forbidden(before, after, patterns)))
    found: dict[str, None] = {}
    for pattern in dict.fromkeys(map(_without_object, concerned)):
        if len(found) > MOST_NAMED:
            break
        found.update(dict.fromkeys((yield from _find_warrants(pattern, at))))
    if found:
        raise StrandedWarrants(sorted(found)[:MOST_NAMED], len(found) > MOST_NAMED)


def _without_object(pattern: WarrantPattern) -> WarrantPattern:
    return WarrantPattern(pattern._replace(object_id=pattern.subject_id))


def _find_warrants(pattern: WarrantPattern, at: int) -> Script[Sequence[str]]:
    of_type, _, relation, subject_type, subject_id, subject_relation = pattern
    limits = (at, MOST_NAMED + 1)
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
    find=FIND_OBJECT_TYPE,
    find_any=FIND_OBJECT_TYPES,
    end=END_OBJECT_TYPE,
    insert=INSERT_OBJECT_TYPE,
    stored=build_object_type,
    missing=lambda key: NotFound("ObjectType", *key),
)

TypesWritten = Script[Snapshot[tuple[StoredObjectType, ...]]]


def put_object_types(
    types: Sequence[NewObjectType],
    judge: Judge,
    stamp: Stamp,
    must_exist: bool = False,
    is_whole_model: bool = False,
    forbidden: FindForbidden | None = None,
) -> Callable[[Revision], TypesWritten]:
    def work(revision: Revision) -> Script[WriteOutcome[StoredObjectType]]:
        return put_all_types(types, judge, stamp, revision, must_exist, is_whole_model, forbidden)

    return lambda head: write(head, stamp, tuple[StoredObjectType, ...], work)


def put_all_types(
    types: Sequence[NewObjectType],
    judge: Judge,
    stamp: Stamp,
    revision: Revision,
    must_exist: bool = False,
    is_whole_model: bool = False,
    forbidden: FindForbidden | None = None,
) -> Script[WriteOutcome[StoredObjectType]]:
    """Writes object types as a part of this revision; see Store.put_object_types."""
    [defined] = yield Select(LIST_DEFINITIONS, [()])
    model: dict[TypeName, str] = dict(defined)
    unknown = next((new.name for new in types if new.name not in model), None)
    if must_exist and unknown is not None:
        raise OBJECT_TYPES.missing((unknown,))
    wanted: dict[Key, str | None] = {(new.name,): new.definition for new in types}
    surplus = [(name,) for name in model if (name,) not in wanted] if is_whole_model else []
    for name in surplus:
        del model[name[0]]
    after = model | {new.name: new.definition for new in types}
    yield Compute(partial(judge, after))
    if forbidden is not None:
        yield from refuse_stranding(dict(defined), after, forbidden, stamp.at)
    stored, effects = yield from put(OBJECT_TYPES, wanted, stamp, revision)
    if surplus:
        effects += yield from end(OBJECT_TYPES, surplus, revision)
    yield Execute(MOVE_MODEL, [(revision,)], NOTHING)
    return WriteOutcome(tuple(stored[(new.name,)] for new in types), effects)


def seed(types: Sequence[NewObjectType], stamp: Stamp) -> Callable[[Revision], Script[bool]]:
    def script(head: Revision) -> Script[bool]:
        if head == 0:
            yield from put_object_types(types, lambda model: None, stamp)(head)
        return head == 0

    return script


def delete_object_type(name: TypeName, stamp: Stamp) -> Callable[[Revision], TypesWritten]:
    def work(revision: Revision) -> Script[WriteOutcome[StoredObjectType]]:
        effects = yield from end(OBJECT_TYPES, [(name,)], revision)
        yield Execute(MOVE_MODEL, [(revision,)], NOTHING)
        return WriteOutcome((), effects)

    return lambda head: write(head, stamp, tuple[StoredObjectType, ...], work)


def build_policy(row: Row) -> StoredPolicy:
    return StoredPolicy(*row)


NAMED_POLICIES: Versioned[StoredPolicy] = Versioned(
    kind="policy",
    key_length=1,
    find=FIND_POLICY,
    find_any=FIND_POLICIES,
    end=END_POLICY,
    insert=INSERT_POLICY,
    stored=build_policy,
    missing=lambda key: NotFound("Policy", *key),
)

PoliciesWritten = Script[Snapshot[tuple[StoredPolicy, ...]]]


def put_policies(
    new: Sequence[tuple[PolicyName, str]], stamp: Stamp, must_exist: bool, is_whole_set: bool
) -> Callable[[Revision], PoliciesWritten]:
    def work(revision: Revision) -> Script[WriteOutcome[StoredPolicy]]:
        return put_all_policies(new, stamp, revision, must_exist, is_whole_set)

    return lambda head: write(head, stamp, tuple[StoredPolicy, ...], work)


def put_all_policies(
    new: Sequence[tuple[PolicyName, str]],
    stamp: Stamp,
    revision: Revision,
    must_exist: bool = False,
    is_whole_set: bool = False,
) -> Script[WriteOutcome[StoredPolicy]]:
    """Writes named policies as a part of this revision; see PolicyStore.put_policies."""
    [rows] = yield Select(LIST_POLICY_NAMES, [()])
    names = [name for (name,) in rows]
    wanted: dict[Key, str | None] = {(name,): definition for name, definition in new}
    unknown = next((key for key in wanted if key[0] not in names), None)
    if must_exist and unknown is not None:
        raise NAMED_POLICIES.missing(unknown)
    stored, effects = yield from put(NAMED_POLICIES, wanted, stamp, revision)
    surplus = [(name,) for name in names if (name,) not in wanted] if is_whole_set else []
    if surplus:
        effects += yield from end(NAMED_POLICIES, surplus, revision)
    yield Execute(MOVE_MODEL, [(revision,)], NOTHING)
    return WriteOutcome(tuple(stored[(name,)] for name, _ in new), effects)


def delete_policy(name: PolicyName, stamp: Stamp) -> Callable[[Revision], PoliciesWritten]:
    def work(revision: Revision) -> Script[WriteOutcome[StoredPolicy]]:
        effects = yield from end(NAMED_POLICIES, [(name,)], revision)
        yield Execute(MOVE_MODEL, [(revision,)], NOTHING)
        return WriteOutcome((), effects)

    return lambda head: write(head, stamp, tuple[StoredPolicy, ...], work)


ModelWritten = Script[Snapshot[tuple[None, ...]]]


def put_model(
    new: NewModel, judge: Judge, stamp: Stamp, forbidden: FindForbidden | None
) -> Callable[[Revision], ModelWritten]:
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
    [rows] = yield Select(MODEL_CHANGED, [()])
    horizon, changed = rows[0]
    if not max(horizon, changed or 0) <= expected.revision:
        raise ModelChanged
