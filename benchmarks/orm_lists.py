"""A page of rows of an application, with and without the condition that a subject has access to them."""

import io
import json
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Engine, Integer, Text, create_engine, func, insert, not_, select, text
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from benchmarks.cores import LOAD_CORE, on_core
from benchmarks.databases import STORES, NewDatabase
from benchmarks.server import API_KEY, serving
from benchmarks.table import markdown_table
from magistrate.cli.importing.command import CHUNK_LINES
from magistrate.config.settings import ImportTarget, read_settings
from magistrate.wiring.maintenance import import_file
from magistrate_client import Client
from magistrate_client.sqlalchemy import allowed

ROWS, ALLOWED = 1_000_000, 100_000
PAGE_ROWS = 50
REPEATS = 5


class Base(DeclarativeBase):
    """The tables of the application."""


class Document(Base):
    """A row that Magistrate knows by its key."""

    __tablename__ = "documents"

    key: Mapped[str] = mapped_column(Text, primary_key=True)
    updated: Mapped[int] = mapped_column(Integer, index=True)


def measure_orm_lists(seconds: int, rows: int = ROWS, allowed_rows: int = ALLOWED) -> str:
    """A table. `seconds` has no effect; each database takes about a minute."""
    lines: list[tuple[str, ...]] = []
    for store, databases in STORES.items():
        with databases() as new_database:
            lines += _measure(store, new_database, rows, allowed_rows)
    title = f"{allowed_rows:,} of {rows:,} rows are allowed: milliseconds, the least of {REPEATS}"
    header = ("", "without the condition", "with it, without the request", "ratio")
    return markdown_table(title, header, lines)


def _measure(store: str, new_database: NewDatabase, rows: int, allowed_rows: int) -> list[tuple[str, ...]]:
    draw = random.Random(1)
    keys = [f"document-{number:07d}" for number in range(rows)]
    source, own = new_database("source"), new_database("own")
    content = b"".join(_list_lines(draw.sample(keys, allowed_rows)))
    imported = ImportTarget(read_settings({"database_url": source}, {}), CHUNK_LINES)
    import_file(imported, io.BufferedReader(io.BytesIO(content)), None, lambda _: None)
    engine = create_engine(own.replace("postgresql://", "postgresql+psycopg://"))
    _fill(engine, keys, draw)
    with serving(source) as server, Client(server.url, API_KEY, timeout=60) as client, on_core(LOAD_CORE):
        condition = allowed(client, Document.key, subject="user:ann", relation="viewer", type="document")
        reading = _time(lambda: client.object_set("user:ann", "viewer", "document"))
        page = select(Document).order_by(Document.updated.desc()).limit(PAGE_ROWS)
        counted = select(func.count()).select_from(Document)
        with Session(engine) as session:
            lines = [
                _compare(f"first page of {PAGE_ROWS}, {store}", session, page, page.where(condition)),
                _compare(
                    f"the page after 5,000, {store}", session, page.offset(5_000), page.where(condition).offset(5_000)
                ),
                _compare(f"first page of what is not allowed, {store}", session, page, page.where(not_(condition))),
                _compare(f"count, {store}", session, counted, counted.where(condition)),
            ]
            assert session.scalar(counted.where(condition)) == allowed_rows
    engine.dispose()
    return [*lines, (f"reading the ids from the service, {store}", "", f"{reading:,.0f}", "")]


def _compare(name: str, session: Session, without: Any, with_condition: Any) -> tuple[str, ...]:
    bare, conditional = (_time(lambda: session.execute(statement).all()) for statement in (without, with_condition))  # noqa: B023  # called at once
    return name, f"{bare:,.1f}", f"{conditional:,.1f}", f"{conditional / bare:,.0f}"


def _time(run: Callable[[], Any]) -> float:
    """Returns the least time of some runs, in milliseconds."""
    times = []
    for _ in range(REPEATS):
        began_at = time.perf_counter()
        run()
        times.append(time.perf_counter() - began_at)
    return min(times) * 1_000


def _fill(engine: Engine, keys: list[str], draw: random.Random) -> None:
    Base.metadata.create_all(engine)
    updated = draw.sample(range(len(keys)), len(keys))
    rows = [{"key": key, "updated": place} for key, place in zip(keys, updated, strict=True)]
    with engine.begin() as connection:
        for start in range(0, len(rows), 10_000):
            connection.execute(insert(Document), rows[start : start + 10_000])
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE" if engine.dialect.name == "postgresql" else "ANALYZE"))


def _list_lines(keys: list[str]) -> Iterator[bytes]:
    """Yields lines to import: documents that ann can view."""
    yield b'{"type": "user", "relations": {}}\n{"type": "document", "relations": {"viewer": {}}}\n'
    subject = {"objectType": "user", "objectId": "ann"}
    for key in keys:
        warrant = {"objectType": "document", "objectId": key, "relation": "viewer", "subject": subject}
        yield json.dumps(warrant).encode() + b"\n"
