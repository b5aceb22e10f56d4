"""Defines the members of requests of OpenFGA's API that are about tuples, and reads contextual tuples."""

from collections.abc import Sequence
from typing import Any

import msgspec

from magistrate.api.http.openfga_errors import INVALID, require_ulid
from magistrate.engine.openfga.documents import OpenFgaDocument
from magistrate.engine.openfga.tuples import NamedTupleKey, read_tuple_key
from magistrate.engine.openfga.validation import name_stored, require_writable
from magistrate.errors import OpenFgaRefusal
from magistrate.store.contract.new_rows import NewWarrant

MAX_CONTEXTUAL_TUPLES = 100
INVALID_TUPLE = "invalid_tuple"
MODEL_ID = "Openfga-Authorization-Model-Id"


class TupleKeyBody(msgspec.Struct, frozen=True):
    """Represents a tuple, or what a check is about."""

    user: str | None = None
    relation: str | None = None
    object: str | None = None
    condition: Any = None

    def read(self) -> NamedTupleKey:
        """Returns the names. Raises OpenFgaRefusal."""
        return read_tuple_key(self.user, self.relation, self.object)


class ContextualTuplesBody(msgspec.Struct, frozen=True):
    """Represents tuples that count as if they were written, for one request."""

    tuple_keys: list[TupleKeyBody] | None = None


def read_model_id(text: str | None) -> str | None:
    """Returns the id of the model that a request names, None if it names none. Raises OpenFgaRefusal."""
    if text:
        require_ulid(text)
    return text or None


def read_contextual(body: ContextualTuplesBody | None, document: OpenFgaDocument) -> Sequence[NewWarrant]:
    """Returns contextual tuples as warrants; of those with the same names, the first counts. Raises OpenFgaRefusal."""
    return read_contextual_list((body.tuple_keys or ()) if body is not None else (), document)


def read_contextual_list(keys: Sequence[TupleKeyBody], document: OpenFgaDocument) -> Sequence[NewWarrant]:
    """Returns contextual tuples that are a bare array, like `read_contextual`."""
    if len(keys) > MAX_CONTEXTUAL_TUPLES:
        raise OpenFgaRefusal(INVALID, f"contextual_tuples must be at most {MAX_CONTEXTUAL_TUPLES}")
    return list(dict.fromkeys(_read_one(key, document) for key in keys))


def _read_one(body: TupleKeyBody, document: OpenFgaDocument) -> NewWarrant:
    key = body.read()
    try:
        require_writable(document, key, takes_implicit=True)
        require_no_condition(body)
    except OpenFgaRefusal as refusal:
        raise OpenFgaRefusal(INVALID_TUPLE, refusal.message) from None
    return NewWarrant(*name_stored(key))


def require_no_condition(body: TupleKeyBody) -> None:
    """Raises OpenFgaRefusal for a condition, which no model has."""
    if body.condition is not None:
        raise OpenFgaRefusal(INVALID, "the condition of a tuple is not defined in the model")
