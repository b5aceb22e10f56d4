"""Translates calls of `/fga/v1` to v2, the names in errors back (docs/fga-v1.md#names), and the lists of v2 to those
that are served here (docs/fga-v1.md#lists)."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from magistrate import errors
from magistrate.api.calls import Answer, Call, Handler, answer_call
from magistrate.api.endpoints.lists import ListAnswer
from magistrate.api.endpoints.models import COST
from magistrate.api.route import TEXT, Parameter
from magistrate.operations.paging import MAX_LIMIT
from magistrate.operations.scheduling import offload

A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")

FGA_NAMES = {
    "objectType": "resource_type",
    "objectId": "resource_id",
    "subjectType": "subject_type",
    "subjectId": "subject_id",
    "subjectRelation": "subject_relation",
    "objectTypes": "resource_types",
    "warrants": "checks",
    "inheritIf": "inherit_if",
    "ofType": "of_type",
    "withRelation": "with_relation",
    "forAll": "for_all",
    "allowedTypes": "allowed_types",
    "sortOrder": "order",
    "nextCursor": "after",
    "prevCursor": "before",
}
"""Lists the members and parameters that have another name; all others have the same."""

_NAME = re.compile("[A-Za-z]+")


def translate_call(
    call: Call[Any], body: B, path: Mapping[str, str] | None = None, parameters: Mapping[str, str] | None = None
) -> Call[B]:
    """Returns a call of v2 with this body. Its path is the same unless given, and it has no other parameters."""
    translated: Call[B] = replace(call, body=body, path=path or call.path, parameters=parameters or {})
    return translated


def rename_in_error(error: errors.InvalidParameter) -> errors.InvalidParameter:
    """Returns the error with the name that its parameter, such as `[3].objectId`, has here."""
    parameter = _NAME.sub(lambda name: FGA_NAMES.get(name[0], name[0]), error.parameter).lstrip(".")
    if isinstance(error, errors.MissingParameter):
        error.message = error.message.replace(error.parameter.rpartition(".")[2], parameter.rpartition(".")[2])
    error.parameter = parameter
    return error


def translate_errors(handler: Handler[A]) -> Handler[A]:
    """Returns the handler such that its errors name parameters as they are called here. The names in the errors of
    decoding are those of the caller, and stay."""

    async def answer(call: Call[Any]) -> Answer[A]:
        try:
            return await answer_call(handler, call)
        except errors.InvalidParameter as error:
            raise rename_in_error(error) from None

    return answer


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


def fga_list(
    list_page: Handler[ListAnswer[R]], names: Mapping[str, str], sort: str, render: Callable[[R], A]
) -> Handler[FgaListAnswer[A]]:
    """Returns the handler of a list, given that of v2: `names` maps its own parameters to those of v2, `sort` is what
    it is sorted by, and `render` converts a row."""
    all_names = {**names, **_PAGE_NAMES}

    async def answer_list(call: Call[Any]) -> Answer[FgaListAnswer[A]]:
        parameters_given = call.parameters
        order = parameters_given.get("order") or _DEFAULT_ORDER
        if order not in _ORDERS:
            raise errors.InvalidParameter("order", "must be asc or desc")
        parameters = {all_names[name]: text for name, text in parameters_given.items() if name in all_names}
        parameters["limit"] = parameters.get("limit") or str(DEFAULT_FGA_LIMIT)
        parameters |= {"sortBy": sort, "sortOrder": _ORDERS[order]}
        answer = await answer_call(list_page, translate_call(call, None, parameters=parameters))
        page = answer.value
        metadata = FgaListMetadata(page.prev_cursor, page.next_cursor)
        rows = await render_rows(page.results, render)
        return answer.with_value(FgaListAnswer(object="list", data=rows, list_metadata=metadata))

    return answer_list


async def render_rows(rows: Sequence[R], render: Callable[[R], A]) -> list[A]:
    """Returns the rows of an answer of v2 as they are shown here; many or large ones are converted in a thread."""
    return await offload(lambda: [*map(render, rows)], len(msgspec.json.encode(rows)) * COST)
