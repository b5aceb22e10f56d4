"""Adapts the lists of v2 to those of `/fga/v1` (docs/fga-v1.md#lists)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar, cast

import msgspec

from magistrate.api.calls import Answer, Call, Handler, answer_call
from magistrate.api.endpoints.lists import ListAnswer
from magistrate.api.endpoints.models import COST
from magistrate.api.fga.names import translate_call
from magistrate.api.route import TEXT, Parameter
from magistrate.errors import InvalidParameter
from magistrate.operations.paging import MAX_LIMIT
from magistrate.operations.scheduling import offload

A = TypeVar("A")
R = TypeVar("R")

DEFAULT_FGA_LIMIT = 10

_ORDERS = {"asc": "ASC", "desc": "DESC"}
_DEFAULT_ORDER = "desc"
_PAGE_NAMES = {"limit": "limit", "after": "nextCursor", "before": "prevCursor"}

FGA_PAGE_PARAMETERS = (
    Parameter(
        "limit",
        "how many results a page has at most",
        {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_FGA_LIMIT},
    ),
    Parameter("order", "in which direction", TEXT | {"enum": [*_ORDERS], "default": _DEFAULT_ORDER}),
    Parameter("after", "where the page begins: `list_metadata.after` of the page before it", TEXT),
    Parameter("before", "where the page ends: `list_metadata.before` of the page after it", TEXT),
)


class FgaListMetadata(msgspec.Struct):
    """Holds the cursors of a page; one is null when nothing precedes or follows."""

    before: str | None
    after: str | None


class FgaListAnswer(msgspec.Struct, Generic[A], kw_only=True, omit_defaults=True):
    """Represents a page. `object` is always `list`."""

    object: str
    data: list[A]
    list_metadata: FgaListMetadata


def fga_list(list_page: Handler, names: Mapping[str, str], sort: str, render: Callable[[Any], Any]) -> Handler:
    """Returns the handler of a list, given that of v2: `names` maps its own parameters to those of v2, `sort` is what
    it is sorted by, and `render` converts a row."""
    all_names = {**names, **_PAGE_NAMES}

    async def answer_list(call: Call[Any]) -> Answer:
        parameters_given = call.parameters
        order = parameters_given.get("order") or _DEFAULT_ORDER
        if order not in _ORDERS:
            raise InvalidParameter("order", "must be asc or desc")
        parameters = {all_names[name]: text for name, text in parameters_given.items() if name in all_names}
        parameters["limit"] = parameters.get("limit") or str(DEFAULT_FGA_LIMIT)
        parameters |= {"sortBy": sort, "sortOrder": _ORDERS[order]}
        answer = await answer_call(list_page, translate_call(call, None, parameters=parameters))
        page = cast(ListAnswer[Any], answer.value)
        metadata = FgaListMetadata(page.prev_cursor, page.next_cursor)
        rows = await render_rows(page.results, render)
        return Answer(FgaListAnswer(object="list", data=rows, list_metadata=metadata), answer.revision)

    return answer_list


async def render_rows(rows: Sequence[R], render: Callable[[R], A]) -> list[A]:
    """Returns the rows of an answer of v2 as they are shown here; many or large ones are converted in a thread."""
    return await offload(lambda: [*map(render, rows)], len(msgspec.json.encode(rows)) * COST)
