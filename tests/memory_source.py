"""Warrants in a list, read by the book: the engine without a store. Counts its reads."""

import asyncio
from collections.abc import Generator, Mapping, Sequence, Set
from contextlib import nullcontext
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import msgspec

from magistrate.engine.evaluation.check import Check
from magistrate.engine.evaluation.evaluation import Evaluation
from magistrate.engine.evaluation.nodes import CheckNode, EvaluationScope
from magistrate.engine.evaluation.paths import PathSearch
from magistrate.engine.explanation.explanation import Explanation, ExplanationSearch
from magistrate.engine.lists.language import Query
from magistrate.engine.lists.query_search import begin_search, check_each, find_row_types
from magistrate.engine.lists.results import Findings, QueryRow
from magistrate.engine.model.model import Model
from magistrate.engine.model.object_types import TypeAdditions, read_object_type
from magistrate.engine.names import WILDCARD, ObjectId, Revision, TypeName
from magistrate.engine.policy.named_policies import NamedPolicy, read_named_policy
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.steps import Run
from magistrate.engine.subjects import Subject, split_subject_type
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import TRUE
from magistrate.engine.warrants.overlay import NO_CHANGES, Overlay
from magistrate.engine.warrants.reader import AnyRead, ReverseWarrantRead, WarrantsByObject, WarrantsBySubject
from magistrate.engine.warrants.warrant import ChangedWarrant, Warrant
from magistrate.engine.work import Work
from magistrate.operations.checks.suggestions import SuggestionCompletion
from magistrate.operations.difference.states import ComparedState
from magistrate.operations.models.tests import StoreInMemory

Relations = dict[str, dict[str, object]]
"""Rules as JSON, by relation."""

T = TypeVar("T")

PLENTY = 1_000_000
"""A budget that no test spends by accident."""


def model_of(
    types: dict[str, Relations],
    warrants: Sequence[Warrant] = (),
    allowed: Mapping[str, Mapping[str, Sequence[str]]] = MappingProxyType({}),
    policies: Mapping[str, Any] = MappingProxyType({}),
) -> Model:
    """One that knows the forms of these warrants. `allowed` has the allowed types by type and relation, `policies` the
    named policies, or their parameters and expressions."""
    forms = msgspec.convert(types, dict[str, dict[str, RuleDefinition | None]])
    additions = {
        name: TypeAdditions({relation: tuple(texts) for relation, texts in allowed.get(name, {}).items()})
        for name in forms
    }
    types_by_name = {
        TypeName(name): read_object_type(name, None, form, additions[name]) for name, form in forms.items()
    }
    named = [one if isinstance(one, NamedPolicy) else read_named_policy(name, *one) for name, one in policies.items()]
    patterns = {warrant.pattern() for warrant in warrants}
    return Model(types_by_name, Revision(1), patterns, policies={one.name: one for one in named})


def rows_over(warrants: Sequence[Warrant], reads: Sequence[AnyRead], overlay: Overlay) -> list[Sequence[Warrant]]:
    """The rows of each read over an overlay."""
    return [overlay.merge(read, rows_of(warrants, read)) for read in reads]


def rows_of(warrants: Sequence[Warrant], read: AnyRead) -> list[Warrant]:
    request = read.request
    if isinstance(request, WarrantsBySubject):
        names = (request.type, request.subject_type, request.subject_relation)
        found = [
            warrant
            for warrant in warrants
            if (read.ids is None or warrant.subject_id in read.ids)
            and (warrant.object_type, warrant.subject_type, warrant.subject_relation) == names
            and warrant.relation in request.relations
        ]
        beyond = read.beyond if isinstance(read, ReverseWarrantRead) else None
        return found if beyond is None else found[beyond : beyond + 1]
    return [
        warrant
        for warrant in warrants
        if (read.ids is None or warrant.object_id in read.ids) and _has_shape(warrant, request)
    ]


def change_of(warrant: Warrant, exists: bool) -> ChangedWarrant:
    """Of a warrant that was written or deleted, as the change log has it: it does not say which limits a warrant had
    that was deleted."""
    is_unknown = warrant.policy or (exists and warrant.is_conditional)
    return ChangedWarrant(warrant.names, None if is_unknown else exists)


def _has_shape(warrant: Warrant, request: WarrantsByObject) -> bool:
    if warrant.object_type != request.type or warrant.relation not in request.relations:
        return False
    wanted = request.subjects
    if isinstance(wanted, Subject):
        ids = (wanted.id, WILDCARD) if request.has_subject_wildcard else (wanted.id,)
        same_kind = (warrant.subject_type, warrant.subject_relation) == (wanted.type, wanted.relation)
        return same_kind and warrant.subject_id in ids
    if wanted is None:
        return warrant.subject_relation != ""
    return (warrant.subject_type, warrant.subject_relation) == (wanted, "")


def completed(
    explanation: Explanation,
    model: Model,
    warrants: Sequence[Warrant],
    check: Check,
    now: int = 0,
    contextual: Overlay = NO_CHANGES,
) -> Explanation:
    """The explanation with links to create, if nothing else would do, and with the effects of its suggestions."""

    async def complete() -> Explanation:
        store = StoreInMemory(Overlay(warrants))
        state = ComparedState(model, store, Revision(1), now)
        search = SuggestionCompletion(store, store, state, check, contextual)
        return await search.complete(explanation, lambda most: nullcontext(Work(PLENTY)))

    return asyncio.run(complete())


