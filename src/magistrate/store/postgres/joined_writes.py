"""Writes the statements of a group as few, each with all rows of its kind, in an order that does the same."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, repeat

import msgspec

from magistrate.engine.names import Revision
from magistrate.store.database import Execute, Row
from magistrate.store.postgres.pipeline import Statement
from magistrate.store.scripts.script_runs import Place
from magistrate.store.sql.dialect import Parameter, bind_store
from magistrate.store.sql.joined import (
    INSERT_REVISIONS,
    PARAMETERS,
    guard_change,
    join_insertions_of_group,
)
from magistrate.store.sql.revisions import INSERT_REVISION


def encode_array(values: Sequence[Parameter]) -> str:
    """Returns an array of PostgreSQL as its text."""
    # The text of an array in JSON is the same, but for its brackets, and for escapes of control characters.
    as_json = _encode_json(values).decode()
    if "\\" in as_json and "\\" in as_json.replace("\\\\", "").replace('\\"', ""):
        return "{" + ",".join(map(_encode_element, values)) + "}"
    return "{" + as_json[1:-1] + "}"


_encode_json = msgspec.json.Encoder().encode


def _encode_element(value: Parameter) -> str:
    if isinstance(value, str):
        if "\\" in value or '"' in value:
            value = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{value}"'
    return "NULL" if value is None else str(value)


class JoinedWrites:
    """Collects what the scripts of a group execute, in order.

    A statement that changes what another one before it changed, or may find, runs after it: each has a level above
    those on whose rows it depends. Those of a level are independent of each other, and run together."""

    def __init__(self) -> None:
        self._levels: dict[Place, int] = {}
        self._rows: dict[tuple[int, str], list[Row]] = {}

    def add(self, step: Execute) -> None:
        level = 0
        if step.changes:
            places = [(find, key) for find, keys in step.changes.items() for key in keys]
            level = max(map(self._levels.get, places, repeat(-1)), default=-1) + 1
            self._levels.update(dict.fromkeys(places, level))
        self._rows.setdefault((level, step.sql), []).extend(step.values)

    def build(self, store: int, before: Revision, newest: Revision, bits: int) -> Iterable[Statement]:
        """Yields the statements, given the revision that was expected before the group, and the last one with its
        bits."""
        for (_, text), rows in sorted(self._rows.items(), key=_level_of):
            if text == INSERT_REVISION:
                yield _bind(INSERT_REVISIONS, store, (newest, newest - before, bits, *_columns_of_revisions(rows)))
            elif text.lstrip().startswith("INSERT"):
                columns = map(encode_array, zip(*rows, strict=True))
                yield _bind(join_insertions_of_group(text), store, (newest, bits, *columns))
            else:
                guarded, place = guard_change(text)
                for row in rows:
                    yield _bind(guarded, store, (*row[:place], newest, bits, *row[place:]))


def _level_of(item: tuple[tuple[int, str], list[Row]]) -> int:
    return item[0][0]


def _columns_of_revisions(rows: Sequence[Row]) -> Iterable[str]:
    _, revisions, bits, written_at, actors, requests = zip(*rows, strict=True)
    reached_at = [*accumulate(written_at, max)]
    return map(encode_array, (revisions, bits, written_at, actors, requests, reached_at))


def is_joinable(step: Execute) -> bool:
    """Returns whether a step can be a part of a group."""
    if step.sql == INSERT_REVISION and any(row[0] != 1 for row in step.values):
        return False  # which revision a caller made last is not looked up for each
    return step.sql in PARAMETERS and step.changes is not None and step.store is None


def _bind(statement: str, store: int, values: Row) -> Statement:
    return statement, bind_store(statement, store, values)
