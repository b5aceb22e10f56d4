"""Knows which warrants are links: rules follow them to another object (`withRelation`), so that whole branches of
access depend on one."""

from collections.abc import Mapping, Sequence, Set

from magistrate.engine.difference.influences import list_references
from magistrate.engine.names import ObjectId, RelationName, TypeName, WarrantNames
from magistrate.engine.plans import Model
from magistrate.engine.query.search import Checkpoints
from magistrate.engine.warrants import WarrantPattern
from magistrate.engine.work import Work

LinkKind = tuple[RelationName, TypeName]
"""Holds the relation of links on objects of one type, and the type of the objects that they lead to."""
LinkTarget = tuple[TypeName, RelationName]
"""Holds that type, and the relation that a rule asks for there."""

MOST_TARGETS = 50
"""Limits the targets to which new links are tried."""

Linkable = Mapping[LinkTarget, Sequence[ObjectId]]
"""Maps targets to the objects that a new link may lead to."""
NO_LINKS: Linkable = {}


class FollowedLinks:
    """Holds the links of the object types that have been prepared."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._by_type: dict[TypeName, dict[LinkKind, dict[RelationName, None]]] = {}

    def prepare(self, of_type: TypeName, work: Work) -> Checkpoints[None]:
        """Reads the rules of a type, unless that was done before. Yields when the time slice is over."""
        if of_type in self._by_type:
            return
        kinds = self._by_type[of_type] = {}
        defined = self._model.types.get(of_type)
        waiting = [] if defined is None else [*defined.relations.values()]
        for rule in waiting:  # grows during the loop
            references = list_references(rule)
            for with_relation, target, relation in (*references.links, *references.quantified):
                kinds.setdefault((with_relation, target), {})[relation] = None
            waiting += rule.rules
            work.hasten_checkpoint(1)
            if work.needs_checkpoint:
                yield None

    def prepare_linked(self, of_type: TypeName, work: Work) -> Checkpoints[Set[TypeName]]:
        """Prepares a type with all that links and usersets lead to from it, and returns those that links lead to."""
        waiting, linked = [of_type], dict[TypeName, None]()
        for one in waiting:  # grows during the loop
            yield from self.prepare(one, work)
            linked.update((target, None) for _, target in self._by_type[one])
            defined = self._model.types.get(one)
            patterns = self._model.patterns_on(one, () if defined is None else defined.relations)
            work.hasten_checkpoint(len(patterns))
            reached = [pattern.subject_type for pattern in patterns if pattern.subject_relation]
            waiting += dict.fromkeys(name for name in (*linked, *reached) if name not in {*self._by_type, *waiting})
        return linked.keys()

    def follows(self, names: WarrantNames) -> bool:
        """Returns whether a rule follows warrants with these names. Their object type must have been prepared."""
        return (names.relation, names.subject_type) in self._by_type[names.object_type]

    def list_patterns(self) -> Set[WarrantPattern]:
        """Returns the patterns of the links that could be written on objects of the prepared types."""
        return {
            WarrantPattern(names)
            for of_type, kinds in self._by_type.items()
            for relation, target in kinds
            if self._model.allows(names := WarrantNames(of_type, ObjectId(""), relation, target, ObjectId(""), ""))
        }

    def list_targets(self) -> Sequence[LinkTarget]:
        """Returns the first relations that links from the prepared types lead to, each once."""
        targets: dict[LinkTarget, None] = {}
        for kinds in self._by_type.values():
            for (_, target), relations in kinds.items():
                targets.update(((target, relation), None) for relation in relations)
        return [*targets][:MOST_TARGETS]
