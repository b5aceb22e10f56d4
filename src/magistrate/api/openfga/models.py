"""Handles the authorization models of OpenFGA's API (docs/openfga.md#models)."""

from functools import partial
from typing import Any

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.http.json_values import decode_json
from magistrate.api.http.openfga_errors import require_ulid
from magistrate.api.openfga.tokens import read_continuation, read_page_size, write_continuation
from magistrate.api.openfga.tuples import MODEL_ID
from magistrate.engine.openfga.documents import MAX_DOCUMENT_BYTES, TOO_LARGE, OpenFgaDocument, read_document
from magistrate.engine.openfga.tuples import INVALID
from magistrate.errors import OpenFgaRefusal
from magistrate.operations.openfga.documents import COST_OF_A_BYTE, UNKNOWN_MODEL
from magistrate.operations.openfga.models import put_document
from magistrate.operations.scheduling import offload
from magistrate.store.contract.openfga import LAST_ULID, StoredOpenFgaModel

_LIST = "authorization-models"
NULL = msgspec.Raw(b"null")
"""Stands for a member that is absent."""


class AuthorizationModelBody(msgspec.Struct, frozen=True):
    """Represents an authorization model, whose members are read later, in a thread."""

    schema_version: Any = None
    type_definitions: msgspec.Raw = NULL
    conditions: msgspec.Raw = NULL

    def read(self) -> OpenFgaDocument:
        """Returns the model. Raises OpenFgaRefusal."""
        if self.size > MAX_DOCUMENT_BYTES:
            raise OpenFgaRefusal(TOO_LARGE, f"a model has at most {MAX_DOCUMENT_BYTES} bytes")
        try:
            definitions, conditions = map(decode_json, map(bytes, (self.type_definitions, self.conditions)))
        except msgspec.ValidationError as error:
            raise OpenFgaRefusal(INVALID, str(error)) from None
        return read_document(self.schema_version, definitions, conditions)

    @property
    def size(self) -> int:
        """Returns the bytes of the model, as they were received."""
        return len(bytes(self.type_definitions)) + len(bytes(self.conditions))


class WrittenModelAnswer(msgspec.Struct, frozen=True):
    """Represents the id of a model that was written."""

    authorization_model_id: str


class AuthorizationModelAnswer(msgspec.Struct, frozen=True):
    """Represents a model."""

    authorization_model: dict[str, Any]


class AuthorizationModelsAnswer(msgspec.Struct, frozen=True):
    """Represents a page of models, the newest first."""

    authorization_models: list[dict[str, Any]]
    continuation_token: str


async def write_model(call: Call[AuthorizationModelBody]) -> Answer[WrittenModelAnswer]:
    document = await offload(call.body.read, call.body.size * COST_OF_A_BYTE)
    written = await put_document(call.context, document, call.stamp())
    return Answer(WrittenModelAnswer(written.value), written.revision, {MODEL_ID: written.value})


async def get_model(call: Call[None]) -> Answer[AuthorizationModelAnswer]:
    model_id = call.path["model_id"]
    require_ulid(model_id)
    read = await call.context.store.find_openfga_model(model_id)
    if read.value is None:
        raise OpenFgaRefusal(UNKNOWN_MODEL, f"the store has no authorization model {model_id}")
    return Answer(AuthorizationModelAnswer(_render(read.value)), read.revision)


async def list_models(call: Call[None]) -> Answer[AuthorizationModelsAnswer]:
    parameters, identity = call.parameters, call.context.store.identity
    size = read_page_size(parameters.get("page_size"))
    before = read_continuation(identity, _LIST, parameters.get("continuation_token")) or LAST_ULID
    listed = await call.context.store.list_openfga_models(before, size + 1)
    page = listed.value[:size]
    token = write_continuation(identity, _LIST, page[-1].id) if len(listed.value) > size else ""
    rows = [await offload(partial(_render, row), len(row.document)) for row in page]
    return Answer(AuthorizationModelsAnswer(rows, token), listed.revision)


def _render(stored: StoredOpenFgaModel) -> dict[str, Any]:
    return {"id": stored.id, **decode_json(stored.document)}
