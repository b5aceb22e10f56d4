"""Caches the decisions of checks as long as the warrants that they were made from are cached unchanged.

A walk reads entries and membership closures. Before one of these can change, the graph evicts it, or notes that a
membership has changed; all decisions are then evicted. A change that concerns one subject alone, because the warrant
names it and leads nowhere else, evicts only the decisions about subjects with its id. When entries are evicted because
the cache is full, the graph would not notice changes to them any more, so the decisions go as well. The same holds for
a walk that has read such entries and goes on: it must not cache what it decides (`evictions`). Decisions that depend on
the time or on the context of the request, because a walk has looked at a policy or a time limit, are not cached.
"""

from collections.abc import Iterable

from magistrate.engine.check import Check
from magistrate.engine.decision import Decision
from magistrate.engine.graph.segments import Capacity

MOST_DECISIONS = 50_000
"""Limits the cached decisions: 10 to 15 MB, and up to 6 MB more if each is about another subject."""
MOST_CHARACTERS = 256
"""Limits the characters of a key; most have 40 to 100."""


class DecisionCache:
    """Holds decisions by the names in the check, with blanks in between, which no name has. When it is full, all
    decisions are evicted.

    `evictions` counts how often decisions that rest on entries could no longer be trusted, even if none was cached."""

    __slots__ = ("_capacity", "_decisions", "_keys_by_subject", "_most", "evictions")

    def __init__(self, capacity: Capacity, most: int) -> None:
        self._most = min(most, MOST_DECISIONS)
        self._decisions: dict[str, Decision] = {}
        self._keys_by_subject: dict[str, list[str]] = {}
        """Maps the ids of subjects, whatever their types are, to the keys of the decisions about them."""
        self._capacity = capacity
        self.evictions = 0
        capacity.add(self)

    def __len__(self) -> int:
        return len(self._decisions)

    def find(self, checks: Iterable[Check], stop_at: bool | None = None) -> list[Decision] | None:
        """Returns the decisions of these checks, in order, up to the first that is `stop_at`. Returns None if one of
        them is not cached. It takes half a microsecond for each."""
        get, found = self._decisions.get, list[Decision]()
        for check in checks:
            object, subject = check.object, check.subject
            if subject.relation is not None:
                return None
            decision = get(f"{object.type} {object.id} {check.relation} {subject.type} {subject.id}")
            if decision is None:
                return None
            found.append(decision)
            if decision.is_authorized is stop_at:
                break
        return found

    def keep(self, check: Check, decision: Decision) -> None:
        """Caches a decision. The subject of the check is no group."""
        if len(self._decisions) >= self._most:
            self._evict_all()
        object, subject = check.object, check.subject
        key = f"{object.type} {object.id} {check.relation} {subject.type} {subject.id}"
        if len(key) <= MOST_CHARACTERS:
            if key not in self._decisions:
                self._keys_by_subject.setdefault(subject.id, []).append(key)
            self._decisions[key] = decision

    def evict(self, subject_id: str) -> None:
        """Evicts the decisions about the subjects with this id. It takes a tenth of a microsecond for each."""
        for key in self._keys_by_subject.pop(subject_id, ()):
            del self._decisions[key]

    def age(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.evictions += 1
        self._evict_all()

    def _evict_all(self) -> None:
        if self._decisions:
            decisions, keys = self._decisions, self._keys_by_subject
            self._decisions, self._keys_by_subject = {}, {}
            self._capacity.discard(decisions)
            self._capacity.discard(keys)
