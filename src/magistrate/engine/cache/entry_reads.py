"""Reads the entries that a walk misses, and caches them.

All lookups are read in one batch with a limit on the rows. When the limit is reached, the batch is split into halves
that are read separately. A single key that exceeds the limit is cached without its rows: an object with too many
subjects is cached without its subjects, anything else as an entry that cannot be used.

Reading rows up to the limit, only to discard them, takes longer than most checks without the graph. So if a group is in
more than a few others, it is found out first whether these are too many, which takes a fraction of the time.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import chain

import msgspec

from magistrate.engine.cache.closures import UNUSABLE, Kind, weigh_groups
from magistrate.engine.cache.closures import Groups as GroupNames
from magistrate.engine.cache.entries import UNREADABLE, Entry, State, read_entry
from magistrate.engine.cache.graph import MAX_WILDCARDS, Graph
from magistrate.engine.cache.shared_values import MAX_SHARED_BYTES
from magistrate.engine.cache.views import PlanView
from magistrate.engine.names import WILDCARD, ObjectId, TypeName
from magistrate.engine.steps import WarrantLists
from magistrate.engine.subjects import Subject
from magistrate.engine.warrants.reader import AnyRead, WarrantRead, WarrantsByObject
from magistrate.engine.warrants.warrant import Warrant, WarrantNames


class MissingEntries:
    """Collects what has to be read, each key once.

    `entries` is keyed by state, `points` by view, object and subject, and `groups` by subject type, kind and id. The
    entries in `bare` are read without their subjects.
    """

    __slots__ = ("bare", "entries", "groups", "points")

    def __init__(self) -> None:
        self.entries: dict[State, None] = {}
        self.bare: dict[State, None] = {}
        self.points: dict[tuple[int, ObjectId, ObjectId], None] = {}
        self.groups: dict[tuple[TypeName, int, ObjectId], None] = {}

    def keys(self) -> frozenset[object]:
        return frozenset((*self.entries, *self.bare, *self.points, *self.groups))

    def select(self, keys: Container[object]) -> "MissingEntries":
        """Returns those that have one of these keys."""
        return self._filter(keys.__contains__)

    def without(self, keys: Container[object]) -> "MissingEntries":
        """Returns those that have none of these keys."""
        return self._filter(lambda key: key not in keys)

    def _filter(self, is_selected: Callable[[object], bool]) -> "MissingEntries":
        missing = MissingEntries()
        missing.entries = {key: None for key in self.entries if is_selected(key)}
        missing.bare = {key: None for key in self.bare if is_selected(key)}
        missing.points = {key: None for key in self.points if is_selected(key)}
        missing.groups = {key: None for key in self.groups if is_selected(key)}
        return missing

    def of_groups(self) -> "MissingEntries":
        """Returns the missing groups alone."""
        missing = MissingEntries()
        missing.groups = self.groups
        return missing

    def __bool__(self) -> bool:
        return bool(self.entries or self.bare or self.points or self.groups)


WARRANTS_EACH = 10
"""Limits the rows a batch may return for each key, on average, before it is split into halves."""
KEPT_AT_ONCE = 100
"""Counts the entries of one lookup that are cached together: that takes a fraction of the time for each."""
_NOTHING: Mapping[int, Warrant] = {}
MAX_GROUPS_AT_FIRST = 100
"""Limits the groups that one group is in which are read before it is known that they are not too many."""


class Lookup(ABC):
    """Represents keys that are read together, `count` of them, each of which may have `most` rows alone; `keep` takes
    one list of rows for each read of `reads`."""

    def __init__(self, graph: Graph, ids: Sequence[ObjectId]) -> None:
        self._graph = graph
        self._ids = ids
        self.count = len(ids)
        self.most = graph.max_each

    @abstractmethod
    def reads(self) -> Sequence[AnyRead]: ...

    @abstractmethod
    def keep(self, warrant_lists: WarrantLists) -> Iterator[int]:
        """Caches the entry of each key, and yields the work that each took."""

    @abstractmethod
    def some(self, positions: slice) -> "Lookup":
        """Returns a lookup that is limited to the keys at these positions."""

    @abstractmethod
    def less(self) -> "Lookup | None":
        """Returns a smaller lookup for a single key whose rows exceed the limit.

        Returns None when there is no smaller one; the key is then cached as unusable.
        """


class Entries(Lookup):
    def __init__(self, graph: Graph, view: PlanView, ids: Sequence[ObjectId], is_whole: bool = True) -> None:
        super().__init__(graph, ids)
        self._view = view
        self._is_whole = is_whole

    def reads(self) -> Sequence[AnyRead]:
        requests = self._view.requests if self._is_whole else self._view.targets
        return [_read_objects(request, self._ids) for request in requests]

    def keep(self, warrant_lists: WarrantLists) -> Iterator[int]:
        by_object, view, graph = _by_object(warrant_lists), self._view, self._graph
        wildcard = by_object.get(WILDCARD, _NOTHING)
        for first in range(0, self.count, KEPT_AT_ONCE):
            entries: dict[str, Entry] = {}
            for object_id in self._ids[first : first + KEPT_AT_ONCE]:
                if len(wildcard) > MAX_WILDCARDS:
                    entries[object_id] = UNREADABLE
                    continue
                each = by_object.get(object_id, _NOTHING)
                warrants = {**each, **wildcard}.values() if wildcard else each.values()
                entries[object_id] = read_entry(view.expansion, warrants, graph, self._is_whole, graph.shared_values)
                yield 1 + len(warrants)
            view.entries.keep_each(entries, even_large=True)  # a walk waits for them

    def some(self, positions: slice) -> Lookup:
        return Entries(self._graph, self._view, self._ids[positions], self._is_whole)

    def less(self) -> Lookup | None:
        if self._is_whole and self._view.direct is not None:
            return Entries(self._graph, self._view, self._ids, is_whole=False)
        self._view.entries.keep(self._ids[0], UNREADABLE)
        return None


class Points(Lookup):
    """Looks up a single subject on objects that have too many subjects to be cached."""

    def __init__(self, graph: Graph, view: PlanView, ids: Sequence[ObjectId], subject_id: ObjectId) -> None:
        super().__init__(graph, ids)
        self._view = view
        self._subject_id = subject_id
        request = graph.model.request(view.plan.type, view.plan.relations, Subject(view.subject_type, subject_id))
        self._reads = [] if request is None else [_read_objects(request, ids)]

    def reads(self) -> Sequence[AnyRead]:
        return self._reads

    def keep(self, warrant_lists: WarrantLists) -> Iterator[int]:
        by_object = _by_object(warrant_lists)
        for object_id in self._ids:
            warrants = {**by_object.get(object_id, {}), **by_object.get(WILDCARD, {})}.values()
            view = self._view
            entry = read_entry(view.expansion, warrants, self._graph, is_whole=True)
            view.points.keep((object_id, self._subject_id), entry)
            yield 1 + len(warrants)

    def some(self, positions: slice) -> Lookup:
        return Points(self._graph, self._view, self._ids[positions], self._subject_id)

    def less(self) -> Lookup | None:
        self._view.points.keep((self._ids[0], self._subject_id), UNREADABLE)
        return None


class Groups(Lookup):
    """Looks up the groups that the members of one kind, subjects or groups, are in. `fits`: they are known not to be
    too many."""

    def __init__(self, graph: Graph, kind: Kind, ids: Sequence[ObjectId], fits: bool = False) -> None:
        super().__init__(graph, ids)
        self._kind = kind
        self._is_tentative = bool(kind.own) and len(ids) == 1 and not fits and graph.max_each > MAX_GROUPS_AT_FIRST
        if self._is_tentative:
            self.most = MAX_GROUPS_AT_FIRST

    def reads(self) -> Sequence[AnyRead]:
        return self._kind.reads(self._ids)

    def keep(self, warrant_lists: WarrantLists) -> Iterator[int]:
        by_subject: dict[str, list[Warrant]] = defaultdict(list)
        for warrant in chain.from_iterable(warrant_lists):
            by_subject[warrant.subject_id].append(warrant)
        for first in range(0, self.count, KEPT_AT_ONCE):
            groups: dict[str, GroupNames] = {}
            for member_id in self._ids[first : first + KEPT_AT_ONCE]:
                warrants = by_subject.get(member_id, ())
                groups[member_id] = self._share_groups(self._kind.name_groups(warrants))
                yield 1 + len(warrants)
            self._kind.groups.keep_each(groups, even_large=True)

    def _share_groups(self, names: GroupNames) -> GroupNames:
        is_shared = names and names is not UNUSABLE and weigh_groups(names) <= MAX_SHARED_BYTES
        return self._graph.shared_values.share(names) if is_shared else names

    def some(self, positions: slice) -> Lookup:
        return Groups(self._graph, self._kind, self._ids[positions])

    def less(self) -> Lookup | None:
        if self._is_tentative:
            return GroupCount(self._graph, self._kind, self._ids)
        self._kind.groups.keep(self._ids[0], UNUSABLE)
        return None


class GroupCount(Lookup):
    """Finds out whether a group is in more groups than are cached of one member."""

    def __init__(self, graph: Graph, kind: Kind, ids: Sequence[ObjectId]) -> None:
        super().__init__(graph, ids)
        self._kind = kind

    def reads(self) -> Sequence[AnyRead]:
        return [read._replace(beyond=self.most) for read in self._kind.reads(self._ids)]

    def keep(self, warrant_lists: WarrantLists) -> Iterator[int]:
        if any(warrant_lists):
            self._kind.groups.keep(self._ids[0], UNUSABLE)
        yield 1

    def some(self, positions: slice) -> Lookup:
        return self

    def less(self) -> Lookup | None:
        return self

    def find_groups(self, warrant_lists: WarrantLists) -> Lookup | None:
        """Returns the lookup of all groups if they are not too many."""
        return None if any(warrant_lists) else Groups(self._graph, self._kind, self._ids, fits=True)


def _read_objects(request: WarrantsByObject, ids: Sequence[ObjectId]) -> WarrantRead:
    return WarrantRead(request, (*ids, WILDCARD) if request.has_object_wildcard else tuple(ids))


def _by_object(warrant_lists: WarrantLists) -> dict[str, dict[int, Warrant]]:
    """Groups the warrants by object; a warrant that several reads returned occurs once."""
    by_object: dict[str, dict[int, Warrant]] = defaultdict(dict)
    for warrant in chain.from_iterable(warrant_lists):
        by_object[warrant.object_id][warrant.number] = warrant
    return by_object


_WarrantsByRead = Mapping[object, Sequence[Warrant]]
"""Maps what `_identify` returns of reads to the warrants that these reads returned."""


class Fetch:
    """Reads what is missing from a graph as of `revision`, batch by batch, until nothing is left. What several views
    need of the same objects is read once.

    Changes since that revision must be passed to `note_changes` before the rows are cached. `is_wasted` is set when
    these changes cannot be determined, or are too many; nothing more is cached then.
    """

    def __init__(self, graph: Graph, missing: MissingEntries) -> None:
        self.graph = graph
        self.model = graph.model
        self.revision = graph.revision
        lookups = _lookups(graph, missing)
        self._left = [lookups] if lookups else []
        self._reads: dict[object, AnyRead] = {}
        self._keeping: Iterator[int] = iter(())
        self._changes: list[WarrantNames] = []
        self.is_wasted = False

    def reads(self) -> tuple[Sequence[AnyRead], int] | None:
        """Returns the next reads, each once, and the limit on their rows in total, or None when nothing is left."""
        if not self._left or self.is_wasted:
            return None
        together = self._left[-1]
        self._reads = {_identify(read): read for lookup in together for read in lookup.reads()}
        return [*self._reads.values()], self._limit(together)

    def take(self, warrant_lists: WarrantLists) -> None:
        """Takes the rows of the last reads; `keep` then caches them."""
        together = self._left.pop()
        counting = [self.model.select_counting(warrants) for warrants in warrant_lists]
        warrants_by_read = dict(zip(self._reads, counting, strict=True))
        if sum(map(len, warrant_lists)) < self._limit(together):
            for lookup, warrants in _with_warrants(together, warrants_by_read):
                if isinstance(lookup, GroupCount) and (groups := lookup.find_groups(warrants)) is not None:
                    self._left.append([groups])
            self._keeping = _keep_all(together, warrants_by_read)
        else:
            self._left += self._reduce(together, warrants_by_read)

    def _reduce(self, together: Sequence[Lookup], warrants_by_read: _WarrantsByRead) -> list[list[Lookup]]:
        """Returns the batches to read in place of this one, whose rows have reached the limit: one without the rows of
        each key that has too many alone, or else its halves."""
        smaller: list[Lookup | None] = []
        has_less = False
        for lookup, warrants in _with_warrants(together, warrants_by_read):
            # A key that was read alone has reached the limit, perhaps by rows that do not count and were left out.
            is_too_large = lookup.count == 1 and (len(together) == 1 or sum(map(len, warrants)) > lookup.most)
            smaller.append(lookup.less() if is_too_large else lookup)
            has_less |= is_too_large
        some = [lookup for lookup in smaller if lookup is not None]
        return _halves(some) if not has_less else [some] if some else []

    def keep(self, most: int) -> bool:
        """Caches rows that were taken, up to `most` units of work, and returns whether all of them are cached."""
        is_done = self.is_wasted
        while most > 0 and not is_done:
            work = next(self._keeping, None)
            is_done = work is None
            most -= work or 0
        self.graph.invalidate(self._changes)
        return is_done

    def note_changes(self, changes: Sequence[WarrantNames]) -> None:
        """Records warrants that were written or deleted after `revision`."""
        if self.is_wasted:
            return
        self._changes += changes
        if self.graph.exceeds_visits(self._changes):
            self.is_wasted, self._changes = True, []

    def _limit(self, together: Sequence[Lookup]) -> int:
        """Returns the number of rows at which the batch is split."""
        others = sum(lookup.count for lookup in together) - 1
        return min(lookup.most for lookup in together) + 1 + WARRANTS_EACH * others


def _identify(read: AnyRead) -> object:
    """Returns a value that is the same for reads of the same warrants, by whichever view."""
    request = read.request
    return (msgspec.structs.astuple(request), read.ids) if isinstance(request, WarrantsByObject) else read


def _keep_all(together: Sequence[Lookup], warrants_by_read: _WarrantsByRead) -> Iterator[int]:
    for lookup, warrants in _with_warrants(together, warrants_by_read):
        yield from lookup.keep(warrants)


def _with_warrants(
    together: Sequence[Lookup], warrants_by_read: _WarrantsByRead
) -> Iterator[tuple[Lookup, WarrantLists]]:
    """Yields each lookup of a batch with the warrants of its reads."""
    for lookup in together:
        yield lookup, [warrants_by_read[_identify(read)] for read in lookup.reads()]


def _halves(together: Sequence[Lookup]) -> list[list[Lookup]]:
    if len(together) > 1:
        middle = len(together) // 2
        return [[*together[:middle]], [*together[middle:]]]
    middle = together[0].count // 2
    return [[together[0].some(slice(middle))], [together[0].some(slice(middle, None))]]


def _lookups(graph: Graph, missing: MissingEntries) -> list[Lookup]:
    entries: dict[tuple[int, bool], list[ObjectId]] = defaultdict(list)
    for number, object_id in missing.entries:
        entries[number, True].append(object_id)
    for number, object_id in missing.bare:
        entries[number, False].append(object_id)
    points: dict[tuple[int, ObjectId], list[ObjectId]] = defaultdict(list)
    for number, object_id, subject_id in missing.points:
        points[number, subject_id].append(object_id)
    groups: dict[tuple[TypeName, int], list[ObjectId]] = defaultdict(list)
    for subject_type, kind, object_id in missing.groups:
        groups[subject_type, kind].append(object_id)
    views = graph.views  # some may have been evicted since
    lookups: list[Lookup] = [
        Entries(graph, views[of], ids, reads_all) for (of, reads_all), ids in entries.items() if of in views
    ]
    lookups += [Points(graph, views[of], ids, object_id) for (of, object_id), ids in points.items() if of in views]
    lookups += [Groups(graph, graph.kind(subject_type, kind), ids) for (subject_type, kind), ids in groups.items()]
    return lookups
