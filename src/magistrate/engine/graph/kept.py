"""What a graph keeps, as much as there is room for: what was used last.

When half of the room has been filled since the last time, all that was not used meanwhile is dropped. So finding
something costs a look into a dict, with no order to be kept."""

from collections.abc import Callable
from typing import Generic, TypeVar

E = TypeVar("E")

Key = tuple[str, str] | str


class Room:
    """For so many warrants, in all shelves together. Whatever is kept takes at least the room of one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lately = 0
        self._before = 0
        self._shelves: list[Shelf[object]] = []

    @property
    def taken(self) -> int:
        return self._lately + self._before

    def place(self, shelf: "Shelf[object]") -> None:
        self._shelves.append(shelf)

    def remove(self, shelf: "Shelf[E]") -> None:
        """Frees what the shelf takes, and knows it no longer."""
        shelf.drop_all()
        self._shelves = [one for one in self._shelves if one is not shelf]

    def take(self, weight: int) -> None:
        self._lately += weight
        if 2 * self._lately > self._most:
            for shelf in self._shelves:
                shelf.age()
            self._before, self._lately = self._lately, 0

    def move(self, weight: int) -> None:
        """From what was used before to what has been used lately."""
        self._before -= weight
        self.take(weight)

    def free(self, lately: int, before: int) -> None:
        self._lately -= lately
        self._before -= before

    def clear(self) -> None:
        for shelf in self._shelves:
            shelf.clear()
        self._lately = self._before = 0


class Shelf(Generic[E]):
    """Whatever is kept of one sort, by key. To find something quickly, look into `lately` first, then `find` it."""

    __slots__ = ("_before", "_room", "_weight", "lately")

    def __init__(self, room: Room, weight: Callable[[E], int]) -> None:
        self.lately: dict[Key, E] = {}
        self._before: dict[Key, E] = {}
        self._room = room
        self._weight = weight
        room.place(self)  # type: ignore[arg-type]  # a room asks of its shelves nothing about what they hold

    def find(self, key: Key) -> E | None:
        """One that is not in `lately`, and is from then on."""
        found = self._before.pop(key, None)
        if found is not None:
            self.lately[key] = found
            self._room.move(self._weight(found))
        return found

    def keep(self, key: Key, value: E) -> None:
        self.drop(key)
        self.lately[key] = value
        self._room.take(self._weight(value))

    def drop(self, key: Key) -> None:
        lately, before = self.lately.pop(key, None), self._before.pop(key, None)
        if lately is not None or before is not None:
            self._room.free(self._weighed(lately), self._weighed(before))

    def drop_all(self) -> None:
        self._room.free(sum(map(self._weight, self.lately.values())), sum(map(self._weight, self._before.values())))
        self.clear()

    def _weighed(self, value: E | None) -> int:
        return 0 if value is None else self._weight(value)

    def age(self) -> None:
        self._before = self.lately
        self.lately = {}

    def clear(self) -> None:
        self.lately = {}
        self._before = {}
