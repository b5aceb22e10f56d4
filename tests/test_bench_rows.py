"""The rows that `./run bench` writes by bare statements: as many in every table as the store writes for the same."""

import asyncio
from collections import Counter
from pathlib import Path

from benchmarks.bare_rows import Statements, bare_writer, batch_rows, row_counts
from benchmarks.datasets import DATASETS
from benchmarks.datasets.lines import lines
from benchmarks.imports import read_written_chunks
from benchmarks.writes import DEFINITION, ELEMENTS, build_statements, build_warrants
from magistrate.engine.names import ObjectId, TypeName
from magistrate.store.contract.new_rows import ImportBatch, NewObject, NewObjectType, Stamp
from magistrate.wiring.stores import migrate_store, open_store
from tests.running import settings_for

STAMP = Stamp("key-00000000", 1_700_000_000_000_000)


def rows_of_store(folder: Path, batch: ImportBatch) -> Counter[str]:
    """How many rows the store adds to each table for this batch."""
    url = f"sqlite:///{folder}/written.db"
    settings = settings_for(url)
    migrate_store(settings)

    async def write(some: ImportBatch) -> None:
        store = await open_store(settings)
        await store.import_batch(some, lambda model: None, STAMP)
        await store.close()

    asyncio.run(write(ImportBatch([NewObjectType(TypeName("document"), DEFINITION.decode())])))
    before = row_counts(url)
    asyncio.run(write(batch))
    return row_counts(url) - before


def rows_of_statements(url: str, *transactions: Statements) -> Counter[str]:
    with bare_writer(url) as write:
        before = row_counts(url)
        for statements in transactions:
            write(statements)
        return row_counts(url) - before


def test_an_atomic_write_by_bare_statements_leaves_the_rows_of_the_store(database_url: str, tmp_path: Path) -> None:
    bare = rows_of_statements(database_url, build_statements(0))

    written = rows_of_store(tmp_path, ImportBatch(warrants=build_warrants(0)))
    del written["warrant_pattern"]  # of the first warrant of its pattern
    assert bare["warrant"] == ELEMENTS
    assert bare == written


def test_a_batch_of_objects_by_bare_statements_leaves_the_rows_of_the_store(database_url: str, tmp_path: Path) -> None:
    meta = '{"name":"Ann"}'

    bare = rows_of_statements(database_url, batch_rows(1, [("user", "ann", meta), ("user", "bob", meta)], STAMP.at))

    objects = [NewObject(TypeName("user"), ObjectId(object_id), meta) for object_id in ("ann", "bob")]
    assert bare == rows_of_store(tmp_path, ImportBatch(objects=objects))


def test_chunks_of_an_import_are_written_again_by_bare_statements(database_url: str) -> None:
    content = b"".join(lines(DATASETS["drive"](1_000, 1)))

    chunks = read_written_chunks(content)
    bare = rows_of_statements(database_url, *chunks)

    assert bare["warrant"] == 1_000
    assert bare["revision"] == len(chunks)
