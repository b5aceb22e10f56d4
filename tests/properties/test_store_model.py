"""A store under random writes and reads agrees with a dict, at its newest revision and at every one before."""

import asyncio
import contextlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant, policy_digest
from magistrate.errors import NotFound, PreconditionFailed
from magistrate.store.contract.lists import ObjectFilter, ObjectTypeFilter, PageSlice, Slice, WarrantFilter
from magistrate.store.contract.new_rows import NewObject, NewObjectType, NewWarrant, Stamp
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.store import AtomicWrite, Precondition, WriteCounts
from magistrate.store.contract.stored_rows import StoredObject
from magistrate.wiring.stores import migrate_store, open_store
from tests.change_log import list_changes
from tests.databases import PostgresServer
from tests.properties.example_counts import scale_examples
from tests.running import settings_for

T = TypeVar("T")

Objects = dict[tuple[str, str], tuple[str | None, int]]
"""(type, id) → (meta, created_at)"""

names = st.sampled_from(["a", "b", "B", "ab", "a-", "z"])
types = st.sampled_from(["d", "f", "f-1"])
metas = st.sampled_from([None, '{"x":1}', '{"x":"Ab_%"}', '{"y":[true]}'])
refs = st.tuples(types, names)

Claim = tuple[str, str, str, str, str, str]
"""Object, its id, relation, subject, its id, policy."""
Warrants = dict[Claim, int]
"""In order of creation → created_at"""
Content = tuple[Objects, dict[str, str], Warrants]

ids = st.sampled_from(["a", "b", "B", "*"])
claims = st.tuples(types, ids, st.sampled_from(["r", "R"]), types, ids, st.sampled_from(["", "x == 1", "x == 2"]))

SORT_KEYS: dict[str, Callable[[StoredObject], tuple[str | int, ...]]] = {
    "objectId": lambda row: (row.id, row.type),
    "createdAt": lambda row: (row.created_at, row.id, row.type),
    "objectType": lambda row: (row.type, row.id),
}


