"""Runs statements on a connection in batches, each of which is one round trip, whatever the number of statements.

psycopg's own pipelines wait for the event loop at every statement that is queued, so here libpq's pipeline mode is used
directly. See docs/decisions/0073-writes-speak-to-libpq.md."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import count
from weakref import WeakKeyDictionary, ref

import psycopg
from psycopg import errors
from psycopg.adapt import Transformer
from psycopg.pq import ConnStatus, ExecStatus
from psycopg.pq.abc import PGresult
from psycopg.rows import TupleRow

from magistrate.store.database import Row, Rows
from magistrate.store.sql.postgres import number_placeholders

Connection = psycopg.AsyncConnection[TupleRow]

Statement = tuple[str, Row]
"""Holds the text of a statement and the values of its parameters, which are texts, integers and None."""

STATEMENTS_AT_ONCE = 256
"""Limits the statements that are handed to libpq before others may run: each takes some microseconds."""

VALUES_AT_ONCE = 16_384
"""Limits the values of these statements, unless one alone has more: each takes half a microsecond to encode. A write of
1,000 warrants and objects has 27,000."""

_FAILURES = (ExecStatus.FATAL_ERROR, ExecStatus.BAD_RESPONSE, ExecStatus.PIPELINE_ABORTED)


def divide_statements(statements: Sequence[Statement]) -> Iterator[Sequence[Statement]]:
    """Yields the statements in batches, each of which is handed to libpq at once."""
    start, values = 0, 0
    for place, (_, parameters) in enumerate(statements):
        values += len(parameters)
        if place > start and (values > VALUES_AT_ONCE or place - start >= STATEMENTS_AT_ONCE):
            yield statements[start:place]
            start, values = place, len(parameters)
    if start < len(statements):
        yield statements[start:]


class StatementPipeline:
    """Runs batches of statements on one connection. Each text is prepared when it is first run there.

    It does not keep the connection alive, which is what it is found by."""

    def __init__(self, connection: Connection) -> None:
        self._find_connection = ref(connection)
        self._names: dict[str, bytes] = {}
        self._numbers = count(1)

    @property
    def _connection(self) -> Connection:
        connection = self._find_connection()
        assert connection is not None
        return connection

    async def run(self, statements: Sequence[Statement]) -> list[Rows]:
        """Returns the rows of each statement, in order. At the first that fails, raises its error and runs none of
        the statements after it. If the connection is lost, or the caller stops waiting, the connection is closed."""
        rows: list[Rows] = []
        for batch in divide_statements(statements):
            rows += await self._run_batch(batch)
        return rows

    async def _run_batch(self, statements: Sequence[Statement]) -> list[Rows]:
        encoded = [(text, _encode(values)) for text, values in statements]
        names: dict[str, bytes] = {}
        try:
            prepares = self._send(encoded, names)
            results = await self._receive()
            self._connection.pgconn.exit_pipeline_mode()
        except BaseException:
            # Results that arrive later could be mistaken for those of later statements.
            await self._connection.close()
            raise
        for result in results:
            if result.status in _FAILURES:
                raise errors.error_from_result(result)
        self._names |= names
        return [self._load(result) for result, prepare in zip(results, prepares, strict=True) if not prepare]

    def _send(self, statements: Sequence[tuple[str, list[bytes | None]]], names: dict[str, bytes]) -> list[bool]:
        """Queues the statements, and adds to `names` those that are prepared. Returns for each result to come whether
        it is that of preparing."""
        pgconn = self._connection.pgconn
        prepares: list[bool] = []
        pgconn.enter_pipeline_mode()
        for text, values in statements:
            name = self._names.get(text) or names.get(text)
            if name is None:
                name = names[text] = b"magistrate_%d" % next(self._numbers)
                pgconn.send_prepare(name, number_placeholders(text).encode())
                prepares.append(True)
            pgconn.send_query_prepared(name, values)
            prepares.append(False)
        pgconn.pipeline_sync()
        return prepares

    async def _receive(self) -> list[PGresult]:
        pgconn = self._connection.pgconn
        results: list[PGresult] = []
        is_unsent = bool(pgconn.flush())
        while True:
            while pgconn.is_busy():
                await self._wait(is_unsent)
                pgconn.consume_input()
                is_unsent = bool(pgconn.flush())
            result = pgconn.get_result()
            if result is None:  # this is the end of one statement's results
                if pgconn.status == ConnStatus.BAD:
                    raise psycopg.OperationalError("the connection is lost")
            elif result.status == ExecStatus.PIPELINE_SYNC:
                return results
            else:
                results.append(result)

    async def _wait(self, to_send: bool) -> None:
        """Returns when something has arrived, or, with `to_send`, when more can be sent."""
        loop = asyncio.get_running_loop()
        ready = loop.create_future()

        def notify() -> None:
            if not ready.done():
                ready.set_result(None)

        descriptor = self._connection.pgconn.socket
        loop.add_reader(descriptor, notify)
        if to_send:
            loop.add_writer(descriptor, notify)
        try:
            await ready
        finally:
            loop.remove_reader(descriptor)
            if to_send:
                loop.remove_writer(descriptor)

    def _load(self, result: PGresult) -> Rows:
        if not result.ntuples:
            return []
        transformer = Transformer(self._connection)
        transformer.set_pgresult(result)
        rows: Rows = transformer.load_rows(0, result.ntuples, tuple)
        return rows


_PIPELINES: WeakKeyDictionary[Connection, StatementPipeline] = WeakKeyDictionary()


def pipeline_of(connection: Connection) -> StatementPipeline:
    """Returns the pipeline of a connection, which knows what is prepared there."""
    return _PIPELINES.setdefault(connection, StatementPipeline(connection))


def _encode(values: Row) -> list[bytes | None]:
    """Returns the values as texts of PostgreSQL. Raises DataError for a NUL character, at which libpq would cut a text
    off."""
    encoded = [None if value is None else str(value).encode() for value in values]
    if any(b"\0" in value for value in encoded if value):
        raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
    return encoded
