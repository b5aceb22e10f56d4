"""Caches the decisions of checks as long as the warrants that they were made from are cached unchanged.

A walk reads entries and membership closures. Before one of these can change, the graph evicts it, or notes that a
membership has changed; all decisions are then evicted. A change that concerns one subject alone, because the warrant
names it and leads nowhere else, evicts only the decisions about subjects with its id.

The graph does not notice changes to entries any more that were evicted because the cache is full. Decisions are
therefore in a young and an old generation, which age whenever entries do: what a decision depends on was young when it
was made, so it is still there after entries have aged once. A walk that has gone on meanwhile must not cache what it
decides (`evictions`). Decisions that depend on the time or on the context of the request, because a walk has looked at
a policy or a time limit, are not cached.
"""

from collections.abc import Iterable

from magistrate.engine.byte_sizes import OBJECT_BYTES, SLOT_BYTES
from magistrate.engine.cache.segments import Capacity
from magistrate.engine.evaluation.check import Check, Decision

MAX_CHARACTERS = 256
"""Limits the characters of a key; most have 40 to 100. Longer ones are those of long ids, few of which come again."""
DECISION_BYTES = OBJECT_BYTES + 4 * SLOT_BYTES
"""Counts a decision without the characters of its key, as if it were the only one about its subject."""


def _weigh(key: str) -> int:
    return DECISION_BYTES + (len(key) if key.isascii() else 4 * len(key))


class DecisionCache:
    """Holds decisions by the names in the check, with blanks in between, which no name has.

    `evictions` counts how often decisions could no longer be trusted, even if none was cached."""

    __slots__ = ("_capacity", "_decisions", "_keys", "_old", "_old_keys", "evictions")

    def __init__(self, capacity: Capacity, entries: Capacity) -> None:
        """Takes the capacity of decisions, and that of the entries that they depend on."""
        self._decisions: dict[str, Decision] = {}
        self._old: dict[str, Decision] = {}
        self._keys: dict[str, list[str]] = {}
        """Maps the ids of subjects, whatever their types are, to the keys of the decisions about them."""
        self._old_keys: dict[str, list[str]] = {}
        self._capacity = capacity
        self.evictions = 0
        capacity.add(self)
        follower = _Follower(self, capacity)
        entries.add(follower)
        if entries.absent is not entries:
            entries.absent.add(follower)

    def __len__(self) -> int:
        return len(self._decisions) + len(self._old)

    def find(self, checks: Iterable[Check], stop_at: bool | None = None) -> list[Decision] | None:
        """Returns the decisions of these checks, in order, up to the first that is `stop_at`. Returns None if one of
        them is not cached. It takes half a microsecond for each."""
        get, get_old, decisions = self._decisions.get, self._old.get, list[Decision]()
        for check in checks:
            object_ref, subject = check.object, check.subject
            if subject.relation:
                return None
            key = f"{object_ref.type} {object_ref.id} {check.relation} {subject.type} {subject.id}"
            decision = get(key) or get_old(key)
            if decision is None:
                return None
            decisions.append(decision)
            if decision.is_authorized is stop_at:
                break
        return decisions

    def keep(self, check: Check, decision: Decision) -> None:
        """Caches a decision. The subject of the check is no group."""
        object_ref, subject = check.object, check.subject
        key = f"{object_ref.type} {object_ref.id} {check.relation} {subject.type} {subject.id}"
        if len(key) <= MAX_CHARACTERS and key not in self._decisions:
            self._capacity.take(_weigh(key))
            self._decisions[key] = decision
            self._keys.setdefault(subject.id, []).append(key)

    def evict(self, subject_id: str) -> None:
        """Evicts the decisions about the subjects with this id. It takes a tenth of a microsecond for each."""
        young, old = self._keys.pop(subject_id, ()), self._old_keys.pop(subject_id, ())
        for key in young:
            del self._decisions[key]
        for key in old:
            del self._old[key]
        self._capacity.free(sum(map(_weigh, young)), sum(map(_weigh, old)))

    def age(self) -> None:
        old, self._old, self._decisions = self._old, self._decisions, {}
        old_keys, self._old_keys, self._keys = self._old_keys, self._keys, {}
        self._capacity.discard(old)
        self._capacity.discard(old_keys)

    def clear(self) -> None:
        if self:
            for evicted in (self._decisions, self._old, self._keys, self._old_keys):
                self._capacity.discard(evicted)
            self._decisions, self._old, self._keys, self._old_keys = {}, {}, {}, {}

    def evict_all(self) -> None:
        """Evicts all decisions, because others than those about one subject may not hold any more."""
        self.evictions += 1
        self._capacity.clear()


class _Follower:
    """Ages decisions with the entries that they depend on."""

    def __init__(self, decisions: DecisionCache, capacity: Capacity) -> None:
        self._decisions = decisions
        self._capacity = capacity

    def age(self) -> None:
        self._decisions.evictions += 1
        self._capacity.age()

    def clear(self) -> None:
        self._decisions.evict_all()