class StoreAgainstDict(RuleBasedStateMachine):
    """`history` holds the whole content at every revision; the store must know all of them."""

    new_url: Callable[[], str]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = 1_000
        self.objects: Objects = {}
        self.types: dict[str, str] = {}
        self.warrants: Warrants = {}
        self.history: list[Content] = [({}, {}, {})]

    def run(self, work: Any) -> Any:
        return self.runner.run(work)

    def stamp(self) -> Stamp:
        self.clock += 1
        return Stamp("ann", self.clock)

    def written(self, revision: Revision) -> None:
        assert revision == len(self.history)
        self.history.append((dict(self.objects), dict(self.types), dict(self.warrants)))

    @initialize()
    def open(self) -> None:
        settings = settings_for(type(self).new_url())
        migrate_store(settings)
        self.store = self.run(open_store(settings))

    @rule(batch=st.lists(st.tuples(types, names, metas), min_size=1, max_size=6))
    def put(self, batch: list[tuple[str, str, str | None]]) -> None:
        stamp = self.stamp()

        answer = self.run(
            self.store.put_objects([NewObject(TypeName(t), ObjectId(i), meta) for t, i, meta in batch], stamp)
        )

        for of_type, object_id, meta in batch:
            _, created_at = self.objects.get((of_type, object_id), (None, stamp.at))
            self.objects[of_type, object_id] = (meta, created_at)
        assert [(row.meta, row.created_at) for row in answer.value] == [self.objects[t, i] for t, i, _ in batch]
        self.written(answer.revision)

    @rule(ref=refs, meta=metas)
    def replace_meta(self, ref: tuple[str, str], meta: str | None) -> None:
        with contextlib.ExitStack() as stack:
            if ref not in self.objects:
                stack.enter_context(pytest.raises(NotFound))
            wanted = ObjectRef(TypeName(ref[0]), ObjectId(ref[1]))
            answer = self.run(self.store.replace_meta(wanted, meta, self.stamp()))
            self.objects[ref] = (meta, self.objects[ref][1])
            self.written(answer.revision)

    @rule(batch=st.lists(refs, min_size=1, max_size=4))
    def delete(self, batch: list[tuple[str, str]]) -> None:
        with contextlib.ExitStack() as stack:
            if len(set(batch)) < len(batch) or not set(batch) <= set(self.objects):
                stack.enter_context(pytest.raises(NotFound))
            wanted = [ObjectRef(TypeName(of_type), ObjectId(object_id)) for of_type, object_id in batch]
            revision = self.run(self.store.delete_objects(wanted, self.stamp()))
            for ref in batch:
                del self.objects[ref]
            self.warrants = {
                claim: at for claim, at in self.warrants.items() if not {claim[:2], claim[3:5]} & set(batch)
            }
            self.written(revision)

    @rule(batch=st.lists(claims, min_size=1, max_size=4))
    def put_warrants(self, batch: list[Claim]) -> None:
        stamp = self.stamp()

        answer = self.run(self.store.put_warrants([new_warrant(claim) for claim in batch], lambda model: None, stamp))

        for claim in batch:
            self.warrants.setdefault(claim, stamp.at)
            for ref in (claim[:2], claim[3:5]):
                if ref[1] != "*":
                    self.objects.setdefault(ref, (None, stamp.at))
        assert [row.created_at for row in answer.value] == [self.warrants[claim] for claim in batch]
        self.written(answer.revision)

    @rule(data=st.data(), unknown=st.lists(claims, max_size=1))
    def delete_warrants(self, data: st.DataObject, unknown: list[Claim]) -> None:
        known = data.draw(st.lists(st.sampled_from(list(self.warrants)), max_size=2)) if self.warrants else []
        batch = [*known, *unknown]
        with contextlib.ExitStack() as stack:
            if len(set(batch)) < len(batch) or not set(batch) <= set(self.warrants):
                stack.enter_context(pytest.raises(NotFound))
            revision = self.run(self.store.delete_warrants([new_warrant(claim) for claim in batch], self.stamp()))
            for claim in batch:
                del self.warrants[claim]
            self.written(revision)

    @rule(
        data=st.data(),
        named=st.lists(refs | claims, max_size=2),
        are_absent=st.lists(st.booleans(), min_size=2, max_size=2),
        behind=st.sampled_from([None, None, 0, 0, 1]),
        objects=st.lists(st.tuples(types, names, metas), max_size=3),
        warrants=st.lists(claims, max_size=3),
        unknown=st.lists(refs, max_size=1),
    )
    def write(
        self,
        data: st.DataObject,
        named: list[Any],
        are_absent: list[bool],
        behind: int | None,
        objects: list[tuple[str, str, str | None]],
        warrants: list[Claim],
        unknown: list[tuple[str, str]],
    ) -> None:
        """A write equals its parts done one by one, or nothing."""
        ended = data.draw(st.lists(st.sampled_from(list(self.warrants)), max_size=2)) if self.warrants else []
        deleted = data.draw(st.lists(st.sampled_from(list(self.objects)), max_size=1)) if self.objects else []
        # Mostly those that hold, or a write would seldom be made.
        known: set[tuple[str, ...]] = {*self.objects, *self.warrants}
        required = [
            (what, data.draw(st.sampled_from([what not in known] * 4 + [is_absent])))
            for what, is_absent in zip(named, are_absent, strict=False)
        ]
        newest = len(self.history) - 1
        preconditions = [Precondition(reference(what), is_absent) for what, is_absent in required]
        preconditions += [] if behind is None else [Precondition(RevisionId(Revision(newest - behind), None))]
        wanted = AtomicWrite(
            preconditions,
            [new_warrant(claim) for claim in ended],
            [ObjectRef(TypeName(of_type), ObjectId(object_id)) for of_type, object_id in [*deleted, *unknown]],
            [NewObject(TypeName(of_type), ObjectId(object_id), meta) for of_type, object_id, meta in objects],
            [new_warrant(claim) for claim in warrants],
        )
        stamp = self.stamp()
        parts = Parts(dict(self.objects), dict(self.warrants), stamp.at)
        holds = [(what in known) != is_absent for what, is_absent in required]
        holds += [] if behind is None else [behind == 0]

        with contextlib.ExitStack() as stack:
            if not all(holds):
                caught = stack.enter_context(pytest.raises(PreconditionFailed))
            elif not (parts.end_warrants(ended) and parts.delete_objects([*deleted, *unknown])):
                stack.enter_context(pytest.raises(NotFound))
            written = self.run(self.store.write(wanted, lambda model: None, stamp))
            created = parts.put_objects(objects) + parts.put_warrants(warrants)
            gone = len(ended) + len(deleted) + len(unknown)
            assert written.value == WriteCounts(created, gone, len(objects) + len(warrants) - created)
            self.objects, self.warrants = parts.objects, parts.warrants
            self.written(written.revision)
        if not all(holds):
            assert caught.value.index == holds.index(False)

    @rule(
        equal=st.dictionaries(st.sampled_from([0, 1, 2, 3, 4]), claims, min_size=1, max_size=3),
        most=st.integers(1, 5),
    )
    def delete_matching(self, equal: dict[int, Claim], most: int) -> None:
        """Each match is deleted, and nothing else; there are as many as wanted unless there are fewer."""
        columns = ("object_type", "object_id", "relation", "subject_type", "subject_id")
        matching = [claim for claim in self.warrants if all(claim[at] == one[at] for at, one in equal.items())]

        wanted = {columns[at]: one[at] for at, one in equal.items()}
        found = self.run(self.store.match_warrants(wanted, most, self.clock)).value
        deleted = self.run(self.store.delete_matches(found, self.stamp()))

        assert deleted.value.deleted == len({claim_of(row) for row in found}) == min(most, len(matching))
        assert {claim_of(row) for row in found} <= set(matching)
        for row in found:
            del self.warrants[claim_of(row)]
        if found:  # otherwise there is no revision
            self.written(deleted.revision)

    @rule(data=st.data(), limit=st.integers(1, 5), as_of=st.booleans())
    def walk_warrants(self, data: st.DataObject, limit: int, as_of: bool) -> None:
        """Pages from the first to the last are the warrants in order of creation, now and at every revision."""
        at = Revision(data.draw(st.integers(1, len(self.history) - 1))) if as_of and len(self.history) > 1 else None
        expected = self.history[at][2] if at is not None else self.warrants
        walked: list[Warrant] = []
        wanted, more = Slice("createdAt", limit), True
        while more:
            portion = self.run(self.store.list_warrants(wanted, WarrantFilter(), at)).value
            walked += portion.rows
            more = portion.follows
            if more:
                wanted = Slice("createdAt", limit, boundary=(walked[-1].created_at, walked[-1].number))
        assert [(claim_of(row), row.created_at) for row in walked] == list(expected.items())

    @rule(name=types, definition=st.sampled_from(['{"relations":{}}', '{"relations":{"a":{}}}']))
    def put_type(self, name: str, definition: str) -> None:
        new = [NewObjectType(TypeName(name), definition)]
        answer = self.run(self.store.put_object_types(new, lambda model: None, self.stamp()))
        self.types[name] = definition
        self.written(answer.revision)

    @rule(name=types)
    def delete_type(self, name: str) -> None:
        with contextlib.ExitStack() as stack:
            if name not in self.types:
                stack.enter_context(pytest.raises(NotFound))
            revision = self.run(self.store.delete_object_type(TypeName(name), self.stamp()))
            del self.types[name]
            self.written(revision)

    @rule(
        data=st.data(),
        sort=st.sampled_from(list(SORT_KEYS)),
        descending=st.booleans(),
        limit=st.integers(1, 4),
        of_type=st.none() | types,
        text=st.none() | st.sampled_from(["A", "b", "%", "_", "x", '"y"']),
        as_of=st.booleans(),
        backwards=st.booleans(),
    )
    def walk(
        self,
        data: st.DataObject,
        sort: str,
        descending: bool,
        limit: int,
        of_type: str | None,
        text: str | None,
        as_of: bool,
        backwards: bool,
    ) -> None:
        """Pages in one direction, from the start or any boundary, add up to what the dict says, with true flags."""
        at = Revision(data.draw(st.integers(1, len(self.history) - 1))) if as_of and len(self.history) > 1 else None
        content = self.history[at][0] if at is not None else self.objects
        key = SORT_KEYS[sort]
        every = sorted((stored(ref, meta, created_at) for ref, (meta, created_at) in content.items()), key=key)
        every = [row for row in every if matches(row, of_type, text)]
        every = every[::-1] if descending else every
        drawn = data.draw(st.none() | st.tuples(refs, st.integers(1_000, 1_030)))
        boundary = None if drawn is None else key(stored(drawn[0], None, drawn[1]))
        if boundary is None and backwards:
            return
        expected = [row for row in every if boundary is None or beyond(key(row), boundary, descending != backwards)]

        walked: list[StoredObject] = []
        more = True
        while more:
            wanted = Slice(sort, limit, descending, boundary, backwards)
            portion: PageSlice[StoredObject] = self.run(
                self.store.list_objects(wanted, ObjectFilter(of_type, text), at)
            ).value
            assert len(portion.rows) <= limit
            if portion.rows:
                assert portion.precedes == (every[0] != portion.rows[0])
                assert portion.follows == (every[-1] != portion.rows[-1])
            walked = [*portion.rows, *walked] if backwards else [*walked, *portion.rows]
            more = portion.precedes if backwards else portion.follows
            more = more and bool(portion.rows)
            boundary = key(portion.rows[0 if backwards else -1]) if portion.rows else boundary
        assert walked == expected

    @rule(ref=refs, data=st.data())
    def look_up(self, ref: tuple[str, str], data: st.DataObject) -> None:
        at = data.draw(st.integers(1, len(self.history) - 1)) if len(self.history) > 1 else None
        wanted = ObjectRef(TypeName(ref[0]), ObjectId(ref[1]))

        now = self.run(self.store.get_object(wanted))
        assert now.revision == len(self.history) - 1
        assert summary(now.value) == self.objects.get(ref)
        if at is not None:
            then = self.run(self.store.get_object(wanted, Revision(at)))
            assert then.revision == at
            assert summary(then.value) == self.history[at][0].get(ref)

    @invariant()
    def the_types_of_every_revision_are_known(self) -> None:
        at = len(self.history) // 2
        if at:
            listed = self.run(
                self.store.list_object_types(Slice("typeId", 10), ObjectTypeFilter(), Revision(at))
            ).value.rows
            assert {row.name: row.definition for row in listed} == self.history[at][1]

    def teardown(self) -> None:
        if hasattr(self, "store"):
            log = self.run(list_changes(self.store))
            objects, types, warrants = replayed(log)
            assert (objects, types) == (self.objects_as_metas(), self.types)
            assert sorted(warrants) == sorted((*c[:5], "", policy_digest(c[5])) for c in self.warrants)
            self.run(self.store.close())
        self.runner.close()

    def objects_as_metas(self) -> dict[tuple[str, ...], str | None]:
        return {ref: meta for ref, (meta, _) in self.objects.items()}


