"""Handles the lists of objects of OpenFGA's API (docs/openfga.md#lists)."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints.public import JSON
from magistrate.api.http.json_values import render_json
from magistrate.api.http.openfga_errors import describe_openfga_error
from magistrate.api.http.streams import Stream, StreamKind
from magistrate.api.openfga.checks import MAX_ATTEMPTS, REFUSED_BY_MODEL
from magistrate.api.openfga.tuples import (
    MODEL_ID,
    ContextualTuplesBody,
    read_context,
    read_contextual,
    read_model_id,
    with_consistency,
)
from magistrate.engine.names import ObjectId
from magistrate.engine.openfga.ids import decode_id
from magistrate.engine.openfga.tuples import read_relation, read_type, read_user
from magistrate.engine.openfga.validation import OF_LISTS, convert_user, find_relation, find_type, require_user
from magistrate.errors import HistoryReplaced, MagistrateError
from magistrate.operations.openfga.objects import ObjectPages, ObjectSearch, list_objects
from magistrate.store.contract.lists import Snapshot

LINES = StreamKind((JSON,))
"""Describes lists that are streamed: a line of JSON for each object."""
PIECE_TIMEOUT_MS = 60_000
"""Limits how long a page of objects is waited for."""
INTERNAL = 13
"""Is the code that gRPC has for errors within a stream."""


class ListObjectsBody(msgspec.Struct, frozen=True):
    """Represents a list of the objects of a type on which a user has a relation."""

    type: str | None = None
    relation: str | None = None
    user: str | None = None
    contextual_tuples: ContextualTuplesBody | None = None
    context: dict[str, Any] | None = None
    authorization_model_id: str | None = None
    consistency: Any = None


class ListObjectsAnswer(msgspec.Struct, frozen=True):
    """Represents all objects."""

    objects: list[str]


class _Begun(NamedTuple):
    """Holds a list of which the first page is known; `pages` has the others."""

    model_id: str
    first: Snapshot[Sequence[ObjectId]]
    pages: ObjectPages
    type: str

    def render(self, ids: Sequence[ObjectId]) -> list[str]:
        return [f"{self.type}:{decode_id(object_id)}" for object_id in ids]


async def answer_objects(call: Call[ListObjectsBody]) -> Answer[ListObjectsAnswer]:
    begun = await _begin(call)
    objects = begun.render(begun.first.value)
    async with aclosing(begun.pages):
        async for page in begun.pages:
            objects += begun.render(page.value)
    return Answer(ListObjectsAnswer(objects), begun.first.revision, {MODEL_ID: begun.model_id})


async def stream_objects(call: Call[ListObjectsBody]) -> Answer[Stream]:
    """Answers with an error of its own only if the first page cannot be read."""
    begun = await _begin(call)
    stream = Stream(_list_lines(begun), JSON, PIECE_TIMEOUT_MS, close=begun.pages.aclose)
    return Answer(stream, begun.first.revision, {MODEL_ID: begun.model_id})


async def _list_lines(begun: _Begun) -> AsyncGenerator[bytes, None]:
    yield _render_lines(begun, begun.first.value)
    try:
        async for page in begun.pages:
            yield _render_lines(begun, page.value)
    except MagistrateError as error:
        _, described = describe_openfga_error(error, has_header=True)
        yield render_json({"error": {"code": INTERNAL, "message": described["message"], "details": []}})


def _render_lines(begun: _Begun, ids: Sequence[ObjectId]) -> bytes:
    return b"".join(render_json({"result": {"object": text}}) for text in begun.render(ids))


async def _begin(call: Call[ListObjectsBody]) -> _Begun:
    """Raises OpenFgaRefusal, and what lists raise."""
    call = with_consistency(call, call.body.consistency)
    body, ctx = call.body, call.context
    of_type, relation, user = read_type(body.type), read_relation(body.relation), read_user(body.user)
    named = read_model_id(body.authorization_model_id)
    for attempt in range(MAX_ATTEMPTS):
        used = await ctx.caches.openfga.find_used(named, may_be_known=not attempt)
        document = used.compiled.document
        try:
            described = find_relation(document, of_type, relation, OF_LISTS)
            require_user(document, user)
            context = read_context(body.context, document, ctx.max_context_bytes)
            contextual = read_contextual(body.contextual_tuples, document)
            searched = find_type(document, of_type).name
            search = ObjectSearch(searched, described.name, convert_user(user), context, contextual)
            pages = list_objects(ctx, used, search, call.freshness)
            first = await anext(pages)
        except REFUSED_BY_MODEL:
            if attempt:
                raise
            continue
        if ctx.caches.openfga.was_used_rightly(used, named):
            return _Begun(used.compiled.id, first, pages, of_type)
        await pages.aclose()
    raise HistoryReplaced
