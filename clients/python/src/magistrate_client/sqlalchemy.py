"""Makes conditions of SQLAlchemy for rows to which a subject has access, on SQLite and PostgreSQL.

    is_allowed = allowed(client, Document.id, subject="user:ann", relation="viewer", type="document")
    session.scalars(select(Document).where(is_allowed).order_by(Document.updated.desc()).limit(50))

The ids are one parameter of the statement, however many there are. A condition is true or false, never NULL: a row
without a value is not allowed. It keeps what was read when it was made; make a new one for each request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Union

from sqlalchemy import ARRAY, BigInteger, Boolean, Integer, String, Text, Uuid, and_, bindparam, column, not_, select
from sqlalchemy import table as name_table
from sqlalchemy.exc import CompileError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.sql.expression import BindParameter, ColumnClause, ColumnElement
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import Enum as EnumType
from sqlalchemy.types import TypeDecorator, TypeEngine

from magistrate_client.errors import InvalidUse
from magistrate_client.object_sets import PROBED_IDS, Kind, ObjectSet, Value, render_json
from magistrate_client.refs import AnySubject, render_subject

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect
    from sqlalchemy.sql.compiler import SQLCompiler

    from magistrate_client.asynchronous.client import AsyncClient
    from magistrate_client.calls import Context
    from magistrate_client.synchronous.client import Client

AnyColumn = Union[ColumnElement[Any], InstrumentedAttribute[Any]]

_ARRAY_TYPES = {Kind.TEXT: "TEXT", Kind.INTEGER: "BIGINT", Kind.UUID: "UUID"}
_UUID_PARTS = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))


def allowed(
    client: Client, column: AnyColumn, *, subject: AnySubject, relation: str, type: str, context: Context | None = None
) -> ColumnElement[bool]:
    """Returns the condition that a subject has a relation on the object whose id is in a column, which is exactly what
    a check of each row would decide, at one revision.

    The column, or any expression such as `Document.tenant + "." + Document.number`, has text, integers or UUIDs. Raises
    InvalidUse for one of another type, ObjectSetTooLarge, and the errors of the client: never is a part of the ids
    left out."""
    kind = _choose_kind(column)
    return _build_condition(column, kind, client.object_set(subject, relation, type, context=context))


async def allowed_async(
    client: AsyncClient,
    column: AnyColumn,
    *,
    subject: AnySubject,
    relation: str,
    type: str,
    context: Context | None = None,
) -> ColumnElement[bool]:
    """Returns the same as `allowed`, for asyncio."""
    kind = _choose_kind(column)
    return _build_condition(column, kind, await client.object_set(subject, relation, type, context=context))


def mirrored(
    column: AnyColumn,
    *,
    subject: AnySubject,
    relation: str,
    type: str,
    table: str = "access",
    schema: str | None = None,
) -> ColumnElement[bool]:
    """Returns the condition that a subject has a relation, without a context, on the object whose id is in a column, by
    a table that `magistrate mirror` keeps in the same database. No request is made.

    Only objects that exist in Magistrate have rows. The subject is `user:*` for one who does not exist there."""
    named = render_subject(subject)
    access = _name_mirror(table, schema)
    ids = select(access.c.object_id).where(
        access.c.object_type == type,
        access.c.relation == relation,
        access.c.subject_type == named["objectType"],
        access.c.subject_id == named["objectId"],
        not_(access.c.conditional),
    )
    return and_(_as_element(column).is_not(None), _IdOf(column, _choose_kind(column)).in_(ids))


class _Ids(TypeDecorator[Any]):
    """Is the type of a parameter with many ids: an array on PostgreSQL, and a text of JSON on SQLite."""

    impl = Text
    cache_ok = True

    def __init__(self, kind: Kind, is_hex: bool, is_probed: bool) -> None:
        super().__init__()
        self.kind = kind
        self.is_hex = is_hex
        self.is_probed = is_probed

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name != "postgresql":
            return dialect.type_descriptor(Text())
        element: TypeEngine[Any] = BigInteger() if self.kind is Kind.INTEGER else Text()
        return dialect.type_descriptor(ARRAY(element))

    def process_bind_param(self, value: Iterable[Value] | None, dialect: Dialect) -> Any:
        values: list[Any] = list(value or ())
        if self.kind is Kind.UUID:
            values = [each.hex if self.is_stored_as_hex(dialect) else str(each) for each in values]
        return values if dialect.name == "postgresql" else render_json(values)

    def is_stored_as_hex(self, dialect: Dialect) -> bool:
        """Returns whether UUIDs are text of 32 digits in the database."""
        return self.kind is Kind.UUID and (self.is_hex or dialect.name != "postgresql")


class _IsOneOf(FunctionElement[bool]):
    """Is the condition that an expression is one of many values, which are a parameter."""

    inherit_cache = True
    name = "is_one_of"
    type = Boolean()
    _is_implicitly_boolean = True  # else SQLAlchemy compares it with 1 on SQLite, which no index helps

    def __init__(self, column: AnyColumn, values: BindParameter[Any]) -> None:
        super().__init__(column, values)


class _IdOf(FunctionElement[str]):
    """Is the id of an object, as text, for a column of some kind."""

    inherit_cache = True
    name = "id_of"
    type = Text()

    def __init__(self, column: AnyColumn, kind: Kind) -> None:
        # The kind is a parameter that is not rendered, because what is cached depends on it.
        super().__init__(column, bindparam(None, None, _Ids(kind, False, False), unique=True))


@compiles(_IsOneOf)
@compiles(_IdOf)
def _refuse(element: FunctionElement[Any], compiler: SQLCompiler, **options: Any) -> str:
    raise CompileError(f"allowed is for SQLite and PostgreSQL, and not for {compiler.dialect.name}")


@compiles(_IsOneOf, "sqlite")
def _render_for_sqlite(element: _IsOneOf, compiler: SQLCompiler, **options: Any) -> str:
    """Returns a comparison that is exact even if the column ignores case, and has an index if it does not."""
    ids = _ids_of(element)
    expression, parameter = (compiler.process(clause, **options) for clause in element.clauses)
    collation = "" if ids.kind is Kind.INTEGER else " COLLATE BINARY"
    return f"(({expression}) IS NOT NULL AND ({expression}){collation} IN (SELECT value FROM json_each({parameter})))"


@compiles(_IsOneOf, "postgresql")
def _render_for_postgresql(element: _IsOneOf, compiler: SQLCompiler, **options: Any) -> str:
    """Few ids are joined, by an index if there is one. Many are hashed once: behind `IS TRUE` they are never joined,
    and their number is hidden from the planner, which would otherwise not hash what it expects to exceed work_mem."""
    ids = _ids_of(element)
    expression, parameter = (compiler.process(clause, **options) for clause in element.clauses)
    array_type = "TEXT" if ids.is_stored_as_hex(compiler.dialect) else _ARRAY_TYPES[ids.kind]
    array = f"CAST({parameter} AS {array_type}[])"
    if ids.is_probed:
        return f"(({expression}) IS NOT NULL AND ({expression}) IN (SELECT unnest({array})))"
    return f"(({expression}) IN (SELECT unnest((SELECT {array}))) IS TRUE)"


@compiles(_IdOf, "sqlite")
def _render_id_for_sqlite(element: _IdOf, compiler: SQLCompiler, **options: Any) -> str:
    ids = _ids_of(element)
    expression = f"({compiler.process(next(iter(element.clauses)), **options)})"
    if ids.kind is Kind.UUID:
        return "(" + " || '-' || ".join(f"substr({expression}, {at}, {size})" for at, size in _UUID_PARTS) + ")"
    return f"CAST({expression} AS TEXT)" if ids.kind is Kind.INTEGER else f"{expression} COLLATE BINARY"


@compiles(_IdOf, "postgresql")
def _render_id_for_postgresql(element: _IdOf, compiler: SQLCompiler, **options: Any) -> str:
    ids = _ids_of(element)
    expression = f"({compiler.process(next(iter(element.clauses)), **options)})"
    if ids.kind is Kind.UUID:
        return f"CAST(CAST({expression} AS UUID) AS TEXT)"
    return f"CAST({expression} AS TEXT)" if ids.kind is Kind.INTEGER else expression


def _ids_of(element: FunctionElement[Any]) -> _Ids:
    ids = [*element.clauses][1].type
    assert isinstance(ids, _Ids)
    return ids


def _build_condition(column: AnyColumn, kind: Kind, objects: ObjectSet) -> ColumnElement[bool]:
    values = objects.read_exceptions(kind)
    element = _as_element(column)
    is_hex = isinstance(element.type, Uuid) and not element.type.native_uuid
    # An expression has hardly ever an index of its own.
    is_probed = isinstance(element, ColumnClause) and len(values) <= PROBED_IDS
    parameter = bindparam(None, values, _Ids(kind, is_hex, is_probed), unique=True)
    is_exception = _IsOneOf(column, parameter)
    return and_(element.is_not(None), not_(is_exception)) if objects.default else is_exception


def _as_element(column: AnyColumn) -> ColumnElement[Any]:
    element = column.__clause_element__() if isinstance(column, InstrumentedAttribute) else column
    if not isinstance(element, ColumnElement):
        raise InvalidUse(f"{column!r} is no column and no expression")
    return element


def _choose_kind(column: AnyColumn) -> Kind:
    """Returns what values a column has. Raises InvalidUse for one whose values are none of these."""
    column_type = _as_element(column).type
    if isinstance(column_type, String) and not isinstance(column_type, EnumType):
        return Kind.TEXT
    if isinstance(column_type, Integer):
        return Kind.INTEGER
    if isinstance(column_type, Uuid):
        return Kind.UUID
    raise InvalidUse(f"a column of {column_type!r} has no ids; cast it to text, integers or UUIDs")


def _name_mirror(table: str, schema: str | None) -> Any:
    columns = ("object_type", "object_id", "relation", "subject_type", "subject_id")
    return name_table(
        table, *(column(name, Text()) for name in columns), column("conditional", Boolean()), schema=schema
    )