@dataclass
class Parts:
    """What a write leaves behind, of which each part is done by itself, at one time."""

    objects: Objects
    warrants: Warrants
    at: int

    def end_warrants(self, claims: list[Claim]) -> bool:
        """Whether each of them was there."""
        return all(self.warrants.pop(claim, None) is not None for claim in claims)

    def delete_objects(self, refs: list[tuple[str, str]]) -> bool:
        for ref in refs:
            if self.objects.pop(ref, None) is None:
                return False
            self.warrants = {c: at for c, at in self.warrants.items() if ref not in (c[:2], c[3:5])}
        return True

    def put_objects(self, objects: list[tuple[str, str, str | None]]) -> int:
        """How many objects differ from before."""
        before = dict(self.objects)
        for of_type, object_id, meta in objects:
            self.objects[of_type, object_id] = (meta, before.get((of_type, object_id), (None, self.at))[1])
        return sum(before.get(ref) != content for ref, content in self.objects.items())

    def put_warrants(self, claims: list[Claim]) -> int:
        """How many warrants were not there before."""
        before = len(self.warrants)
        for claim in claims:
            if claim not in self.warrants:
                self.warrants[claim] = self.at
                for ref in (claim[:2], claim[3:5]):
                    if ref[1] != "*":
                        self.objects.setdefault(ref, (None, self.at))
        return len(self.warrants) - before


