"""What very many changes affect is found in steps."""

from collections.abc import Generator, Iterator
from typing import Any

from magistrate.engine.difference.influences import Influences
from magistrate.engine.difference.reverse_expansion import ObjectRelation, Reach, ReverseExpansion
from magistrate.engine.terms import ObjectId, RelationName, TypeName
from magistrate.engine.work import WORK_BETWEEN_CHECKPOINTS, Work
from tests.memory_source import PLENTY

MANY = 5 * WORK_BETWEEN_CHECKPOINTS


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
    assert complete(expansion.propagate(((node, Reach(1 << number)) for number, node in take()), MANY)) <= (
        WORK_BETWEEN_CHECKPOINTS
    )
