"""Renders the rows of a store as lines of a backup, and reads them again, exactly.

The lines are those that an import takes (docs/cli.md#importing), with the times at which everything was made; those
with keys, webhooks, saved queries and authorization models are in backups only. What is JSON in the store is copied as
it is, so that a restored store has the same texts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import Any

import msgspec

from magistrate.engine.names import ObjectId, PolicyName, RelationName, TypeName
from magistrate.engine.terms import are_object_ids, object_id, object_id_or_wildcard, relation_name, type_name
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import DamagedBackup, InvalidModel, InvalidParameter
from magistrate.operations.history.times import read_time, render_time
from magistrate.operations.models.definitions import parse_definition, parse_policies
from magistrate.store.contract.backups import BackedUpWebhook, KeyDigest, RestoredRow
from magistrate.store.contract.keys import StoredKey
from magistrate.store.contract.openfga import StoredOpenFgaModel
from magistrate.store.contract.saved_queries import SavedQuery
from magistrate.store.contract.stored_rows import StoredObject, StoredObjectType, StoredPolicy
from magistrate.store.contract.webhooks import WebhookFilter

CREATED_AT = "createdAt"


class SubjectMember(msgspec.Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True, gc=False):
    object_type: str
    object_id: str
    relation: str = ""


class KeyLine(msgspec.Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Represents a key of a caller, without its secret, which nobody knows."""

    id: str
    name: str
    prefix: str
    digest: str
    scopes: tuple[str, ...]
    created_by: str
    object_types: tuple[str, ...] | None = None
    expires_at: str | None = None
    previous_digest: str | None = None
    previous_until: str | None = None


class DigestLine(msgspec.Struct, forbid_unknown_fields=True):
    """Represents a key that a service has generated."""

    digest: str


