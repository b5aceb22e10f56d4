"""What stores promise about authorization models of OpenFGA's API (store/contract/openfga.py)."""

import pytest

from magistrate.engine.names import Revision, TypeName
from magistrate.store.contract.backups import RestoredContents
from magistrate.store.contract.new_rows import NewModel, NewObjectType, Stamp
from magistrate.store.contract.openfga import LAST_ULID, StoredOpenFgaModel
from magistrate.store.contract.store import Store
from magistrate.store.contract.stores import NewStore, StoreLimits, generate_ulid, generate_ulid_after, read_ulid_time
from magistrate.wiring.stores import open_stores
from tests.databases import dump
from tests.running import settings_for

pytestmark = pytest.mark.anyio

STAMP = Stamp("ann", 1_000)
MODEL = NewModel([NewObjectType(TypeName("t"), '{"relations":{"x":{}}}')], ())


async def write(store: Store, document: str) -> tuple[str, Revision]:
    written = await store.put_openfga_model(document, MODEL, lambda model: None, STAMP)
    return written.value[0], written.revision


async def test_ids_ascend_and_the_newest_is_known(store: Store) -> None:
    assert (await store.find_newest_openfga_model()).value.id is None

    ids = [(await write(store, f'{{"n":{number}}}'))[0] for number in range(5)]

    assert ids == sorted(set(ids))
    assert (await store.find_newest_openfga_model()).value.id == ids[-1]
    listed = (await store.list_openfga_models(LAST_ULID, 3)).value
    assert [row.id for row in listed] == ids[:1:-1]
    assert [row.id for row in (await store.list_openfga_models(listed[-1].id, 3)).value] == ids[1::-1]


async def test_a_write_changes_the_model_even_if_it_is_as_before(store: Store) -> None:
    _, first = await write(store, "{}")
    model_id, second = await write(store, "{}")

    newest = await store.find_newest_openfga_model()
    assert (newest.revision, newest.value) == (second, (model_id, second))
    assert second == first + 1
    assert (await store.read_model()).value.definitions == {"t": '{"relations":{"x":{}}}'}
    found = (await store.find_openfga_model(model_id)).value
    assert found == StoredOpenFgaModel(model_id, "{}", "[]", 1_000, second)


async def test_a_write_that_is_refused_stores_nothing(store: Store) -> None:
    def refuse(model: object) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        await store.put_openfga_model("{}", MODEL, refuse, STAMP)
    assert (await store.find_newest_openfga_model()).value.id is None


async def test_assertions_are_replaced_as_a_whole(store: Store) -> None:
    model_id, revision = await write(store, "{}")

    replaced = await store.put_openfga_assertions(model_id, "[1]")
    assert (replaced.revision, replaced.value) == (revision, True)
    assert not (await store.put_openfga_assertions("01ARZ3NDEKTSV4RRFFQ69G5FAV", "[2]")).value
    found = (await store.find_openfga_model(model_id)).value
    assert found is not None
    assert found.assertions == "[1]"


async def test_a_restored_store_has_the_models_of_the_backup(store: Store) -> None:
    await write(store, '{"lost":1}')
    kept = StoredOpenFgaModel("01ARZ3NDEKTSV4RRFFQ69G5FAV", '{"kept":1}', "[3]", 7, 0)

    await store.restore(RestoredContents(lambda: iter([[kept]]), 0, 0), STAMP, replaces=True)

    listed = (await store.list_openfga_models(LAST_ULID, 9)).value
    assert listed == (StoredOpenFgaModel(kept.id, kept.document, "[3]", 7, 1),)


async def test_models_of_one_store_are_not_those_of_another(store: Store, database_url: str) -> None:
    model_id, _ = await write(store, "{}")
    stores = await open_stores(settings_for(database_url))
    try:
        made = await stores.create(NewStore("", "", StoreLimits(), "ann", 5, openfga_name="A store"))
        other = stores.open_store(made)
        assert (await other.find_openfga_model(model_id)).value is None
        assert (await other.list_openfga_models(LAST_ULID, 9)).value == ()
        await write(other, '{"of":"another"}')
        await stores.delete(made.number, 60)
        while (await stores.delete_rows(100, 100)).rows:
            pass
        assert len(dump(database_url)["openfga_model"]) == 1
    finally:
        await stores.close()


async def test_stores_are_listed_by_id_and_by_their_name_in_openfga(store: Store, database_url: str) -> None:
    stores = await open_stores(settings_for(database_url))
    try:
        made = [
            await stores.create(NewStore("", "", StoreLimits(), "ann", 10**15, openfga_name=name))
            for name in ("A store", "Another", "A store")
        ]
        assert [row.id for row in made] == sorted({row.id for row in made})
        assert [row.name for row in made] == [f"openfga-{row.id.lower()}" for row in made]
        named = await stores.list_stores_by_id("", 9, "A store")
        assert [row.id for row in named] == [made[0].id, made[2].id]
        assert [row.id for row in await stores.list_stores_by_id(named[0].id, 1, "A store")] == [made[2].id]
        assert {row.id for row in await stores.list_stores_by_id("", 9, None)} >= {row.id for row in made}
        assert (await stores.list_stores_by_id("", 9, "default"))[0].name == "default"
    finally:
        await stores.close()


def test_ids_that_follow_others_of_the_same_time_are_random() -> None:
    last = "0" * 26
    following = {generate_ulid_after(0, last) for _ in range(100)}
    assert len(following) == 100
    assert min(following) > last


def test_the_time_of_an_id_is_read_from_it() -> None:
    assert read_ulid_time(generate_ulid(1_763_683_200_123_456)) == 1_763_683_200_123_000