def evaluated(
    model: Model,
    warrants: Sequence[Warrant],
    questions: Sequence[Check],
    now: int = 0,
    budget: int = PLENTY,
    overlay: Overlay = NO_CHANGES,
) -> tuple[list[CheckNode], int]:
    """The decided nodes of the checks, and how many batches were read for them."""
    work = Work(budget)
    evaluation = Evaluation(model, now, work)
    nodes: list[CheckNode] = []
    levels = 0
    while len(nodes) < len(questions):
        work.pass_checkpoint()
        node = evaluation.add_check(questions[len(nodes)])
        nodes += [node] if node is not None else []
    while any(node.value is None for node in nodes):
        work.pass_checkpoint()
        if reads := evaluation.advance():
            levels += 1
            evaluation.take(rows_over(warrants, reads, overlay))
    return nodes, levels


def found_paths(
    model: Model, warrants: Sequence[Warrant], questions: Sequence[Check], now: int = 0, overlay: Overlay = NO_CHANGES
) -> list[list[Warrant] | None]:
    """The reported path of each check, None where it is not authorized."""
    work = Work(PLENTY)
    evaluation = Evaluation(model, now, work, EvaluationScope(with_paths=True))
    nodes: list[CheckNode] = []
    while len(nodes) < len(questions):
        work.pass_checkpoint()
        node = evaluation.add_check(questions[len(nodes)])
        nodes += [node] if node is not None else []
    while (reads := evaluation.advance()) != []:
        work.pass_checkpoint()
        if reads:
            evaluation.take(rows_over(warrants, reads, overlay))
    holding = [node for node in nodes if node.value is TRUE]
    search = PathSearch(evaluation.model, holding, work)
    _completed(search.prepare(), work)
    return [_completed(search.find(node), work) if node.value is TRUE else None for node in nodes]


def _completed(steps: Generator[None, Any, T], work: Work) -> T:
    while True:
        try:
            next(steps)
        except StopIteration as done:
            returned: T = done.value
            return returned
        work.pass_checkpoint()


class Found(NamedTuple):
    """By type, id and relation. `levels`: how many batches were read; `listed_types`: of how many types all objects had
    to be known. `looks_up_itself`: whether it was looked up if the object that the query names exists."""

    rows: list[QueryRow]
    levels: int
    listed_types: int
    looks_up_itself: bool = False


def found(
    model: Model,
    warrants: Sequence[Warrant],
    objects: Sequence[ObjectRef],
    query: Query,
    context: Mapping[str, Any],
    now: int = 0,
    overlay: Overlay = NO_CHANGES,
) -> Found:
    findings, levels = searched(begin_search(model, query, context, now, Work(PLENTY)), warrants, overlay)
    if findings.relation_results is None:
        candidates = _existing(objects, find_row_types(model, query), overlay)
        checking = check_each(model, query, candidates, context, now, Work(PLENTY))
        checked, more = searched(checking, warrants, overlay)
        return Found(_rows(checked, candidates), levels + more, len(find_row_types(model, query)))
    named = findings.self_objects
    for ref in named:
        if ref.id not in _existing(objects, {ref.type}, overlay).get(ref.type, ()):
            findings = findings.without(ref)
    existing = _existing(objects, findings.types_to_read, overlay)
    return Found(_rows(findings, existing), levels, len(findings.types_to_read), bool(named))


def _existing(
    objects: Sequence[ObjectRef], types: Set[TypeName | None], overlay: Overlay
) -> dict[TypeName, Sequence[ObjectId]]:
    ids: dict[TypeName, list[ObjectId]] = {name: [] for name in overlay.objects}
    for one in objects:
        ids.setdefault(one.type, []).append(one.id)
    wanted = [*ids] if None in types else [name for name in types if name is not None]
    pairs = [(name, split_subject_type(name)[0]) for name in wanted]
    return {name: overlay.merge_objects(of_type, ids.get(of_type, ())) for name, of_type in pairs}


def _rows(findings: Findings, existing: Mapping[TypeName, Sequence[ObjectId]]) -> list[QueryRow]:
    named = findings.by_name(existing)
    rows = [
        relation_results.row(of_type, object_id)
        for (of_type, _), relation_results in named.items()
        for object_id in relation_results.ids(existing.get(of_type, ()))
    ]
    return sorted(rows, key=lambda row: row[:3])


def searched(search: Run[Findings], warrants: Sequence[Warrant], overlay: Overlay = NO_CHANGES) -> tuple[Findings, int]:
    levels = 0
    while (findings := search.outcome()) is None:
        if reads := search.advance():
            levels += 1
            search.take(rows_over(warrants, reads, overlay))
    return findings, levels


def explained(
    model: Model,
    warrants: Sequence[Warrant],
    check: Check,
    now: int = 0,
    budget: int = PLENTY,
    contextual: Overlay = NO_CHANGES,
) -> tuple[Explanation, int]:
    """The explanation, and how many batches were read for it."""
    search = ExplanationSearch(model, check, now, Work(budget), contextual)
    levels = 0
    while (explanation := search.outcome()) is None:
        if reads := search.advance():
            levels += 1
            search.take([rows_of(warrants, read) for read in reads])
    for _ in search.release():
        pass
    return explanation, levels