class WebhookLine(msgspec.Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Represents a webhook, without its secrets."""

    id: str
    url: str
    created_by: str
    description: str = ""
    of: tuple[str, ...] = ()
    object_type: tuple[str, ...] = ()
    relation: tuple[str, ...] = ()
    subject_type: tuple[str, ...] = ()


class SavedQueryLine(msgspec.Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Represents a saved query."""

    id: str
    name: str
    q: str
    created_by: str
    description: str = ""
    context: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class OpenFgaModelLine(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Represents an authorization model of OpenFGA's API."""

    id: str
    document: msgspec.Raw
    assertions: msgspec.Raw


class RowLine(msgspec.Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """Represents a line. An object has a type and an id, perhaps `meta`; a warrant a relation and a subject as well."""

    created_at: str
    object_type: str | None = None
    object_id: str | None = None
    relation: str | None = None
    subject: SubjectMember | None = None
    policy: str = ""
    starts_at: str | None = None
    expires_at: str | None = None
    meta: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    key: KeyLine | None = None
    generated_key: DigestLine | None = None
    webhook: WebhookLine | None = None
    openfga_model: OpenFgaModelLine | None = None
    saved_query: SavedQueryLine | None = None


class ModelLine(msgspec.Struct, rename="camel"):
    """Represents a line with an object type or a policy. Only what is no part of its definition is read."""

    created_at: str
    type: str | None = None
    name: str | None = None


_ENCODER = msgspec.json.Encoder()
_ROW_DECODER = msgspec.json.Decoder(RowLine)
_MODEL_DECODER = msgspec.json.Decoder(ModelLine)


def render_rows(rows: Sequence[RestoredRow]) -> bytes:
    """Returns the lines of these rows, which are of one kind."""
    if isinstance(rows[0], StoredObjectType | StoredPolicy):
        return b"".join(map(_render_definition, rows))
    render = _RENDERERS[type(rows[0])]
    return _ENCODER.encode_lines([render(row) for row in rows])


def _render_warrant(row: Warrant) -> RowLine:
    return RowLine(
        render_time(row.created_at),
        row.object_type,
        row.object_id,
        row.relation,
        SubjectMember(row.subject_type, row.subject_id, row.subject_relation),
        row.policy,
        None if row.starts_at is None else render_time(row.starts_at),
        None if row.expires_at is None else render_time(row.expires_at),
    )


def _render_object(row: StoredObject) -> RowLine:
    meta = msgspec.UNSET if row.meta is None else msgspec.Raw(row.meta)
    return RowLine(render_time(row.created_at), row.type, row.id, meta=meta)


def _render_key(row: StoredKey) -> RowLine:
    expires_at, previous_until = (
        None if time is None else render_time(time) for time in (row.expires_at, row.previous_until)
    )
    key = KeyLine(
        id=row.id,
        name=row.name,
        prefix=row.prefix,
        digest=row.digest,
        scopes=row.scopes,
        created_by=row.created_by,
        object_types=row.object_types,
        expires_at=expires_at,
        previous_digest=row.previous_digest,
        previous_until=previous_until,
    )
    return RowLine(render_time(row.created_at), key=key)


def _render_digest(row: KeyDigest) -> RowLine:
    return RowLine(render_time(row.created_at), generated_key=DigestLine(row.digest))


def _render_webhook(row: BackedUpWebhook) -> RowLine:
    only = row.filter
    names = (only.of, only.object_types, only.relations, only.subject_types)
    webhook = WebhookLine(row.id, row.url, row.created_by, row.description, *names)
    return RowLine(render_time(row.created_at), webhook=webhook)


def _render_saved_query(row: SavedQuery) -> RowLine:
    context = msgspec.UNSET if row.context is None else msgspec.Raw(row.context)
    saved_query = SavedQueryLine(row.id, row.name, row.q, row.created_by, row.description, context)
    return RowLine(render_time(row.created_at), saved_query=saved_query)


def _render_openfga_model(row: StoredOpenFgaModel) -> RowLine:
    model = OpenFgaModelLine(row.id, msgspec.Raw(row.document), msgspec.Raw(row.assertions))
    return RowLine(render_time(row.created_at), openfga_model=model)


_RENDERERS: Mapping[type, Callable[[Any], RowLine]] = {
    Warrant: _render_warrant,
    StoredObject: _render_object,
    StoredKey: _render_key,
    KeyDigest: _render_digest,
    BackedUpWebhook: _render_webhook,
    SavedQuery: _render_saved_query,
    StoredOpenFgaModel: _render_openfga_model,
}


def _render_definition(row: Any) -> bytes:
    opening, closing = _surround_definition(row)
    definition: str = row.definition
    return opening + definition[1:-1].encode() + closing


def _surround_definition(row: StoredObjectType | StoredPolicy) -> tuple[bytes, bytes]:
    """Returns what is before and behind the members of a definition in its line."""
    member = "type" if isinstance(row, StoredObjectType) else "name"
    opening, closing = _ENCODER.encode({member: row.name}), _ENCODER.encode({CREATED_AT: render_time(row.created_at)})
    return opening[:-1] + b",", b"," + closing[1:] + b"\n"


def read_rows(lines: Sequence[bytes], validates: bool = True) -> list[Sequence[RestoredRow]]:
    """Returns the rows that these lines describe, those that follow one another and are of one kind together. Raises
    DamagedBackup; names that are not valid are noticed only if it `validates` them."""
    try:
        rows = [_read_row(line) for line in _decode_lines(lines)]
        batches: list[Sequence[RestoredRow]] = [[*batch] for _, batch in groupby(rows, type)]
        for batch in batches if validates else ():
            _VALIDATORS[type(batch[0])](batch)
    except InvalidParameter as error:
        raise DamagedBackup(f"{error.parameter}: {error.message}") from error
    except (InvalidModel, msgspec.MsgspecError, UnicodeError) as error:
        raise DamagedBackup(str(error)) from error
    return batches


def _decode_lines(lines: Sequence[bytes]) -> Iterable[RowLine | StoredObjectType | StoredPolicy]:
    try:
        return _ROW_DECODER.decode_lines(b"".join(lines))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return [_decode_line(line) for line in lines]


def _decode_line(line: bytes) -> RowLine | StoredObjectType | StoredPolicy:
    try:
        model = _MODEL_DECODER.decode(line)
        if model.type is None and model.name is None:
            return _ROW_DECODER.decode(line)
        created_at = read_time(model.created_at, CREATED_AT)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise DamagedBackup(f"a line is not one of a backup: {error}") from error
    row: StoredObjectType | StoredPolicy
    if model.type is not None:
        row = StoredObjectType(TypeName(model.type), "", created_at)
    else:
        row = StoredPolicy(PolicyName(str(model.name)), "", created_at)
    opening, closing = _surround_definition(row)
    if not (line.startswith(opening) and line.endswith(closing)):
        raise DamagedBackup(f"the line of {row.name} is not one of a backup")
    return msgspec.structs.replace(row, definition=f"{{{line[len(opening) : -len(closing)].decode()}}}")


def _read_row(line: RowLine | StoredObjectType | StoredPolicy) -> RestoredRow:
    if not isinstance(line, RowLine):
        return line
    created_at = _read_time(line.created_at, CREATED_AT)
    if line.subject is not None and line.object_type is not None:
        return _read_warrant(line, line.subject, created_at)
    if line.object_type is not None and line.object_id is not None:
        meta = None if line.meta is msgspec.UNSET else bytes(line.meta).decode()
        return StoredObject(TypeName(line.object_type), ObjectId(line.object_id), meta, created_at)
    if line.key is not None:
        return _read_key(line.key, created_at)
    if line.generated_key is not None:
        return KeyDigest(line.generated_key.digest, created_at)
    if line.webhook is not None:
        return _read_webhook(line.webhook, created_at)
    if line.saved_query is not None:
        return _read_saved_query(line.saved_query, created_at)
    if line.openfga_model is not None:
        model = line.openfga_model
        texts = (bytes(model.document).decode(), bytes(model.assertions).decode())
        return StoredOpenFgaModel(model.id, *texts, created_at, 0)
    raise DamagedBackup("a line is none of a backup")


def _read_warrant(line: RowLine, subject: SubjectMember, created_at: int) -> Warrant:
    starts_at = None if line.starts_at is None else _read_time(line.starts_at, "startsAt")
    expires_at = None if line.expires_at is None else _read_time(line.expires_at, "expiresAt")
    return Warrant(
        TypeName(line.object_type or ""),
        ObjectId(line.object_id or ""),
        RelationName(line.relation or ""),
        TypeName(subject.object_type),
        ObjectId(subject.object_id),
        subject.relation,
        line.policy,
        created_at,
        0,
        starts_at,
        expires_at,
    )


def _read_key(line: KeyLine, created_at: int) -> StoredKey:
    return StoredKey(
        id=line.id,
        name=line.name,
        prefix=line.prefix,
        digest=line.digest,
        scopes=line.scopes,
        object_types=line.object_types,
        created_at=created_at,
        created_by=line.created_by,
        expires_at=None if line.expires_at is None else _read_time(line.expires_at, "expiresAt"),
        previous_digest=line.previous_digest,
        previous_until=None if line.previous_until is None else _read_time(line.previous_until, "previousUntil"),
    )


def _read_webhook(line: WebhookLine, created_at: int) -> BackedUpWebhook:
    only = WebhookFilter(line.of, line.object_type, line.relation, line.subject_type)
    return BackedUpWebhook(line.id, line.url, only, line.description, created_at, line.created_by)


def _read_saved_query(line: SavedQueryLine, created_at: int) -> SavedQuery:
    context = None if line.context is msgspec.UNSET else bytes(line.context).decode()
    return SavedQuery(line.id, line.name, line.description, line.q, context, created_at, line.created_by)


_read_time = lru_cache(maxsize=1_024)(read_time)
"""Has the times that were read last: all rows of a write have the same."""


def _validate_warrants(batch: Sequence[Any]) -> None:
    names = attrgetter("object_type", "relation", "subject_type", "subject_relation")
    for of_type, relation, subject_type, subject_relation in set(map(names, batch)):
        type_name(of_type, "objectType")
        relation_name(relation, "relation")
        type_name(subject_type, "objectType")
        if subject_relation:
            relation_name(subject_relation, "relation")
    for member in ("object_id", "subject_id"):
        _validate_ids(set(map(attrgetter(member), batch)), object_id_or_wildcard)


def _validate_objects(batch: Sequence[Any]) -> None:
    for of_type in {row.type for row in batch}:
        type_name(of_type, "objectType")
    _validate_ids({row.id for row in batch}, object_id)


def _validate_ids(ids: set[str], read: Callable[[str, str], ObjectId]) -> None:
    if not are_object_ids(ids):
        for text in ids:
            read(text, "objectId")


def _validate_types(batch: Sequence[Any]) -> None:
    for row in batch:
        parse_definition(type_name(row.name, "type"), row.definition)


def _validate_policies(batch: Sequence[Any]) -> None:
    parse_policies({row.name: row.definition for row in batch})


def _validate_saved_queries(batch: Sequence[Any]) -> None:
    """Raises DamagedBackup for texts that not every database can store. A name is not compared with the rules for new
    ones, because they depend on the version of Unicode that the service knows."""
    for row in batch:
        if "\0" in f"{row.id}{row.name}{row.description}{row.q}{row.created_by}":
            raise DamagedBackup("a saved query has a text with the character NUL")
        if row.context is not None and not row.context.startswith("{"):
            raise DamagedBackup("the context of a saved query is no object")


def _accept(batch: Sequence[Any]) -> None:
    """Is for rows that have no names of ours."""


_VALIDATORS: Mapping[type, Callable[[Sequence[Any]], None]] = {
    Warrant: _validate_warrants,
    StoredObject: _validate_objects,
    StoredObjectType: _validate_types,
    StoredPolicy: _validate_policies,
    StoredKey: _accept,
    KeyDigest: _accept,
    BackedUpWebhook: _accept,
    SavedQuery: _validate_saved_queries,
    StoredOpenFgaModel: _accept,
}
