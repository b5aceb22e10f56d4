"""Changes of tuples that are not kept any more, or of another history (docs/openfga.md#changes)."""

import pytest

from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import object_ref
from magistrate.errors import OpenFgaRefusal
from magistrate.operations.context import Context
from magistrate.operations.openfga.changes import INVALID_TOKEN, ChangePage, LogPosition, list_changes
from magistrate.store.contract.new_rows import NewWarrant, Stamp
from magistrate.store.contract.store import AtomicWrite, Store
from magistrate.wiring.contexts import context_of
from tests.running import settings_for

pytestmark = pytest.mark.anyio

LATER = 4_000_000_000_000_000


@pytest.fixture
async def ctx(store: Store, database_url: str) -> Context:
    """A store with three tuples, each of a write of its own."""
    for number in range(3):
        user = Subject(TypeName("user"), ObjectId(f"u{number}"))
        warrant = NewWarrant(object_ref("file", "a"), RelationName("direct_viewer"), user)
        batch = AtomicWrite([], [], warrants=[warrant])
        await store.write(batch, lambda definitions: None, Stamp("ann", 1_000 + number))
    return context_of(store, settings_for(database_url))


async def read(ctx: Context, after: LogPosition | None, limit: int = 9) -> ChangePage:
    return await list_changes(ctx, after, None, None, limit)


def users(page: ChangePage) -> list[str]:
    return [change.warrant.subject_id for change in page.changes]


async def test_a_token_behind_which_some_are_gone_is_refused(ctx: Context) -> None:
    first = await read(ctx, None, 1)
    last = await read(ctx, None)
    assert (users(first), users(last)) == (["u0"], ["u0", "u1", "u2"])
    while await ctx.store.delete_events(LATER, 100):
        pass

    with pytest.raises(OpenFgaRefusal) as refused:
        await read(ctx, first.position)

    assert refused.value.code == INVALID_TOKEN
    assert users(await read(ctx, last.position)) == []
    anew = await read(ctx, None)
    assert users(anew) in ([], ["u2"])
    assert anew.was_written


async def test_a_token_of_another_history_is_refused(ctx: Context) -> None:
    position = (await read(ctx, None)).position
    assert position is not None
    assert position.bits is not None
    for other in (position._replace(bits=position.bits ^ 1), position._replace(revision=Revision(1_000_000))):
        with pytest.raises(OpenFgaRefusal) as refused:
            await read(ctx, other)
        assert refused.value.code == INVALID_TOKEN
