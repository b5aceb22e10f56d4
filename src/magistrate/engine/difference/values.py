"""Evaluates, in one state, relations on objects: for all subjects at once, or one by one.

The value is TRUE if the check without a context is allowed, and UNKNOWN if it is not but may be with a context: if it
is undecided as long as nothing is known of the context (ANY_CONTEXT). What is decided then has the same value with
every context, so the value without a context is needed only for the rest."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from magistrate.engine.conditions import ANY_CONTEXT
from magistrate.engine.evaluation import Check, Evaluation
from magistrate.engine.query.candidates import NOBODY
from magistrate.engine.query.result_set import EXPLICIT, ListValue, ResultSet, truth_of
from magistrate.engine.query.search import Steps
from magistrate.engine.query.subjects import Root, SubjectSearch
from magistrate.engine.terms import WILDCARD, ObjectId, ObjectRef, Subject, TypeName
from magistrate.engine.truth import FALSE, TRUE, UNDEFINED, UNKNOWN, Truth

_NOBODY_AT_ALL = Subject(TypeName(""), WILDCARD)
"""Stands for a subject that no warrant names, and that is of a type that no warrant names."""


@dataclass(frozen=True, slots=True)
class SubjectSets:
    """Holds the values of one relation on one object for all subjects, by their type; None stands for types that are
    not listed."""

    result_sets: Mapping[TypeName | None, ResultSet]

    def of_type(self, of_type: TypeName | None) -> ResultSet:
        return self.result_sets.get(of_type) or self.result_sets[None]

    def value_of(self, subject: ObjectRef) -> Truth:
        return truth_of(self.of_type(subject.type).value(subject.id))

    def default(self, of_type: TypeName | None) -> Truth:
        return truth_of(self.of_type(of_type).default)

    def wildcard(self, of_type: TypeName) -> Truth:
        """Returns the value of the wildcard of a type, as a subject of its own: a warrant to it gives the relation."""
        default, unnamed = self.of_type(of_type).default, self.result_sets[None].default
        if default is EXPLICIT or default >= TRUE > unnamed:
            return TRUE
        return UNKNOWN if default is UNKNOWN and unnamed is FALSE else FALSE

    def may_concern_any(self) -> bool:
        """Returns whether subjects that no warrant names have a value."""
        return any(result_set.default for result_set in self.result_sets.values())

    def list_concerned(self) -> Iterable[ObjectRef]:
        """Yields the subjects with a value, provided that only those have one that warrants name."""
        for of_type, result_set in self.result_sets.items():
            if of_type is not None:
                yield from (ObjectRef(of_type, id) for id, value in result_set.exceptions.items() if value)


def combine_values(with_any_context: ListValue, without_context: ListValue) -> ListValue:
    """Returns the value, given the two that it consists of."""
    if without_context >= TRUE:
        return without_context
    return FALSE if with_any_context >= TRUE else with_any_context


def combine_sets(with_any_context: SubjectSets, without_context: SubjectSets) -> SubjectSets:
    """Returns the values of the same relation, given the two that each consists of."""
    combined: dict[TypeName | None, ResultSet] = {}
    for of_type in with_any_context.result_sets:
        one, other = with_any_context.of_type(of_type), without_context.of_type(of_type)
        found = combined[of_type] = ResultSet(combine_values(one.default, other.default))
        for id in (*one.exceptions, *other.exceptions):
            found.exceptions[id] = combine_values(one.value(id), other.value(id))
    return SubjectSets(combined)


NO_SUBJECTS = SubjectSets({None: ResultSet()})
"""Holds the values of a relation that is not defined."""


def find_subject_sets(search: SubjectSearch, roots: Sequence[Root]) -> Steps[Mapping[Root, SubjectSets | None]]:
    """Returns the values of these relations on objects; None for all of them if one rests on its own negation."""
    found = yield from search.find_result_sets(roots)
    if found is None:
        return dict.fromkeys(roots)
    return {root: SubjectSets({of_type: by_root[root] for of_type, by_root in found.items()}) for root in roots}


def decide_checks(evaluation: Evaluation, checks: Sequence[Check]) -> Steps[list[Truth]]:
    """Returns the values of the checks, whose context is ANY_CONTEXT. The evaluation may have decided others before."""
    values = yield from _decide(evaluation, checks)
    undecided = [place for place, value in enumerate(values) if value in (UNKNOWN, UNDEFINED)]
    alone = [msgspec.structs.replace(checks[place], context={}) for place in undecided]
    for place, value in zip(undecided, (yield from _decide(evaluation, alone)) if alone else (), strict=True):
        values[place] = truth_of(combine_values(values[place], value))
    return values


def _decide(evaluation: Evaluation, checks: Sequence[Check]) -> Steps[list[Truth]]:
    nodes = []
    for check in checks:
        while (node := evaluation.add_check(check)) is None:
            yield None
        nodes.append(node)
        evaluation.work.spend(1)
        if evaluation.work.needs_checkpoint:
            yield None
    while (reads := evaluation.advance()) != []:
        warrants = yield reads
        if reads and warrants is not None:
            evaluation.take(warrants)
    return [FALSE if node.value is None else node.value for node in nodes]


def check_subjects(
    evaluation: Evaluation,
    by_warrants_alone: Evaluation,
    root: Root,
    subjects: Mapping[TypeName, Sequence[ObjectId]],
) -> Steps[SubjectSets]:
    """Returns the values of a relation on an object that rests on its own negation, so that each subject has to be
    checked by itself: all these, which must include those that warrants name. `by_warrants_alone` evaluates a model
    without rules."""
    object, relation = root

    def build_check(of_type: TypeName, id: ObjectId) -> Check:
        return Check(object, relation, _NOBODY_AT_ALL if id == NOBODY else Subject(of_type, id), ANY_CONTEXT)

    refs = [(of_type, id) for of_type, ids in subjects.items() for id in (*ids, WILDCARD)]
    values = yield from decide_checks(evaluation, [build_check(*ref) for ref in (*refs, (TypeName(""), NOBODY))])
    wildcards = [build_check(of_type, WILDCARD) for of_type in subjects]
    explicit = yield from decide_checks(by_warrants_alone, wildcards)
    found: dict[TypeName | None, ResultSet] = {None: ResultSet(values[-1])}
    found |= {of_type: ResultSet() for of_type in subjects}
    is_explicit = {of_type: value is TRUE for of_type, value in zip(subjects, explicit, strict=True)}
    for (of_type, id), value in zip(refs, values, strict=False):
        if id == WILDCARD:
            default: ListValue = EXPLICIT if is_explicit[of_type] else value
            found[of_type].default = default
        else:
            found[of_type].exceptions[id] = value
    return SubjectSets(found)
