"""Orders the subjects that a search with bitmaps has found, and makes rows of those of a page (see object_pages.py)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from pyroaring import BitMap

from magistrate.engine.bitmaps.connected_graph import UnknownAs
from magistrate.engine.bitmaps.object_pages import Entry, OrderedNumbers
from magistrate.engine.bitmaps.subject_nodes import PlanEdges, SolvedSubjects, SubjectEdge, UnionNode, list_dependents
from magistrate.engine.byte_sizes import NUMBER_BYTES, OBJECT_BYTES, SLOT_BYTES, measure_bitmap
from magistrate.engine.cache.adjacency import AdjacencyKey
from magistrate.engine.cache.adjacent_objects import unpack_numbers
from magistrate.engine.cache.ids import WILDCARD_NUMBER
from magistrate.engine.cache.subject_adjacency import (
    NUMBERS_AT_ONCE,
    AdjacentSubjects,
    SubjectEntry,
    count_subjects,
    list_conditional,
    measure_subjects,
    pack_subjects,
    select_in_order,
    select_subjects,
)
from magistrate.engine.lists.results import QueryRow
from magistrate.engine.model.plans import Operation, Plan
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.steps import Checkpoints, Steps, fetch_warrants
from magistrate.engine.subjects import select_kind
from magistrate.engine.truth import FALSE, TRUE
from magistrate.engine.warrants.reader import WarrantRead, WarrantsByObject
from magistrate.engine.warrants.warrant import Warrant, WarrantNames, creation_order
from magistrate.engine.work import ITEMS_AT_ONCE, Work

Place = tuple[Plan | Operation, int]
"""Names a plan or a combination on the object with this number."""


class ReportCandidate(NamedTuple):
    """Represents a warrant that may be reported for some subjects, or the `target` that has the report. `bits` are
    these subjects; `order` is that among the alternatives."""

    order: tuple[int, tuple[int, int]]
    bits: int
    warrant: Warrant | None
    target: Place | None


class ReportCandidates:
    """Holds candidates so that those for one subject are found without looking at those for another one alone."""

    __slots__ = ("_of_one", "_of_several")

    def __init__(self) -> None:
        self._of_one: dict[int, list[ReportCandidate]] = defaultdict(list)
        self._of_several: list[ReportCandidate] = []

    def add(self, candidate: ReportCandidate) -> None:
        if candidate.bits & (candidate.bits - 1):
            self._of_several.append(candidate)
        else:
            self._of_one[candidate.bits].append(candidate)

    def find(self, bit: int) -> Sequence[ReportCandidate]:
        """Returns the candidates for the subject with this bit, in order."""
        candidates = [
            *self._of_one.get(bit, ()),
            *(candidate for candidate in self._of_several if candidate.bits & bit),
        ]
        candidates.sort(key=attrgetter("order"))
        return candidates


class Granting(NamedTuple):
    """Represents a warrant that gives the value of its subject to some subjects; only the names are known of one that
    has to be read. `place` is that of its subject."""

    edge: SubjectEdge
    bits: int
    warrant: Warrant | WarrantNames
    place: Place | None

    def find_candidate(self, warrants: Mapping[WarrantNames, Warrant]) -> ReportCandidate:
        """Returns the candidate, given the warrants that had to be read."""
        warrant = warrants[self.warrant] if isinstance(self.warrant, WarrantNames) else self.warrant
        order = (self.edge.position, creation_order(warrant))
        return ReportCandidate(order, self.bits, warrant, None if self.edge.is_reported else self.place)


@dataclass(slots=True)
class Walked:
    """Holds what a walked place expands to: the warrants, those that give the explicit value, and then candidates."""

    granting: list[Granting] = field(default_factory=list)
    granting_explicit: list[Granting] = field(default_factory=list)
    candidates: ReportCandidates = field(default_factory=ReportCandidates)
    explicit: ReportCandidates = field(default_factory=ReportCandidates)


REPORT_PLACES_AT_ONCE = 200
PLACES_FOR_A_NODE = 4
"""Count the places that are looked at before the time slice may end, and in the time of one unit of work."""
NUMBERS_FOR_A_NODE = 50
"""Counts the numbers of an entry that are looked through in the time of one unit of work."""
MAX_WARRANTS_READ_WHOLE = 50
"""Limits the warrants of one relation on one object that are read although only some of them are needed."""


class _Values:
    """Holds the value of each place that has one. `changed` are those whose value has not been propagated yet."""

    def __init__(self) -> None:
        self.by_plan: dict[Plan, dict[int, int]] = defaultdict(dict)
        self.changed: dict[Plan, dict[int, None]] = defaultdict(dict)

    def find(self, place: Place) -> int:
        plan, number = place
        return self.by_plan[plan].get(number, 0) if isinstance(plan, Plan) and plan in self.by_plan else 0

    def gain(self, plan: Plan, number: int, bits: int) -> None:
        former = self.by_plan[plan].get(number, 0)
        if bits & ~former:
            self.by_plan[plan][number] = former | bits
            self.changed[plan][number] = None


class SubjectReports:
    """Finds the reports of subjects of one type, by number."""

    def __init__(self, sets: SolvedSubjects, of_type: TypeName, numbers: Sequence[int], work: Work) -> None:
        self._sets = sets
        self._type = of_type
        self._bits = {number: 1 << place for place, number in enumerate(numbers)}
        self._numbers = BitMap(numbers)
        self._given_bits = {**self._bits, WILDCARD_NUMBER: (1 << len(numbers)) - 1}
        """Has the bits of the subjects that a warrant to this number is to."""
        self._work = work
        self._values = _Values()
        self._explicit = _Values()
        self._walked: dict[Place, Walked] = {}

    def prepare(self, relations: Sequence[RelationName]) -> Steps[None]:
        """Computes the values, and reads the warrants that may be reported for these relations."""
        reached: dict[Plan, BitMap] = {}
        for union in self._sets.unions.values():
            for plan, numbers in () if union.unknown_as is UnknownAs.TRUE else union.reached.items():
                reached[plan] = reached[plan] | numbers if plan in reached else numbers
            yield from self._work.charge(1)
        yield from self._compute(self._values, reached, is_explicit=False)
        holding = {plan: BitMap(values) for plan, values in self._values.by_plan.items()}
        yield from self._compute(self._explicit, holding, is_explicit=True)
        yield from self._walk([self._root(relation) for relation in relations])
        yield from self._read()

    def is_explicit(self, relation: RelationName, number: int) -> bool:
        return bool(self._explicit.find(self._root(relation)) & self._bits[number])

    def find(self, relation: RelationName, number: int) -> Warrant | None:
        """Returns the report of a subject that has the relation."""
        root, bit = self._root(relation), self._bits[number]
        if self.is_explicit(relation, number):
            return self._walked[root].explicit.find(bit)[0].warrant
        seen: set[Place] = set()
        waiting: list[Place | Warrant] = [root]
        while waiting:
            reason = waiting.pop()
            if isinstance(reason, Warrant):
                return reason
            if reason not in seen:
                seen.add(reason)
                waiting += reversed(self._list_reasons(reason, bit))
        return None

    def _root(self, relation: RelationName) -> Place:
        return self._sets.roots[relation], self._sets.number

    def _list_reasons(self, place: Place, bit: int) -> Sequence[Place | Warrant]:
        """Returns what gives this subject the value that it has at the place, in order."""
        plan, number = place
        self._work.spend(1)
        if isinstance(plan, Operation):
            branches = self._sets.find_operation(plan, number).plans
            values = [TRUE if self._find_value((branch, number)) & bit else FALSE for branch in branches]
            return [(branches[position], number) for position in plan.rule.reasons(values)]
        holding = self._walked[place].candidates.find(bit)
        reasons = (each.warrant if each.target is None else each.target for each in holding)
        return [each for each in reasons if each is not None]

    def _find_value(self, place: Place) -> int:
        plan, number = place
        if isinstance(plan, Plan):
            return self._values.find(place)
        subject_set = self._sets.solved[self._type][self._sets.find_operation(plan, number)]
        return sum(self._bits[subject] for subject in subject_set.restrict(self._numbers))

    def _compute(self, values: _Values, reached: Mapping[Plan, BitMap], is_explicit: bool) -> Checkpoints[None]:
        """Computes the values of these places; with `is_explicit`, those that warrants of the relations themselves
        give."""
        edges = {plan: self._select_edges(self._sets.edges[plan], is_explicit) for plan in reached}
        for plan, numbers in reached.items():
            for edge in edges[plan].direct:
                yield from self._gain(values, plan, numbers, edge, hits=self._given_bits)
            for _, branch in edges[plan].same:
                if isinstance(branch, Operation):
                    yield from self._gain_operation(values, plan, numbers, branch)
        dependents = yield from list_dependents(edges, self._work)
        while values.changed:
            before, values.changed = values.changed, defaultdict(dict)
            for plan in dict.fromkeys(plan for target in before for plan in dependents.get(target, ())):
                yield from self._propagate(values, plan, reached[plan], edges[plan], changed=before)

    def _select_edges(self, edges: PlanEdges, is_explicit: bool) -> PlanEdges:
        """Returns those that matter for subjects of the type and, if wanted, for the explicit value."""
        direct = [edge for edge in edges.direct if edge.key.subject_type == self._type]
        if not is_explicit:
            return PlanEdges(direct, edges.followed, edges.same)
        followed = [edge for edge in edges.followed if edge.is_explicit]
        return PlanEdges([edge for edge in direct if edge.is_explicit], followed, ())

    def _gain_operation(self, values: _Values, plan: Plan, numbers: BitMap, operation: Operation) -> Checkpoints[None]:
        for number in numbers:
            values.gain(plan, number, self._find_value((operation, number)))
            yield from self._work.charge(1)

    def _propagate(
        self,
        values: _Values,
        plan: Plan,
        numbers: BitMap,
        edges: PlanEdges,
        changed: Mapping[Plan, Mapping[int, None]],
    ) -> Checkpoints[None]:
        """Propagates the values that have changed to the objects of a plan."""
        self._work.spend(1)
        for edge in edges.followed:
            if edge.target is not None and edge.target in changed:
                target_bits = values.by_plan[edge.target]
                hits = {number: target_bits[number] for number in changed[edge.target]}
                yield from self._gain(values, plan, numbers, edge, hits=hits)
        for _, branch in edges.same:
            if isinstance(branch, Plan) and branch in changed:
                for number in BitMap(changed[branch]) & numbers:
                    values.gain(plan, number, values.by_plan[branch][number])

    def _gain(
        self, values: _Values, plan: Plan, numbers: BitMap, edge: SubjectEdge, hits: Mapping[int, int]
    ) -> Checkpoints[None]:
        """Propagates these values of subjects to the objects of the warrants to them."""
        entries = self._sets.entries.get(edge.key, {})
        of_any = self._find_bits(edge.key, entries.get(WILDCARD_NUMBER, b""), hits) if edge.names_any_object else 0
        for count, number in enumerate(numbers, 1):
            entry = entries.get(number)
            bits = of_any | self._find_bits(edge.key, entry, hits) if entry else of_any
            if bits:
                values.gain(plan, number, bits)
            if not count % REPORT_PLACES_AT_ONCE:
                yield from self._work.charge(REPORT_PLACES_AT_ONCE // PLACES_FOR_A_NODE)

    def _find_bits(self, key: AdjacencyKey, entry: AdjacentSubjects, hits: Mapping[int, int]) -> int:
        """Returns the values of the subjects of the warrants together, given those of some subjects."""
        if isinstance(entry, SubjectEntry) and entry.bitmap is not None:
            among = [number for number in hits if number in entry.bitmap]
        else:
            packed = unpack_numbers(pack_subjects(entry))
            among = [] if hits.keys().isdisjoint(packed) else [number for number in packed if number in hits]
        if isinstance(entry, SubjectEntry):
            among += (number for number, _ in self._list_conditional(key, entry) if number in hits)
        bits = 0
        for number in among:
            bits |= hits[number]
        return bits

    def _list_conditional(self, key: AdjacencyKey, entry: AdjacentSubjects) -> list[tuple[int, Warrant]]:
        """Returns the conditional warrants that count, each with the number of its subject."""
        values, table = self._sets.condition_values, self._sets.tables[key.subject_type]
        counting = [warrant for warrant in list_conditional(entry) if values.get(warrant.number) is TRUE]
        return [(table.assign(warrant.subject_id), warrant) for warrant in counting]

    def _walk(self, roots: Sequence[Place]) -> Checkpoints[None]:
        """Lists the warrants of all places that the reports may be found on."""
        waiting = [*roots]
        while waiting:
            place = waiting.pop()
            plan, number = place
            if place in self._walked or not self._find_value(place):
                continue
            walked = self._walked[place] = Walked()
            if isinstance(plan, Operation):
                waiting += ((branch, number) for branch in self._sets.find_operation(plan, number).plans)
                continue
            edges = self._sets.edges[plan]
            for edge in (*edges.direct, *edges.followed):
                if edge.target is not None or edge.key.subject_type == self._type:
                    walked.granting += yield from self._list_granting(edge, number, self._values)
                    if edge.is_explicit and place in roots:
                        walked.granting_explicit += yield from self._list_granting(edge, number, self._explicit)
                yield from self._work.charge(1)
            waiting += (each.place for each in walked.granting if each.place and not each.edge.is_reported)
            for position, branch in edges.same:
                same = (branch, number)
                walked.candidates.add(ReportCandidate((position, (0, 0)), self._find_value(same), None, same))
                waiting.append(same)

    def _list_granting(self, edge: SubjectEdge, number: int, values: _Values) -> Checkpoints[list[Granting]]:
        """Returns the warrants on an object that give something."""
        bits = self._given_bits if edge.target is None else values.by_plan.get(edge.target, {})
        granting: list[Granting] = []
        for obj in (number, WILDCARD_NUMBER) if edge.names_any_object else (number,):
            entry = self._sets.entries.get(edge.key, {}).get(obj, b"")
            subjects = (yield from self._select(entry, edge, bits)) if entry and bits else ()
            for subject in subjects:
                names = self._name_warrant(edge.key, obj, subject)
                granting.append(Granting(edge, bits[subject], names, _place(edge, subject)))
                yield from self._work.checkpoint(1)
            for subject, warrant in self._list_conditional(edge.key, entry):
                if bits.get(subject, 0):
                    granting.append(Granting(edge, bits[subject], warrant, _place(edge, subject)))
        return granting

    def _select(
        self, entry: AdjacentSubjects, edge: SubjectEdge, bits: Mapping[int, int]
    ) -> Checkpoints[Sequence[int]]:
        """Returns the subjects of the unconditional warrants that give something. Of warrants that are reported
        themselves, those to usersets are left out that others before them leave nothing to."""
        if edge.target is None:
            return select_subjects(entry, bits)
        selected: list[int] = []
        missing = self._given_bits[WILDCARD_NUMBER]
        for some in select_in_order(entry, bits):
            if not edge.is_reported:
                selected += some
            for subject in some if edge.is_reported else ():
                if bits[subject] & missing:
                    selected.append(subject)
                    missing &= ~bits[subject]
            if not missing:
                break
            yield from self._work.checkpoint(NUMBERS_AT_ONCE // NUMBERS_FOR_A_NODE)
        return selected

    def _name_warrant(self, key: AdjacencyKey, obj: int, subject: int) -> WarrantNames:
        objects, subjects = self._sets.tables[key.object_type], self._sets.tables[key.subject_type]
        names = (key.object_type, objects.find_id(obj), key.relation, key.subject_type, subjects.find_id(subject))
        return WarrantNames(*names, key.subject_relation)

    def _read(self) -> Steps[None]:
        """Reads the warrants of which only the names are known."""
        names_by_range: dict[_Range, dict[WarrantNames, None]] = defaultdict(dict)
        for granting in self._list_granting_of_all():
            if isinstance(granting.warrant, WarrantNames):
                names_by_range[_range(granting.warrant)][granting.warrant] = None
            yield from self._work.checkpoint(1)
        reads: list[WarrantRead] = []
        for read in self._plan_reads(names_by_range):
            reads.append(read)
            yield from self._work.checkpoint(1)
        warrants: dict[WarrantNames, Warrant] = {}
        for matching in (yield from fetch_warrants(reads)) if reads else ():
            self._work.spend(len(matching))
            warrants.update((warrant.names, warrant) for warrant in matching if not warrant.is_conditional)
            yield from self._work.checkpoint()
        for walked in self._walked.values():
            for granting in walked.granting:
                walked.candidates.add(granting.find_candidate(warrants))
                yield from self._work.checkpoint(1)
            for granting in walked.granting_explicit:
                walked.explicit.add(granting.find_candidate(warrants))
                yield from self._work.checkpoint(1)
            self._work.spend(1)

    def _list_granting_of_all(self) -> Iterator[Granting]:
        for walked in self._walked.values():
            yield from walked.granting
            yield from walked.granting_explicit

    def _plan_reads(self, names_by_range: "Mapping[_Range, Mapping[WarrantNames, None]]") -> Iterator[WarrantRead]:
        """Yields reads of all warrants in a range of which most are wanted, and of each warrant in others."""
        whole: dict[tuple[TypeName, TypeName | None, RelationName], list[ObjectId]] = defaultdict(list)
        for (of_type, object_id, relation, subjects), names in names_by_range.items():
            if self._count_warrants(of_type, object_id, relation, subjects) <= max(
                MAX_WARRANTS_READ_WHOLE, 4 * len(names)
            ):
                whole[of_type, subjects, relation].append(object_id)
                continue
            for warrant_names in names:
                subject = warrant_names.subject
                yield WarrantRead(
                    WarrantsByObject(of_type, (relation,), subject, False, has_subject_wildcard=False), (object_id,)
                )
        relations: dict[tuple[TypeName, TypeName | None, tuple[ObjectId, ...]], list[RelationName]] = defaultdict(list)
        for (of_type, subjects, relation), ids in whole.items():
            relations[of_type, subjects, tuple(ids)].append(relation)
        for (of_type, subjects, some), each in relations.items():
            yield WarrantRead(WarrantsByObject(of_type, tuple(each), subjects, False, has_subject_wildcard=False), some)

    def _count_warrants(
        self, of_type: TypeName, object_id: ObjectId, relation: RelationName, subjects: TypeName | None
    ) -> int:
        """Returns how many warrants are in a range, as far as the search has met them."""
        number, count = self._sets.tables[of_type].assign(object_id), 0
        for key, entries in self._sets.entries.items():
            of_range = select_kind(key.subject_type, key.subject_relation)
            if key[:2] == (of_type, relation) and of_range == subjects and number in entries:
                count += count_subjects(entries[number])
        return count


_Range = tuple[TypeName, ObjectId, RelationName, TypeName | None]
"""Names the warrants of a relation on an object, to subjects of a type or, if it is None, to all usersets."""


def _range(names: WarrantNames) -> _Range:
    subjects = select_kind(names.subject_type, names.subject_relation)
    return names.object_type, names.object_id, names.relation, subjects


def _place(edge: SubjectEdge, number: int) -> Place | None:
    return None if edge.target is None else (edge.target, number)


PLACE_BYTES = 12 * OBJECT_BYTES
"""Counts what the search holds of a plan or a combination on an object, without its numbers."""


class OrderedSubjects(OrderedNumbers):
    """Holds the rows of a list of subjects in order. `existing` has the existing objects of each type that `sets` has
    complements of, and `absent` those of its rows that do not exist, by type."""

    def __init__(
        self, sets: SolvedSubjects, existing: Mapping[TypeName, BitMap], absent: Mapping[TypeName, BitMap]
    ) -> None:
        self.sets = sets
        self._existing = existing
        self._absent = absent
        numbers = ((target, self._list_numbers(*target)) for target in sets.results)
        super().__init__(sets.tables, numbers, sets.valid_until)

    def _list_numbers(self, of_type: TypeName, relation: RelationName) -> BitMap:
        subject_set = self.sets.results[of_type, relation]
        if subject_set.is_complement:
            return subject_set.restrict(self._existing[of_type]) | BitMap([WILDCARD_NUMBER])
        return subject_set.numbers - self._absent[of_type] if of_type in self._absent else subject_set.numbers

    def measure(self) -> Iterator[int]:
        yield from super().measure()
        sets = self.sets
        yield SLOT_BYTES * len(sets.condition_values) + PLACE_BYTES * len(sets.operations)
        unions = iter(sets.unions.values())
        while some := [*islice(unions, ITEMS_AT_ONCE)]:
            yield sum(map(_measure_union, some))
        for by_node in sets.solved.values():
            yield sum([OBJECT_BYTES + measure_bitmap(subject_set.numbers) for subject_set in by_node.values()])
        for of_key in sets.entries.values():
            entries = iter(of_key.values())
            while some_entries := [*islice(entries, ITEMS_AT_ONCE)]:
                yield sum(
                    [SLOT_BYTES + NUMBER_BYTES + (measure_subjects(entry) if entry else 0) for entry in some_entries]
                )

    def find_reports(self, entries: Sequence[Entry], work: Work) -> Steps[list[QueryRow]]:
        ids: dict[TypeName, dict[ObjectId, int]] = defaultdict(dict)
        relations: dict[TypeName, dict[RelationName, None]] = defaultdict(dict)
        for of_type, object_id, relation in entries:
            ids[of_type][object_id] = self.sets.tables[of_type].assign(object_id)
            relations[of_type][relation] = None
            yield from work.checkpoint(1)
        reports: dict[TypeName, SubjectReports] = {}
        for of_type, numbers in ids.items():
            reports[of_type] = SubjectReports(self.sets, of_type, [*numbers.values()], work)
            yield from reports[of_type].prepare([*relations[of_type]])
        results: list[QueryRow] = []
        for of_type, object_id, relation in entries:
            of_page, number = reports[of_type], ids[of_type][object_id]
            is_implicit = not of_page.is_explicit(relation, number)
            results.append(
                QueryRow(of_type, object_id, relation, of_page.find(relation, number), is_implicit=is_implicit)
            )
            yield from work.charge(1)
        return results


def _measure_union(union: UnionNode) -> int:
    bitmaps = [*union.reached.values(), *union.direct.values(), union.set.numbers]
    return PLACE_BYTES + SLOT_BYTES * (len(union.unions) + len(union.operations)) + sum(map(measure_bitmap, bitmaps))
