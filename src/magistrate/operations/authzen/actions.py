"""Replaces the names of actions by the relations that they stand for in the model (docs/authzen.md#actions).

No relation has the name of an action of its type. So a name that was not replaced, because the model was not at hand,
is one that the model does not define, and nobody has it."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from magistrate.engine.evaluation.check import Check
from magistrate.engine.model.model import Model
from magistrate.engine.names import RelationName, TypeName
from magistrate.operations.consistency import NO_DEMAND, Freshness
from magistrate.operations.context import Context


def find_relation(model: Model, of_type: TypeName, name: RelationName) -> RelationName:
    """Returns the relation that an action of a type stands for, the same name if it is no action."""
    return model.actions.get((of_type, name), name)


def replace_actions(model: Model, checks: Sequence[Check]) -> Sequence[Check]:
    """Returns the checks with relations in place of actions, the same sequence if there are none."""
    actions = model.actions
    if not actions or not any((check.object.type, check.relation) in actions for check in checks):
        return checks
    return [
        check if (relation := actions.get((check.object.type, check.relation))) is None
        else replace(check, relation=relation)
        for check in checks
    ]  # fmt: skip


def replace_actions_at_once(ctx: Context, checks: Sequence[Check], freshness: Freshness) -> Sequence[Check]:
    """Returns the checks like `replace_actions`, with the model with which they are decided if that is done from memory
    before anything else runs. Raises StoreUnavailable."""
    graph = ctx.caches.graph.current_graph(freshness)
    return checks if graph is None else replace_actions(graph.model, checks)


def may_name_action(ctx: Context, checks: Sequence[Check]) -> bool:
    """Returns whether one of the names is an action in the newest model, as far as that is known without a read."""
    return any(replace_actions(model, checks) is not checks for model in _list_known_models(ctx))


def may_be_action(ctx: Context, of_type: TypeName, name: RelationName) -> bool:
    """Returns whether the name is an action of a type, as far as that is known without a read."""
    return any((of_type, name) in model.actions for model in _list_known_models(ctx))


def _list_known_models(ctx: Context) -> Iterator[Model]:
    graph = ctx.caches.graph.current_graph(NO_DEMAND)
    if graph is not None:
        yield graph.model
    if ctx.caches.models.known is not None:
        yield ctx.caches.models.known
