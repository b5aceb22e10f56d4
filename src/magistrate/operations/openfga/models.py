"""Writes the authorization models of OpenFGA's API."""

from magistrate.engine.openfga.conditions import INVALID_MODEL
from magistrate.engine.openfga.documents import OpenFgaDocument
from magistrate.errors import InvalidParameter, OpenFgaRefusal
from magistrate.operations.context import Context
from magistrate.operations.models.definitions import render_policy_definition
from magistrate.operations.models.object_types import render_types, validate_and_warn
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import NewModel, Stamp


async def put_document(ctx: Context, document: OpenFgaDocument, stamp: Stamp) -> Snapshot[str]:
    """Stores an authorization model, and makes it the model of the store; warrants that it does not allow are kept, and
    count for nothing. Returns its id. Raises OpenFgaRefusal if it is no model that a store can have."""
    types = document.object_types
    policies = [(policy.name, render_policy_definition(policy)) for policy in document.policies]
    validate = validate_and_warn(types, {policy.name for policy in document.policies}, [])
    try:
        new = NewModel(await render_types(ctx, types), policies)
        written = await ctx.store.put_openfga_model(document.text, new, validate, stamp)
    except InvalidParameter as error:
        raise OpenFgaRefusal(INVALID_MODEL, error.message) from None
    return Snapshot(written.revision, written.value[0])
