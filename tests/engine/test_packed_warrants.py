"""Packed warrants are those that the store has, whatever changes; what is not certain is left to the store."""

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.cache import packed_warrants
from magistrate.engine.cache.packed_warrants import (
    EVERY_ID,
    MAX_CHANGES,
    IdRange,
    KindOnObject,
    PackedById,
    PackedKinds,
    PackedWarrants,
)
from magistrate.engine.cache.segments import free_at_once
from magistrate.engine.model.plans import PlanNames
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.warrants.warrant import ChangedWarrant, WarrantNames, warrant_names

DOCUMENT, USER = TypeName("document"), TypeName("user")
VIEWER, EDITOR = RelationName("viewer"), RelationName("editor")
IDS = [*map(ObjectId, ("a", "aa", "b", "*"))]
SUBJECTS = [*map(ObjectId, ("ann", "an", "bob", "*"))]
PLENTY = 1_000_000
READ_BY_SUBJECT: frozenset[PlanNames] = frozenset({(DOCUMENT, VIEWER)})

CHANGES = st.lists(
    st.tuples(
        st.builds(
            lambda object_id, relation, subject_id: warrant_names(DOCUMENT, object_id, relation, USER, subject_id, ""),
            st.sampled_from(IDS),
            st.sampled_from([VIEWER, EDITOR]),
            st.sampled_from(SUBJECTS),
        ),
        st.sampled_from([True, False, None]),
    ),
    max_size=40,
)


def packed_with(*names: WarrantNames, last: ObjectId | None = None, max_bytes: int = PLENTY) -> PackedWarrants:
    packed = PackedWarrants(max_bytes, free_at_once)
    by_object, texts = packed.prepare_objects(DOCUMENT), dict[ObjectId, str]()
    for each in names:
        kind = (each.relation, each.subject_type, each.subject_relation)
        texts[each.object_id] = texts.get(each.object_id, "") + by_object.pack(kind, each.subject_id, is_certain=True)
    packed.add_page(by_object, texts, last)
    by_subject = packed.prepare_subjects(USER, "", READ_BY_SUBJECT)
    texts = {}
    for each in names:
        if each.relation == VIEWER:
            text = by_subject.pack((DOCUMENT, VIEWER), each.object_id, is_certain=True)
            texts[each.subject_id] = texts.get(each.subject_id, "") + text
    packed.add_page(by_subject, texts, last)
    return packed


def find_names(kind: KindOnObject) -> WarrantNames:
    relation, subject_type, subject_relation = kind
    return warrant_names(DOCUMENT, "", relation, subject_type, "", subject_relation)


def list_all(
    packed: PackedWarrants, object_id: ObjectId, kinds: PackedKinds[KindOnObject, WarrantNames] | None = None
) -> set[WarrantNames] | None:
    """Returns the warrants on a document; None if they are not covered, or one is marked."""
    by_object, kinds = packed.on_objects(DOCUMENT), kinds or PackedKinds()
    found = None if by_object is None else by_object.list_warrants(object_id)
    if found is None or by_object is None:
        return None
    kinds.look_at(by_object.kinds, find_names)
    if any(number in kinds.marks for number, _ in found):
        return None
    return {kinds.values[number]._replace(object_id=object_id, subject_id=other) for number, other in found}


def list_groups(packed: PackedWarrants, subject_id: ObjectId) -> set[WarrantNames] | None:
    """Returns the documents that a user has; None as above."""
    by_subject = packed.to_subjects(USER, "")
    found = None if by_subject is None else by_subject.list_warrants(subject_id)
    if found is None or any(number != "0" for number, _ in found):
        return None
    return {viewer(object_id, subject_id) for _, object_id in found}


def viewer(object_id: str, subject_id: str = "ann") -> WarrantNames:
    return warrant_names(DOCUMENT, object_id, VIEWER, USER, subject_id, "")


