"""Handles `expand` of OpenFGA's API (docs/openfga.md#expand)."""

from typing import Any

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.http.openfga_errors import INVALID
from magistrate.api.openfga.tuples import (
    MODEL_ID,
    ContextualTuplesBody,
    TupleKeyBody,
    read_contextual,
    read_model_id,
    with_consistency,
)
from magistrate.engine.openfga.tuples import read_object, read_relation
from magistrate.engine.openfga.validation import find_relation
from magistrate.errors import OpenFgaRefusal
from magistrate.operations.openfga.expansion import ExpandedRelation, expand


class ExpandBody(msgspec.Struct, frozen=True):
    """Represents which relation of which object is expanded."""

    tuple_key: TupleKeyBody | None = None
    contextual_tuples: ContextualTuplesBody | None = None
    authorization_model_id: str | None = None
    consistency: Any = None


class TreeAnswer(msgspec.Struct, frozen=True):
    """Represents a tree."""

    root: dict[str, Any]


class ExpandAnswer(msgspec.Struct, frozen=True):
    """Represents who has the relation, one level deep: rules are shown, and not followed."""

    tree: TreeAnswer


async def answer_expand(call: Call[ExpandBody]) -> Answer[ExpandAnswer]:
    call = with_consistency(call, call.body.consistency)
    body, ctx = call.body, call.context
    if body.tuple_key is None:
        raise OpenFgaRefusal(INVALID, "tuple_key is missing")
    expanded = ExpandedRelation(read_object(body.tuple_key.object), read_relation(body.tuple_key.relation))
    used = await ctx.caches.openfga.find_used(read_model_id(body.authorization_model_id))
    compiled = used.compiled
    find_relation(compiled.document, expanded.object.type, expanded.relation)
    contextual = read_contextual(body.contextual_tuples, compiled.document)
    root = await expand(ctx, used, expanded, contextual)
    call.freshness.demand(root.revision)
    return Answer(ExpandAnswer(TreeAnswer(root.value)), root.revision, {MODEL_ID: compiled.id})
