"""Runs statements on a connection in batches, each of which is one round trip, whatever the number of statements.

psycopg's own pipelines wait for the event loop at every statement that is queued, so here libpq's pipeline mode is used
directly. See docs/decisions/0073-writes-speak-to-libpq.md."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from weakref import WeakKeyDictionary, ref

import psycopg
from psycopg import abc, errors
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

ROWS_AT_ONCE = 200
"""Limits the rows that are decoded before others may run: all of them have arrived by then, and take from two
microseconds to twenty, with the most meta."""
SECONDS_AT_ONCE = 0.002
"""Limits for how long rows are decoded before others may run."""

MAX_MISTAKES = 2
"""Limits how often in a row a connection turns out to have other prepared statements than it should, until its
statements get no names any more."""

_MISTAKES = (errors.DuplicatePreparedStatement, errors.InvalidSqlStatementName)
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


class OtherSession(psycopg.OperationalError):
    """Reports that nothing was done, because other statements are prepared on the connection than were prepared by it:
    a pooler has changed the session behind it. What was found is remembered, so the statements can be run again."""


class StatementPipeline:
    """Runs batches of statements on one connection. Each text is prepared when it is first run there, under a name that
    no other text has in any process, so that a session that was used by another one never runs another statement.

    It does not keep the connection alive, which is what it is found by."""

    def __init__(self, connection: Connection) -> None:
        self._find_connection = ref(connection)
        self._prepared: set[bytes] = set()
        self._mistakes = 0
        self.is_naming = True
        """Says whether statements get names. Those without are parsed and planned each time."""

    @property
    def _connection(self) -> Connection:
        connection = self._find_connection()
        assert connection is not None
        return connection

    async def run_alone(self, text: str, values: Row) -> Rows:
        """Returns the rows of a statement that is a transaction of its own, or ends one."""
        while True:
            with suppress(OtherSession):
                return await self._load_in_slices(*await self._run_batch([(text, values)]))

    async def run(self, statements: Sequence[Statement]) -> list[Rows]:
        """Returns the rows of each statement, in order. At the first that fails, raises its error and runs none of
        the statements after it. Raises OtherSession if the whole transaction has to be run again, at most MAX_MISTAKES
        times in a row. If the connection is lost, or the caller stops waiting, the connection is closed."""
        rows: list[Rows] = []
        for batch in divide_statements(statements):
            rows += map(self._load, await self._run_batch(batch))
        return rows

    async def _run_batch(self, statements: Sequence[Statement]) -> list[PGresult]:
        encoded = [(text, _encode(values)) for text, values in statements]
        try:
            sent = self._send(encoded)
            results = await self._receive()
            self._connection.pgconn.exit_pipeline_mode()
        except BaseException:
            # Results that arrive later could be mistaken for those of later statements.
            await self._connection.close()
            raise
        for name, result in zip(sent, results, strict=True):
            if result.status in _FAILURES:
                raise self._learn(errors.error_from_result(result), sent)
            if name is not None:
                self._prepared.add(name)
        self._mistakes = 0
        return [result for name, result in zip(sent, results, strict=True) if name is None]

    def _learn(self, error: psycopg.Error, sent: Sequence[bytes | None]) -> psycopg.Error:
        """Returns the error to be raised in place of this one. If it says that other statements are prepared than was
        known, that is taken for all of them: they are likely to be in the same state."""
        if not isinstance(error, _MISTAKES):
            return error
        if isinstance(error, errors.DuplicatePreparedStatement):
            self._prepared.update(filter(None, sent))
        else:
            self._prepared.clear()
        self._mistakes += 1
        self.is_naming = self._mistakes < MAX_MISTAKES
        return OtherSession(str(error))

    def _send(self, statements: Sequence[tuple[str, list[bytes | None]]]) -> Sequence[bytes | None]:
        """Queues the statements. Returns for each result to come the name that is prepared by then, or None if it is
        the result of a statement itself."""
        pgconn = self._connection.pgconn
        sent: list[bytes | None] = []
        prepared = set[bytes]()
        pgconn.enter_pipeline_mode()
        for text, values in statements:
            name, encoded = _name_statement(text)
            if not self.is_naming:
                pgconn.send_query_params(encoded, values)
            else:
                if name not in self._prepared and name not in prepared:
                    pgconn.send_prepare(name, encoded)
                    prepared.add(name)
                    sent.append(name)
                pgconn.send_query_prepared(name, values)
            sent.append(None)
        pgconn.pipeline_sync()
        return sent

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
        return self._open_rows(result).load_rows(0, result.ntuples, tuple) if result.ntuples else []

    async def _load_in_slices(self, result: PGresult) -> Rows:
        """Returns the rows, and lets others run meanwhile if they are many."""
        if result.ntuples <= ROWS_AT_ONCE:
            return self._load(result)
        opened, rows = self._open_rows(result), []
        began_at = time.monotonic()
        for start in range(0, result.ntuples, ROWS_AT_ONCE):
            if time.monotonic() - began_at > SECONDS_AT_ONCE:
                await asyncio.sleep(0)
                began_at = time.monotonic()
            rows += opened.load_rows(start, min(start + ROWS_AT_ONCE, result.ntuples), tuple)
        return rows

    def _open_rows(self, result: PGresult) -> abc.Transformer:
        transformer = Transformer(self._connection)
        transformer.set_pgresult(result)
        return transformer


_PIPELINES: WeakKeyDictionary[Connection, StatementPipeline] = WeakKeyDictionary()


def pipeline_of(connection: Connection) -> StatementPipeline:
    """Returns the pipeline of a connection, which knows what is prepared there."""
    return _PIPELINES.setdefault(connection, StatementPipeline(connection))


@lru_cache(maxsize=2_048)
def _name_statement(text: str) -> tuple[bytes, bytes]:
    """Returns the name of a statement, and its text for the server."""
    encoded = number_placeholders(text).encode()
    return b"magistrate_" + blake2b(encoded, digest_size=16).hexdigest().encode(), encoded


def _encode(values: Row) -> list[bytes | None]:
    """Returns the values as texts of PostgreSQL. Raises DataError for a NUL character, at which libpq would cut a text
    off."""
    encoded = [None if value is None else str(value).encode() for value in values]
    if b"\0" in b"".join(filter(None, encoded)):
        raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
    return encoded
