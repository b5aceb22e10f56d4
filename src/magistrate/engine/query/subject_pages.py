"""Orders the subjects that a search with bitmaps has found, and makes rows of those of a page (see set_pages.py)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from pyroaring import BitMap

from magistrate.engine.byte_sizes import NUMBER_BYTES, OBJECT_BYTES, SLOT_BYTES, measure_bitmap
from magistrate.engine.graph.id_table import WILDCARD_NUMBER
from magistrate.engine.graph.subject_adjacency import measure_subjects
from magistrate.engine.query.rows import QueryRow
from magistrate.engine.query.search import Steps
from magistrate.engine.query.set_pages import Entry, OrderedNumbers
from magistrate.engine.query.subject_nodes import SolvedSubjects, UnionNode
from magistrate.engine.query.subject_reports import SubjectReports
from magistrate.engine.terms import ObjectId, RelationName, TypeName
from magistrate.engine.work import Work

PLACES_AT_ONCE = 500
"""Limits the places and entries that are measured at once."""
PLACE_BYTES = 12 * OBJECT_BYTES
"""Counts what the search holds of a plan or a combination on an object, without its numbers."""


class OrderedSubjects(OrderedNumbers):
    """Holds the rows of a list of subjects in order. `existing` has the existing objects of each type that `sets` has
    complements of, and `absent` those of its rows that do not exist, by type."""

    def __init__(
        self, sets: SolvedSubjects, existing: Mapping[TypeName, BitMap], absent: Mapping[TypeName, BitMap]
    ) -> None:
        self.sets = sets
        self.valid_until = sets.valid_until
        self._existing = existing
        self._absent = absent
        super().__init__(sets.tables, ((target, self._list_numbers(*target)) for target in sets.results))

    def _list_numbers(self, of_type: TypeName, relation: RelationName) -> BitMap:
        found = self.sets.results[of_type, relation]
        if found.is_complement:
            return found.restrict(self._existing[of_type]) | BitMap([WILDCARD_NUMBER])
        return found.numbers - self._absent[of_type] if of_type in self._absent else found.numbers

    def measure(self) -> Iterator[int]:
        yield from super().measure()
        sets = self.sets
        yield SLOT_BYTES * len(sets.condition_values) + PLACE_BYTES * len(sets.operations)
        unions = iter(sets.unions.values())
        while some := [*islice(unions, PLACES_AT_ONCE)]:
            yield sum(map(_measure_union, some))
        for by_node in sets.solved.values():
            yield sum([OBJECT_BYTES + measure_bitmap(one.numbers) for one in by_node.values()])
        for of_key in sets.entries.values():
            entries = iter(of_key.values())
            while some_entries := [*islice(entries, PLACES_AT_ONCE)]:
                yield sum([SLOT_BYTES + NUMBER_BYTES + (measure_subjects(one) if one else 0) for one in some_entries])

    def find_reports(self, entries: Sequence[Entry], work: Work) -> Steps[list[QueryRow]]:
        """Implements OrderedResult."""
        ids: dict[TypeName, dict[ObjectId, int]] = defaultdict(dict)
        relations: dict[TypeName, dict[RelationName, None]] = defaultdict(dict)
        for of_type, id, relation in entries:
            ids[of_type][id] = self.sets.tables[of_type].assign(id)
            relations[of_type][relation] = None
            work.hasten_checkpoint(1)
            if work.needs_checkpoint:
                yield None
        reports: dict[TypeName, SubjectReports] = {}
        for of_type, numbers in ids.items():
            reports[of_type] = SubjectReports(self.sets, of_type, [*numbers.values()], work)
            yield from reports[of_type].prepare([*relations[of_type]])
        results: list[QueryRow] = []
        for of_type, id, relation in entries:
            of_page, number = reports[of_type], ids[of_type][id]
            is_implicit = not of_page.is_explicit(relation, number)
            results.append(QueryRow(of_type, id, relation, of_page.find(relation, number), is_implicit))
            work.spend(1)
            if work.needs_checkpoint:
                yield None
        return results


def _measure_union(union: UnionNode) -> int:
    bitmaps = [*union.reached.values(), *union.direct.values(), union.set.numbers]
    return PLACE_BYTES + SLOT_BYTES * (len(union.unions) + len(union.operations)) + sum(map(measure_bitmap, bitmaps))
