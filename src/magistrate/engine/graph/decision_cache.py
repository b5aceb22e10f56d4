"""Caches the decisions of checks as long as the warrants that they were made from are cached unchanged.

A walk reads entries and membership closures. Before one of these can change, the graph evicts it, or notes that a
membership has changed; all decisions are then evicted. When entries are evicted because the cache is full, the graph
would not notice changes to them any more, so the decisions go as well. Decisions that depend on the time or on the
context of the request, because a walk has looked at a policy or a time limit, are not cached.
"""

from magistrate.engine.decision import Decision
from magistrate.engine.graph.segments import Capacity

MOST_DECISIONS = 50_000
"""Limits the cached decisions: 10 to 15 MB."""
MOST_CHARACTERS = 256
"""Limits the characters of a key; most have 40 to 100."""


class DecisionCache:
    """Holds decisions by the names in the check, with blanks in between, which no name has. When it is full, all
    decisions are evicted.

    `get` finds one; it is a method of the dict, because a call more would take as long as the lookup."""

    __slots__ = ("_decisions", "_most", "get")

    def __init__(self, capacity: Capacity, most: int) -> None:
        self._most = min(most, MOST_DECISIONS)
        self._decisions: dict[str, Decision] = {}
        self.get = self._decisions.get
        capacity.add(self)

    def __len__(self) -> int:
        return len(self._decisions)

    def keep(self, key: str, decision: Decision) -> None:
        if len(self._decisions) >= self._most:
            self._decisions.clear()
        if len(key) <= MOST_CHARACTERS:
            self._decisions[key] = decision

    def age(self) -> None:
        self._decisions.clear()

    def clear(self) -> None:
        self._decisions.clear()
