"""Defines the members of requests of OpenFGA's API that are about tuples, and reads contextual tuples."""

from collections.abc import Mapping, Sequence
from dataclasses import replace as replace_dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from magistrate.api.calls import B, Call
from magistrate.api.endpoints.policies import check_context_size
from magistrate.api.http.openfga_errors import INVALID, require_ulid
from magistrate.engine.openfga.conditions import rename_context
from magistrate.engine.openfga.documents import OpenFgaDocument
from magistrate.engine.openfga.tuples import NamedCondition, NamedTupleKey, read_tuple_key
from magistrate.engine.openfga.validation import find_policy, name_stored
from magistrate.errors import OpenFgaRefusal
from magistrate.store.contract.new_rows import NewWarrant
from magistrate.store.contract.read_origins import OLDEST_READ

MAX_CONTEXTUAL_TUPLES = 100
INVALID_TUPLE = "invalid_tuple"
UNSPECIFIED, MINIMAL, HIGHER = 0, 100, 200
"""Number the values of `consistency`."""
MODEL_ID = "Openfga-Authorization-Model-Id"


class ConditionBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents the condition of a tuple, with values for some of its parameters."""

    name: str | None = None
    context: dict[str, Any] | None = None

    def read(self) -> NamedCondition | None:
        """Returns the condition, None if there is none: an empty one counts as absent."""
        return NamedCondition(self.name or "", self.context or {}) if self.name or self.context else None


class TupleKeyBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents a tuple, or what a check is about."""

    user: str | None = None
    relation: str | None = None
    object: str | None = None
    condition: ConditionBody | None = None

    def read(self) -> NamedTupleKey:
        """Returns the names. Raises OpenFgaRefusal."""
        return read_tuple_key(self.user, self.relation, self.object)


class ContextualTuplesBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents tuples that count as if they were written, for one request."""

    tuple_keys: list[TupleKeyBody] | None = None


def with_consistency(call: Call[B], consistency: object) -> Call[B]:
    """Returns a call whose answer is at the newest revision there is if its body says so. Raises OpenFgaRefusal for
    another number than those that have a meaning; other texts have none."""
    if isinstance(consistency, str) or consistency is None:
        number: object = HIGHER if consistency == "HIGHER_CONSISTENCY" else MINIMAL
    else:
        number = consistency if isinstance(consistency, int | float) else None
    if isinstance(consistency, bool) or number not in (UNSPECIFIED, MINIMAL, HIGHER):
        raise OpenFgaRefusal(INVALID, f"consistency must be {UNSPECIFIED}, {MINIMAL} or {HIGHER}, or the name of one")
    if number != HIGHER:
        return call
    OLDEST_READ.set(None)  # no replica may answer
    return replace(call, freshness=replace_dataclass(call.freshness, newest=True))


def read_model_id(text: str | None) -> str | None:
    """Returns the id of the model that a request names, None if it names none. Raises OpenFgaRefusal."""
    if text:
        require_ulid(text)
    return text or None


def read_context(
    context: dict[str, Any] | None, document: OpenFgaDocument, max_context_bytes: int
) -> Mapping[str, Any]:
    """Returns the context of a request as the conditions of a model read it. Raises InvalidParameter if it is too
    large."""
    if not context:
        return {}
    check_context_size(context, max_context_bytes)
    return rename_context(context) if document.conditions else context


def read_contextual(body: ContextualTuplesBody | None, document: OpenFgaDocument) -> Sequence[NewWarrant]:
    """Returns contextual tuples as warrants; of those with the same names, the first counts. Raises OpenFgaRefusal."""
    return read_contextual_list((body.tuple_keys or ()) if body is not None else (), document)


def read_contextual_list(keys: Sequence[TupleKeyBody], document: OpenFgaDocument) -> Sequence[NewWarrant]:
    """Returns contextual tuples that are a bare array, like `read_contextual`."""
    if len(keys) > MAX_CONTEXTUAL_TUPLES:
        raise OpenFgaRefusal(INVALID, f"contextual_tuples must be at most {MAX_CONTEXTUAL_TUPLES}")
    read = [_read_contextual_tuple(key, document) for key in keys]
    return [*{warrant.names: warrant for warrant in reversed(read)}.values()][::-1]


def _read_contextual_tuple(body: TupleKeyBody, document: OpenFgaDocument) -> NewWarrant:
    body.read()  # what is no tuple at all is another error
    try:
        return read_tuple(body, document, takes_implicit=True)
    except OpenFgaRefusal as refusal:
        raise OpenFgaRefusal(INVALID_TUPLE, refusal.message) from None


def read_tuple(body: TupleKeyBody, document: OpenFgaDocument, takes_implicit: bool = False) -> NewWarrant:
    """Returns a tuple as a warrant. Raises OpenFgaRefusal unless the model allows it; one that always holds only if it
    `takes_implicit`."""
    return read_named_tuple(body.read(), body.condition, document, takes_implicit)


def read_named_tuple(
    key: NamedTupleKey, written: ConditionBody | None, document: OpenFgaDocument, takes_implicit: bool = False
) -> NewWarrant:
    """Returns a tuple whose names were read, like `read_tuple`."""
    condition = None if written is None else written.read()
    policy = find_policy(document, key, condition, takes_implicit=takes_implicit)
    return NewWarrant(*name_stored(key), policy)
