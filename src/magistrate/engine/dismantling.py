"""Frees what an evaluation leaves behind, in steps.

Python frees a structure all at once: tens of thousands of nodes or warrants take a tenth of a second. And what refers
to each other in cycles waits for a garbage collection, which cannot be interrupted either.
"""

from collections.abc import Iterator, Sequence
from typing import Any

ITEMS_AT_ONCE = 1_000
"""Counts the items that are freed between two yields; it takes about a millisecond."""

Container = list[Any] | dict[Any, Any] | set[Any]


class Linked:
    """Represents an object that refers to others like it."""

    __slots__ = ()

    def unlink(self) -> Sequence[Container]:
        """Removes these references and returns the containers that held them."""
        raise NotImplementedError


def dismantle(containers: Sequence[Container]) -> Iterator[int]:
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
