"""The rows of an application that uses SQLAlchemy."""

from typing import Any

from sqlalchemy import BigInteger, Integer, String, Text, Uuid, create_engine, insert, not_, or_, select
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import DeclarativeBase, Session, mapped_column
from sqlalchemy.sql.expression import ClauseElement, Executable
from sqlalchemy.types import TypeEngine

from magistrate_client import AsyncClient, Client
from magistrate_client.sqlalchemy import allowed, allowed_async, mirrored
from tests.clients.python.access_cases import Case
from tests.clients.python.row_values import list_documents, list_notes

TYPES: dict[str, type[TypeEngine[Any]]] = {"text": Text, "integer": BigInteger, "uuid": Uuid}
DRIVERS = {"postgresql": ("postgresql+psycopg", "postgresql+psycopg"), "sqlite": ("sqlite", "sqlite+aiosqlite")}


def define_tables(kind: str) -> tuple[Any, Any]:
    class Base(DeclarativeBase):
        """The tables of one kind."""

    note = {"__tablename__": "notes", "id": mapped_column(Integer, primary_key=True)}
    document = {"__tablename__": "documents", "updated": mapped_column(Integer)}
    if kind == "composite":
        for name in ("tenant", "number"):
            note[name] = mapped_column(String(50), nullable=True)
            document[name] = mapped_column(String(50), primary_key=True)
    else:
        note["document"] = mapped_column(TYPES[kind](), nullable=True)
        document["key"] = mapped_column(TYPES[kind](), primary_key=True)
    return type("Document", (Base,), document), type("Note", (Base,), note)


class Explained(Executable, ClauseElement):
    """A statement whose plan is shown."""

    inherit_cache = False

    def __init__(self, statement: Any) -> None:
        self.statement = statement


@compiles(Explained)
def explain(element: Explained, compiler: Any, **options: Any) -> str:
    prefix = "EXPLAIN QUERY PLAN " if compiler.dialect.name == "sqlite" else "EXPLAIN "
    return prefix + str(compiler.process(element.statement, **options))


class SqlalchemyRows:
    """Implements Rows."""

    def __init__(self, url: str, case: Case) -> None:
        scheme, _, rest = url.partition(":")
        driver, self._asynchronous = (f"{name}:{rest}" for name in DRIVERS[scheme])
        self._engine = create_engine(driver)
        self._document, self._note = define_tables(case.kind)
        self.key: Any = self._choose_key(self._document, "key")
        self._about: Any = self._choose_key(self._note, "document")
        self._document.metadata.create_all(self._engine)
        with self._engine.begin() as connection:
            for table, rows in (
                (self._document, list_documents(case.kind, case.keys)),
                (self._note, list_notes(case.kind, case.keys)),
            ):
                if rows:
                    connection.execute(insert(table), rows)

    def _choose_key(self, table: Any, name: str) -> Any:
        return getattr(table, name) if hasattr(table, name) else table.tenant + "." + table.number

    def close(self) -> None:
        self._engine.dispose()

    def _run(self, statement: Any) -> list[Any]:
        with Session(self._engine) as session:
            return [*session.scalars(statement)]

    def explain(self, statement: Any) -> str:
        """The plan of a statement, as the database shows it."""
        with self._engine.connect() as connection:
            return repr(connection.execute(Explained(statement)).all())

    def _list(self, condition: Any) -> list[str]:
        return [str(key) for key in self._run(select(self.key).where(condition).order_by(self._document.updated))]

    def list_allowed(self, client: Client, case: Case) -> list[str]:
        return self._list(allowed(client, self.key, **case.question))

    def list_others(self, client: Client, case: Case) -> list[str]:
        return self._list(~allowed(client, self.key, **case.question))

    def list_pages(self, client: Client, case: Case, size: int) -> list[str]:
        condition = allowed(client, self.key, **case.question)
        ordered = select(self.key).where(condition).order_by(self._document.updated.desc()).limit(size)
        keys: list[str] = []
        while page := self._run(ordered.offset(len(keys))):
            keys += map(str, page)
        return keys

    def list_allowed_or(self, client: Client, case: Case, key: str) -> list[str]:
        own = self._document.updated == list_documents(case.kind, [key])[0]["updated"]
        return self._list(or_(own, allowed(client, self.key, **case.question)))

    def list_notes(self, client: Client, case: Case, is_allowed: bool) -> list[int]:
        condition = allowed(client, self.key, **case.question)
        joined = select(self._note.id).outerjoin(self._document, self._about == self.key)
        return self._run(joined.where(condition if is_allowed else not_(condition)).order_by(self._note.id))

    def list_noted(self, client: Client, case: Case) -> list[str]:
        noted = select(self._about).where(allowed(client, self._about, **case.question))
        return self._list(self.key.in_(noted))

    def list_mirrored(self, case: Case) -> list[str]:
        return self._list(mirrored(self.key, **case.mirrored_question))

    async def list_asynchronously(self, client: AsyncClient, case: Case) -> list[str]:
        engine = create_async_engine(self._asynchronous)
        async with AsyncSession(engine) as session:
            condition = await allowed_async(client, self.key, **case.question)
            found = await session.scalars(select(self.key).where(condition).order_by(self._document.updated))
            keys = [str(key) for key in found]
        await engine.dispose()
        return keys
