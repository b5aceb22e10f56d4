"""Builds entries of the adjacency from the warrants to their subjects, in batches."""

import sys
from array import array
from collections.abc import Iterator, Sequence, Set
from itertools import repeat

from pyroaring import BitMap

from magistrate.engine.graph.adjacent_objects import (
    FEW_NUMBERS,
    SINGLE_BYTES,
    AdjacentObjects,
    ConditionalObjects,
    is_empty,
    measure_objects,
)
from magistrate.engine.terms import ObjectId
from magistrate.engine.warrants import Warrant


class EntryBatch:
    """Holds entries to be added, by the number of the subject in ascending order. `weight` says how many bytes those
    take that are not empty. `objects` has the object's number for each of `singles`, the subjects of one unconditional
    warrant, and `entries` the entry of each of `others`, which have more; those of `empty` have no warrants."""

    __slots__ = ("empty", "entries", "objects", "others", "singles", "weight")

    def __init__(self) -> None:
        self.weight = 0
        self.singles, self.objects = array("I"), array("I")
        self.others, self.entries = array("I"), list[AdjacentObjects]()
        self.empty = array("I")

    def list_each(self) -> Iterator[tuple[int, AdjacentObjects]]:
        """Yields each entry with the number of its subject."""
        yield from zip(self.singles, self.objects, strict=True)
        yield from zip(self.others, self.entries, strict=True)
        yield from zip(self.empty, repeat(b""), strict=False)

    def exclude(self, numbers: Set[int]) -> "EntryBatch":
        """Returns the entries of all subjects but these."""
        remaining = EntryBatch()
        for number, entry in self.list_each():
            if number not in numbers:
                remaining.add(number, entry)
        return remaining

    def add_single(self, number: int, object: int) -> None:
        self.weight += SINGLE_BYTES
        self.singles.append(number)
        self.objects.append(object)

    def add(self, number: int, entry: AdjacentObjects) -> None:
        """Adds an entry; its number must be greater than all others."""
        if isinstance(entry, int):
            self.add_single(number, entry)
        elif is_empty(entry):
            self.empty.append(number)
        else:
            self.weight += measure_objects(entry)
            self.others.append(number)
            self.entries.append(entry)


class EntryDrafts:
    """Collects the warrants to some subjects, from which their entries are made."""

    __slots__ = ("_conditional", "_numbers")

    def __init__(self) -> None:
        # Most subjects have one warrant: its object stands for itself. Arrays are no concern of the garbage collector,
        # of which there may be tens of thousands here.
        self._numbers: dict[ObjectId, int | array[int]] = {}
        self._conditional: dict[ObjectId, list[Warrant]] = {}

    def add_each(self, warrants: Sequence[Warrant], numbers: Sequence[int]) -> None:
        """Adds warrants, given the numbers of their objects."""
        collected = self._numbers
        for warrant, number in zip(warrants, numbers, strict=True):
            subject = warrant.subject_id
            if warrant.policy or warrant.expires_at or warrant.starts_at:  # not a property: this runs very often
                self._conditional.setdefault(subject, []).append(warrant)
            elif subject not in collected:
                collected[subject] = number
            elif isinstance(known := collected[subject], int):
                collected[subject] = array("I", (known, number))
            else:
                known.append(number)

    def build_each(self, subjects: Sequence[tuple[int, ObjectId]]) -> EntryBatch:
        """Returns the entries of subjects, with the numbers that these have, in ascending order. What was collected for
        them is freed: for all at once it would take milliseconds."""
        pop, conditional, batch = self._numbers.pop, self._conditional, EntryBatch()
        for number, id in subjects:
            objects = pop(id, None)
            if conditional and id in conditional:
                batch.add(number, ConditionalObjects(_pack(objects), tuple(conditional.pop(id))))
            elif objects is None:
                batch.empty.append(number)
            elif isinstance(objects, int):
                batch.add_single(number, objects)
            else:
                batch.add(number, objects.tobytes() if len(objects) <= FEW_NUMBERS else BitMap(objects))
        return batch


def _pack(objects: "int | array[int] | None") -> bytes:
    if objects is None:
        return b""
    return objects.to_bytes(4, sys.byteorder) if isinstance(objects, int) else objects.tobytes()
