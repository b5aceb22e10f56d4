"""The statement that answers a batch of reads (see engine/warrant_source.py), whatever their number.

One arm for each read, or two; in an arm, each object is looked up in an index of its own accord: a join that a
planner is free to turn round could end in reading the table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from magistrate.engine.terms import Revision, Subject
from magistrate.engine.warrant_source import Read
from magistrate.store.contract import ALIVE
from magistrate.store.sql import Clause, Parameter

_COLUMNS = (
    "w.object_type, w.object_id, w.relation, w.subject_type, w.subject_id, w.subject_relation, "
    "coalesce(text, ''), w.created_at, w.number"
)
_EXACTLY = "w.subject_relation = ? AND w.subject_type = ? AND w.subject_id IN (?, '*')"
_DIRECTLY_OF_TYPE = "w.subject_relation = '' AND w.subject_type = ?"
_GROUP_OF_TYPE = "w.subject_relation > '' AND w.subject_type = ?"
_ANY_GROUP = "w.subject_relation > ''"


@dataclass(frozen=True, slots=True)
class Joining:
    """How a database joins `warrant w` to a JSON array of ids, or reads it by an index; `{holds}` and `{index}` are
    filled in."""

    ids: str
    every: str


def read_statement(reads: Sequence[Read], at: Revision | None, most: int, joining: Joining) -> Clause:
    """Answers (revision, horizon, model_revision, number of the read, *columns of Warrant) for up to `most` rows; one
    row whose columns are NULL if there is none."""
    arms: list[str] = []
    values: list[Parameter] = []
    for number, read in enumerate(reads):
        ids = () if read.ids is None else (msgspec.json.encode(read.ids).decode(),)
        for subjects, subject_values in _subjects(read):
            by_type = read.ids is None and subjects != _EXACTLY
            arms.append(_arm(number, len(read.shape.relations), subjects, read.ids is None, at is None, joining))
            values += (*ids, *_relations(read, by_type), *subject_values, *(() if at is None else (at, at)))
    found = " UNION ALL ".join(arms)
    text = f"SELECT h.revision, h.horizon, h.model_revision, u.* FROM head h LEFT JOIN ({found}) u ON true LIMIT ?"
    return Clause(text, (*values, most))


def _subjects(read: Read) -> Iterable[tuple[str, tuple[Parameter, ...]]]:
    """The conditions on subjects, one for each arm: each of them is a range of the index."""
    subjects = read.shape.subjects
    if isinstance(subjects, Subject):
        yield _EXACTLY, (subjects.relation or "", subjects.type, subjects.id)
    elif subjects is not None:
        yield _DIRECTLY_OF_TYPE, (subjects,)
        yield _GROUP_OF_TYPE, (subjects,)
    else:
        yield _ANY_GROUP, ()


def _relations(read: Read, by_type: bool) -> tuple[Parameter, ...]:
    if by_type:
        return tuple(f"{read.shape.type}#{relation}" for relation in read.shape.relations)
    return (read.shape.type, *read.shape.relations)


@lru_cache(maxsize=1_024)
def _arm(number: int, relations: int, subjects: str, every: bool, newest: bool, joining: Joining) -> str:
    places = ", ".join("?" * relations)
    alive = f"w.deleted_revision = {ALIVE}" if newest else "w.created_revision <= ? AND w.deleted_revision > ?"
    by_columns = f"w.object_type = ? AND w.relation IN ({places}) AND {subjects} AND {alive}"
    if not every:
        warrants = joining.ids.format(holds=by_columns)
    elif subjects == _EXACTLY:
        warrants = joining.every.format(index="warrant_by_subject", holds=by_columns)
    else:
        by_type = f"w.object_type || '#' || w.relation IN ({places}) AND {subjects} AND {alive}"
        warrants = joining.every.format(index="warrant_by_type", holds=by_type)
    return f"SELECT {number} AS read_number, {_COLUMNS} FROM {warrants}"
