"""The envelope of a page, for every list (contract section 2.4)."""

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from magistrate.operations.paging import Page

T = TypeVar("T")
A = TypeVar("A")


class ListAnswer(msgspec.Struct, Generic[A], rename="camel", omit_defaults=True):
    """A cursor is left out when nothing precedes or follows."""

    results: list[A]
    prev_cursor: str | None = None
    next_cursor: str | None = None


def list_answer(page: Page[T], shown: Callable[[T], A]) -> ListAnswer[A]:
    return ListAnswer([shown(row) for row in page.rows], page.prev_cursor, page.next_cursor)
