"""Entries with equal contents share them, for as many values as the cache may remember, and count what they take."""

import gc
import tracemalloc
from collections.abc import Iterator, Sequence

import pytest

from magistrate.engine.cache.entries import Entry
from magistrate.engine.cache.entry_reads import Fetch, MissingEntries
from magistrate.engine.cache.graph import UNREACHABLE, Graph
from magistrate.engine.cache.segments import Capacity
from magistrate.engine.cache.shared_values import PLACE_BYTES, SharedValues
from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.warrants.warrant import Warrant, WarrantNames
from magistrate.engine.work import Work
from tests.memory_source import PLENTY, Relations, model_of, rows_of
from tests.scenario_files import stored_warrant

ENOUGH = 1 << 30
TYPES: dict[str, Relations] = {
    "user": {},
    "folder": {"viewer": {}},
    "document": {
        "parent": {},
        "viewer": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"},
    },
}


class Documents:
    """Documents in folders of two, each of them viewed by a user who views another, in the cache of a view."""

    def __init__(self, count: int, max_bytes: int = ENOUGH, letters: int = 0) -> None:
        self.ids = [ObjectId(f"{number:06}") for number in range(count)]
        texts: list[str] = []
        for number, object_id in enumerate(self.ids):
            texts.append(f"document:{object_id}#parent@folder:{number // 2:06}{'x' * letters}")
            texts.append(f"document:{object_id}#viewer@user:{number // 2:06}{'x' * letters}")
        self.warrants = [stored_warrant(text, number, 0) for number, text in enumerate(texts, 1)]
        self.graph = Graph(model_of(TYPES, self.warrants), Revision(1), max_bytes)
        view = self.graph.find_view(TypeName("document"), RelationName("viewer"), TypeName("user"), Work(PLENTY))
        assert view is not None
        assert view != UNREACHABLE
        self.view = self.graph.views[view]

    def cache(self, ids: Sequence[ObjectId]) -> None:
        missing = MissingEntries()
        missing.entries = {(self.view.number, object_id): None for object_id in ids}
        fetch = Fetch(self.graph, missing)
        names = {*ids}
        warrants = [warrant for warrant in self.warrants if warrant.object_id in names]
        while (wanted := fetch.reads()) is not None:
            fetch.take([[copy_of(row) for row in rows_of(warrants, read)] for read in wanted[0]])
            assert fetch.keep(PLENTY)

    def entry(self, object_id: str) -> Entry:
        entry = self.view.entries.young.get(object_id) or self.view.entries.find(object_id)
        assert entry is not None
        return entry

    @property
    def counted(self) -> int:
        return self.graph.measure()[0].bytes


def copy_of(warrant: Warrant) -> Warrant:
    """The row as a database returns it: its ids are objects of their own."""
    ids = {name: getattr(warrant, name).encode().decode() for name in ("object_id", "subject_id")}
    return Warrant(**{name: ids.get(name, getattr(warrant, name)) for name in warrant.__struct_fields__})


@pytest.fixture
def traced() -> Iterator[None]:
    gc.collect()
    tracemalloc.start()
    yield
    tracemalloc.stop()


def count_bytes() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def test_entries_with_equal_contents_share_them() -> None:
    documents = Documents(2)

    for object_id in documents.ids:
        documents.cache([object_id])

    first, second = map(documents.entry, documents.ids)
    assert first.direct is second.direct
    assert first.targets is second.targets
    assert second.bytes < first.bytes


def test_contents_are_still_shared_after_entries_have_become_old_once() -> None:
    documents = Documents(2)
    documents.cache(documents.ids[:1])

    documents.graph._capacity.age()
    documents.cache(documents.ids[1:])

    first, second = map(documents.entry, documents.ids)
    assert first.targets is second.targets


def test_a_warrant_that_is_deleted_from_one_entry_remains_in_those_that_shared_it() -> None:
    documents = Documents(2)
    documents.cache(documents.ids)
    changed = next(warrant for warrant in documents.warrants if warrant.relation == "viewer")

    documents.graph.invalidate([WarrantNames(*(getattr(changed, name) for name in WarrantNames._fields))])

    assert not documents.view.entries.has(documents.ids[0])
    assert documents.entry(documents.ids[1]).direct == f" {changed.subject_id} "


@pytest.mark.usefixtures("traced")
@pytest.mark.parametrize("letters", [0, 40])
@pytest.mark.parametrize("is_first_evicted", [False, True])
def test_entries_that_share_take_no_more_than_is_counted(letters: int, is_first_evicted: bool) -> None:
    documents = Documents(2_000, letters=letters)
    empty, before = documents.counted, count_bytes()

    for first in range(0, 2_000, 100):
        documents.cache(documents.ids[first : first + 100])
    if is_first_evicted:
        for object_id in documents.ids[::2]:
            documents.view.entries.evict(object_id)
    documents.graph.shared_values.clear()

    assert count_bytes() - before <= 1.5 * (documents.counted - empty)


@pytest.mark.usefixtures("traced")
def test_the_values_that_are_remembered_take_no_more_than_their_share() -> None:
    max_bytes, before = 1_000 * PLACE_BYTES, count_bytes()
    values = SharedValues(max_bytes, Capacity(ENOUGH))

    for generation in range(3):
        for number in range(20_000):
            values.share(f" user-{generation}-{number} ")
        assert count_bytes() - before <= 1.5 * max_bytes
        values.age()
    values.clear()

    assert count_bytes() - before <= 0.2 * max_bytes
