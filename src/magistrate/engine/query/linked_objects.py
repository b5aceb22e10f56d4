"""Computes on which objects a quantifier holds, once it is known on which linked objects the subject has the relation.

If only the objects matter on which it holds, those that are linked to an object with the relation are found first, and
all links of these are read. Otherwise all links of the type are read.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from magistrate.engine.conditions import PolicyEvaluator
from magistrate.engine.expansion import ArrowBranch, Operation
from magistrate.engine.plans import Model
from magistrate.engine.query.result_set import ListValue, truth_of
from magistrate.engine.query.reverse_graph import IDS_AT_ONCE, ReverseNode
from magistrate.engine.query.search import Steps, fetch_warrants
from magistrate.engine.terms import WILDCARD, ObjectId, TypeName
from magistrate.engine.truth import FALSE, TRUE, Truth
from magistrate.engine.warrant_reader import AnyRead, ReverseWarrantRead, WarrantRead, WarrantsBySubject
from magistrate.engine.warrants import Warrant, creation_order
from magistrate.engine.work import Work


class LinkedObjects(NamedTuple):
    """Holds the value of a quantifier on the objects of a type: those of `exceptions`, and `default` on the rest."""

    default: ListValue
    exceptions: dict[ObjectId, ListValue]


def find_linked_objects(
    model: Model, node: ReverseNode, conditions: PolicyEvaluator, work: Work
) -> Steps[LinkedObjects]:
    """Returns the values, given the node of the quantifier, and keeps with the node the link that is reported on each
    object where it holds: the oldest."""
    plan = node.plan
    assert isinstance(plan, Operation)
    [link] = plan.links
    links: dict[ObjectId, list[Warrant]] = defaultdict(list)
    for reads in (yield from _plan_reads(node, plan.type, link)):
        for found in (yield from fetch_warrants(reads)):
            yield from conditions.evaluate_each(found)
            for warrant in filter(model.counts, link.select(found)):
                links[warrant.object_id].append(warrant)
            work.spend(len(found))
            if work.needs_checkpoint:
                yield None
    everywhere = links.pop(WILDCARD, [])
    exceptions: dict[ObjectId, ListValue] = {}
    for id, own in links.items():
        exceptions[id] = _compute_value(node, plan, [*own, *everywhere], conditions)
        _report(node, id, own, conditions)
        work.spend(1 + len(everywhere))
        if work.needs_checkpoint:
            yield None
    _report(node, WILDCARD, everywhere, conditions)
    if node.is_needed_anywhere:
        all_links = [*everywhere, *(one for own in links.values() for one in own)]
        exceptions[WILDCARD] = _compute_value(node, plan, all_links, conditions)
    return LinkedObjects(_compute_value(node, plan, everywhere, conditions), exceptions)


def _plan_reads(node: ReverseNode, of_type: TypeName, link: ArrowBranch) -> Steps[Iterator[Sequence[AnyRead]]]:
    """Returns the reads of all links that matter, in batches."""
    requests, [origin] = link.requests, node.origins
    is_general = node.is_exact or node.is_needed_anywhere or origin.default is not FALSE
    if is_general or any(request.has_object_wildcard or request.subjects is None for request in requests):
        return iter([[WarrantRead(request, None)] for request in requests])
    holding = [id for id, value in origin.exceptions.items() if value >= TRUE and id != WILDCARD]
    objects: dict[ObjectId, None] = {}
    to_them = WarrantsBySubject(of_type, (link.with_relation,), link.of_type, "")
    for ids in _split(holding if requests else []):
        [found] = yield from fetch_warrants([ReverseWarrantRead(to_them, ids)])
        objects.update((warrant.object_id, None) for warrant in found)
    return ([WarrantRead(request, ids) for request in requests] for ids in _split([*objects]))


def _split(ids: Sequence[ObjectId]) -> Iterator[tuple[ObjectId, ...]]:
    return (tuple(ids[start : start + IDS_AT_ONCE]) for start in range(0, len(ids), IDS_AT_ONCE))


def _compute_value(node: ReverseNode, plan: Operation, links: Sequence[Warrant], conditions: PolicyEvaluator) -> Truth:
    quantifier, [origin] = plan.rule.quantifier, node.origins
    assert quantifier is not None
    limits = [conditions.value(one) for one in links]
    values = [
        quantifier.of_wildcard if one.subject_id == WILDCARD else truth_of(origin.value(one.subject_id))
        for one in links
    ]
    return plan.rule.combine([quantifier.begin(limits), *map(quantifier.weigh, limits, values)])


def _report(node: ReverseNode, id: ObjectId, links: Sequence[Warrant], conditions: PolicyEvaluator) -> None:
    certain = [one for one in links if conditions.value(one) is TRUE]
    if node.first_warrants is not None and certain:
        node.first_warrants[id] = (0, min(certain, key=creation_order))
