"""Cuts pages out of the result of a search with bitmaps, and finds the warrants of their rows.

The order of the rows is that of their type, id and relation. The warrant that a row reports depends on the warrants on
its object, which are read for the rows of a page only.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple

from pyroaring import BitMap

from magistrate.engine.bitmaps.connected_graph import SetEdge, SetNode, UnknownAs
from magistrate.engine.bitmaps.object_sets import ObjectSet, ObjectSets
from magistrate.engine.byte_sizes import OBJECT_BYTES, SLOT_BYTES, measure_bitmap
from magistrate.engine.cache.ids import IdTable
from magistrate.engine.lists.results import EXPLICIT, ListValue, QueryRow
from magistrate.engine.lists.reverse_graph import PlacedWarrant, Target, find_report, note_reports
from magistrate.engine.model.plans import Operation, Plan
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.steps import Checkpoints, Steps, fetch_warrants
from magistrate.engine.subjects import Subject, select_kind
from magistrate.engine.truth import FALSE, TRUE
from magistrate.engine.warrants.reader import WarrantRead, WarrantsByObject
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import ITEMS_AT_ONCE, Work

Entry = tuple[TypeName, ObjectId, RelationName]
"""Names a row."""


_Kind = tuple[TypeName, RelationName, TypeName, str]
"""Equals an AdjacencyKey, and takes less time to make."""

_EMPTY = ObjectSet()


class OrderedNumbers(ABC):
    """Holds the numbers of rows by type and relation, from which they are listed in order."""

    def __init__(
        self, tables: Mapping[TypeName, IdTable], results: Iterable[tuple[Target, BitMap]], valid_until: int
    ) -> None:
        self.valid_until = valid_until
        self._tables = tables
        self._relations: dict[TypeName, list[tuple[RelationName, BitMap]]] = defaultdict(list)
        for (of_type, relation), numbers in sorted(results, key=itemgetter(0)):
            self._relations[of_type].append((relation, numbers))
        self._numbers = {
            of_type: BitMap.union(*(numbers for _, numbers in relations))
            for of_type, relations in self._relations.items()
        }

    def restrict(self, others: "OrderedNumbers", is_negated: bool) -> None:
        """Keeps the rows whose objects have a row in the others, or with `is_negated` none. Both must be of the same
        tables."""
        self.valid_until = min(self.valid_until, others.valid_until)
        for of_type, relations in self._relations.items():
            within = others._numbers.get(of_type, BitMap())
            self._relations[of_type] = [
                (relation, numbers - within if is_negated else numbers & within) for relation, numbers in relations
            ]
            self._numbers[of_type] = BitMap.union(*(numbers for _, numbers in self._relations[of_type]))

    def measure(self) -> Iterator[int]:
        """Yields what some of its parts take in memory, until all are measured: here the numbers of the rows."""
        yield sum([measure_bitmap(numbers) for relations in self._relations.values() for _, numbers in relations])
        yield sum(map(measure_bitmap, self._numbers.values()))

    def count(self) -> int:
        """Returns the number of rows."""
        return sum(len(numbers) for relations in self._relations.values() for _, numbers in relations)

    def list_entries(self, boundary: Entry | None, most: int, descending: bool, work: Work) -> Checkpoints[list[Entry]]:
        """Returns up to `most` rows in order, from the first, or those behind the boundary, which need not be a row."""
        page: list[Entry] = []
        for of_type in sorted(self._relations, reverse=descending):
            if boundary is not None and (of_type > boundary[0] if descending else of_type < boundary[0]):
                continue
            start = boundary[1] if boundary is not None and boundary[0] == of_type else None
            relations = self._relations[of_type][:: -1 if descending else 1]
            # One more id than rows are wanted: the object of the boundary may have no row after the boundary.
            ids = self._tables[of_type].list_ids(
                self._numbers[of_type], start, most + 1 - len(page), descending, work=work
            )
            for numbered in ids:
                if numbered is None:
                    yield None
                    continue
                object_id, number = numbered
                entries = ((of_type, object_id, relation) for relation, numbers in relations if number in numbers)
                page += (entry for entry in entries if _is_behind(entry, boundary, descending))
            if len(page) >= most:
                break
        return page[:most]

    @abstractmethod
    def find_reports(self, entries: Sequence[Entry], work: Work) -> Steps[list[QueryRow]]:
        """Returns the row of each of these entries. Raises BudgetExceeded."""


class OrderedSets(OrderedNumbers):
    """Holds the rows of a list of objects in order. `existing` has the existing objects of each type that `sets` has
    complements of, and `absent` those of its rows that do not exist, by type."""

    def __init__(
        self, sets: ObjectSets, existing: Mapping[TypeName, BitMap], absent: Mapping[TypeName, BitMap]
    ) -> None:
        self.sets = sets
        self._existing = existing
        self._absent = absent
        roots = sets.graph.roots.items()
        numbers = ((target, self._list_numbers(target[0], root)) for target, root in roots)
        super().__init__(sets.tables, numbers, sets.valid_until)

    def _list_numbers(self, of_type: TypeName, root: SetNode) -> BitMap:
        object_set = self.sets.sets.get(root, _EMPTY)
        numbers = object_set.restrict(self._existing[of_type]) if object_set.is_complement else object_set.numbers
        return numbers - self._absent[of_type] if of_type in self._absent else numbers

    def measure(self) -> Iterator[int]:
        yield from super().measure()
        yield SLOT_BYTES * len(self.sets.condition_values)
        for object_set in self.sets.sets.values():
            yield 2 * OBJECT_BYTES + measure_bitmap(object_set.numbers) + measure_bitmap(object_set.explicit)

    def find_reports(self, entries: Sequence[Entry], work: Work) -> Steps[list[QueryRow]]:
        sets = self.sets
        ids: dict[TypeName, dict[ObjectId, None]] = defaultdict(dict)
        targets: dict[TypeName, dict[Target, None]] = defaultdict(dict)
        for of_type, object_id, relation in entries:
            ids[of_type][object_id] = targets[of_type][of_type, relation] = None
        reported: dict[SetNode, _ReportedNode] = {}
        for of_type, relations in targets.items():
            nodes = dict.fromkeys(node for target in relations for node in sets.graph.on_object[target])
            yield from _report_on(sets, of_type, tuple(ids[of_type]), nodes, reported=reported, work=work)
        results: list[QueryRow] = []
        for of_type, object_id, relation in entries:
            root = reported[sets.graph.roots[of_type, relation]]
            results.append(
                QueryRow(
                    of_type,
                    object_id,
                    relation,
                    find_report(root, object_id),
                    is_implicit=root.value(object_id) < EXPLICIT,
                )
            )
            yield from work.charge(1)
        return results


def _is_behind(entry: Entry, boundary: Entry | None, descending: bool) -> bool:
    return boundary is None or (entry < boundary if descending else entry > boundary)


@dataclass(eq=False, slots=True)
class _ReportedNode:
    """Implements Reporting for the objects of one page, whose numbers are in `numbers`."""

    plan: Plan | Operation | None
    holding: ObjectSet
    numbers: Mapping[ObjectId, int | None]
    branches: "list[_ReportedNode]" = field(default_factory=list)
    first_warrants: dict[ObjectId, PlacedWarrant] | None = field(default_factory=dict)
    explicit: dict[ObjectId, PlacedWarrant] = field(default_factory=dict)

    def value(self, object_id: ObjectId) -> ListValue:
        return self.holding.find_value(self.numbers[object_id])


class SetPage(NamedTuple):
    """Holds rows in ascending order, and whether there are rows below and above them."""

    results: Sequence[QueryRow]
    has_below: bool = False
    has_above: bool = False


def cut_page(
    ordered: OrderedNumbers, boundary: Entry | None, limit: int, descending: bool, work: Work
) -> Steps[SetPage]:
    """Returns up to `limit` rows on one side of a boundary, the nearest ones: those above it or, with `descending`,
    those below it. Without a boundary these are the first rows or the last."""
    entries = yield from ordered.list_entries(boundary, limit + 1, descending, work)
    goes_on, entries = len(entries) > limit, entries[:limit]
    if not entries:
        return SetPage(())
    others: Sequence[Entry] = ()
    if boundary is not None:
        others = yield from ordered.list_entries(entries[0], 1, not descending, work)
    results = yield from ordered.find_reports(entries, work)
    if descending:
        return SetPage(results[::-1], goes_on, bool(others))
    return SetPage(results, bool(others), goes_on)


def _report_on(
    sets: ObjectSets,
    of_type: TypeName,
    ids: tuple[ObjectId, ...],
    nodes: Iterable[SetNode],
    reported: dict[SetNode, _ReportedNode],
    work: Work,
) -> Steps[None]:
    """Adds the nodes on these objects, with the warrants that are reported for each."""
    nodes = [*nodes]
    numbers = {object_id: sets.tables[of_type].find(object_id) for object_id in ids}
    reported.update({node: _ReportedNode(node.plan, sets.sets.get(node, _EMPTY), numbers) for node in nodes})
    for node in nodes:
        reported[node].branches = [reported[branch] for branch in node.branches]
    edges = _collect_edges(sets, nodes)
    warrants: dict[int, Warrant] = {}
    for read in (yield from fetch_warrants(_plan_reads(sets, of_type, ids, edges))):
        warrants.update((warrant.number, warrant) for warrant in read)
        work.spend(len(read))
    orphaned = sets.graph.orphaned
    for count, warrant in enumerate(warrants.values(), 1):
        if not orphaned or warrant.pattern() not in orphaned:
            names = (warrant.object_type, warrant.relation, warrant.subject_type, warrant.subject_relation)
            for edge in edges.get(names, ()):
                _note(sets, edge, warrant, reported)
                work.spend(1)
        if not count % ITEMS_AT_ONCE:
            yield from work.charge(1)


def _collect_edges(sets: ObjectSets, nodes: Sequence[SetNode]) -> Mapping[_Kind, Sequence[SetEdge]]:
    """Returns the edges to these nodes by the kind of their warrants, without those below an exclusion, for which
    nothing is reported."""
    edges: dict[_Kind, list[SetEdge]] = defaultdict(list)
    for node in nodes:
        for key, new_edges in (
            sets.graph.incoming.get(node, {}).items() if node.unknown_as is not UnknownAs.TRUE else ()
        ):
            edges[key] += new_edges
    return edges


def _note(sets: ObjectSets, edge: SetEdge, warrant: Warrant, reported: Mapping[SetNode, _ReportedNode]) -> None:
    """Notes a warrant that may be reported for the target of the edge."""
    value = _subject_value(sets, edge, warrant)
    node = reported.get(edge.target)
    if value is FALSE or node is None or node.first_warrants is None:
        return
    if warrant.is_conditional and sets.condition_values.get(warrant.number) is not TRUE:
        return
    note_reports(node.first_warrants, node.explicit, edge.place, [(warrant, min(value, edge.limit))])


def _subject_value(sets: ObjectSets, edge: SetEdge, warrant: Warrant) -> ListValue:
    if edge.origin is sets.graph.itself:
        return EXPLICIT if warrant.subject_id in (sets.subject.id, WILDCARD) else FALSE
    holding = sets.sets.get(edge.origin)
    if holding is None:
        return FALSE
    return holding.find_value(sets.tables[warrant.subject_type].find(warrant.subject_id))


def _plan_reads(
    sets: ObjectSets, of_type: TypeName, ids: tuple[ObjectId, ...], edges: Mapping[_Kind, Sequence[SetEdge]]
) -> list[WarrantRead]:
    """Returns the reads of all warrants on these objects along edges to one of their nodes."""
    subject = Subject(sets.subject.type, sets.subject.id)
    relations: dict[Subject | TypeName | None, dict[RelationName, None]] = defaultdict(dict)
    for (_, relation, subject_type, subject_relation), kind_edges in edges.items():
        for edge in kind_edges:
            is_direct = edge.origin is sets.graph.itself
            subjects = subject if is_direct else select_kind(subject_type, subject_relation)
            relations[subjects][relation] = None
    has_wildcards = sets.has_wildcards
    requests = [WarrantsByObject(of_type, tuple(each), subjects, has_wildcards) for subjects, each in relations.items()]
    return [WarrantRead(request, (*ids, WILDCARD) if has_wildcards else ids) for request in requests]
