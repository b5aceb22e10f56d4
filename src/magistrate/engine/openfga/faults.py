"""Finds what OpenFGA refuses in models that can be converted: loops of computed relations, relations that nobody can
have, and links to other than objects."""

from collections.abc import Iterator, Mapping, Sequence, Set

from magistrate.engine.importers.schema import ForeignModel, ForeignRelation, RelationKey, Rewrite
from magistrate.engine.model.components import components
from magistrate.engine.nesting import fold


def find_fault(model: ForeignModel) -> str | None:
    """Returns what is wrong with a model, None if nothing is. Names that are not defined are left to its conversion."""
    return _find_link_fault(model) or _find_loop(model) or _find_unreachable(model)


def _list_relations(model: ForeignModel) -> Iterator[tuple[RelationKey, ForeignRelation]]:
    for of_type, declared in model.types.items():
        for name, relation in declared.relations.items():
            yield (of_type, name), relation


def _find_link_fault(model: ForeignModel) -> str | None:
    for (of_type, name), relation in _list_relations(model):
        for rewrite in relation.rewrite.walk():
            if rewrite.kind != "arrow":
                continue
            link = model.types[of_type].relations.get(rewrite.names[1].text)
            if link is None:
                continue
            if link.rewrite.kind != "direct":
                return f"{of_type}#{name} follows {link.name.text}, which is not assignable alone"
            if any(allowed.is_wildcard or allowed.relation is not None for allowed in link.allowed):
                return f"{of_type}#{name} follows {link.name.text}, which may have usersets or wildcards"
    return None


def _find_loop(model: ForeignModel) -> str | None:
    """Returns a description of a relation that is computed from itself on the same object."""
    computed: dict[RelationKey, Sequence[RelationKey]] = {}
    for key, relation in _list_relations(model):
        names = [rewrite.names[0].text for rewrite in relation.rewrite.walk() if rewrite.kind == "computed"]
        computed[key] = [(key[0], name) for name in names if name in model.types[key[0]].relations]
    for component in components(computed, computed.__getitem__):
        first = component[0]
        if len(component) > 1 or first in computed[first]:
            return f"{'#'.join(first)} is computed from itself"
    return None


def _find_unreachable(model: ForeignModel) -> str | None:
    """Returns a description of a relation that nobody can have."""
    relations = dict(_list_relations(model))
    dependents: dict[RelationKey, list[RelationKey]] = {}
    for key, relation in relations.items():
        for dependency in _list_dependencies(model, key, relation):
            dependents.setdefault(dependency, []).append(key)
    reachable: set[RelationKey] = set()
    waiting = list(relations)
    while waiting:
        added = [key for key in waiting if key not in reachable and _is_reachable(model, key, relations, reachable)]
        reachable.update(added)
        waiting = list(dict.fromkeys(dependent for key in added for dependent in dependents.get(key, ())))
    unreachable = next((key for key in relations if key not in reachable), None)
    return None if unreachable is None else f"{'#'.join(unreachable)} has no entry point: nobody can ever have it"


def _list_dependencies(model: ForeignModel, key: RelationKey, relation: ForeignRelation) -> Iterator[RelationKey]:
    for allowed in relation.allowed:
        if allowed.relation is not None:
            yield allowed.type.text, allowed.relation.text
    for rewrite in relation.rewrite.walk():
        if rewrite.kind == "computed":
            yield key[0], rewrite.names[0].text
        elif rewrite.kind == "arrow":
            yield from _list_linked(model, key[0], rewrite)


def _list_linked(model: ForeignModel, of_type: str, arrow: Rewrite) -> Iterator[RelationKey]:
    linked, link = arrow.names
    declared = model.types[of_type].relations.get(link.text)
    for allowed in declared.allowed if declared is not None else ():
        yield allowed.type.text, linked.text


def _is_reachable(
    model: ForeignModel, key: RelationKey, relations: Mapping[RelationKey, ForeignRelation], reachable: Set[RelationKey]
) -> bool:
    """Returns whether somebody can have a relation, given others of which that is known."""
    relation = relations[key]

    def decide(rewrite: Rewrite, operands: Sequence[bool]) -> bool:
        match rewrite.kind:
            case "direct":
                return any(
                    allowed.relation is None or (allowed.type.text, allowed.relation.text) in reachable
                    for allowed in relation.allowed
                )
            case "computed":
                return (key[0], rewrite.names[0].text) in reachable
            case "arrow":
                return any(linked in reachable for linked in _list_linked(model, key[0], rewrite))
            case "union":
                return any(operands)
            case "intersection":
                return all(operands)
            case _:
                return operands[0]

    return fold(relation.rewrite, lambda rewrite: rewrite.operands, decide)
