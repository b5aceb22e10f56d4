"""Pages of lists: which of them have cursors, and how long these are."""

import pytest

from magistrate.engine.id_characters import MAX_ID_LENGTH
from magistrate.engine.names import ObjectId, TypeName
from magistrate.engine.terms import MAX_NAME_LENGTH
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.paging import MAX_CURSOR_LENGTH, read_page_request
from magistrate.operations.writes.objects import OBJECT_LIST, list_objects
from magistrate.operations.writes.v1_resources import USERS
from magistrate.store.contract.lists import ObjectFilter
from magistrate.store.contract.new_rows import NewObject
from magistrate.store.contract.store import Store
from magistrate.wiring.contexts import context_of
from tests.running import settings_for

pytestmark = pytest.mark.anyio


@pytest.fixture
def ctx(store: Store, database_url: str) -> Context:
    return context_of(store, settings_for(database_url))


async def test_a_list_that_shows_no_cursors_makes_none_of_what_may_be_very_long(ctx: Context) -> None:
    new = [NewObject(USERS.type, ObjectId(f"u{n}"), f'{{"email":"{n}{"x" * 5_000}"}}') for n in range(3)]
    await ctx.store.put_objects(new, ctx.stamp("ann"))
    wanted = read_page_request(USERS.list_kind, {"limit": "1", "sortBy": "email", "afterId": "u0"}, ctx.store.identity)

    page = (await list_objects(ctx, wanted, ObjectFilter(USERS.type), NO_DEMAND, USERS.list_kind)).value

    assert [row.id for row in page.rows] == ["u0"]  # behind a row without an email
    assert (page.prev_cursor, page.next_cursor) == (None, None)


@pytest.mark.parametrize("sort", OBJECT_LIST.sorts)
async def test_the_longest_cursor_is_taken_back(ctx: Context, sort: str) -> None:
    of_type = TypeName("t" * MAX_NAME_LENGTH)
    new = [NewObject(of_type, ObjectId(letter * MAX_ID_LENGTH), None) for letter in "abc"]
    await ctx.store.put_objects(new, ctx.stamp("ann"))
    parameters = {"limit": "1", "sortBy": sort, "snapshot": "true"}

    for expected in new[:2]:
        wanted = read_page_request(OBJECT_LIST, parameters, ctx.store.identity)
        page = (await list_objects(ctx, wanted, ObjectFilter(), NO_DEMAND)).value
        assert [row.id for row in page.rows] == [expected.id]
        assert page.next_cursor is not None
        assert len(page.next_cursor) <= MAX_CURSOR_LENGTH
        parameters["nextCursor"] = page.next_cursor