@given(changes=CHANGES, chunk=st.integers(1, 5))
def test_they_are_those_that_exist_or_none_where_that_is_not_certain(
    changes: list[tuple[WarrantNames, bool | None]], chunk: int
) -> None:
    packed, existing, uncertain = packed_with(), set[WarrantNames](), set[WarrantNames]()
    for first in range(0, len(changes), chunk):
        packed.apply([ChangedWarrant(*change) for change in changes[first : first + chunk]])
        for names, exists in changes[first : first + chunk]:
            existing.discard(names)
            if exists is None:
                uncertain.add(names)
            elif exists:
                existing.add(names)
        for object_id in IDS:
            is_certain = not any(names.object_id == object_id for names in uncertain)
            expected = {names for names in existing if names.object_id == object_id}
            assert list_all(packed, object_id) == (expected if is_certain else None)
        for subject_id in SUBJECTS:
            viewed = [names for names in (*existing, *uncertain) if names[2:5] == (VIEWER, USER, subject_id)]
            expected = {names for names in viewed if names in existing}
            assert list_groups(packed, subject_id) == (None if uncertain.intersection(viewed) else expected)


def test_ids_that_are_not_covered_are_left_to_the_store() -> None:
    packed = packed_with(viewer("a"), viewer("*"), last=ObjectId("b"))

    assert list_all(packed, ObjectId("a")) == {viewer("a")}
    assert list_all(packed, ObjectId("b")) == set()
    assert list_all(packed, ObjectId("*")) == {viewer("*")}
    assert list_all(packed, ObjectId("ba")) is None
    packed.apply([ChangedWarrant(viewer("ba"), exists=True)])
    assert list_all(packed, ObjectId("ba")) is None
    assert packed.on_objects(USER) is None


def test_a_mark_is_for_what_needs_its_relation() -> None:
    packed = packed_with(viewer("a"))
    packed.mark([viewer("a", "bob")], EVERY_ID)
    by_object, kinds = packed.prepare_objects(DOCUMENT), PackedKinds[KindOnObject, str]()

    kinds.look_at(by_object.kinds, lambda kind: "needed" if kind[0] == EDITOR else None)

    assert list_all(packed, ObjectId("a")) is None
    assert kinds.marks == {"!"}
    assert packed.select_unpacked(DOCUMENT, [ObjectId("a"), ObjectId("b")]) == [ObjectId("a")]


@pytest.mark.parametrize(
    ("ids", "marked"),
    [
        (IdRange(None, None), {"a", "b", "c", "*"}),
        (IdRange(None, ObjectId("a")), {"a", "*"}),
        (IdRange(ObjectId("a"), ObjectId("b")), {"b", "*"}),
        (IdRange(ObjectId("a"), None), {"b", "c", "*"}),
    ],
)
def test_only_warrants_of_a_page_are_marked(ids: IdRange, marked: set[str]) -> None:
    packed = packed_with()
    packed.mark([viewer(object_id) for object_id in ("a", "b", "c", "*")], ids)

    uncertain = {object_id for object_id in ("a", "b", "c", "*") if list_all(packed, ObjectId(object_id)) is None}
    assert uncertain == marked


def test_kinds_that_come_later_are_looked_at_too() -> None:
    packed, kinds = packed_with(viewer("a")), PackedKinds[KindOnObject, WarrantNames]()
    assert list_all(packed, ObjectId("a"), kinds) == {viewer("a")}
    editor = warrant_names(DOCUMENT, "a", EDITOR, USER, "bob", "")
    packed.apply([ChangedWarrant(editor, exists=True)])

    assert list_all(packed, ObjectId("a"), kinds) == {viewer("a"), editor}


def test_numbers_of_kinds_begin_anew_after_an_eviction() -> None:
    packed, kinds = packed_with(viewer("a")), PackedKinds[KindOnObject, WarrantNames]()
    assert list_all(packed, ObjectId("a"), kinds) == {viewer("a")}
    packed.clear()
    assert list_all(packed, ObjectId("a"), kinds) is None
    by_object = packed.prepare_objects(DOCUMENT)
    text = by_object.pack((EDITOR, USER, ""), ObjectId("ann"), is_certain=True)
    packed.add_page(by_object, {ObjectId("a"): text}, None)

    assert list_all(packed, ObjectId("a"), kinds) == {warrant_names(DOCUMENT, "a", EDITOR, USER, "ann", "")}


