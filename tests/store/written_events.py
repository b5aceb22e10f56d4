"""Writes of every kind, whose events are known."""

from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef, object_ref
from magistrate.store.contract.events import DecisionRecord, EventFilter, EventsOfKind
from magistrate.store.contract.new_rows import NewObject, NewObjectType, NewWarrant, Stamp
from magistrate.store.contract.store import Store

NOW = 1_763_683_200_000_000
KINDS = (EventsOfKind("object"), EventsOfKind("object-type"), EventsOfKind("warrant"), EventsOfKind("decision"))
EVERYTHING = EventFilter(KINDS)
ANN = Subject(TypeName("user"), ObjectId("ann"))


def stamp(at: int) -> Stamp:
    return Stamp("key", at)


def new(object_id: str, meta: str | None = None) -> NewObject:
    return NewObject(TypeName("document"), ObjectId(object_id), meta)


def viewer(object_id: str, policy: str = "", subject: Subject = ANN) -> NewWarrant:
    return NewWarrant(ObjectRef(TypeName("document"), ObjectId(object_id)), RelationName("viewer"), subject, policy)


def decided(at: int, is_authorized: bool = True, object_id: str = "a", context: str | None = None) -> DecisionRecord:
    return DecisionRecord(at, is_authorized, ("document", object_id, "viewer", "user", "ann", ""), context, Revision(1))


def anything_goes(model: object) -> None:
    """A validation that refuses nothing."""


async def fill(store: Store) -> None:
    """Two or three of each kind, several of them at the same times; the clock of the fourth write is behind."""
    definition = '{"relations":{"viewer":{}}}'
    await store.put_object_types([NewObjectType(TypeName("document"), definition)], anything_goes, stamp(NOW))
    await store.put_objects([new("a", '{"v":1}'), new("b")], stamp(NOW + 10))
    await store.put_warrants([viewer("a"), viewer("a", "x == 1")], anything_goes, stamp(NOW + 10))
    await store.put_objects([new("a", '{"v":2}')], stamp(NOW + 5))
    await store.delete_warrants([viewer("a")], stamp(NOW + 20))
    await store.keep_decisions([decided(NOW + 10), decided(NOW + 10, False, "b", '{"x":1}')], 100)
    await store.delete_objects([object_ref("document", "a")], stamp(NOW + 30))
    await store.keep_decisions([decided(NOW + 7), decided(NOW + 40)], 100)
    await store.delete_object_type(TypeName("document"), stamp(NOW + 50))
