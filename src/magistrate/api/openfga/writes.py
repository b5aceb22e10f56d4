"""Handles the writes of OpenFGA's API (docs/openfga.md#tuples)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.http.openfga_errors import INVALID
from magistrate.api.openfga.tuples import MODEL_ID, TupleKeyBody, read_model_id, read_named_tuple
from magistrate.engine.openfga.documents import TOO_LARGE, OpenFgaDocument
from magistrate.engine.openfga.tuples import NamedTupleKey
from magistrate.engine.openfga.validation import name_stored
from magistrate.engine.warrants.warrant import warrant_pattern
from magistrate.errors import Conflict, NotFound, OpenFgaRefusal, PreconditionFailed
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import NewWarrant
from magistrate.store.contract.store import AtomicWrite, OtherPolicies, Precondition, WriteCounts

MAX_WRITTEN_TUPLES = 100
FAILED, TWICE = "write_failed_due_to_invalid_input", "cannot_allow_duplicate_tuples_in_one_request"
NOTHING_TO_WRITE = "invalid_write_input"
ERROR, IGNORE = "error", "ignore"


class TuplesToWriteBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents tuples to be written."""

    tuple_keys: list[TupleKeyBody] | None = None
    on_duplicate: str | None = None


class TuplesToDeleteBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents tuples to be deleted."""

    tuple_keys: list[TupleKeyBody] | None = None
    on_missing: str | None = None


class OpenFgaWriteBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents a write."""

    writes: TuplesToWriteBody | None = None
    deletes: TuplesToDeleteBody | None = None
    authorization_model_id: str | None = None


async def write(call: Call[OpenFgaWriteBody]) -> Answer[dict[str, str]]:
    body, ctx = call.body, call.context
    writes = _read_keys(None if body.writes is None else body.writes.tuple_keys, "writes")
    deletes = _read_keys(None if body.deletes is None else body.deletes.tuple_keys, "deletes")
    on_duplicate = _read_option(None if body.writes is None else body.writes.on_duplicate, "on_duplicate")
    on_missing = _read_option(None if body.deletes is None else body.deletes.on_missing, "on_missing")
    _require_distinct([*writes, *deletes])
    compiled, _ = await ctx.caches.openfga.find_used(read_model_id(body.authorization_model_id))
    batch = _build_batch(body, writes, deletes, compiled.document, on_duplicate=on_duplicate, on_missing=on_missing)
    newest = ctx.caches.openfga.newest
    if newest is not None and newest.compiled is not compiled:
        _require_conditions(batch, newest.compiled.document)
    try:
        written = await _write(call, batch)
    except PreconditionFailed as error:
        key = _render(writes[error.index])
        if on_duplicate == IGNORE:
            raise Conflict(f"{key} exists with another condition or context") from None
        raise OpenFgaRefusal(FAILED, f"{key} exists already") from None
    except NotFound as error:
        raise OpenFgaRefusal(FAILED, f"a tuple to be deleted does not exist: {error.key}") from None
    return Answer({}, written.revision, {MODEL_ID: compiled.id})


def _build_batch(
    body: OpenFgaWriteBody,
    writes: Sequence[NamedTupleKey],
    deletes: Sequence[NamedTupleKey],
    document: OpenFgaDocument,
    *,
    on_duplicate: str,
    on_missing: str,
) -> AtomicWrite:
    """Returns what is written. If it has preconditions, they are those of each tuple to be written, in their order.
    Raises OpenFgaRefusal."""
    written = (body.writes.tuple_keys or ()) if body.writes is not None else ()
    created = [
        read_named_tuple(key, tuple_body.condition, document) for key, tuple_body in zip(writes, written, strict=True)
    ]
    return AtomicWrite(
        [Precondition(OtherPolicies(warrant)) for warrant in created] if document.conditions else (),
        [NewWarrant(*name_stored(key)) for key in deletes],
        warrants=created,
        ignores_missing=on_missing == IGNORE,
        # Tuples of an earlier model may have conditions. Where missing ones are an error, another attempt finds them.
        deletes_any_policy=bool(document.conditions or (deletes and on_missing == IGNORE)),
        creates_only_absent=on_duplicate == ERROR,
    )


def _require_conditions(batch: AtomicWrite, newest: OpenFgaDocument) -> None:
    """Raises OpenFgaRefusal for a tuple without a condition where the newest model demands one: it would count."""
    conditional = newest.list_conditional()
    for warrant in batch.warrants:
        if not warrant.policy and warrant_pattern(warrant.names) in conditional:
            raise OpenFgaRefusal(INVALID, f"the newest model allows {warrant.names.render()} only with a condition")


async def _write(call: Call[OpenFgaWriteBody], batch: AtomicWrite) -> Snapshot[WriteCounts]:
    # The model of the request may be an older one than that of the store, which then is no reason to refuse.
    write_batch = partial(call.context.store.write, validate=lambda definitions: None, stamp=call.stamp())
    try:
        return await write_batch(batch)
    except NotFound:
        if batch.deletes_any_policy:
            raise
        return await write_batch(replace(batch, deletes_any_policy=True))


def _read_keys(bodies: Sequence[TupleKeyBody] | None, member: str) -> list[NamedTupleKey]:
    if bodies is None:
        return []
    if not bodies:
        raise OpenFgaRefusal(INVALID, f"{member}.tuple_keys must not be empty; leave {member} out instead")
    if len(bodies) > MAX_WRITTEN_TUPLES:
        raise OpenFgaRefusal(TOO_LARGE, f"a write has at most {MAX_WRITTEN_TUPLES} tuples")
    return [body.read() for body in bodies]


def _read_option(text: str | None, name: str) -> str:
    if text not in (None, "", ERROR, IGNORE):
        raise OpenFgaRefusal(INVALID, f"{name} must be {ERROR} or {IGNORE}")
    return text or ERROR


def _require_distinct(keys: Sequence[NamedTupleKey]) -> None:
    """Raises OpenFgaRefusal unless there is a tuple, there are not too many, and each is another one."""
    if not keys:
        raise OpenFgaRefusal(NOTHING_TO_WRITE, "a write needs writes or deletes")
    if len(keys) > MAX_WRITTEN_TUPLES:
        raise OpenFgaRefusal(TOO_LARGE, f"a write has at most {MAX_WRITTEN_TUPLES} tuples")
    if len({*keys}) < len(keys):
        raise OpenFgaRefusal(TWICE, "a tuple is in the write twice")


def _render(key: NamedTupleKey) -> str:
    user = f"{key.user.type}:{key.user.id}{f'#{key.user.relation}' if key.user.relation else ''}"
    return f"{key.object.type}:{key.object.id}#{key.relation}@{user}"
