"""Builds the statement that answers a batch of read requests (see engine/warrants/reader.py), or several statements if
the batch is very large.

A statement consists of arms, each of which reads one range of an index. Many objects are each looked up in the index
separately, because a planner may reverse a join and then read the whole table."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Literal

import msgspec

from magistrate.engine.names import WILDCARD, ObjectId, Revision
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.read_ahead import NOBODY, PlacedRead, ReadOutline, ReadsAhead
from magistrate.engine.warrants.reader import AnyRead, WarrantRead, WarrantsByObject, WarrantsBySubject
from magistrate.store.contract.stored_rows import ALIVE
from magistrate.store.sql.dialect import Clause, Dialect, Parameter
from magistrate.store.sql.head import HEAD, NEWEST
from magistrate.store.sql.warrants import READ_ROWS, STORED_WARRANT, WARRANT_NAMES

MAX_SINGLE_IDS = 2
"""Limits how many ids get an arm each, which is faster than sending them as one JSON array."""

MAX_PLACEHOLDERS = 20
"""Limits how many relations get a placeholder each in the statement; more are sent as a JSON array, too."""

MAX_ARMS = 200
"""Limits the arms of one statement. SQLite accepts 500 arms and 32 766 values, PostgreSQL 65 535 values, and both
plan large statements ever more slowly."""

MAX_IDS = 10_000
"""Limits the ids of one statement, if it has more than one read request: encoding them takes a millisecond, and other
requests run between two statements."""

_REACHED = "read_number, " + STORED_WARRANT.replace("w.", "")
_NO_ROW = f"SELECT 0 AS read_number, {STORED_WARRANT} FROM warrant w WHERE w.store = :store AND w.number = -1"
"""Selects no row, because numbers are positive. With WHERE false, SQLite would read the whole table and return none
of it."""
SOME_OBJECT = ObjectId("  ")
"""Stands for the id of an object; no object has this one."""
_Ids = Literal["one", "many", "every"]
_EXACTLY = "w.subject_relation = ? AND w.subject_type = ? AND w.subject_id = ?"
_OF_TYPE = "w.subject_relation = '' AND w.subject_type = ?"
_OF_KIND = "w.subject_relation = ? AND w.subject_type = ?"
_ANY_GROUP = "w.subject_relation > ''"
_SAME = " AND ".join(f"later.{column} = w.{column}" for column in (*WARRANT_NAMES, "policy"))
_EXPIRED = (
    "(w.expired_revision IS NOT NULL AND NOT EXISTS "
    f"(SELECT 1 FROM warrant later WHERE later.store = :store AND {_SAME} "
    "AND later.deleted_revision > w.deleted_revision{written}))"
)
"""Selects a warrant that has expired, unless the same one was written again since."""
_EXISTING = {
    (True, False): f"w.deleted_revision = {ALIVE}",
    (True, True): f"(w.deleted_revision = {ALIVE} OR {_EXPIRED.format(written='')})",
    (False, False): "w.created_revision <= ? AND w.deleted_revision > ?",
    (False, True): "w.created_revision <= ? AND "
    f"(w.deleted_revision > ? OR {_EXPIRED.format(written=' AND later.created_revision <= ?')})",
}
"""Holds the condition on revisions, by whether the newest is read and whether expired warrants are among the rows; its
values are the revision, as often as it occurs."""


_Arm = tuple[int, int | None, str, str, _Ids, bool]
"""Holds everything that the text of an arm depends on: the number of the read request, the number of its relations
(None for many), the column of the ids, the condition on subjects, how many ids there are, and whether only a row beyond
some others is wanted."""


def split_reads(reads: Sequence[AnyRead]) -> Iterator[Sequence[AnyRead]]:
    """Yields the read requests in groups, each with as many as one statement accepts."""
    batch: list[AnyRead] = []
    arms = ids = 0
    for read in reads:
        more_arms, more_ids = _count_arms(read), len(read.ids or ())
        if batch and (arms + more_arms > MAX_ARMS or ids + more_ids > MAX_IDS):
            yield batch
            batch, arms, ids = [], 0, 0
        batch.append(read)
        arms += more_arms
        ids += more_ids
    yield batch


def read_statement(
    reads: Sequence[AnyRead], at: Revision | None, most: int, dialect: Dialect, with_expired: bool = False
) -> Clause:
    """Returns a statement that selects (*NEWEST, model_revision, number of the read request, *columns of
    Warrant) for up to `most` rows, or one row whose columns are NULL if there is none."""
    existing = _EXISTING[at is None, with_expired]
    arms, values = _build_arms(enumerate(reads), existing, () if at is None else (at,) * existing.count("?"))
    values += (most, most)
    return Clause(_text(arms, existing, dialect), tuple(values))


def ahead_statement(
    reads: Sequence[PlacedRead], ahead: ReadsAhead, at: Revision | None, most: int, dialect: Dialect
) -> Clause:
    """Returns a statement that selects the columns of `read_statement` for what the reads find, and for what follows
    from that; the number of a read request is the place of its request."""
    existing = _EXISTING[at is None, False]
    named = {object_id for read in reads for object_id in read.ids if object_id != WILDCARD}
    substitutes: dict[Parameter, Parameter] = {NOBODY: ahead.subject_id, None: at}
    if len(named) == 1:
        [substitutes[SOME_OBJECT]] = named
        of_some = tuple(
            (place, tuple([object_id if object_id == WILDCARD else SOME_OBJECT for object_id in ids]))
            for place, ids in reads
        )
        text, values = _ahead_of_one(ahead.outline, of_some, existing, dialect)
    else:
        text, values = _ahead(ahead.outline, reads, existing, dialect)
    return Clause(text, (*[substitutes.get(value, value) for value in values], most))


@lru_cache(maxsize=1_024)
def _ahead_of_one(
    outline: ReadOutline, reads: tuple[tuple[int, tuple[ObjectId, ...]], ...], existing: str, dialect: Dialect
) -> tuple[str, Sequence[Parameter]]:
    """Returns what `_ahead` does for reads of one object, in whose place the reads and the values have SOME_OBJECT."""
    return _ahead(outline, reads, existing, dialect)


def _ahead(
    outline: ReadOutline, reads: Iterable[tuple[int, tuple[ObjectId, ...]]], existing: str, dialect: Dialect
) -> tuple[str, Sequence[Parameter]]:
    """Returns the text of a statement that reads ahead, and the values of its parameters but the last: NOBODY stands
    for the id of the subject, None for the revision."""
    placed = ((place, WarrantRead(outline.requests[place], ids)) for place, ids in reads)
    arms, values = _build_arms(placed, existing, (None,) * existing.count("?"))
    text, following = _following(outline, existing, dialect)
    return _ahead_text(arms, text, existing, dialect), (*values, *following)


def _build_arms(
    reads: Iterable[tuple[int, AnyRead]], existing: str, revisions: tuple[Parameter, ...]
) -> tuple[tuple[_Arm, ...], list[Parameter]]:
    """Returns the arms that answer numbered reads, and the values of their parameters."""
    arms: list[_Arm] = []
    values: list[Parameter] = []
    for number, read in reads:
        relations = read.request.relations
        places = len(relations) if len(relations) <= MAX_PLACEHOLDERS else None
        beyond = () if isinstance(read, WarrantRead) or read.beyond is None else (read.beyond,)
        for column, subjects, kind, range_values in _ranges(read):
            arms.append((number, places, column, subjects, kind, bool(beyond)))
            values += (*range_values, *revisions, *beyond)
    return tuple(arms), values


def split_objects(refs: Iterable[ObjectRef]) -> Iterator[Mapping[str, Sequence[str]]]:
    """Yields the ids of objects by type, in groups, each with as many types as one statement accepts."""
    ids: dict[str, list[str]] = defaultdict(list)
    for ref in refs:
        ids[ref.type].append(ref.id)
    remaining = iter(ids.items())
    while some := dict(islice(remaining, MAX_ARMS)):
        yield some


def objects_statement(ids: Mapping[str, Sequence[str]], at: Revision, dialect: Dialect) -> Clause:
    """Returns a statement that selects (*NEWEST, *columns of StoredObject) for those of the objects that
    exist, given their ids by type, or one row whose columns are NULL if none does."""
    alive = "o.store = :store AND o.object_type = ? AND o.created_revision <= ? AND o.deleted_revision > ?"
    columns = "o.object_type, o.object_id, o.meta, o.created_at"
    arm = f"SELECT {columns} FROM {dialect.many_objects.format(condition=alive)}"
    union = " UNION ALL ".join([arm] * len(ids))
    values = [(msgspec.json.encode(of_type).decode(), name, at, at) for name, of_type in ids.items()]
    statement = f"SELECT {NEWEST}, found.* FROM {HEAD} LEFT JOIN ({union}) found ON true"
    return Clause(statement, tuple(chain.from_iterable(values)))


def _count_arms(read: AnyRead) -> int:
    """Returns the number of index ranges that answer a read request."""
    subjects = 1 if isinstance(read.request, WarrantsBySubject) else len(_subjects(read.request))
    return subjects * (len(read.ids) if read.ids is not None and len(read.ids) <= MAX_SINGLE_IDS else 1)


def _ranges(read: AnyRead) -> Iterator[tuple[str, str, _Ids, tuple[Parameter, ...]]]:
    """Yields the index ranges that answer a read request: the column of its ids, the condition on subjects, how many
    ids, and the values of all these."""
    request, ids = read.request, read.ids
    if isinstance(request, WarrantsBySubject):
        kind_of_subject = (request.subject_relation, request.subject_type)
        for kind, values in _split_lookups(request, ids, by_type=True):
            yield "subject_id", _OF_KIND, kind, (*values, *kind_of_subject)
        return
    for subjects, subject_values in _subjects(request):
        for kind, values in _split_lookups(request, ids, by_type=subjects != _EXACTLY):
            yield "object_id", subjects, kind, (*values, *subject_values)


def _split_lookups(
    request: WarrantsByObject | WarrantsBySubject, ids: Sequence[str] | None, by_type: bool
) -> Iterator[tuple[_Ids, tuple[Parameter, ...]]]:
    """Yields how many ids are looked up together, with the values of these ids, of the type and of the relations."""
    if ids is None and by_type:
        yield "every", tuple(_texts([f"{request.type}#{relation}" for relation in request.relations]))
        return
    relations = (request.type, *_texts(request.relations))
    if ids is None:
        yield "every", relations
    elif len(ids) > MAX_SINGLE_IDS:
        yield "many", (msgspec.json.encode(ids).decode(), *relations)
    else:
        for object_id in ids:
            yield "one", (object_id, *relations)


def _texts(relations: Sequence[str]) -> Sequence[Parameter]:
    return relations if len(relations) <= MAX_PLACEHOLDERS else [msgspec.json.encode(relations).decode()]


def _subjects(request: WarrantsByObject) -> Sequence[tuple[str, tuple[Parameter, ...]]]:
    """Returns conditions on subjects, each of which is one range of the index, and their values."""
    selected = request.subjects
    if isinstance(selected, Subject):
        group = selected.relation
        itself, wildcard = (group, selected.type, selected.id), (group, selected.type, WILDCARD)
        if selected.id == WILDCARD or not request.has_subject_wildcard:
            return [(_EXACTLY, itself)]
        # Two conditions, because with IN, SQLite would rebuild the list for each relation, three times as slow.
        return [(_EXACTLY, itself), (_EXACTLY, wildcard)]
    if selected is not None:
        return [(_OF_TYPE, (selected,))]
    return [(_ANY_GROUP, ())]


@lru_cache(maxsize=1_024)
def _text(arms: tuple[_Arm, ...], existing: str, dialect: Dialect) -> str:
    union = " UNION ALL ".join(_arm_text(arm, existing, dialect) for arm in arms) or _NO_ROW
    # Limited twice: SQLite may materialize the inner rows, all of them, before it reads the outer limit.
    return (
        f"{READ_ROWS} ({union} LIMIT ?) u ON true "
        "LEFT JOIN policy p ON p.store = :store AND p.digest = u.policy LIMIT ?"
    )


@lru_cache(maxsize=256)
def _following(outline: ReadOutline, existing: str, dialect: Dialect) -> tuple[str, tuple[Parameter, ...]]:
    """Returns the text of what follows from the rows of a recursion, and the values of its parameters, among which
    NOBODY stands for the id of the subject, None for the revision."""
    texts: list[str] = []
    values: list[Parameter] = []
    revisions = (None,) * existing.count("?")
    for step in outline.steps:
        request = outline.requests[step.request]
        places = len(request.relations) if len(request.relations) <= MAX_PLACEHOLDERS else None
        sources = ", ".join(map(str, step.sources))
        names = () if step.subject_relation is None else (step.subject_relation,)
        reached = f"u.read_number IN ({sources}) AND u.subject_type = ?{' AND u.subject_relation = ?' if names else ''}"
        for subjects, subject_values in _subjects(request):
            condition = (
                f"{reached} AND w.object_id = u.subject_id AND {_of_object(places, subjects, existing, dialect)}"
            )
            columns = f"{step.request} AS read_number, {STORED_WARRANT}"
            texts.append(dialect.following.format(columns=columns, condition=condition))
            values += (step.type, *names, request.type, *_texts(request.relations), *subject_values, *revisions)
    return dialect.all_following.format(arms=dialect.between.join(texts)) if texts else "", tuple(values)


@lru_cache(maxsize=1_024)
def _ahead_text(arms: tuple[_Arm, ...], following: str, existing: str, dialect: Dialect) -> str:
    union = " UNION ALL ".join(_arm_text(arm, existing, dialect) for arm in arms) or _NO_ROW
    recursion = f" UNION {following}" if following else ""
    return (
        f"WITH RECURSIVE reached ({_REACHED}) AS (SELECT * FROM ({union}) b{recursion}) "
        f"{READ_ROWS} (SELECT * FROM reached LIMIT ?) u ON true "
        "LEFT JOIN policy p ON p.store = :store AND p.digest = u.policy"
    )


def _of_object(places: int | None, subjects: str, existing: str, dialect: Dialect) -> str:
    relations = "= ?" if places == 1 else f"IN ({', '.join('?' * places) if places else dialect.texts})"
    return f"w.store = :store AND w.object_type = ? AND w.relation {relations} AND {subjects} AND {existing}"


def _arm_text(arm: _Arm, existing: str, dialect: Dialect) -> str:
    read, places, column, subjects, ids, is_beyond = arm
    index = "warrant_by_object" if column == "object_id" else "warrant_by_subject"
    relations = "= ?" if places == 1 else f"IN ({', '.join('?' * places) if places else dialect.texts})"
    of_object = _of_object(places, subjects, existing, dialect)
    if ids == "one":
        warrants = dialect.indexed.format(index=index, condition=f"w.{column} = ? AND {of_object}")
    elif ids == "many":
        warrants = dialect.many_ids.format(index=index, column=column, condition=of_object)
    elif subjects == _EXACTLY:
        warrants = dialect.indexed.format(index="warrant_by_subject", condition=of_object)
    else:
        of_type = f"w.store = :store AND w.object_type || '#' || w.relation {relations} AND {subjects} AND {existing}"
        warrants = dialect.indexed.format(index="warrant_by_type", condition=of_type)
    text = f"SELECT {read} AS read_number, {STORED_WARRANT} FROM {warrants}"
    return f"SELECT * FROM ({text} LIMIT 1 OFFSET ?) b" if is_beyond else text
