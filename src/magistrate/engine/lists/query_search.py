"""Builds the search that answers a query."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from magistrate.engine.evaluation.check import Check
from magistrate.engine.evaluation.conditions import PolicyEvaluator
from magistrate.engine.lists.candidates import NOBODY, Candidates, check_candidates
from magistrate.engine.lists.language import ObjectsQuery, Query, SubjectsQuery
from magistrate.engine.lists.objects import find_objects
from magistrate.engine.lists.results import (
    Findings,
    RelationResult,
    ResultSet,
    collect_ids,
    restrict_result_set,
)
from magistrate.engine.lists.reverse_graph import ReverseGraph, Target
from magistrate.engine.lists.subjects import SubjectSearch
from magistrate.engine.model.model import Model
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.steps import Checkpoints, Run, Steps, discard, take_pieces
from magistrate.engine.subjects import Subject, split_subject_type
from magistrate.engine.terms import ObjectRef
from magistrate.engine.work import ITEMS_AT_ONCE, Work
from magistrate.errors import NotFound


def meet_conditions(query: ObjectsQuery, searches: Sequence[Steps[Findings]], work: Work) -> Steps[Findings]:
    """Returns the rows of the first search on the objects that meet the further conditions, whose searches follow in
    their order. Without a result set in one of them, there is none for the rows."""
    first, *others = searches
    findings = yield from first
    for condition, search in zip(query.further, others, strict=True):
        if findings.relation_results is None:
            break
        other_findings = yield from search
        valid_until = min(findings.valid_until, other_findings.valid_until)
        if other_findings.relation_results is None:
            return Findings(None, valid_until)
        yield from _restrict(findings.relation_results, other_findings.relation_results, condition.is_negated, work)
        yield from discard(
            [container for result in other_findings.relation_results for container in result.unlink()], work
        )
        findings = Findings(
            findings.relation_results, valid_until, {*findings.self_objects, *other_findings.self_objects}
        )
    return findings


def _restrict(
    results: Sequence[RelationResult], others: Sequence[RelationResult], is_negated: bool, work: Work
) -> Checkpoints[None]:
    sets: dict[TypeName | None, list[ResultSet]] = defaultdict(list)
    for other in others:
        sets[other.type].append(other.result_set)
    for result in results:
        result_set, further = result.result_set, sets[result.type]
        ids = [*result_set.exceptions]
        if result_set.default:
            ids = [*(yield from take_pieces(collect_ids((result_set, *further)), work))]
        work.spend(len(further) * len(ids) // ITEMS_AT_ONCE)
        yield from take_pieces(restrict_result_set(result_set, further, ids, is_negated), work)


def begin_search(model: Model, query: Query, context: Mapping[str, Any], now: int, work: Work) -> Run[Findings]:
    """Returns the search for a query. Raises NotFound for the first type in the query that is not defined; the type of
    a `where` subject need not be."""
    demand_types(model, query)
    conditions = PolicyEvaluator(context, now, work, model.policies)
    examined = model.without_rules() if query.is_explicit else model
    if isinstance(query, ObjectsQuery) and query.subject_relation:
        return Run(work, _compute_nothing())
    if isinstance(query, ObjectsQuery):
        queries = [query, *query.list_further()]
        graphs = [ReverseGraph(examined, condition.subject.type, work) for condition in queries]
        searches = [
            find_objects(graph, find_targets(model, condition), condition.subject, conditions, work=work)
            for graph, condition in zip(graphs, queries, strict=True)
        ]
        remains = [container for graph in graphs for container in graph.remains]
        return Run(work, meet_conditions(query, searches, work), remains)
    types, relations = list_subject_types(model, query), list_relations(model, query)
    search = SubjectSearch(examined, types, query.types is None, conditions, work=work)
    return Run(work, search.steps(query.object, relations), search.remains)


def _compute_nothing() -> Steps[Findings]:
    """Returns findings that leave each candidate to be checked by itself."""
    yield None
    return Findings(None)


def check_each(
    model: Model,
    query: Query,
    existing: Mapping[TypeName, Sequence[ObjectId]],
    context: Mapping[str, Any],
    now: int,
    work: Work,
) -> Run[Findings]:
    """Returns a search that checks every existing object of `find_row_types`, by type, for Findings that have no listed
    rows."""
    if isinstance(query, ObjectsQuery):
        searches = [
            check_candidates(model, _list_object_candidates(model, condition, existing, context), False, now, work=work)
            for condition in (query, *query.list_further())
        ]
        return Run(work, meet_conditions(query, searches, work))
    candidates = [
        _subject_candidates(query, of_type, relation, existing.get(of_type, ()), context=context)
        for of_type in dict.fromkeys([*list_subject_types(model, query), *existing])
        for relation in list_relations(model, query)
    ]
    return Run(work, check_candidates(model, candidates, True, now, work=work))


def find_row_types(model: Model, query: Query) -> set[TypeName | None]:
    """Returns the types that rows can have, subject types among them; None stands for all types there are."""
    if isinstance(query, SubjectsQuery):
        return {None} if query.types is None else {*query.types}
    return {of_type for of_type, _ in find_targets(model, query)}


def list_subject_types(model: Model, query: SubjectsQuery) -> list[TypeName]:
    """Returns the subject types of the query; `*` stands for the defined types and those that warrants name."""
    if query.types is not None:
        return list(query.types)
    return sorted({*model.types, *(pattern.subject_type for pattern in model.patterns)})


def demand_types(model: Model, query: Query) -> None:
    """Raises NotFound for the first type in the query that is not defined; the type of a `where` subject need not
    be, nor those of subjects if the query does not demand it."""
    exceptions = list(query.types or ())
    if isinstance(query, SubjectsQuery):
        exceptions = [*(exceptions if query.demands_types else ()), query.object.type]
    for name, _ in map(split_subject_type, exceptions):
        if name not in model.types:
            raise NotFound("ObjectType", name)


def find_targets(model: Model, query: ObjectsQuery) -> list[Target]:
    """Returns the types and relations that a query names, as far as they are defined."""
    return [
        (of_type, relation)
        for of_type in query.types or sorted(model.types)
        for relation in model.types[of_type].relations
        if query.relations is None or relation in query.relations
    ]


def list_relations(model: Model, query: SubjectsQuery) -> list[RelationName]:
    defined = model.types[query.object.type].relations
    return [relation for relation in defined if query.relations is None or relation in query.relations]


def _list_object_candidates(
    model: Model,
    query: ObjectsQuery,
    existing: Mapping[TypeName, Sequence[ObjectId]],
    context: Mapping[str, Any],
) -> list[Candidates]:
    targets = find_targets(model, query)
    return [_object_candidates(query, target, existing.get(target[0], ()), context) for target in targets]


def _object_candidates(
    query: ObjectsQuery, target: Target, ids: Sequence[ObjectId], context: Mapping[str, Any]
) -> Candidates:
    of_type, relation = target
    subject = Subject(query.subject.type, query.subject.id, query.subject_relation)
    return Candidates(
        of_type, relation, ids, lambda object_id: Check(ObjectRef(of_type, object_id), relation, subject, context)
    )


def _subject_candidates(
    query: SubjectsQuery,
    of_type: TypeName,
    relation: RelationName,
    ids: Sequence[ObjectId],
    context: Mapping[str, Any],
) -> Candidates:
    name, userset = split_subject_type(of_type)

    def build_check(object_id: ObjectId) -> Check:
        is_nobody = object_id == NOBODY
        subject = Subject(TypeName(""), WILDCARD) if is_nobody else Subject(name, object_id, userset)
        return Check(query.object, relation, subject, context)

    return Candidates(of_type, relation, (*ids, WILDCARD, NOBODY), build_check)
