"""Knows which warrants are links: rules follow them to another object (`withRelation`), so that whole branches of
access depend on one."""

from collections.abc import Mapping, Sequence, Set

from magistrate.engine.difference.influences import list_references
from magistrate.engine.names import ObjectId, RelationName, TypeName, WarrantNames
from magistrate.engine.plans import Model
from magistrate.engine.query.search import Checkpoints
from magistrate.engine.work import Work

LinkKind = tuple[RelationName, TypeName]
"""Holds the relation of links on objects of one type, and the type of the objects that they lead to."""


Linkable = Mapping[tuple[TypeName, RelationName], Sequence[ObjectId]]
"""Maps a type and a relation to the objects that a new link may lead to."""
NO_LINKS: Linkable = {}


class FollowedLinks:
    """Holds the links of the object types that have been prepared."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._by_type: dict[TypeName, dict[LinkKind, None]] = {}

    def prepare(self, of_type: TypeName, work: Work) -> Checkpoints[None]:
        """Reads the rules of a type, unless that was done before. Yields when the time slice is over."""
        if of_type in self._by_type:
            return
        kinds = self._by_type[of_type] = {}
        defined = self._model.types.get(of_type)
        waiting = [] if defined is None else [*defined.relations.values()]
        for rule in waiting:  # grows during the loop
            references = list_references(rule)
            for with_relation, target, _ in (*references.links, *references.quantified):
                kinds[with_relation, target] = None
            waiting += rule.rules
            work.hasten_checkpoint(1)
            if work.needs_checkpoint:
                yield None

    def follows(self, names: WarrantNames) -> bool:
        """Returns whether a rule follows warrants with these names. Their object type must have been prepared."""
        return (names.relation, names.subject_type) in self._by_type[names.object_type]

    def list_kinds(self, of_type: TypeName) -> Set[LinkKind]:
        """Returns the kinds of links on objects of a type, which must have been prepared."""
        return self._by_type[of_type].keys()