def extend_with_other_relations(packed: PackedWarrants) -> Sequence[PackedById[PlanNames]]:
    other = packed.prepare_subjects(USER, "", frozenset({(DOCUMENT, EDITOR)}))
    return [other, packed.prepare_subjects(USER, "", frozenset({(DOCUMENT, EDITOR)}))]


def test_warrants_by_subject_begin_anew_if_they_lack_a_relation() -> None:
    packed = packed_with(viewer("a"))
    assert list_groups(packed, ObjectId("ann")) == {viewer("a")}

    both = packed.prepare_subjects(USER, "", frozenset({(DOCUMENT, EDITOR), (DOCUMENT, VIEWER)}))
    packed.add_page(both, {}, ObjectId("b"))
    other, same = extend_with_other_relations(packed)

    assert other is same
    assert other is not both  # which would lack viewers behind b
    assert other.is_next(None)
    assert list_groups(packed, ObjectId("ann")) is None


def test_what_is_too_long_is_left_to_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_warrants, "MAX_TEXT", 100)
    packed = packed_with()
    many = [viewer("a", f"user-{number}") for number in range(20)]
    packed.apply([ChangedWarrant(names, exists=True) for names in many])

    assert list_all(packed, ObjectId("a")) is None
    assert packed.select_unpacked(DOCUMENT, [ObjectId("a")]) == [ObjectId("a")]
    packed.apply([ChangedWarrant(names, exists=False) for names in many])
    assert list_all(packed, ObjectId("a")) is None  # it is not known any more what is left


def test_too_many_kinds_are_left_to_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_warrants, "MAX_KINDS", 10)
    packed = packed_with(viewer("a"))
    made = [warrant_names(DOCUMENT, "a", f"made-{number}", USER, "ann", "") for number in range(10)]

    packed.apply([ChangedWarrant(names, exists=True) for names in made])

    assert list_all(packed, ObjectId("a")) is None
    assert not packed.prepare_objects(DOCUMENT).is_next(None)
    packed.clear()
    assert packed.prepare_objects(DOCUMENT).is_next(None)


def grow(packed: PackedWarrants, numbers: Iterable[int]) -> None:
    packed.apply([ChangedWarrant(viewer(f"document-{number}"), exists=True) for number in numbers])


def test_their_bytes_are_counted_and_limited() -> None:
    packed = packed_with(max_bytes=50_000)
    before = packed.bytes
    grow(packed, range(100))
    grown = packed.bytes - before
    assert 100 * len(" document-00 0:ann document-00 0:") < grown < 10_000
    packed.apply([ChangedWarrant(viewer(f"document-{number}"), exists=False) for number in range(100)])
    assert packed.bytes - before < grown / 2

    for number in range(1_000):  # each with kinds of its own
        relations = frozenset({(DOCUMENT, RelationName(f"made-{number}"))})
        by_subject = packed.prepare_subjects(USER, "", relations)
        text = by_subject.pack(next(iter(relations)), ObjectId("a"), is_certain=True)
        packed.add_page(by_subject, {ObjectId("ann"): text}, None)
        assert 0 < packed.bytes - before < grown / 2

    for first in range(0, 5_000, 100):
        grow(packed, range(first, first + 100))
        assert packed.bytes < 50_000 * 9 / 8
    assert list_all(packed, ObjectId("document-0")) is None  # all were evicted at some time
    packed.clear()
    assert packed.bytes == 0


def test_so_many_changes_that_they_would_take_long_evict_everything() -> None:
    packed = packed_with(viewer("a"))
    many = [ChangedWarrant(viewer(f"document-{number}"), exists=True) for number in range(MAX_CHANGES + 1)]

    packed.apply(many[1:])
    assert list_all(packed, ObjectId("a")) == {viewer("a")}
    packed.apply(many)
    assert list_all(packed, ObjectId("a")) is None
    assert packed.bytes == 0
