"""An overlay lists the objects that its changes leave."""

from magistrate.engine.names import ObjectId, TypeName
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.overlay import Overlay
from tests.scenario_files import added_warrants

PAGE = TypeName("page")


def ids(*names: str) -> list[ObjectId]:
    return [ObjectId(name) for name in names]


def test_objects_that_an_overlay_adds_are_listed_in_order_among_the_stored_ones() -> None:
    overlay = Overlay(added_warrants(["page:c#writer@user:ann", "page:a#writer@user:ann"], 0))

    assert overlay.merge_objects(PAGE, ids("b", "d")) == ["a", "b", "c", "d"]


def test_an_object_that_an_overlay_deletes_is_listed_only_if_it_is_named_again() -> None:
    gone = [ObjectRef(PAGE, ObjectId(name)) for name in "ab"]
    overlay = Overlay(added_warrants(["page:b#writer@user:ann"], 0), removed_objects=gone)

    assert overlay.merge_objects(PAGE, ids("a", "b", "c")) == ["b", "c"]