def reference(what: tuple[str, ...]) -> ObjectRef | NewWarrant:
    if len(what) == 2:
        return ObjectRef(TypeName(what[0]), ObjectId(what[1]))
    of_type, object_id, relation, subject_type, subject_id, policy = what
    return new_warrant((of_type, object_id, relation, subject_type, subject_id, policy))


def new_warrant(claim: Claim) -> NewWarrant:
    of_type, object_id, relation, subject_type, subject_id, policy = claim
    subject = Subject(TypeName(subject_type), ObjectId(subject_id))
    return NewWarrant(ObjectRef(TypeName(of_type), ObjectId(object_id)), RelationName(relation), subject, policy)


def claim_of(row: Warrant) -> Claim:
    return (row.object_type, row.object_id, row.relation, row.subject_type, row.subject_id, row.policy)


def matches(row: StoredObject, of_type: str | None, text: str | None) -> bool:
    found = text is None or text.lower() in row.id.lower() or text.lower() in (row.meta or "").lower()
    return found and of_type in (None, row.type)


def beyond(key: tuple[Any, ...], boundary: tuple[Any, ...], before: bool) -> bool:
    return key < boundary if before else key > boundary


def stored(ref: tuple[str, str], meta: str | None, created_at: int) -> StoredObject:
    return StoredObject(TypeName(ref[0]), ObjectId(ref[1]), meta, created_at)


def summary(row: StoredObject | None) -> tuple[str | None, int] | None:
    return None if row is None else (row.meta, row.created_at)


def replayed(log: Any) -> tuple[dict[Any, str | None], dict[Any, str | None], dict[Any, str | None]]:
    """What the change log says the objects, types and warrants are."""
    content: dict[str, dict[Any, str | None]] = {"object": {}, "object-type": {}, "warrant": {}}
    for change in log:
        key = change.key[0] if change.kind == "object-type" else change.key
        assert content[change.kind].get(key) == change.before
        if change.action == "deleted":
            del content[change.kind][key]
        else:
            content[change.kind][key] = change.after
    return content["object"], content["object-type"], content["warrant"]


def run_machine(new_url: Callable[[], str], examples: int) -> None:
    machine = type("Machine", (StoreAgainstDict,), {"new_url": staticmethod(new_url)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


def test_sqlite_agrees_with_a_dict(tmp_path: Path) -> None:
    run_machine(lambda: f"sqlite:///{tempfile.mkdtemp(dir=tmp_path)}/m.db", examples=scale_examples(30))


def test_postgresql_agrees_with_a_dict(postgres: PostgresServer) -> None:
    run_machine(postgres.new_url, examples=scale_examples(15))
