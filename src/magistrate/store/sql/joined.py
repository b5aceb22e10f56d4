"""Builds the statements that write all rows of a group of writes on PostgreSQL, whose scripts ran before the head was
locked (store/postgres/group_plan.py).

The rows have the revisions that the scripts expected. MOVE_HEAD_IF_UNCHANGED moves the head if nothing has changed that
the scripts have read; each statement behind it then adds to the revisions of its rows how much further the head was,
and does nothing if the head was not moved. See docs/decisions/0121-scripts-run-before-the-head-is-locked.md."""

import re
from collections.abc import Mapping
from functools import lru_cache

from magistrate.store.contract.new_rows import MAX_WARRANTS_IN_A_WRITE
from magistrate.store.sql.changes import INSERT_CHANGE
from magistrate.store.sql.head import MOVE_EXPIRY
from magistrate.store.sql.objects import OBJECT
from magistrate.store.sql.requests import DELETE_ONCE, KEEP_ONCE
from magistrate.store.sql.revisions import INSERT_REVISION
from magistrate.store.sql.warrants import END_EXPIRED_WARRANT, END_NUMBERED_WARRANT, KEEP_POLICY, WARRANT

TEXT, INTEGER, REVISION, NUMBER, STORED_NUMBER = "text", "integer", "revision", "number", "stored number"
"""Are the kinds of parameters: a revision that the group makes, the number of a warrant that it inserts, and that of a
warrant that was stored before."""

_KEY = (TEXT,) * 7
PARAMETERS: Mapping[str, tuple[str, ...]] = {
    WARRANT.insert: (*_KEY, NUMBER, INTEGER, REVISION, INTEGER, INTEGER),
    WARRANT.end: (REVISION, *_KEY),
    END_NUMBERED_WARRANT: (REVISION, STORED_NUMBER),
    END_EXPIRED_WARRANT: (REVISION, REVISION, STORED_NUMBER),
    OBJECT.insert: (TEXT, TEXT, TEXT, INTEGER, REVISION),
    OBJECT.end: (REVISION, TEXT, TEXT),
    INSERT_CHANGE: (REVISION, INTEGER, TEXT, TEXT, TEXT, TEXT, TEXT, INTEGER, INTEGER),
    KEEP_POLICY: (TEXT, TEXT, INTEGER),
    MOVE_EXPIRY: (INTEGER, INTEGER),
    INSERT_REVISION: (INTEGER, REVISION, INTEGER, INTEGER, TEXT, TEXT),
    KEEP_ONCE: (TEXT, TEXT, TEXT, REVISION, TEXT, INTEGER),
    DELETE_ONCE: (TEXT, TEXT),
}
"""Has the statements of which a group may consist, with the kinds of their parameters."""
FIXED = frozenset((KEEP_ONCE, DELETE_ONCE))
"""Has those whose values name revisions that cannot be added to: a kept answer has them in its text."""

# A transaction that has locked the head has a number; without one, this must not wait for the head. The changes are
# looked through in the order of their key, so that no plan reads the whole log.
MOVE_HEAD_IF_UNCHANGED = """
UPDATE head SET revision = revision + ?, bits = ?, warrants = warrants + ?, objects = objects + ?, moved = :moved
WHERE store = :store AND deleted_at IS NULL AND pg_current_xact_id_if_assigned() IS NOT NULL
    AND model_revision = ? AND limits = ?
    AND warrants + ? <= coalesce(?, 9223372036854775807) AND objects + ? <= coalesce(?, 9223372036854775807)
    AND ((revision = ? AND bits IS NOT DISTINCT FROM ?) OR (
        revision > ? AND changes_deleted <= ?
        AND EXISTS (SELECT 1 FROM revision r WHERE r.store = :store AND r.revision = ? AND r.bits = ?)
        AND NOT EXISTS (
            SELECT 1 FROM (
                SELECT kind, key FROM change WHERE store = :store AND revision > ? ORDER BY revision, position OFFSET 0
            ) c WHERE c.kind || c.key = ANY (CAST(? AS TEXT[]))
        )))
RETURNING revision"""

# A number could be that of another server, from which the database was restored; bits are not the same by chance.
_MOVED = """(
    SELECT h.revision - CAST(? AS BIGINT) AS distance{reached} FROM head h
    WHERE h.store = :store AND h.bits = CAST(? AS BIGINT) AND h.moved = :moved
) d"""
_SHIFTS = {
    REVISION: " + d.distance",
    NUMBER: f" + d.distance * {MAX_WARRANTS_IN_A_WRITE}",
}
_REACHED = """,
    (SELECT p.reached_at FROM revision p WHERE p.store = h.store AND p.revision = h.revision - CAST(? AS BIGINT)
    ) AS reached_at"""
INSERT_REVISIONS = f"""
INSERT INTO revision (store, called_revision, revision, bits, written_at, actor, request_id, reached_at)
SELECT :store, u.revision + d.distance, u.revision + d.distance, u.bits, u.written_at, u.actor, u.request_id,
    greatest(u.reached_at, d.reached_at)
FROM {_MOVED.format(reached=_REACHED)} CROSS JOIN unnest(
    CAST(? AS BIGINT[]), CAST(? AS BIGINT[]), CAST(? AS BIGINT[]), CAST(? AS TEXT[]), CAST(? AS TEXT[]),
    CAST(? AS BIGINT[])
) u (revision, bits, written_at, actor, request_id, reached_at)"""

_ROW = re.compile(r"\bVALUES \(([^()]*)\)")


@lru_cache(maxsize=64)
def join_insertions_of_group(statement: str) -> str:
    """Returns a statement that inserts many rows, given the one for a single row. Its parameters are the revision that
    was expected for the last write, the bits of that, and an array for each column."""
    kinds = PARAMETERS[statement]
    columns = iter([f"u.c{place}{_SHIFTS.get(kind, '')}" for place, kind in enumerate(kinds)])
    matched = _ROW.search(statement)
    assert matched is not None
    selected = re.sub(r"\?", lambda _: next(columns), matched[1])
    arrays = ", ".join("CAST(? AS TEXT[])" if kind == TEXT else "CAST(? AS BIGINT[])" for kind in kinds)
    names = ", ".join(f"c{place}" for place in range(len(kinds)))
    source = f"FROM {_MOVED.format(reached='')} CROSS JOIN unnest({arrays}) u ({names})"
    return f"{statement[: matched.start()]}SELECT {selected} {source}{statement[matched.end() :]}"


@lru_cache(maxsize=64)
def guard_change(statement: str) -> tuple[str, int]:
    """Returns a statement that changes or deletes one row if the head was moved, and the number of parameters in front
    of the revision that was expected for the last write and the bits of that."""
    before, where, after = re.split(r"(\s+WHERE )", statement, maxsplit=1)
    kinds = iter(PARAMETERS[statement])
    word = " USING" if before.lstrip().startswith("DELETE") else " FROM"
    shifted = re.sub(r"\?", lambda _: f"CAST(? AS BIGINT){_SHIFTS.get(next(kinds), '')}", before)
    return f"{shifted}{word} {_MOVED.format(reached='')}{where}{after}", before.count("?")
