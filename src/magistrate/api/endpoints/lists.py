"""Defines the form of a page for every list (docs/compatibility.md#lists-and-cursors)."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from magistrate.api.calls import Answer, Call, Handler, answer_call
from magistrate.api.endpoints.openfga_names import Named
from magistrate.operations.paging import Page
from magistrate.operations.scheduling import checkpoint

T = TypeVar("T")
A = TypeVar("A")

ROWS_AT_ONCE = 200
"""Limits the rows that are rendered before a yield, which takes a millisecond or two; most pages have fewer."""


class ListAnswer(msgspec.Struct, Generic[A], rename="camel", omit_defaults=True):
    """Represents a page. A cursor is omitted when nothing precedes or follows, and `names` unless the rows have names
    that OpenFGA's API writes otherwise."""

    results: list[A]
    prev_cursor: str | None = None
    next_cursor: str | None = None
    names: Named = msgspec.UNSET


def read_page_members(body: msgspec.Struct) -> dict[str, str]:
    """Returns the members of a body that describe a page, as the parameters of a query string that they stand for."""
    members = {
        field.encode_name: getattr(body, field.name)
        for field in msgspec.structs.fields(body)
        if field.encode_name in ("limit", "sortBy", "sortOrder", "nextCursor", "prevCursor")
    }
    return {name: str(value) for name, value in members.items() if value is not None}


def bare(list_page: Handler[ListAnswer[A]]) -> Handler[list[A]]:
    """Converts a handler to the list form of v1: an array without cursors."""

    async def answer_list(call: Call[Any]) -> Answer[list[A]]:
        answer = await answer_call(list_page, call)
        return answer.with_value(answer.value.results)

    return answer_list


async def render_page(page: Page[T], shown: Callable[[T], A]) -> ListAnswer[A]:
    """Returns the answer with a page, and lets other requests run between ROWS_AT_ONCE."""
    results: list[A] = []
    for start in range(0, len(page.rows), ROWS_AT_ONCE):
        if start:
            await checkpoint()
        results += map(shown, page.rows[start : start + ROWS_AT_ONCE])
    return ListAnswer(results, page.prev_cursor, page.next_cursor)
