"""Writes the authorization models of OpenFGA's API."""

from collections.abc import Set

from magistrate.engine.openfga.conditions import INVALID_MODEL
from magistrate.engine.openfga.documents import OpenFgaDocument
from magistrate.engine.warrants.warrant import WarrantPattern
from magistrate.errors import InvalidParameter, OpenFgaRefusal
from magistrate.operations.context import Context
from magistrate.operations.models.definitions import render_policy_definition
from magistrate.operations.models.object_types import render_types, validate_and_warn
from magistrate.store.contract.lists import Slice, Snapshot, WarrantFilter
from magistrate.store.contract.new_rows import NewModel, Stamp


async def put_document(ctx: Context, document: OpenFgaDocument, stamp: Stamp) -> Snapshot[str]:
    """Stores an authorization model, and makes it the model of the store; warrants that it does not allow are kept, and
    count for nothing. Returns its id. Raises OpenFgaRefusal if it is no model that a store can have."""
    await _require_conditions(ctx, document)
    types = document.object_types
    policies = [(policy.name, render_policy_definition(policy)) for policy in document.policies]
    validate = validate_and_warn(types, {policy.name for policy in document.policies}, [])
    try:
        new = NewModel(await render_types(ctx, types), policies)
        written = await ctx.store.put_openfga_model(document.text, new, validate, stamp)
    except InvalidParameter as error:
        raise OpenFgaRefusal(INVALID_MODEL, error.message) from None
    return Snapshot(written.revision, written.value[0])


async def _require_conditions(ctx: Context, document: OpenFgaDocument) -> None:
    """Raises OpenFgaRefusal if a tuple without a condition is stored where the model demands one: it would count."""
    patterns = document.list_conditional()
    if patterns:
        patterns -= await _list_conditional_before(ctx)
    if not patterns:
        return
    only = WarrantFilter({"policy": ""}, unexpired_at=ctx.now(), patterns=patterns)
    for warrant in (await ctx.store.list_warrants(Slice("createdAt", 1), only)).value.rows:
        stored = warrant.names.render()
        message = f"{stored} is stored without a condition, which the model demands; delete such tuples first"
        raise OpenFgaRefusal(INVALID_MODEL, message)


async def _list_conditional_before(ctx: Context) -> Set[WarrantPattern]:
    """Returns the patterns that the newest model allows with a condition only, none if there is no model."""
    try:
        newest = await ctx.caches.openfga.find_newest()
    except OpenFgaRefusal:
        return frozenset()
    return newest.compiled.document.list_conditional()
