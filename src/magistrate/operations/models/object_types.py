"""Creates, reads, updates, deletes and lists object types (docs/compatibility.md#object-types and
docs/compatibility.md#rules)."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from magistrate.engine.model.object_types import PREDEFINED_TYPES, ObjectType, find_allowed
from magistrate.engine.model.stratification import RelationEdge, find_negation_loop, render_loop
from magistrate.engine.model.undefined_names import Relations, find_undefined_allowed_types, find_undefined_names
from magistrate.engine.names import Revision, TypeName
from magistrate.engine.rules.policy_rule import PolicyRule
from magistrate.engine.subjects import render_allowed_type
from magistrate.engine.terms import type_name
from magistrate.engine.warrants.warrant import WarrantPattern
from magistrate.errors import InvalidParameter, NotFound
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.history.points_in_time import AsOf, find_revision
from magistrate.operations.models.definitions import parse_definition, read_definition, render_definition
from magistrate.operations.paging import LegacyCursor, ListKind, Page, PageRequest, Sort, Values, read_page
from magistrate.operations.scheduling import offload
from magistrate.store.contract.lists import ObjectTypeFilter, Snapshot
from magistrate.store.contract.new_rows import NewObjectType, Stamp, ValidateTypes
from magistrate.store.contract.stored_rows import StoredObjectType
from magistrate.store.contract.stores import DEFAULT_STORE

Loop = tuple[RelationEdge, ...]

MAX_WARNINGS = 10
"""Limits the warnings about one write, because they are sent in a header."""
BYTES_OF_A_RULE = 40
"""Estimates the bytes of a rule in JSON, with the name of its relation."""

_BY_NAME: Sort[StoredObjectType] = Sort("typeId", lambda row: (row.name,))


def _read_legacy_values(sort: str, cursor: LegacyCursor) -> Values:
    name = type_name(cursor.id, cursor.id_parameter)
    return (cursor.time(), name) if sort == "createdAt" else (name,)


OBJECT_TYPE_LIST: ListKind[StoredObjectType] = ListKind(
    "object-types",
    {
        "typeId": _BY_NAME,
        "type": _BY_NAME,
        "createdAt": Sort("createdAt", lambda row: (row.created_at, row.name)),
    },
    legacy_values=_read_legacy_values,
)


class WrittenTypes(NamedTuple):
    """Holds the rows of the types that were written, and at most MAX_WARNINGS sentences about names in their rules
    that the model does not define. A write that is repeated by its idempotency key has no warnings."""

    rows: tuple[StoredObjectType, ...]
    warnings: tuple[str, ...]


async def put_object_types(
    ctx: Context,
    types: Sequence[ObjectType],
    stamp: Stamp,
    *,
    keeps_orphaned: bool = False,
    visible: frozenset[str] | None = None,
    must_exist: bool = False,
    is_whole_model: bool = False,
) -> Snapshot[WrittenTypes]:
    """Creates each type, or replaces its definition. All or nothing. If they are the whole model, deletes all others.

    Raises InvalidParameter for a definition above the limit, or if a relation of the model would then depend on its own
    negation; OrphanedWarrants if stored warrants would not count any more, unless they are to be kept without effect;
    and with `must_exist`, NotFound for the first type that does not exist. Errors and warnings name only object types
    that are `visible`, if that is given."""
    warnings: list[str] = []
    is_looked_up = visible is None and _names_policies(types)
    policies = (await ctx.store.read_model()).value.policies if is_looked_up else {}
    validate = validate_and_warn(types, policies, warnings, visible)
    forbidden = None if keeps_orphaned else find_forbidden
    new = await render_types(ctx, types)
    written = await ctx.store.put_object_types(
        new, validate, stamp, must_exist=must_exist, is_whole_model=is_whole_model, forbidden=forbidden
    )
    return Snapshot(written.revision, WrittenTypes(written.value, tuple(warnings)))


def find_forbidden(
    before: Mapping[TypeName, str], after: Mapping[TypeName, str], patterns: Iterable[WarrantPattern]
) -> Iterator[WarrantPattern]:
    """Yields those of the patterns that the allowed types before include and those after do not."""
    definitions_by_type = {
        name: (read_definition(before[name]) if name in before else None, read_definition(definition))
        for name, definition in after.items()
        if before.get(name) != definition
    }
    for pattern in patterns:
        former, new = definitions_by_type.get(pattern.object_type, (None, None))
        subject_type = render_allowed_type(pattern.subject_type, pattern.subject_id, pattern.subject_relation)
        is_new = find_allowed(former, pattern.relation, subject_type) is None
        if is_new and find_allowed(new, pattern.relation, subject_type) is not None:
            yield pattern


def validate_and_warn(
    types: Sequence[ObjectType],
    policies: Container[str],
    warnings: list[str],
    visible: frozenset[str] | None = None,
) -> ValidateTypes:
    """Returns a validation like `build_type_validation`. It also puts at most MAX_WARNINGS sentences into the list,
    about names that the types use and that neither the model nor the policies define; of a caller that may see some
    object types only, about names on these alone."""
    validate_loops = build_type_validation(types, visible)

    def validate(definitions: Mapping[TypeName, str]) -> None:
        validate_loops(definitions)
        model: dict[str, Relations] = {
            name: read_definition(definition).relations
            for name, definition in definitions.items()
            if visible is None or name in visible
        }
        names = [object_type.name for object_type in types]
        allowed = {object_type.name: object_type.allowed_types for object_type in types}
        known_policies = policies if visible is None else None
        messages = chain(
            find_undefined_names(model, names, known_policies, visible),
            find_undefined_allowed_types(model, allowed, visible),
        )
        warnings[:] = islice(messages, MAX_WARNINGS)

    return validate


def _names_policies(types: Iterable[ObjectType]) -> bool:
    waiting = [rule for object_type in types for rule in object_type.relations.values()]
    for rule in waiting:  # grows during the loop
        if isinstance(rule, PolicyRule):
            return True
        waiting += rule.rules
    return False


async def get_object_type(
    ctx: Context, name: TypeName, freshness: Freshness, as_of: AsOf | None = None
) -> Snapshot[StoredObjectType]:
    """Returns the object type. Raises NotFound, InvalidParameter if the token is from the future, and what
    `find_revision` raises."""
    stored = await ctx.store.get_object_type(name, await find_revision(ctx, as_of, freshness))
    if as_of is None:
        freshness.demand(stored.revision)
    if stored.value is None:
        raise NotFound("ObjectType", name)
    return Snapshot(stored.revision, stored.value)


async def delete_object_type(ctx: Context, name: TypeName, stamp: Stamp) -> Revision:
    """Deletes the object type. Raises NotFound."""
    return await ctx.store.delete_object_type(name, stamp)


async def list_object_types(
    ctx: Context, page_request: PageRequest, only: ObjectTypeFilter, freshness: Freshness
) -> Snapshot[Page[StoredObjectType]]:
    read = partial(ctx.store.list_object_types, only=only)
    return await read_page(OBJECT_TYPE_LIST, page_request, freshness, ctx.store, read=read)


async def begin_model(ctx: Context) -> None:
    """Adds the predefined types to a store that has never been written to, if it begins with them."""
    if ctx.begins_with_types if ctx.store_number == DEFAULT_STORE else ctx.begins_others_with_types:
        await seed_object_types(ctx)


async def seed_object_types(ctx: Context) -> None:
    """Adds the six predefined types to a store that has never been written to."""
    await ctx.store.seed(new_object_types(ctx, PREDEFINED_TYPES), ctx.stamp("magistrate"))


async def seed_for_v1(ctx: Context) -> None:
    """Adds the six predefined types, which clients of v1 expect, to a store that has never been written to, unless this
    service only reads. Costs nothing once the process knows that something was written."""
    if ctx.store.known.newest.revision == 0 and ctx.store.read_only is None:
        await seed_object_types(ctx)


def build_type_validation(changed: Sequence[ObjectType], visible: frozenset[str] | None = None) -> ValidateTypes:
    """Returns a ValidateTypes, which raises InvalidParameter, with the loop, if a relation depends on its own negation
    (docs/compatibility.md#object-types). The loop shows no relation of a type that is not `visible`."""

    def validate(definitions: Mapping[TypeName, str]) -> None:
        loop = loop_of_types(definitions, [object_type.name for object_type in changed])
        if loop is not None:
            raise loop_fault(loop, visible)

    return validate


def loop_of_types(definitions: Mapping[TypeName, str], changed: Iterable[TypeName]) -> Loop | None:
    """Returns a loop, closed by one of the changed types, through which a relation depends on its own negation; None if
    there is none."""

    def lookup(name: TypeName) -> ObjectType | None:
        return parse_definition(name, definitions[name]) if name in definitions else None

    return find_negation_loop(lookup, changed)


def loop_fault(loop: Loop, visible: frozenset[str] | None = None) -> InvalidParameter:
    return InvalidParameter("relations", f"a relation depends on its own negation: {render_loop(loop, visible)}")


async def render_types(ctx: Context, types: Sequence[ObjectType]) -> Sequence[NewObjectType]:
    """Returns the rows of the types. Raises InvalidParameter for a definition above the limit."""
    size = sum(object_type.size for object_type in types) * BYTES_OF_A_RULE
    return await offload(partial(new_object_types, ctx, types), size)


def new_object_types(ctx: Context, types: Sequence[ObjectType]) -> list[NewObjectType]:
    new = []
    for object_type in types:
        definition = render_definition(object_type)
        if len(definition) > ctx.max_definition_bytes:
            raise InvalidParameter("relations", f"must be at most {ctx.max_definition_bytes} bytes of JSON")
        new.append(NewObjectType(object_type.name, definition.decode()))
    return new
