"""Writes object types, as scripts."""

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from magistrate.engine.names import WILDCARD, PolicyName, Revision, TypeName
from magistrate.engine.warrants.warrant import WarrantPattern, warrant_names
from magistrate.errors import ModelChanged, NotFound, OrphanedWarrants
from magistrate.store.contract.new_rows import NewModel, NewObjectType, Stamp, ValidateTypes
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.store import FindForbidden
from magistrate.store.contract.stored_rows import StoredObjectType, StoredPolicy
from magistrate.store.database import NOTHING, Compute, Execute, Script, Select
from magistrate.store.scripts.versions import (
    Effect,
    Key,
    Versioned,
    VersionedWrite,
    WriteOutcome,
    end,
    find_called_revision,
    put,
    write,
    write_effects,
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

T = TypeVar("T")
N = TypeVar("N", bound=str)

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


OBJECT_TYPES: Versioned[StoredObjectType] = Versioned(
    kind="object-type",
    key_length=1,
    statements=OBJECT_TYPE,
    stored=StoredObjectType,
    missing=lambda key: NotFound("ObjectType", *key),
)
NAMED_POLICIES: Versioned[StoredPolicy] = Versioned(
    kind="policy",
    key_length=1,
    statements=NAMED_POLICY,
    stored=StoredPolicy,
    missing=lambda key: NotFound("Policy", *key),
)


def put_object_types(
    head: Revision,
    types: Sequence[NewObjectType],
    validate: ValidateTypes,
    stamp: Stamp,
    must_exist: bool = False,
    is_whole_model: bool = False,
    forbidden: FindForbidden | None = None,
) -> VersionedWrite[tuple[StoredObjectType, ...]]:
    work = put_all_types(
        types,
        validate,
        stamp,
        Revision(head + 1),
        must_exist=must_exist,
        is_whole_model=is_whole_model,
        forbidden=forbidden,
    )
    return write(head, stamp, tuple[StoredObjectType, ...], work)


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
    named = {new.name: new.definition for new in types}
    if must_exist:
        _require_stored(OBJECT_TYPES, named, before)
    surplus = [name for name in before if name not in named] if is_whole_model else []
    after = {name: text for name, text in before.items() if name not in surplus} | named
    yield Compute(partial(validate, after))
    if forbidden is not None and after != before:
        yield from refuse_orphans(before, after, forbidden, stamp.at)
    stored, effects = yield from _define(OBJECT_TYPES, named, surplus, stamp, revision)
    return WriteOutcome(tuple(stored[(new.name,)] for new in types), effects)


def put_policies(
    head: Revision,
    new: Sequence[tuple[PolicyName, str]],
    stamp: Stamp,
    must_exist: bool = False,
    is_whole_set: bool = False,
) -> VersionedWrite[tuple[StoredPolicy, ...]]:
    work = put_all_policies(new, stamp, Revision(head + 1), must_exist=must_exist, is_whole_set=is_whole_set)
    return write(head, stamp, tuple[StoredPolicy, ...], work)


def put_all_policies(
    new: Sequence[tuple[PolicyName, str]],
    stamp: Stamp,
    revision: Revision,
    must_exist: bool = False,
    is_whole_set: bool = False,
) -> Script[WriteOutcome[StoredPolicy]]:
    """Writes named policies as a part of this revision; see PolicyStore.put_policies."""
    [rows] = yield Select(LIST_POLICY_NAMES, [()])
    before: list[PolicyName] = [name for (name,) in rows]
    named = dict(new)
    if must_exist:
        _require_stored(NAMED_POLICIES, named, before)
    surplus = [name for name in before if name not in named] if is_whole_set else []
    stored, effects = yield from _define(NAMED_POLICIES, named, surplus, stamp, revision)
    return WriteOutcome(tuple(stored[(name,)] for name, _ in new), effects)


def _require_stored(table: Versioned[T], named: Iterable[str], stored: Container[str]) -> None:
    """Raises NotFound for the first name that is not stored."""
    unknown = next((name for name in named if name not in stored), None)
    if unknown is not None:
        raise table.missing((unknown,))


def _define(
    table: Versioned[T], definitions: Mapping[N, str], surplus: Sequence[N], stamp: Stamp, revision: Revision
) -> Script[tuple[dict[Key, T], list[Effect]]]:
    """Writes parts of the model, and ends others. Returns each that was written, and what was changed."""
    stored, effects = yield from put(table, {(name,): text for name, text in definitions.items()}, stamp, revision)
    if surplus:
        effects += yield from end(table, [(name,) for name in surplus], revision)
    yield Execute(MOVE_MODEL, [(revision,)] if effects else [], NOTHING)
    return stored, effects


def seed(head: Revision, types: Sequence[NewObjectType], stamp: Stamp) -> Script[bool]:
    if head == 0:
        yield from put_object_types(head, types, lambda model: None, stamp)
    return head == 0


def delete_object_type(head: Revision, name: TypeName, stamp: Stamp) -> Script[Revision]:
    return write_effects(head, stamp, _undefine(OBJECT_TYPES, name, Revision(head + 1)))


def delete_policy(head: Revision, name: PolicyName, stamp: Stamp) -> Script[Revision]:
    return write_effects(head, stamp, _undefine(NAMED_POLICIES, name, Revision(head + 1)))


def _undefine(table: Versioned[T], name: str, revision: Revision) -> Script[list[Effect]]:
    effects = yield from end(table, [(name,)], revision)
    yield Execute(MOVE_MODEL, [(revision,)], NOTHING)
    return effects


def put_model(
    head: Revision, new: NewModel, validate: ValidateTypes, stamp: Stamp, forbidden: FindForbidden | None = None
) -> Script[Revision]:
    def work(revision: Revision) -> Script[list[Effect]]:
        if new.expected is not None:
            yield from _require_unchanged(new.expected, head)
        types = yield from put_all_types(new.types, validate, stamp, revision, is_whole_model=True, forbidden=forbidden)
        policies = yield from put_all_policies(new.policies, stamp, revision, is_whole_set=True)
        return [*types.effects, *policies.effects]

    return write_effects(head, stamp, work(Revision(head + 1)))


def _require_unchanged(expected: RevisionId, newest: Revision) -> Script[None]:
    """Raises RevisionLost if the expected revision is not in the store, and ModelChanged if the model has changed since
    then, or if that cannot be known."""
    yield from find_called_revision([expected], newest)
    [rows] = yield Select(MODEL_CHANGED, [()])
    horizon, changed = rows[0]
    if not max(horizon, changed or 0) <= expected.revision:
        raise ModelChanged
