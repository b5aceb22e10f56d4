"""Finds names in a read that the model does not define, for strict reads (docs/compatibility.md#strict-reads).

Without it, a misspelled relation is answered like one that nobody has: denied, or an empty list."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from magistrate.engine.model import ObjectType
from magistrate.engine.suggestions import suggest_name
from magistrate.engine.terms import Revision, TypeName
from magistrate.errors import InvalidParameter
from magistrate.operations.context import Context

Types = Mapping[TypeName, ObjectType]


class UsedName(NamedTuple):
    """Represents a type, and perhaps a relation, that a read names. Without a type, one of the types in `among` must
    define the relation, or any type if it is empty. `type_parameter` and `relation_parameter` name the parameters in
    errors."""

    type: str | None
    relation: str | None = None
    type_parameter: str = "objectType"
    relation_parameter: str = "relation"
    among: tuple[str, ...] = ()


async def require_defined_names(ctx: Context, names: Iterable[UsedName], at: Revision) -> None:
    """Raises InvalidParameter, with the most similar name, for the first name that the model of this revision does not
    define. The newest model is not read again unless a name is missing from it as far as this process knows it."""
    used = list(names)
    known = await ctx.models.get_known()
    if find_undefined_name(known.types, used) is None:
        return
    state = await ctx.store.read_warrants((), at, 1)
    model = await ctx.models.at(state.revision, state.model_revision)
    fault = find_undefined_name(model.types, used)
    if fault is not None:
        raise fault


def find_undefined_name(types: Types, names: Iterable[UsedName]) -> InvalidParameter | None:
    """Returns the error for the first undefined name, or None."""
    faults = (_type_fault(types, name) or _relation_fault(types, name) for name in names)
    return next((fault for fault in faults if fault is not None), None)


def _type_fault(types: Types, name: UsedName) -> InvalidParameter | None:
    if name.type is None or name.type in types:
        return None
    message = f"object type {name.type} is not defined{suggest_name(name.type, types)}"
    return InvalidParameter(name.type_parameter, message)


def _relation_fault(types: Types, name: UsedName) -> InvalidParameter | None:
    if name.relation is None:
        return None
    names = [name.type] if name.type is not None else list(name.among or types)
    candidates = [types[TypeName(one)] for one in names if one in types]
    if any(name.relation in one.relations for one in candidates):
        return None
    where = f"on {' or '.join(names)}" if name.type is not None or name.among else "on any object type"
    relations = (relation for one in candidates for relation in one.relations)
    message = f"relation {name.relation} is not defined {where}{suggest_name(name.relation, relations)}"
    return InvalidParameter(name.relation_parameter, message)
