"""Finds names in a read that the model does not define, for strict reads (docs/compatibility.md#strict-reads).

Without it, a misspelled relation is answered like one that nobody has: denied, or an empty list."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from magistrate.engine.evaluation.check import Check
from magistrate.engine.model.model import Model
from magistrate.engine.names import RelationName, Revision, TypeName, suggest_name
from magistrate.engine.warrants.overlay import NO_CHANGES, Overlay
from magistrate.errors import InvalidParameter, MagistrateError, NotFound
from magistrate.operations.context import Context

MAX_DESCRIBED = 3
"""Limits the relations whose allowed types an error names."""


class UsedName(NamedTuple):
    """Represents a type, and perhaps a relation, that a read names. Without a type, one of the types in `among` must
    define the relation, or any type if it is empty. The type of a subject need not be defined if a warrant names such
    subjects; `relations` are those that the read names, on objects of the types in `among`. `type_parameter` and
    `relation_parameter` name the parameters in errors."""

    type: str | None
    relation: str | None = None
    type_parameter: str = "objectType"
    relation_parameter: str = "relation"
    among: tuple[str, ...] = ()
    is_subject: bool = False
    relations: tuple[str, ...] = ()

    def is_visible(self, visible: frozenset[str]) -> bool:
        """Returns whether a caller that may see these object types may learn if the name is defined."""
        named = self.among if self.type is None else (self.type,)
        return bool(named) and visible.issuperset(named)


async def require_defined_names(
    ctx: Context,
    names: Iterable[UsedName],
    at: Revision,
    overlay: Overlay = NO_CHANGES,
    is_past: bool = False,
    visible: frozenset[str] | None = None,
) -> None:
    """Raises InvalidParameter, with the most similar name, for the first name that the model of this revision does not
    define. The newest model is not read again unless a name is missing from it as far as this process knows it; it
    counts for nothing if the read `is_past`. Added warrants name subjects like written ones.

    A caller that may see some object types only, those in `visible`, learns no name on others, whether it is
    defined or not."""
    used = [name for name in names if visible is None or name.is_visible(visible)]
    if not is_past and find_undefined_name(overlay.extend_model(await ctx.caches.models.get_known()), used) is None:
        return
    state = await ctx.store.read_warrants((), at, 1)
    model = await ctx.caches.models.at(state.revision, state.model_revision)
    fault = find_undefined_name(overlay.extend_model(model), used, visible)
    if fault is not None:
        raise fault


async def describe_missing_type(
    ctx: Context, missing: NotFound, parameter: str, visible: frozenset[str] | None
) -> MagistrateError:
    """Returns the error of a strict read for an object type that does not exist, with the most similar name of those in
    `visible`, or the same error for anything else."""
    if missing.kind != "ObjectType":
        return missing
    suggested = (
        type_name
        for type_name in (await ctx.caches.models.get_known()).types
        if visible is None or type_name in visible
    )
    return InvalidParameter(
        parameter, f"object type {missing.key} is not defined{suggest_name(missing.key, suggested)}"
    )


def find_undefined_name(
    model: Model, names: Iterable[UsedName], visible: frozenset[str] | None = None
) -> InvalidParameter | None:
    """Returns the error for the first undefined name, or None. It suggests no object type that is not `visible`."""
    return next(list_undefined_names(model, names, visible), None)


def list_undefined_names(
    model: Model, names: Iterable[UsedName], visible: frozenset[str] | None = None
) -> Iterator[InvalidParameter]:
    """Yields the error for each undefined name, as `find_undefined_name` returns it."""
    faults = (_type_fault(model, name, visible) or _relation_fault(model, name) for name in names)
    return (fault for fault in faults if fault is not None)


def collect_names(check: Check) -> Iterator[UsedName]:
    """Yields the names in a check."""
    yield UsedName(check.object.type, check.relation)
    among, relations = (check.object.type,), (check.relation,)
    yield UsedName(check.subject.type, check.subject.relation, among=among, is_subject=True, relations=relations)


def _type_fault(model: Model, name: UsedName, visible: frozenset[str] | None) -> InvalidParameter | None:
    if name.type is None or name.type in model.types:
        return None
    if name.is_subject and any(pattern.subject_type == name.type for pattern in model.patterns):
        return None
    suggested = (type_name for type_name in model.types if visible is None or type_name in visible)
    message = f"object type {name.type} is not defined{suggest_name(name.type, suggested)}"
    allowed = _describe_allowed_types(model, name) if visible is None else ""  # these may name any type
    return InvalidParameter(name.type_parameter, message + allowed)


def _describe_allowed_types(model: Model, name: UsedName) -> str:
    """Returns which subjects these relations can be given to, as far as that is limited."""
    types = (TypeName(type_name) for type_name in name.among or model.types if type_name in model.types)
    texts = (
        f"{type_name}#{relation} allows {', '.join(allowed)}"
        for type_name in types
        for relation in name.relations
        if (allowed := model.types[type_name].find_allowed_types(RelationName(relation)))
    )
    return "".join(f"; {text}" for text in islice(texts, MAX_DESCRIBED))


def _relation_fault(model: Model, name: UsedName) -> InvalidParameter | None:
    if not name.relation:
        return None
    userset = (name.type, name.relation)
    if name.is_subject and any(
        (pattern.subject_type, pattern.subject_relation) == userset for pattern in model.patterns
    ):
        return None
    names = [name.type] if name.type is not None else list(name.among or model.types)
    candidates = [model.types[TypeName(candidate)] for candidate in names if candidate in model.types]
    if any(name.relation in candidate.relations for candidate in candidates):
        return None
    where = f"on {' or '.join(names)}" if name.type is not None or name.among else "on any object type"
    relations = (relation for candidate in candidates for relation in candidate.relations)
    message = f"relation {name.relation} is not defined {where}{suggest_name(name.relation, relations)}"
    return InvalidParameter(name.relation_parameter, message)
