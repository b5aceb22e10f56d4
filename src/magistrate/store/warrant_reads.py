"""Reads warrants from any Database, as a part of the store."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from magistrate.engine.read_ahead import AheadResult, PlacedRead, ReadsAhead
from magistrate.engine.terms import Revision
from magistrate.engine.warrant_reader import AnyRead, ReadResult
from magistrate.engine.warrants import Warrant
from magistrate.store.answers import build_answers
from magistrate.store.batch_reads import ahead_statement, read_statement, split_reads
from magistrate.store.sql_revisions import SqlRevisions

FEW_ROWS = 600
"""Limits the warrants that may be read while others wait, which takes some milliseconds; more are read as a long
read. What the graph cache reads of one key is less, so that it is read once (engine/graph/graph.py: MOST_EACH)."""
MANY_IDS = 500
"""Limits the ids of an ordinary read; one with more ids is a long read from the start, because it is likely to return
many rows."""


class SqlWarrantReads(SqlRevisions):
    """Implements the part of a store that reads warrants."""

    async def read_warrants(
        self, reads: Sequence[AnyRead], at: Revision | None, most: int, with_expired: bool = False
    ) -> ReadResult:
        first, *others = split_reads(reads)
        result = await self._read_batch(first, at, most, with_expired)
        if not others:
            return result
        answers = [*result.warrants]
        for batch in others:
            await asyncio.sleep(0)  # each is built and read in some milliseconds, in which nobody else has a turn
            left = most - sum(map(len, answers))
            answers += (await self._read_batch(batch, result.revision, max(left, 1), with_expired)).warrants
        return replace(result, warrants=answers)

    async def read_ahead(
        self, reads: Sequence[PlacedRead], ahead: ReadsAhead, at: Revision | None, most: int
    ) -> AheadResult:
        statement = ahead_statement(reads, ahead, at, most, self.database.templates)
        rows = await self.database.read(statement.sql, statement.values)
        revision, model_revision = self.check_revision(rows[0], at), Revision(rows[0][3])
        found = [] if rows[0][4] is None else [(row[4], Warrant(*row[5:])) for row in rows]
        return AheadResult(revision, Revision(rows[0][0]), model_revision, found)

    async def _read_batch(
        self, reads: Sequence[AnyRead], at: Revision | None, most: int, with_expired: bool
    ) -> ReadResult:
        is_long = any(read.ids is None for read in reads) or sum(len(read.ids or ()) for read in reads) > MANY_IDS
        left = most if is_long else min(most, FEW_ROWS)
        statement = read_statement(reads, at, left, self.database.templates, with_expired)
        rows = await self.database.read(statement.sql, statement.values, long=is_long)
        revision, model_revision = self.check_revision(rows[0], at), Revision(rows[0][3])
        if left <= len(rows) and left < most:
            statement = read_statement(reads, revision, most, self.database.templates, with_expired)
            rows = await self.database.read(statement.sql, statement.values, long=True)
            self.check_revision(rows[0], revision)
        newest = Revision(rows[0][0])
        return ReadResult(revision, newest, model_revision, await build_answers(rows, len(reads), FEW_ROWS))
