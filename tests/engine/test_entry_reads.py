"""What is read for the entries of several views is read once, and what leads nowhere is not cached as an entry."""

from collections.abc import Mapping, Sequence

import pytest

from magistrate.engine.cache.entries import EMPTY
from magistrate.engine.cache.entry_reads import Fetch, MissingEntries
from magistrate.engine.cache.filling import find_missing, list_starts
from magistrate.engine.cache.graph import UNREACHABLE, Graph
from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.warrants.reader import AnyRead
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work
from tests.memory_source import PLENTY, Relations, change_of, model_of, rows_of
from tests.scenario_files import stored_warrant

OF_PARENT = {"ofType": "folder", "withRelation": "parent"}
TYPES: Mapping[str, Relations] = {
    "user": {},
    "robot": {},
    "folder": {"viewer": {}, "editor": {}},
    "document": {
        "parent": {},
        "blocked": {},
        "editor": {"inheritIf": "editor", **OF_PARENT},
        "viewer": {"inheritIf": "viewer", **OF_PARENT},
        "reader": {
            "inheritIf": "allOf",
            "rules": [{"inheritIf": "viewer"}, {"inheritIf": "noneOf", "rules": [{"inheritIf": "blocked"}]}],
        },
    },
}
WRITTEN = (
    "document:1#parent@folder:a",
    "document:1#viewer@robot:r",
    "document:1#viewer@user:ann",
    "document:2#viewer@robot:r",
    "folder:a#viewer@user:bob",
    "folder:a#editor@user:eve",
)


class Cache:
    """A graph with all views that checks may start from, and the warrants that it caches."""

    def __init__(self) -> None:
        self.stored = [stored_warrant(text, number, 0) for number, text in enumerate(WRITTEN, 1)]
        self.graph = Graph(model_of(dict(TYPES), self.stored), Revision(1), 10_000_000)
        for start in list_starts(self.graph.model):
            self.graph.find_view(*start, Work(PLENTY))

    def read(self, missing: MissingEntries) -> Sequence[AnyRead]:
        """The reads for what is missing, which is then cached."""
        fetch, reads = Fetch(self.graph, missing), list[AnyRead]()
        while (wanted := fetch.reads()) is not None:
            reads += wanted[0]
            fetch.take([rows_of(self.stored, read) for read in wanted[0]])
            assert fetch.keep(PLENTY)
        return reads

    def number(self, relation: str, subject_type: str) -> int:
        number = self.graph.find_view(
            TypeName("document"), RelationName(relation), TypeName(subject_type), Work(PLENTY)
        )
        assert number is not None
        assert number != UNREACHABLE
        return number


@pytest.fixture
def cache() -> Cache:
    return Cache()


def test_what_several_views_need_of_an_object_is_read_once(cache: Cache) -> None:
    missing = find_missing(cache.graph, TypeName("document"), [ObjectId("1")])
    views = [cache.graph.views[number] for number, _ in missing.entries]
    followed = [view for view in views for request in view.targets if request.relations == ("parent",)]
    assert len(followed) > 1

    reads = cache.read(missing)

    assert len([read for read in reads if read.request.relations == ("parent",)]) == 1
    assert [view.key for view in followed if "1" not in view.entries.young] == []
    to_users = [view.entries.young["1"] for view in followed if view.subject_type == "user"]
    assert [[object_id for _, object_id in entry.targets] for entry in to_users] == [["a"], ["a"]]


def test_warrants_that_lead_to_no_subject_of_the_type_make_no_entry(cache: Cache) -> None:
    number = cache.number("viewer", "user")
    view = cache.graph.views[number]
    missing = MissingEntries()
    missing.entries = {(number, ObjectId("1")): None, (number, ObjectId("2")): None}

    cache.read(missing)

    assert view.entries.young.keys() == {"1"}
    assert view.entries.find("2") is EMPTY


def test_a_warrant_that_is_added_to_such_an_object_and_removed_again_is_followed(cache: Cache) -> None:
    number = cache.number("viewer", "user")
    missing = MissingEntries()
    missing.entries = {(number, ObjectId("2")): None}
    cache.read(missing)
    added: Warrant = stored_warrant("document:2#viewer@user:zoe", 100, 0)

    names = []
    for revision, exists in ((2, True), (3, False)):
        cache.graph.apply([change_of(added, exists=exists)], Revision(revision))
        entries = cache.graph.views[number].entries
        entry = entries.young.get("2") or entries.find("2")
        assert entry is not None
        names.append(entry.direct)

    assert names == [" zoe ", ""]


def test_a_view_that_no_warrant_leads_on_from_has_no_entries(cache: Cache) -> None:
    """Whether a folder is a reader depends on exclusions, so there are views for that, but no warrant makes it one."""
    cache.number("reader", "folder")
    to_folders = [view for view in cache.graph.views.values() if view.subject_type == "folder"]
    assert {view.key.relation for view in to_folders if view.is_empty} >= {"viewer"}
    missing = find_missing(cache.graph, TypeName("document"), [ObjectId("1")])

    assert {cache.graph.views[number].key.relation for number, _ in missing.entries} >= {"parent", "viewer"}
    assert not [number for number, _ in missing.entries if cache.graph.views[number].is_empty]
    cache.read(missing)
    assert [len(view.entries) for view in to_folders if view.key.relation == "viewer"] == [0]
