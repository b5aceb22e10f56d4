"""Holds what a search for objects with bitmaps computes (see set_search.py): the set of each node."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyroaring import BitMap

from magistrate.engine.graph.id_table import IdTable
from magistrate.engine.query.connected_graph import ConnectedGraph, SetNode
from magistrate.engine.query.result_set import EXPLICIT, ListValue
from magistrate.engine.terms import ObjectRef, TypeName
from magistrate.engine.truth import FALSE, TRUE, Truth


class ObjectSet:
    """Holds the objects on which a node holds, by number: those of `numbers`, or all others if it `is_complement`.

    `explicit` has those of them on which warrants of the relation itself grant it; with `is_all_explicit`, these are
    all objects. `gained` and `gained_explicit` are not propagated yet.
    """

    __slots__ = ("explicit", "gained", "gained_explicit", "is_all_explicit", "is_complement", "numbers")

    def __init__(self) -> None:
        self.numbers = BitMap()
        self.explicit = BitMap()
        self.is_complement = False
        self.is_all_explicit = False
        self.gained = BitMap()
        self.gained_explicit = BitMap()

    def add(self, numbers: BitMap) -> bool:
        """Makes it hold on these objects, and returns whether it did not hold on one of them."""
        if self.is_complement:
            new = numbers & self.numbers
            self.numbers -= new
        else:
            new = numbers - self.numbers
            self.numbers |= new
        self.gained |= new
        return bool(new)

    def add_explicit(self, numbers: BitMap) -> bool:
        """Makes it explicit on these objects, and returns whether it was not on one of them."""
        new = numbers - self.explicit
        self.explicit |= new
        self.gained_explicit |= new
        return bool(new)

    def add_all_but(self, lacking: BitMap) -> bool:
        """Makes it hold on all objects but those of `lacking` on which it does not hold yet. Returns whether it held
        on named ones only."""
        if self.is_complement:
            self.add(self.numbers - lacking)
            return False
        self.numbers, self.is_complement = lacking - self.numbers, True
        return True

    def find_value(self, number: int | None) -> ListValue:
        """Returns the value on an object; None stands for one that no cached warrant names."""
        if self.is_all_explicit or (number is not None and number in self.explicit):
            return EXPLICIT
        return TRUE if (number is not None and number in self.numbers) != self.is_complement else FALSE

    def restrict(self, within: BitMap) -> BitMap:
        """Returns those of these objects on which it holds."""
        return within - self.numbers if self.is_complement else within & self.numbers


@dataclass(frozen=True, slots=True)
class ObjectSets:
    """Holds the result of a search: the set of each node. `tables` have the ids of the numbers by type, and
    `condition_values` the values of all conditional warrants that were met, by number. Rows may differ from
    `valid_until` on.

    `itself` is the subject if a rule made a row of it (`self`): unlike all other rows, it need not exist. With
    `has_wildcards`, warrants on every object were met."""

    graph: ConnectedGraph
    subject: ObjectRef
    sets: Mapping[SetNode, ObjectSet]
    tables: Mapping[TypeName, IdTable]
    condition_values: Mapping[int, Truth]
    valid_until: int
    itself: ObjectRef | None
    has_wildcards: bool
