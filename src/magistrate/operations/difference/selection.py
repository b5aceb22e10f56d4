"""Determines what changes can matter for the access that is selected, by the models of two states alone."""

from collections.abc import Collection, Iterable, Iterator

from magistrate.engine.difference.access_by_existence import AccessByExistence
from magistrate.engine.difference.influences import Influences
from magistrate.engine.difference.origins import ChangeOrigin
from magistrate.engine.lists.reverse_graph import Target
from magistrate.engine.model.model import Model
from magistrate.engine.names import RelationName, TypeName
from magistrate.engine.steps import Checkpoints
from magistrate.engine.terms import ObjectRef
from magistrate.engine.work import Work
from magistrate.operations.difference.filters import Narrowing, list_subject_types


class Selection:
    """Holds what a narrowing selects of the access by two models. Comparisons of states with the same models share it.

    `examine` has to be completed before anything else."""

    def __init__(self, models: tuple[Model, Model], narrowing: Narrowing) -> None:
        self.models = models
        self.narrowing = narrowing
        self.influences = Influences(models)
        self.targets = [*narrowing.list_targets(models)]
        self.types = list_subject_types(narrowing, models)
        self.relevant: Collection[Target] = ()
        self._by_existence = AccessByExistence(models)
        self.is_examined = False
        self._concerns: dict[tuple[str, str, str], bool] = {}
        self._existence: dict[str, bool] = {}
        """Says by type whether the existence of an object can affect access that is selected, where it was examined."""

    def examine(self, work: Work) -> Checkpoints[None]:
        if not self.is_examined:
            yield from self.influences.collect(work)
            self.relevant = yield from self.influences.find_relevant(self.targets, work)
            self.is_examined = True

    def select_origins(self, origins: Iterable[ChangeOrigin]) -> Iterator[ChangeOrigin]:
        """Yields the origins that can affect access which is selected."""
        return (
            origin
            for origin in origins
            if any((node.type, node.relation) in self.relevant for node, _ in origin.starts)
        )

    def is_concerned(self, object_type: str, relation: str, subject_type: str) -> bool:
        """Returns whether a warrant with these names can affect access that is selected. Takes no step, and examines
        the rules once for the same names."""
        assert self.is_examined
        names = object_type, relation, subject_type
        if names not in self._concerns:
            self._concerns[names] = self._may_concern(
                TypeName(object_type), RelationName(relation), TypeName(subject_type)
            )
        return self._concerns[names]

    def _may_concern(self, of_type: TypeName, relation: RelationName, subject_type: TypeName) -> bool:
        names = of_type, relation, subject_type
        dependents = [relation, *(link.dependent.relation for link in self.influences.links.get(names, ()))]
        dependents += self.influences.quantified.get(names, ())
        return any((of_type, dependent) in self.relevant for dependent in dependents)

    def is_known_to_concern(self, object_type: str) -> bool:
        """Returns whether the existence of an object of a type can affect access that is selected, True if that was not
        examined yet. Takes no step."""
        return self._existence.get(object_type, True)

    def examine_existence(self, refs: Iterable[ObjectRef], work: Work) -> Checkpoints[bool]:
        """Returns whether the existence of any of these objects can affect access that is selected. It depends on their
        types, each of which is examined once."""
        for of_type, ref in {ref.type: ref for ref in refs}.items():
            if of_type not in self._existence:
                of_objects = yield from self.select_given([ref], work)
                of_subjects = yield from self.select_had([ref], work)
                self._existence[of_type] = bool(of_objects or of_subjects)
            if self._existence[of_type]:
                return True
        return False

    def select_given(self, refs: Iterable[ObjectRef], work: Work) -> Checkpoints[list[ObjectRef]]:
        """Returns the objects on which subjects may have access that is selected because the object exists."""
        return self._select(refs, work, has_access=False)

    def select_had(self, refs: Iterable[ObjectRef], work: Work) -> Checkpoints[list[ObjectRef]]:
        """Returns the objects that may have access, as subjects, that is selected because they exist."""
        return self._select(refs, work, has_access=True)

    def _select(self, refs: Iterable[ObjectRef], work: Work, *, has_access: bool) -> Checkpoints[list[ObjectRef]]:
        selected: list[ObjectRef] = []
        for ref in refs:
            find = self._by_existence.find_had if has_access else self._by_existence.find_given
            possible = yield from find(ref.type, work)
            targets = self.targets if has_access else [target for target in self.targets if target[0] == ref.type]
            if any(target in possible for target in targets):
                selected.append(ref)
            yield from work.charge(1 + len(targets) // 10)
        return selected
