"""Builds the warrants that a batch of read requests found from the rows of its statement (see batch_reads.py)."""

import asyncio

from magistrate.engine.warrants import Warrant
from magistrate.store.database import Rows


async def build_answers(rows: Rows, reads: int, rows_at_once: int) -> list[list[Warrant]]:
    """Returns the warrants of each read request, of which there are `reads`, from the rows of their statement. Other
    tasks run in between. The rows are freed meanwhile: tens of thousands of them at once take milliseconds."""
    answers: list[list[Warrant]] = [[] for _ in range(reads)]
    if rows[0][4] is None:
        return answers
    for start in range(0, len(rows), rows_at_once):
        if start:
            await asyncio.sleep(0)
        some = rows[start : start + rows_at_once]
        rows[start : start + rows_at_once] = [()] * len(some)
        for row in some:
            answers[row[4]].append(Warrant(*row[5:]))
    return answers
