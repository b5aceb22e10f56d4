"""Lists what a graph can cache before any check needs it, object by object."""

from collections.abc import Iterator, Sequence

from magistrate.engine.cache.entry_reads import MissingEntries
from magistrate.engine.cache.graph import Graph
from magistrate.engine.model.model import Model
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.subjects import SubjectKind, classify_subject

_WITHOUT_RELATION = (SubjectKind.OBJECT, SubjectKind.WILDCARD)


def list_subject_types(model: Model) -> Sequence[TypeName]:
    """Returns the types of the subjects, other than usersets, that some warrant names, in alphabetical order."""
    kinds = {pattern: classify_subject(pattern.subject_id, pattern.subject_relation) for pattern in model.patterns}
    return sorted({pattern.subject_type for pattern, kind in kinds.items() if kind in _WITHOUT_RELATION})


def list_starts(model: Model) -> Iterator[tuple[TypeName, RelationName, TypeName]]:
    """Yields where checks may start: each relation of each object type, with each of these types of subjects."""
    subject_types = list_subject_types(model)
    for name, of_type in model.types.items():
        for relation in of_type.relations:
            for subject_type in subject_types:
                yield name, relation, subject_type


def find_missing(graph: Graph, of_type: TypeName, ids: Sequence[ObjectId]) -> MissingEntries:
    """Returns what the graph lacks of these objects of one type: their entries in all of its views, and the groups that
    they are in."""
    missing = MissingEntries()
    for number, view in graph.views.items():
        if view.key.type == of_type and not view.is_empty:
            missing.entries |= {(number, each): None for each in ids if not view.entries.has(each)}
    for subject_type in list_subject_types(graph.model):
        for kind in graph.memberships(subject_type).kinds:
            if any(request.subject_type == of_type for request in kind.requests):
                unread = [each for each in ids if not kind.groups.has(each)]
                missing.groups |= {(subject_type, kind.number, each): None for each in unread}
    return missing
