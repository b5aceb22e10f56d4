"""Finds what depends on relations that cannot be expressed."""

from collections import deque
from collections.abc import Iterable, Iterator

from magistrate.engine.foreign.schema import ForeignModel, ForeignRelation, ForeignType, RelationKey


def find_dependents(model: ForeignModel, left_out: Iterable[RelationKey]) -> Iterator[tuple[RelationKey, RelationKey]]:
    """Yields each relation whose rule depends on one of these, directly or by another, and the one it depends on."""
    dependents: dict[RelationKey, list[RelationKey]] = {}
    for declared in model.types.values():
        for relation in declared.relations.values():
            for used in _list_used(model, declared, relation):
                dependents.setdefault(used, []).append((declared.name.text, relation.name.text))
    waiting = deque(left_out)
    known = set(waiting)
    while waiting:
        cause = waiting.popleft()
        for dependent in dependents.get(cause, ()):
            if dependent not in known:
                known.add(dependent)
                waiting.append(dependent)
                yield dependent, cause


def _list_used(model: ForeignModel, declared: ForeignType, relation: ForeignRelation) -> Iterator[RelationKey]:
    for rewrite in relation.rewrite.walk():
        if rewrite.kind == "computed":
            yield declared.name.text, rewrite.names[0].text
        elif rewrite.kind in ("arrow", "for_all"):
            wanted, link = rewrite.names
            yield declared.name.text, link.text
            linked = declared.relations.get(link.text)
            for restriction in linked.allowed if linked is not None else ():
                yield restriction.type.text, wanted.text
