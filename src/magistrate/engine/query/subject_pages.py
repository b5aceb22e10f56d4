"""Orders the subjects that a search with bitmaps has found, and makes rows of those of a page (see set_pages.py)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from pyroaring import BitMap

from magistrate.engine.graph.id_table import WILDCARD_NUMBER
from magistrate.engine.query.rows import QueryRow
from magistrate.engine.query.search import Steps
from magistrate.engine.query.set_pages import Entry, OrderedNumbers
from magistrate.engine.query.subject_nodes import SolvedSubjects
from magistrate.engine.query.subject_reports import SubjectReports
from magistrate.engine.terms import ObjectId, RelationName, TypeName
from magistrate.engine.work import Work

NUMBERS_OF_AN_ENTRY = 25
"""Counts the numbers of bitmaps that take as much memory as an entry that was used."""


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

    def weigh(self) -> int:
        """Returns how many numbers are held in memory, or what takes as much as they."""
        sets = self.sets
        reached = (numbers for union in sets.unions.values() for numbers in union.reached.values())
        direct = (numbers for union in sets.unions.values() for numbers in union.direct.values())
        solved = (one.numbers for by_node in sets.solved.values() for one in by_node.values())
        results = (one.numbers for one in sets.results.values())
        numbers = sum(len(each) for some in (reached, direct, solved, results) for each in some)
        return numbers + NUMBERS_OF_AN_ENTRY * sum(map(len, sets.entries.values()))

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
