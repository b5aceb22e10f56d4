"""Ways in which groups can be members of each other: of each, who is a member of whom, and where a user stands."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.datasets.dataset import WarrantRow

Edge = tuple[int, int]
"""The second group is a member of the first."""


def chain(size: int) -> Iterator[Edge]:
    return ((number, number + 1) for number in range(size - 1))


def star(size: int) -> Iterator[Edge]:
    """One group has all others as members; the user is in the last of them only."""
    return ((0, number) for number in range(1, size))


def fan(size: int) -> Iterator[Edge]:
    """One group is a member of all others."""
    return ((number, size - 1) for number in range(size - 1))


def clique(size: int) -> Iterator[Edge]:
    """About `size` memberships: each group is a member of each other one."""
    groups = max(2, round(size**0.5))
    return ((one, other) for one in range(groups) for other in range(groups) if one != other)


def loop(size: int) -> Iterator[Edge]:
    return ((number, (number + 1) % size) for number in range(size))


def tree(size: int) -> Iterator[Edge]:
    """Each group has two others as members."""
    return (((number - 1) // 2, number) for number in range(1, size))


SHAPES: dict[str, Callable[[int], Iterator[Edge]]] = {
    "chain": chain,
    "star": star,
    "fan": fan,
    "clique": clique,
    "loop": loop,
    "tree": tree,
}
SIZES = (5, 100, 1_000, 10_000)

TYPES: dict[str, dict[str, dict[str, object]]] = {
    "group": {"member": {}},
    "paper": {"viewer": {}, "editor": {"inheritIf": "viewer"}},
}


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of one structure. The user is in the last group, from where there is a way to group 0.

    So many documents are granted to group 0; others that are checked are granted to nobody."""

    shape: str
    size: int
    documents: int = 20

    @property
    def name(self) -> str:
        return f"{self.shape}{self.size}"

    @property
    def user(self) -> str:
        return f"in-{self.name}"

    def document(self, number: int) -> str:
        return f"{self.name}-{number}"

    def warrants(self) -> Iterator[WarrantRow]:
        last = 0
        for group, member in SHAPES[self.shape](self.size):
            last = max(last, group, member)
            yield "group", self._group(group), "member", "group", self._group(member), "member", ""
        yield "group", self._group(last), "member", "user", self.user, "", ""
        for number in range(self.documents):
            yield "paper", self.document(number), "viewer", "group", self._group(0), "member", ""

    def claims(self, count: int) -> list[dict[str, object]]:
        """To be checked, all different; the first ones are granted."""
        subject = {"objectType": "user", "objectId": self.user}
        return [
            {"objectType": "paper", "objectId": self.document(number), "relation": "viewer", "subject": subject}
            for number in range(count)
        ]

    def _group(self, number: int) -> str:
        return f"{self.name}-{number}"
