"""What very many changes affect is found in steps, and takes little memory."""

import tracemalloc
from collections.abc import Generator, Iterator
from typing import Any

from magistrate.engine.difference.influences import Influences
from magistrate.engine.difference.reverse_expansion import Direction, ObjectRelation, ReverseExpansion, begin_reach
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.work import WORK_BETWEEN_CHECKPOINTS, Work
from tests.memory_source import PLENTY

MANY = 5 * WORK_BETWEEN_CHECKPOINTS
RAISES = Direction(raises=True, lowers=False)
MAX_BYTES_OF_A_NODE = 1_000
"""Limits what a node takes that one change reaches, however many changes there are."""


def test_the_beginnings_of_many_changes_are_taken_in_steps() -> None:
    nodes = [ObjectRelation(TypeName("d"), ObjectId(str(number)), RelationName("viewer")) for number in range(MANY)]
    work = Work(PLENTY)
    expansion = ReverseExpansion(Influences([]), None, work)
    taken: list[int] = []

    def complete(steps: Generator[Any, Any, Any]) -> int:
        """Returns the largest number of nodes that were taken between two pauses."""
        taken.clear()
        pauses = [0]
        for _ in steps:
            work.pass_checkpoint()
            pauses.append(len(taken))
        return max(after - before for before, after in zip(pauses, [*pauses[1:], len(taken)], strict=True))

    def take() -> Iterator[tuple[int, ObjectRelation]]:
        for number, node in enumerate(nodes):
            taken.append(number)
            yield number, node

    assert complete(expansion.expand(node for _, node in take())) <= WORK_BETWEEN_CHECKPOINTS
    begun = ((node, begin_reach(number, RAISES)) for number, node in take())
    assert complete(expansion.propagate(begun, MANY)) <= WORK_BETWEEN_CHECKPOINTS


def test_the_memory_of_what_changes_reach_grows_with_what_each_of_them_reaches() -> None:
    count = 50_000
    nodes = [ObjectRelation(TypeName("d"), ObjectId(str(number)), RelationName("viewer")) for number in range(count)]
    expansion = ReverseExpansion(Influences([]), None, Work(PLENTY))
    for _ in expansion.expand(nodes):
        pass

    tracemalloc.start()
    for _ in expansion.propagate(((node, begin_reach(number, RAISES)) for number, node in enumerate(nodes)), count):
        pass
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert most / count <= MAX_BYTES_OF_A_NODE
