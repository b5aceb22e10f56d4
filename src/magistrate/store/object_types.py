"""Writes object types, as scripts."""

from collections.abc import Callable, Sequence
from functools import partial

from magistrate.engine.terms import Revision, TypeName
from magistrate.errors import NotFound
from magistrate.store import sql
from magistrate.store.contract import FindForbidden, Judge, NewObjectType, Snapshot, Stamp, StoredObjectType
from magistrate.store.database import NOTHING, Compute, Execute, Row, Script, Select
from magistrate.store.stranding import refuse_stranding
from magistrate.store.versioned import Key, Versioned, WriteOutcome, end, put, write


def build_object_type(row: Row) -> StoredObjectType:
    return StoredObjectType(*row)


OBJECT_TYPES: Versioned[StoredObjectType] = Versioned(
    kind="object-type",
    key_length=1,
    find=sql.FIND_OBJECT_TYPE,
    find_any=sql.FIND_OBJECT_TYPES,
    end=sql.END_OBJECT_TYPE,
    insert=sql.INSERT_OBJECT_TYPE,
    stored=build_object_type,
    missing=lambda key: NotFound("ObjectType", *key),
)

Written = Script[Snapshot[tuple[StoredObjectType, ...]]]


def put_object_types(
    types: Sequence[NewObjectType],
    judge: Judge,
    stamp: Stamp,
    must_exist: bool = False,
    is_whole_model: bool = False,
    forbidden: FindForbidden | None = None,
) -> Callable[[Revision], Written]:
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
    [defined] = yield Select(sql.LIST_DEFINITIONS, [()])
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
    yield Execute(sql.MOVE_MODEL, [(revision,)], NOTHING)
    return WriteOutcome(tuple(stored[(new.name,)] for new in types), effects)


def seed(types: Sequence[NewObjectType], stamp: Stamp) -> Callable[[Revision], Script[bool]]:
    def script(head: Revision) -> Script[bool]:
        if head == 0:
            yield from put_object_types(types, lambda model: None, stamp)(head)
        return head == 0

    return script


def delete_object_type(name: TypeName, stamp: Stamp) -> Callable[[Revision], Written]:
    def work(revision: Revision) -> Script[WriteOutcome[StoredObjectType]]:
        effects = yield from end(OBJECT_TYPES, [(name,)], revision)
        yield Execute(sql.MOVE_MODEL, [(revision,)], NOTHING)
        return WriteOutcome((), effects)

    return lambda head: write(head, stamp, tuple[StoredObjectType, ...], work)
