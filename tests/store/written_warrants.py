"""Writes warrants from their written form."""

from collections.abc import Sequence

from magistrate.engine.names import Revision
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant
from magistrate.store.contract.lists import ObjectFilter, Slice, WarrantFilter
from magistrate.store.contract.new_rows import NewWarrant, Once, Stamp
from magistrate.store.contract.store import Store
from tests.scenario_files import claim, stored_warrant

NOW = 1_763_683_200_000_000
EVERYTHING = Slice("createdAt", 1_000)


def anything_goes(model: object) -> None:
    """A validation that refuses nothing."""


def stamp(at: int = NOW, once: Once | None = None) -> Stamp:
    return Stamp("ann", at, once)


def new(written: str) -> NewWarrant:
    object_type, object_id, relation, subject = claim(written)
    return NewWarrant(ObjectRef(object_type, object_id), relation, subject, stored_warrant(written, 0, 0).policy)


async def put(store: Store, *written: str, at: int = NOW) -> Sequence[Warrant]:
    return (await store.put_warrants([new(text) for text in written], anything_goes, stamp(at))).value


async def delete(store: Store, *written: str) -> Revision:
    return await store.delete_warrants([new(text) for text in written], stamp())


async def relation_results(
    store: Store, wanted: Slice = EVERYTHING, only: WarrantFilter | None = None, at: int | None = None
) -> list[str]:
    revision = None if at is None else Revision(at)
    found = await store.list_warrants(wanted, only or WarrantFilter(), revision)
    return [warrant.render() for warrant in found.value.rows]


async def objects(store: Store) -> list[str]:
    found = await store.list_objects(Slice("objectType", 1_000), ObjectFilter())
    return [f"{row.type}:{row.id}" for row in found.value.rows]
