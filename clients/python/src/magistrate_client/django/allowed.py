"""Restricts querysets to rows to which a subject has access, on SQLite and PostgreSQL.

    documents = allowed(Document.objects.all(), client, subject="user:ann", relation="viewer", type="document")
    documents.order_by("-updated")[:50]

The ids are one parameter of the statement, however many there are. A condition is true or false, never NULL: a row
without a value is not allowed. A queryset keeps what was read when it was made; make a new one for each request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, Union
from uuid import UUID

from django.db import NotSupportedError, connections
from django.db.models import (
    BooleanField,
    CharField,
    ForeignKey,
    Func,
    IntegerField,
    Model,
    QuerySet,
    TextField,
    UUIDField,
)
from django.db.models.expressions import Col, Combinable

from magistrate_client.errors import InvalidUse
from magistrate_client.object_sets import PROBED_IDS, Kind, ObjectSet, render_json
from magistrate_client.refs import AnySubject, render_subject

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper
    from django.db.models.sql.compiler import SQLCompiler

    from magistrate_client.asynchronous.client import AsyncClient
    from magistrate_client.calls import Context
    from magistrate_client.synchronous.client import Client

_Row = TypeVar("_Row", bound=Model)
AnyField = Union[str, Combinable]
_Rendered = tuple[str, list[Any]]

_KINDS = ((IntegerField, Kind.INTEGER), (UUIDField, Kind.UUID), ((CharField, TextField), Kind.TEXT))
_ARRAY_TYPES = {Kind.TEXT: "text", Kind.INTEGER: "bigint", Kind.UUID: "uuid"}
_UUID_PARTS = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
_REFUSAL = "allowed is for SQLite and PostgreSQL, and not for {}"
_NOTHING = ObjectSet(default=False, exceptions=frozenset(), token="")


def allowed(
    queryset: QuerySet[_Row],
    client: Client,
    *,
    subject: AnySubject,
    relation: str,
    type: str,
    field: AnyField = "pk",
    context: Context | None = None,
) -> QuerySet[_Row]:
    """Returns the rows of a queryset for which a subject has a relation on the object whose id is in a field: exactly
    those for which a check would be allowed, at one revision.

    The field, perhaps of a related model (`document__id`) or an annotation or expression, has text, integers or UUIDs.
    Raises InvalidUse for one of another type, ObjectSetTooLarge, and the errors of the client: never is a part of the
    ids left out."""
    _require_usable(queryset, field)
    return queryset.filter(IsOneOf(field, client.object_set(subject, relation, type, context=context)))


async def allowed_async(
    queryset: QuerySet[_Row],
    client: AsyncClient,
    *,
    subject: AnySubject,
    relation: str,
    type: str,
    field: AnyField = "pk",
    context: Context | None = None,
) -> QuerySet[_Row]:
    """Returns the same as `allowed`, for asyncio."""
    _require_usable(queryset, field)
    return queryset.filter(IsOneOf(field, await client.object_set(subject, relation, type, context=context)))


def mirrored(
    queryset: QuerySet[_Row],
    *,
    subject: AnySubject,
    relation: str,
    type: str,
    field: AnyField = "pk",
    table: str = "access",
) -> QuerySet[_Row]:
    """Returns the rows of a queryset for which a subject has a relation, without a context, on the object whose id is
    in a field, by a table that `magistrate mirror` keeps in the same database. No request is made.

    Only objects that exist in Magistrate have rows. The subject is `user:*` for one who does not exist there."""
    _require_usable(queryset, field)
    named = render_subject(subject)
    return queryset.filter(IsMirrored(field, table, (type, relation, named["objectType"], named["objectId"])))


class _Condition(Func):
    """Is a condition on a field. Raises InvalidUse where it is resolved for a field without ids."""

    allows_composite_expressions = True  # to be refused below, as other fields without ids

    def __init__(self, field: AnyField, **options: Any) -> None:
        super().__init__(field, output_field=BooleanField(), **options)

    def resolve_expression(self, *arguments: Any, **options: Any) -> Any:
        resolved = super().resolve_expression(*arguments, **options)
        _choose_kind(resolved.get_source_expressions()[0])
        return resolved

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, *arguments: Any, **options: Any) -> Any:
        raise NotSupportedError(_REFUSAL.format(connection.vendor))

    def _render_field(self, compiler: SQLCompiler) -> tuple[str, list[Any], Kind]:
        source = self.get_source_expressions()[0]
        text, parameters = compiler.compile(source)
        return f"({text})", [*parameters], _choose_kind(source)


class IsOneOf(_Condition):
    """Is the condition that an object set has the object whose id is in a field: for what `allowed` cannot say, as
    `queryset.exclude(IsOneOf("pk", client.object_set("user:ann", "viewer", "document")))`."""

    def __init__(self, field: AnyField, objects: ObjectSet, **options: Any) -> None:
        super().__init__(field, **options)
        self.objects = objects

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **options: Any) -> Any:
        """Returns a comparison that is exact even if the column ignores case, and has an index if it does not."""
        field, parameters, kind = self._render_field(compiler)
        values = [value.hex if isinstance(value, UUID) else value for value in self.objects.read_exceptions(kind)]
        collation = "" if kind is Kind.INTEGER else " COLLATE BINARY"
        listed = f"{field}{collation} IN (SELECT value FROM json_each(%s))"
        return self._join(field, parameters, listed, render_json(values))

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **options: Any) -> Any:
        """Few ids are joined, by an index if there is one. Many are hashed once: behind `IS TRUE` they are never
        joined, and their number is hidden from the planner, which would otherwise not hash what it expects to exceed
        work_mem."""
        field, parameters, kind = self._render_field(compiler)
        values = self.objects.read_exceptions(kind)
        is_probed = isinstance(self.get_source_expressions()[0], Col) and len(values) <= PROBED_IDS
        array = f"%s::{_ARRAY_TYPES[kind]}[]"
        listed = f"{field} IN (SELECT unnest({array if is_probed else f'(SELECT {array})'}))"
        sent = [str(value) for value in values] if kind is Kind.UUID else values
        return self._join(field, parameters, listed if is_probed else f"({listed} IS TRUE)", sent)

    def _join(self, field: str, parameters: list[Any], listed: str, values: Any) -> _Rendered:
        listed = f"NOT ({listed})" if self.objects.default else listed
        return f"({field} IS NOT NULL AND {listed})", [*parameters, *parameters, values]


class IsMirrored(_Condition):
    """Is the condition that a mirror has a row for the object whose id is in a field."""

    def __init__(self, field: AnyField, table: str, access: tuple[str, str, str, str], **options: Any) -> None:
        super().__init__(field, **options)
        self.table = table
        self.access = access

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **options: Any) -> Any:
        field, parameters, kind = self._render_field(compiler)
        if kind is Kind.UUID:
            parts = " || '-' || ".join(f"substr({field}, {at}, {size})" for at, size in _UUID_PARTS)
            return self._select(connection, field, f"({parts})", parameters, len(_UUID_PARTS))
        return self._select(
            connection,
            field,
            f"CAST({field} AS TEXT)" if kind is Kind.INTEGER else f"{field} COLLATE BINARY",
            parameters,
        )

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **options: Any) -> Any:
        field, parameters, kind = self._render_field(compiler)
        return self._select(connection, field, field if kind is Kind.TEXT else f"{field}::text", parameters)

    def _select(
        self, connection: BaseDatabaseWrapper, field: str, object_id: str, parameters: list[Any], times: int = 1
    ) -> _Rendered:
        statement = (
            f"({field} IS NOT NULL AND {object_id} IN (SELECT object_id FROM {connection.ops.quote_name(self.table)}"
            " WHERE object_type = %s AND relation = %s AND subject_type = %s AND subject_id = %s AND NOT conditional))"
        )
        return statement, [*parameters * (1 + times), *self.access]


def _require_usable(queryset: QuerySet[Any], field: AnyField) -> None:
    """Raises InvalidUse, before anything is requested, if the field of a queryset has no ids."""
    vendor = connections[queryset.db].vendor
    if vendor not in ("sqlite", "postgresql"):
        raise InvalidUse(_REFUSAL.format(vendor))
    queryset.filter(IsOneOf(field, _NOTHING))


def _choose_kind(expression: Any) -> Kind:
    """Returns what values an expression has. Raises InvalidUse for one whose values are none of these."""
    output: Any = expression.output_field
    while isinstance(output, ForeignKey):
        output = output.target_field
    for fields, kind in _KINDS:
        if isinstance(output, fields):
            return kind
    raise InvalidUse(f"a {output.__class__.__name__} has no ids; cast it to text, integers or UUIDs")
