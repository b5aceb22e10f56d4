"""Limits the work of an evaluation: in total by a budget, and between two yields to other requests by time slices."""

from collections.abc import Callable, Generator, Iterable, Sequence
from heapq import merge
from itertools import islice
from typing import Any, TypeVar

from magistrate.errors import BudgetExceeded

WORK_BETWEEN_CHECKPOINTS = 2_000
"""Limits the nodes and warrants, or equivalent work, in one time slice: some ten milliseconds."""

WORK_BETWEEN_LOOKS = 100
"""Counts the work between two looks at the clock: a millisecond at most. The same work takes several times as long on
another machine, with cold caches, or in another part of the engine."""

WARRANTS_BETWEEN_CHECKPOINTS = 500
"""Counts the rows processed between two checkpoints, some tenths of a millisecond."""
WARRANTS_FOR_A_NODE = 10
"""Counts the rows that take as long as one unit of work."""


def never() -> bool:
    """Returns that the time is not up, for callers whom nobody waits for."""
    return False


_END_OF_TIME_SLICE = (None,)


class Work:
    """Counts work against a budget and the current time slice, which is the work between two yields.

    `budget` is the number of nodes and warrants that may be examined; other work is charged in the same unit. A time
    slice is over after WORK_BETWEEN_CHECKPOINTS, or before that when `is_time_up` says so.
    """

    __slots__ = ("_budget", "_is_time_up", "_left_to_checkpoint", "_left_to_look", "_offloaded", "has_unknown", "left")

    def __init__(self, budget: int, is_time_up: Callable[[], bool] = never) -> None:
        self._budget = budget
        self._is_time_up = is_time_up
        self._left_to_checkpoint = WORK_BETWEEN_CHECKPOINTS - WORK_BETWEEN_LOOKS
        self._left_to_look = WORK_BETWEEN_LOOKS
        self._offloaded: Callable[[], object] | None = None
        self.has_unknown = False
        """Says whether the policy of a warrant was unknown, for callers to which that is an error."""
        self.left = budget

    def split(self, budget: int) -> "Work":
        """Returns the work of a part that has a budget of its own."""
        return Work(min(self.left, budget), self._is_time_up)

    def spend(self, amount: int) -> None:
        """Charges work to the budget and the time slice. Raises BudgetExceeded when less than `amount` is left of the
        budget."""
        self.left -= amount
        self._left_to_look -= amount
        if self.left < 0:
            raise BudgetExceeded(self._budget)

    def hasten_checkpoint(self, amount: int) -> None:
        """Charges work to the time slice alone, so that other requests run sooner.

        It serves for work that is charged to the budget already, and for work that may take longer than is charged.
        """
        self._left_to_look -= amount

    def charge(self, amount: int) -> Iterable[None]:
        """Spends work; callers yield from what it returns, which is None if the time slice is over then. A generator
        would take as long as much of what is charged."""
        self.spend(amount)
        return _END_OF_TIME_SLICE if self.needs_checkpoint else ()

    def checkpoint(self, amount: int = 0) -> Iterable[None]:
        """Charges work to the time slice alone (see `hasten_checkpoint`); callers yield as from `charge`."""
        self._left_to_look -= amount
        return _END_OF_TIME_SLICE if self.needs_checkpoint else ()

    def offload(self, step: Callable[[], object]) -> None:
        """Ends the time slice because of a step that takes long and uses nothing that is shared. The caller that
        yields calls it in a thread (`take_offloaded_step`); if it does not, the next time slice takes the step."""
        self._offloaded = step
        self._left_to_checkpoint = self._left_to_look = 0

    @property
    def has_offloaded_step(self) -> bool:
        return self._offloaded is not None

    def take_offloaded_step(self) -> Callable[[], object] | None:
        """Returns the step that the last time slice offloaded, if any."""
        step, self._offloaded = self._offloaded, None
        return step

    @property
    def cost(self) -> int:
        return self._budget - self.left

    @property
    def needs_checkpoint(self) -> bool:
        """Returns whether the time slice is over. Looks at the clock once for every WORK_BETWEEN_LOOKS."""
        return self._left_to_look <= 0 and self._look_at_clock()

    def pass_checkpoint(self) -> None:
        self._left_to_checkpoint = WORK_BETWEEN_CHECKPOINTS - WORK_BETWEEN_LOOKS
        self._left_to_look = WORK_BETWEEN_LOOKS

    def _look_at_clock(self) -> bool:
        work_left = self._left_to_checkpoint + self._left_to_look  # the latter is what was done beyond the last look
        if work_left <= 0 or self._is_time_up():
            return True
        self._left_to_look = min(WORK_BETWEEN_LOOKS, work_left)
        self._left_to_checkpoint = work_left - self._left_to_look
        return False


T = TypeVar("T")

Pieces = Generator[int, None, T]
"""Computes in pieces of bounded size, and yields after each how many items it has handled since it yielded last. What
it computes does not depend on what is done between two pieces."""

ITEMS_FOR_A_NODE = 10
"""Counts the items that are handled in the time of one unit of work."""
ITEMS_AT_ONCE = 1_000
"""Limits the items that are handled as one piece; about a millisecond."""


def complete(steps: Generator[Any, Any, T]) -> T:
    """Returns what the steps return, after taking all of them without a pause. Raises what they raise."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            returned: T = stop.value
            return returned


ITEMS_SORTED_AT_ONCE = 2_000
"""Limits the items that are sorted at once, which takes a few milliseconds; more are sorted in parts that are then
merged."""
ITEMS_MERGED_AT_ONCE = 500
MERGING = 2
"""Counts the items that are processed otherwise in the time in which one is merged."""


def sort_in_steps(items: Iterable[T], key: Callable[[T], Any]) -> Pieces[list[T]]:
    """Returns the items in order; equal ones keep their order. It makes no long list at once, which the next garbage
    collections would traverse.

    Yields how many items it has processed since it yielded last; merged ones count MERGING times.
    """
    branches = []
    remaining = iter(items)
    while branch := sorted(islice(remaining, ITEMS_SORTED_AT_ONCE), key=key):
        branches.append(branch)
        if len(branch) > ITEMS_MERGED_AT_ONCE:
            yield len(branch)
    if len(branches) <= 1:
        return branches[0] if branches else []
    merged: list[T] = []
    merging = merge(*branches, key=key)
    while some := [*islice(merging, ITEMS_MERGED_AT_ONCE)]:
        merged += some
        yield MERGING * len(some)
    return merged


Container = list[Any] | dict[Any, Any] | set[Any]


class Linked:
    """Represents an object that refers to others like it."""

    __slots__ = ()

    def unlink(self) -> Sequence[Container]:
        """Removes these references and returns the containers that held them."""
        raise NotImplementedError


def free_containers(containers: Sequence[Container]) -> Pieces[None]:
    """Empties the containers, and yields how many items were removed since it yielded last.

    Lists, dicts and Linked objects among the items are taken apart, too.
    """
    waiting = [*containers]
    removed = 0
    while waiting:
        container = waiting.pop()
        while container:
            item = container.popitem()[1] if isinstance(container, dict) else container.pop()
            if isinstance(item, Linked):
                waiting += filter(None, item.unlink())
            elif isinstance(item, list | dict):
                waiting.append(item)
            removed += 1
            if removed == ITEMS_AT_ONCE:
                del item
                yield removed
                removed = 0
    yield removed
