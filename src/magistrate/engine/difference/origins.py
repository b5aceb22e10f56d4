"""Determines where changes begin: which relations on objects each of them affects at once, and for which subjects."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from magistrate.engine.difference.influences import Influences
from magistrate.engine.difference.reverse_expansion import Direction, ObjectRelation
from magistrate.engine.evaluation.conditions import PolicyEvaluator
from magistrate.engine.lists.reverse_graph import Target
from magistrate.engine.model.model import Model
from magistrate.engine.names import WILDCARD, PolicyName, RelationName, TypeName
from magistrate.engine.rules.policy_rule import PolicyRule
from magistrate.engine.rules.rule import Rule
from magistrate.engine.steps import Checkpoints
from magistrate.engine.subjects import SubjectKind, classify_subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work


@dataclass(frozen=True, slots=True)
class WarrantChange:
    """Represents that a warrant counts in only one of the states: the second one if it `is_created`."""

    warrant: Warrant
    is_created: bool


@dataclass(frozen=True, slots=True)
class TypeChange:
    """Represents that an object type differs between the states, or exists in only one of them."""

    name: TypeName


Change = WarrantChange | TypeChange

Subjects = ObjectRef | ObjectRelation | None
"""Represents whom a change can concern: one subject, all that have a relation on an object, or with None any."""


@dataclass(frozen=True, slots=True)
class ChangeOrigin:
    """Represents where a change begins. Each of `starts` comes with what the change may do there."""

    change: Change
    starts: Sequence[tuple[ObjectRelation, Direction]]
    subjects: Subjects


_EITHER = Direction(raises=True, lowers=True)


def list_warrant_origins(influences: Influences, change: WarrantChange) -> Iterator[ChangeOrigin]:
    """Yields one origin for the relation of the warrant itself, one for each quantifier that examines it as a link,
    and one for each relation of its subject that arrows follow."""
    warrant, direction = change.warrant, Direction(raises=change.is_created, lowers=not change.is_created)
    node = ObjectRelation(warrant.object_type, warrant.object_id, warrant.relation)
    yield ChangeOrigin(change, [(node, direction)], _subjects_of(warrant))
    starts: dict[RelationName, list[tuple[ObjectRelation, Direction]]] = defaultdict(list)
    for dependent, relation in influences.links.get((node.type, node.relation, warrant.subject_type), ()):
        start = node._replace(relation=dependent.relation)
        starts[relation].append((start, direction.opposite() if dependent.is_opposite else direction))
    quantified = influences.quantified.get((node.type, node.relation, warrant.subject_type), ())
    for relation in quantified:
        yield ChangeOrigin(change, [(node._replace(relation=relation), _EITHER)], None)
    for relation, nodes in starts.items():
        yield ChangeOrigin(change, nodes, ObjectRelation(warrant.subject_type, warrant.subject_id, relation))


def list_type_origins(
    influences: Influences, before: Model, after: Model, timed: Collection[PolicyName] = ()
) -> Iterator[ChangeOrigin]:
    """Yields one origin for each object type in which a relation has another rule, or exists in one model only. The
    named policies in `timed` have another value although they are the same."""
    policies = [
        name for name in {*before.policies, *after.policies} if before.policies.get(name) != after.policies.get(name)
    ]
    changed = {*policies, *timed}
    for name in dict.fromkeys((*before.types, *after.types)):
        relations = [*_list_changed_relations(influences, name, before, after, changed=changed)]
        if relations:
            starts = [(ObjectRelation(name, WILDCARD, relation), _EITHER) for relation in relations]
            yield ChangeOrigin(TypeChange(name), starts, None)


def _list_changed_relations(
    influences: Influences, name: TypeName, before: Model, after: Model, *, changed: Collection[PolicyName]
) -> Iterator[RelationName]:
    type_before, type_after = before.types.get(name), after.types.get(name)
    if type_before is type_after and not changed:
        return
    if type_before is None or type_after is None:
        yield from influences.names_of(name)
        return
    for relation in dict.fromkeys((*type_before.relations, *type_after.relations)):
        rules = (type_before.relations.get(relation), type_after.relations.get(relation))
        if rules[0] != rules[1] or any(_has_policy(rule, changed) for rule in rules if rule):
            yield relation
        elif type_before.find_allowed_types(relation) != type_after.find_allowed_types(relation):
            yield relation
            yield from influences.list_link_dependents(name, relation)


def _has_policy(rule: Rule, names: Collection[PolicyName]) -> bool:
    """Returns whether the rule, or one within it, is one of these named policies."""
    waiting = [rule]
    for inner in waiting:  # grows during the loop
        if isinstance(inner, PolicyRule) and inner.name in names:
            return True
        waiting += inner.rules
    return False


def _subjects_of(warrant: Warrant) -> Subjects:
    match classify_subject(warrant.subject_id, warrant.subject_relation):
        case SubjectKind.USERSET | SubjectKind.WILDCARD_USERSET:
            relation = RelationName(warrant.subject_relation)
            return ObjectRelation(warrant.subject_type, warrant.subject_id, relation)
        case SubjectKind.WILDCARD:
            return None
        case SubjectKind.OBJECT:
            return ObjectRef(warrant.subject_type, warrant.subject_id)


def list_targets(models: Iterable[Model]) -> dict[Target, None]:
    """Returns every relation that one of the models defines."""
    types = (object_type for model in models for object_type in model.types.values())
    return {(object_type.name, relation): None for object_type in types for relation in object_type.relations}


def find_timed_changes(
    warrants: Sequence[Warrant], evaluators: Sequence[tuple[PolicyEvaluator, PolicyEvaluator]], work: Work
) -> Checkpoints[list[WarrantChange]]:
    """Returns the changes of those warrants whose value differs between the two evaluators of a pair, which have the
    times of the two states."""
    for pair in evaluators:
        for evaluator in pair:
            yield from evaluator.evaluate_each(warrants)
    changes: list[WarrantChange] = []
    for warrant in warrants:
        values = {(earlier.value(warrant), later.value(warrant)): None for earlier, later in evaluators}
        changes += [WarrantChange(warrant, later > earlier) for earlier, later in values if earlier is not later]
        yield from work.charge(1)
    return changes
