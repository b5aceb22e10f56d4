"""The statement that answers a batch of reads (see engine/warrant_source.py), whatever their number.

One arm for each read; in an arm, each object is looked up in an index of its own accord: a join that a planner is free
to turn round could end in reading the table."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from magistrate.engine.terms import Revision, Subject
from magistrate.engine.warrant_source import Read
from magistrate.store.contract import ALIVE
from magistrate.store.sql import Clause, Parameter

FEW_IDS = 4
"""So many ids stand in the statement itself; more are sent as one JSON array."""

_COLUMNS = (
    "w.object_type, w.object_id, w.relation, w.subject_type, w.subject_id, w.subject_relation, "
    "coalesce(text, ''), w.created_at, w.number"
)
_EXACTLY = "w.subject_relation = ? AND w.subject_type = ? AND w.subject_id IN (?, '*')"
_OF_TYPE = "w.subject_relation = '' AND w.subject_type = ?"
_ANY_GROUP = "w.subject_relation > ''"


@dataclass(frozen=True, slots=True)
class Joining:
    """How a database reads `warrant w` by an index, and how it joins it to a JSON array of ids; `{holds}` and
    `{index}` are filled in."""

    indexed: str
    many_ids: str


@dataclass(frozen=True, slots=True)
class _Arm:
    """All of a read that its text depends on. `ids`: how many of them stand in it, None for every object."""

    relations: int
    subjects: str
    ids: int | None


def read_statement(reads: Sequence[Read], at: Revision | None, most: int, joining: Joining) -> Clause:
    """Answers (revision, horizon, model_revision, number of the read, *columns of Warrant) for up to `most` rows; one
    row whose columns are NULL if there is none."""
    arms: list[_Arm] = []
    values: list[Parameter] = []
    revisions = () if at is None else (at, at)
    for shape, ids in reads:
        subjects, subject_values = _subjects(shape.subjects)
        arm = _Arm(len(shape.relations), subjects, None if ids is None else min(len(ids), FEW_IDS + 1))
        if ids is None and subjects != _EXACTLY:
            values += [f"{shape.type}#{relation}" for relation in shape.relations]
        else:
            values += _id_values(ids or ())
            values += (shape.type, *shape.relations)
        values += subject_values
        values += revisions
        arms.append(arm)
    values.append(most)
    return Clause(_text(tuple(arms), at is None, joining), tuple(values))


def _id_values(ids: Sequence[str]) -> Sequence[Parameter]:
    return ids if len(ids) <= FEW_IDS else [msgspec.json.encode(ids).decode()]


def _subjects(wanted: Subject | str | None) -> tuple[str, tuple[Parameter, ...]]:
    """A condition on subjects that is one range of the index, and its values."""
    if isinstance(wanted, Subject):
        return _EXACTLY, (wanted.relation or "", wanted.type, wanted.id)
    if wanted is not None:
        return _OF_TYPE, (wanted,)
    return _ANY_GROUP, ()


@lru_cache(maxsize=1_024)
def _text(arms: tuple[_Arm, ...], newest: bool, joining: Joining) -> str:
    found = " UNION ALL ".join(_arm_text(number, arm, newest, joining) for number, arm in enumerate(arms))
    return f"SELECT h.revision, h.horizon, h.model_revision, u.* FROM head h LEFT JOIN ({found}) u ON true LIMIT ?"


def _arm_text(number: int, arm: _Arm, newest: bool, joining: Joining) -> str:
    relations = f"IN ({', '.join('?' * arm.relations)})" if arm.relations > 1 else "= ?"
    alive = f"w.deleted_revision = {ALIVE}" if newest else "w.created_revision <= ? AND w.deleted_revision > ?"
    of_object = f"w.object_type = ? AND w.relation {relations} AND {arm.subjects} AND {alive}"
    if arm.ids is None and arm.subjects == _EXACTLY:
        warrants = joining.indexed.format(index="warrant_by_subject", holds=of_object)
    elif arm.ids is None:
        of_type = f"w.object_type || '#' || w.relation {relations} AND {arm.subjects} AND {alive}"
        warrants = joining.indexed.format(index="warrant_by_type", holds=of_type)
    elif arm.ids <= FEW_IDS:
        ids = f"w.object_id IN ({', '.join('?' * arm.ids)})" if arm.ids > 1 else "w.object_id = ?"
        warrants = joining.indexed.format(index="warrant_by_object", holds=f"{ids} AND {of_object}")
    else:
        warrants = joining.many_ids.format(holds=of_object)
    return f"SELECT {number} AS read_number, {_COLUMNS} FROM {warrants}"
