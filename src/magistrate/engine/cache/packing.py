"""Reads the warrants of a store page by page, and packs them into a graph.

A page has the objects of one type that follow those of the page before. The warrants on them are read and packed
together with those that make them members of groups. Warrants that change meanwhile are marked.
"""

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Generic, TypeVar

from magistrate.engine.cache.entry_reads import KEPT_AT_ONCE, Fetch, Lookup, MissingEntries
from magistrate.engine.cache.filling import list_subject_types
from magistrate.engine.cache.graph import Graph
from magistrate.engine.cache.packed_warrants import MAX_CHANGES, TOO_MANY, IdRange, K, KindOnObject, PackedById
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import PlanNames
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.steps import WarrantLists
from magistrate.engine.warrants.reader import (
    AnyRead,
    ReverseWarrantRead,
    WarrantRead,
    WarrantsByObject,
    WarrantsBySubject,
)
from magistrate.engine.warrants.warrant import Warrant

R = TypeVar("R", bound=WarrantsByObject | WarrantsBySubject)


class PackedPage(Generic[K, R]):
    """Holds the warrants of a page by one of their ids until all are packed: they are to extend `packed`."""

    def __init__(self, packed: PackedById[K], requests: Sequence[R]) -> None:
        self.packed = packed
        self.requests = requests
        self.texts: dict[ObjectId, str] = defaultdict(str)


class Pack(Lookup, Generic[K, R]):
    """Looks up the warrants of a page by some of its ids, and packs them."""

    def __init__(self, graph: Graph, page: PackedPage[K, R], ids: Sequence[ObjectId]) -> None:
        super().__init__(graph, ids)
        self._page = page

    @abstractmethod
    def _divide(self, warrant: Warrant) -> tuple[ObjectId, K, ObjectId]:
        """Returns the id by which a warrant is packed, its kind, and its other id."""

    def keep(self, warrant_lists: WarrantLists) -> Iterator[int]:
        texts, pack = self._page.texts, self._page.packed.pack
        for warrants in warrant_lists:
            for first in range(0, len(warrants), KEPT_AT_ONCE):
                some = warrants[first : first + KEPT_AT_ONCE]
                for warrant in some:
                    object_id, kind, other_id = self._divide(warrant)
                    # not the property is_conditional: this runs very often
                    is_certain = not (warrant.policy or warrant.expires_at or warrant.starts_at)
                    texts[object_id] += pack(kind, other_id, is_certain)
                yield len(some)

    def some(self, positions: slice) -> Lookup:
        return type(self)(self._graph, self._page, self._ids[positions])

    def less(self) -> Lookup | None:
        self._page.texts[self._ids[0]] = TOO_MANY
        return None


class PackObjects(Pack[KindOnObject, WarrantsByObject]):
    """Packs the warrants on objects of one type."""

    def reads(self) -> Sequence[AnyRead]:
        return [WarrantRead(request, tuple(self._ids)) for request in self._page.requests]

    def _divide(self, warrant: Warrant) -> tuple[ObjectId, KindOnObject, ObjectId]:
        kind = (warrant.relation, warrant.subject_type, warrant.subject_relation)
        return warrant.object_id, kind, warrant.subject_id


class PackSubjects(Pack[PlanNames, WarrantsBySubject]):
    """Packs the warrants to subjects of one type, with one relation or without."""

    def reads(self) -> Sequence[AnyRead]:
        return [ReverseWarrantRead(request, tuple(self._ids)) for request in self._page.requests]

    def _divide(self, warrant: Warrant) -> tuple[ObjectId, PlanNames, ObjectId]:
        return warrant.subject_id, (warrant.object_type, warrant.relation), warrant.object_id


def request_objects(model: Model, of_type: TypeName) -> list[WarrantsByObject]:
    """Returns the requests for all warrants on the objects of a type: those to usersets, and those to the subjects of
    each type."""
    patterns = [pattern for pattern in model.patterns if pattern.object_type == of_type]
    relations = sorted({pattern.relation for pattern in patterns})
    selections = (None, *sorted({pattern.subject_type for pattern in patterns}))
    requests = [model.request(of_type, relations, selection) for selection in selections]
    return [request for request in requests if request is not None]


def request_groups(graph: Graph, of_type: TypeName) -> dict[str, list[WarrantsBySubject]]:
    """Returns the requests for the warrants that make subjects of this type members of groups, by their relation."""
    relations: dict[str, dict[TypeName, set[RelationName]]] = defaultdict(lambda: defaultdict(set))
    for subject_type in list_subject_types(graph.model):
        for kind in graph.memberships(subject_type).kinds:
            for request in kind.requests:
                if request.subject_type == of_type:
                    relations[request.subject_relation][request.type].update(request.relations)
    return {
        subject_relation: [
            WarrantsBySubject(object_type, tuple(sorted(relation_names)), of_type, subject_relation)
            for object_type, relation_names in by_type.items()
        ]
        for subject_relation, by_type in relations.items()
    }


class Packing(Fetch):
    """Reads a page of the objects of one type and packs it, as of the revision that the graph has when this is created.
    All changes since then must be passed to `note_changes`.

    `after` is the last id of the page before; None stands for the first page.
    """

    def __init__(self, graph: Graph, of_type: TypeName, after: ObjectId | None) -> None:
        super().__init__(graph, MissingEntries())
        self._after = after
        by_object = PackedPage(graph.packed.prepare_objects(of_type), request_objects(graph.model, of_type))
        self._by_object = [by_object] if by_object.packed.is_next(after) else []
        by_subject = [
            PackedPage(graph.packed.prepare_subjects(of_type, relation, _list_relations(requests)), requests)
            for relation, requests in request_groups(graph, of_type).items()
        ]
        self._by_subject = [page for page in by_subject if page.packed.is_next(after)]

    @property
    def is_needed(self) -> bool:
        """Returns whether something of this page is not packed yet."""
        return bool(self._by_object or self._by_subject)

    def begin(self, ids: Sequence[ObjectId]) -> None:
        """Sets the ids of the page, in the order of Unicode."""
        every = ids if self._after is not None else (*ids, WILDCARD)
        lookups: list[Lookup] = [PackObjects(self.graph, page, every) for page in self._by_object if page.requests]
        lookups += [PackSubjects(self.graph, page, every) for page in self._by_subject]
        self._left = [lookups] if lookups and every else []

    def finish(self, last: ObjectId | None) -> bool:
        """Packs what was read: everything up to this id, or all that follows if it is None. Returns whether there was
        space for it. Nothing is packed if it `is_wasted`, for which too many changes are a reason as well."""
        self.is_wasted |= len(self._changes) > MAX_CHANGES
        if self.is_wasted:
            return True
        packed = self.graph.packed
        texts = [page.texts.values() for page in self._by_object] + [page.texts.values() for page in self._by_subject]
        if not self.graph.make_space(sum(map(len, chain.from_iterable(texts)))):
            return False
        for on_objects in self._by_object:
            if on_objects.packed.is_next(self._after):  # it may have been evicted since
                packed.add_page(on_objects.packed, on_objects.texts, last)
        for to_subjects in self._by_subject:
            if to_subjects.packed.is_next(self._after):
                packed.add_page(to_subjects.packed, to_subjects.texts, last)
        packed.mark(self._changes, IdRange(self._after, last))
        self.graph.limit_entries()
        return True


def _list_relations(requests: Iterable[WarrantsBySubject]) -> frozenset[PlanNames]:
    return frozenset((request.type, relation) for request in requests for relation in request.relations)
