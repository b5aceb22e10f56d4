"""Checks drawn from warrants: fairly, and only valid ones."""

from collections import Counter

from magistrate.engine.names import RelationName, TypeName
from magistrate.engine.terms import ObjectRef
from magistrate.operations.importing.sampled_checks import NOBODY, Sample, draw_checks
from magistrate.store.contract.new_rows import NewWarrant
from tests.scenario_files import claim, stored_warrant

RELATIONS = {TypeName("document"): [RelationName("viewer"), RelationName("editor")]}


def new_warrant(written: str) -> NewWarrant:
    object_type, object_id, relation, subject = claim(written)
    return NewWarrant(ObjectRef(object_type, object_id), relation, subject, stored_warrant(written, 0, 0).policy)


def warrants(*written: str) -> list[NewWarrant]:
    return [new_warrant(text) for text in written]


def test_every_warrant_has_the_same_chance() -> None:
    shown = warrants(*(f"document:{number}#viewer@user:ann" for number in range(1_000)))
    sample = Sample(500)
    for start in range(0, 1_000, 100):
        sample.show(shown[start : start + 100])

    places = Counter(int(warrant.object.id) // 250 for warrant in sample.warrants)
    assert len({warrant.object.id for warrant in sample.warrants}) == 500
    assert sorted(places) == [0, 1, 2, 3]
    assert all(90 < count < 160 for count in places.values())


def test_fewer_warrants_than_wanted_are_all_in_the_sample() -> None:
    sample = Sample(5)
    sample.show(warrants("document:1#viewer@user:ann", "document:2#viewer@user:ann"))

    assert [warrant.object.id for warrant in sample.warrants] == ["1", "2"]


def test_what_warrants_say_other_relations_and_strangers_are_checked() -> None:
    given = warrants(*(f"document:{number}#viewer@user:u{number}" for number in range(9)))

    asked = draw_checks(given, RELATIONS, 60)

    said = {(question.object.id, question.relation, question.subject.id) for question in asked}
    same = {
        written_id for written_id, relation, subject in said if subject == f"u{written_id}" and relation == "viewer"
    }
    assert same == {str(number) for number in range(9)}
    assert [relation for written_id, relation, subject in said if subject == f"u{written_id}" and relation == "editor"]
    assert [relation for written_id, relation, subject in said if subject != f"u{written_id}"]
    assert len(said) == len(asked)


def test_nothing_is_checked_without_warrants() -> None:
    assert draw_checks([], RELATIONS, 10) == []


def test_wildcards_stand_for_somebody_and_policies_get_what_they_compare_with() -> None:
    given = warrants("document:*#viewer@user:*[day == \"monday\" && place=='home' && risk < 5]")

    [asked, *_] = draw_checks(given, RELATIONS, 1)

    assert (asked.object.id, asked.subject.id) == (NOBODY, NOBODY)
    assert asked.context == {"day": "monday", "place": "home"}
