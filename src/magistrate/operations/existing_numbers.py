"""Knows which objects of a type exist, by number, for rows that all of them may be."""

from collections.abc import Mapping

from pyroaring import BitMap

from magistrate.engine.graph.id_table import IdTable
from magistrate.engine.terms import ObjectRef, Revision, TypeName
from magistrate.engine.work import Work
from magistrate.operations.scheduling import take_checkpoint
from magistrate.store.contract import ObjectName, Store

NAMES_AT_ONCE = 10_000
NAMES_ASSIGNED_AT_ONCE = 500
NAMES_FOR_A_NODE = 10
"""Counts the names that get numbers in the time of one unit of work."""


class ExistingNumbers:
    """Keeps the numbers of the existing objects of each type, all as of the last revision that any were wanted at."""

    def __init__(self) -> None:
        self._numbering: object = None
        self._known: dict[TypeName, tuple[Revision, BitMap]] = {}

    async def list(
        self, store: Store, of_type: TypeName, at: Revision, numbering: object, table: IdTable, work: Work
    ) -> BitMap:
        """Returns the numbers that a table of this numbering has for all objects of the type. Raises BudgetExceeded and
        RevisionUnavailable."""
        if numbering is not self._numbering:
            self._numbering, self._known = numbering, {}
        known = self._known.get(of_type)
        if known is not None and known[0] == at:
            return known[1]
        numbers = await _read_numbers(store, of_type, at, table, work)
        if numbering is self._numbering:
            others = {name: one for name, one in self._known.items() if one[0] == at}
            self._known = {**others, of_type: (at, numbers)}
        return numbers


async def find_absent(
    store: Store, ref: ObjectRef | None, at: Revision, tables: Mapping[TypeName, IdTable]
) -> Mapping[TypeName, BitMap]:
    """Returns the number of this object by its type if it does not exist. Raises RevisionUnavailable."""
    if ref is None or (await store.find_objects([ref], at)).value:
        return {}
    return {ref.type: BitMap([tables[ref.type].assign(ref.id)])}


async def _read_numbers(store: Store, of_type: TypeName, at: Revision, table: IdTable, work: Work) -> BitMap:
    numbers, after = BitMap(), None
    is_last = False
    while not is_last:
        names: tuple[ObjectName, ...] = (await store.list_names(of_type, after, NAMES_AT_ONCE, at)).value
        work.spend(len(names))
        for start in range(0, len(names), NAMES_ASSIGNED_AT_ONCE):
            numbers.update(table.assign_each([id for _, id in names[start : start + NAMES_ASSIGNED_AT_ONCE]]))
            work.hasten_checkpoint(NAMES_ASSIGNED_AT_ONCE // NAMES_FOR_A_NODE)
            if work.needs_checkpoint:
                await take_checkpoint(work)
                work.pass_checkpoint()
        is_last = len(names) < NAMES_AT_ONCE
        after = names[-1] if names else None
    return numbers
