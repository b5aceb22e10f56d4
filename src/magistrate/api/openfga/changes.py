"""Handles the changes of OpenFGA's API (docs/openfga.md#changes)."""

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.http.json_values import render_time
from magistrate.api.http.openfga_errors import INVALID
from magistrate.api.openfga.reads import StoredKeyAnswer, render_key
from magistrate.api.openfga.tokens import INVALID_TOKEN, read_continuation, read_page_size, write_continuation
from magistrate.engine.importers.names import STABLE
from magistrate.engine.names import Revision, TypeName
from magistrate.engine.openfga.tuples import TYPE
from magistrate.errors import InvalidParameter, OpenFgaRefusal
from magistrate.operations.history.times import read_time
from magistrate.operations.openfga.changes import LogPosition, find_end, list_changes
from magistrate.operations.openfga.names import find_names

_LIST = "changes"
_NO_BITS = "-"
WRITE, DELETE = "TUPLE_OPERATION_WRITE", "TUPLE_OPERATION_DELETE"
OTHER_TYPE = "query_string_type_continuation_token_mismatch"


class ChangeAnswer(msgspec.Struct, frozen=True):
    """Represents a tuple that was written or deleted, and when."""

    tuple_key: StoredKeyAnswer
    operation: str
    timestamp: str


class ChangesAnswer(msgspec.Struct, frozen=True):
    """Represents a page of changes, the oldest first."""

    changes: list[ChangeAnswer]
    continuation_token: str


async def answer_changes(call: Call[None]) -> Answer[ChangesAnswer]:
    """Answers with the token of the request if there is nothing behind it. Raises OpenFgaRefusal."""
    parameters, ctx = call.parameters, call.context
    of_type = parameters.get("type") or ""
    if of_type and not TYPE.fullmatch(of_type):
        raise OpenFgaRefusal(INVALID, "type must be the name of a type")
    size = read_page_size(parameters.get("page_size"))
    since = _read_start(parameters.get("start_time"), ctx.now())
    token = parameters.get("continuation_token") or ""
    after = _read_position(read_continuation(ctx.store.identity, _LIST, token), of_type)
    named = TypeName(STABLE.name_type(of_type)) if of_type else None
    page = await list_changes(ctx, after, named, since, size)
    call.freshness.demand(page.revision)
    position = page.position
    if position is None and after is None and page.was_written:
        position = await find_end(ctx)
    if position is not None:
        token = write_continuation(ctx.store.identity, _LIST, _render_position(position, of_type))
    names = await find_names(ctx, [change.warrant for change in page.changes])
    changes = [
        ChangeAnswer(
            render_key(change.warrant, names),
            WRITE if change.is_written else DELETE,
            render_time(change.at),
        )
        for change in page.changes
    ]
    return Answer(ChangesAnswer(changes, token), page.revision)


def _read_start(text: str | None, now: int) -> int | None:
    if not text:
        return None
    try:
        since = read_time(text, "start_time")
    except InvalidParameter as error:
        raise OpenFgaRefusal(INVALID, f"start_time {error.message}") from None
    if since > now:
        raise OpenFgaRefusal(INVALID, "start_time must not be in the future")
    return since


def _render_position(position: LogPosition, of_type: str) -> str:
    revision, bits, place = position
    return f"{revision} {_NO_BITS if bits is None else bits} {place} {of_type}"


def _read_position(text: str, of_type: str) -> LogPosition | None:
    """Returns the position of a token, which belongs to a type. Raises OpenFgaRefusal."""
    if not text:
        return None
    try:
        revision, bits, place, named = text.split(" ", 3)
        position = LogPosition(Revision(int(revision)), None if bits == _NO_BITS else int(bits), int(place))
    except ValueError:
        raise OpenFgaRefusal(INVALID_TOKEN, "the continuation token is not one of this list") from None
    if named != of_type:
        raise OpenFgaRefusal(OTHER_TYPE, "the continuation token is one of another type")
    return position
