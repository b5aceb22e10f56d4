"""Writes warrants, as scripts.

A warrant consists of its key: it is written once and ended, never changed. Its number encodes the revision that wrote
it and its place in that write, so numbers are unique and in the order of writing without a counter."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from magistrate.engine.names import WarrantNames, warrant_names
from magistrate.engine.terms import WILDCARD, Revision
from magistrate.engine.warrants import Warrant, policy_digest, warrant_pattern
from magistrate.errors import NotFound
from magistrate.store import sql
from magistrate.store.contract import Judge, NewWarrant, Snapshot, Stamp
from magistrate.store.database import Execute, Find, Row, Script, Select
from magistrate.store.object_types import OBJECT_TYPES
from magistrate.store.objects import OBJECTS
from magistrate.store.versioned import Effect, Key, Versioned, WriteOutcome, end, find, put, write

MAX_WARRANTS_IN_A_WRITE = 1_048_576
"""Limits the warrants of one write to 2^20: the place of a warrant in its write takes the last 20 bits of its number.
"""


def build_warrant(row: Row) -> Warrant:
    """Builds a warrant from the columns (*key, number, text, created_at)."""
    number, text, created_at = row[7:]
    columns: Row = (*row[:6], text or "", created_at, number)
    return Warrant(*columns)


def build_warrant_of_page(row: Row) -> Warrant:
    """Builds a warrant from the columns (*first six of the key, text, created_at, number)."""
    columns: Row = (*row[:6], row[6] or "", *row[7:])
    return Warrant(*columns)


WARRANTS: Versioned[Warrant] = Versioned(
    kind="warrant",
    key_length=7,
    find=sql.FIND_WARRANT,
    find_any=sql.FIND_WARRANTS,
    end=sql.END_WARRANT,
    insert=sql.INSERT_WARRANT,
    stored=build_warrant,
    missing=lambda key: NotFound("Warrant", render_key(key)),
)

Written = Script[Snapshot[tuple[Warrant, ...]]]


def put_warrants(new: Sequence[NewWarrant], judge: Judge, stamp: Stamp) -> Callable[[Revision], Written]:
    def work(revision: Revision) -> Script[WriteOutcome[Warrant]]:
        stored, effects = yield from insert_missing(new, judge, stamp, revision)
        return WriteOutcome(tuple(build_warrant(stored[warrant_key(warrant)]) for warrant in new), effects)

    return lambda head: write(head, stamp, tuple[Warrant, ...], work)


def insert_missing(
    new: Sequence[NewWarrant], judge: Judge, stamp: Stamp, revision: Revision
) -> Script[tuple[Mapping[Key, Row], list[Effect]]]:
    """Inserts the warrants that are not stored yet, and the objects that are missing. Returns the row of every warrant,
    and what was created: warrants first."""
    types = yield from find(OBJECT_TYPES, {(warrant.object.type,): None for warrant in new})
    judge({name: definition for name, definition, _ in types.values()})
    wanted = {warrant_key(warrant): warrant.policy for warrant in new}
    stored = yield from find(WARRANTS, wanted)
    inserted: list[Row] = []
    for key, policy in wanted.items():
        if key not in stored:
            stored[key] = (*key, revision * MAX_WARRANTS_IN_A_WRITE + len(inserted), policy or None, stamp.at)
            inserted.append(stored[key])
    policies = {row[6]: row[8] for row in inserted if row[8]}
    yield Execute(sql.KEEP_POLICY, list(policies.items()))
    yield from keep_patterns(inserted, revision)
    yield Execute(WARRANTS.insert, [(*row[:8], stamp.at, revision) for row in inserted])
    effects = [Effect("created", "warrant", row[:7], None, row[8]) for row in inserted]
    effects += yield from _create_missing(objects_of(inserted), stamp, revision)
    return stored, effects


def delete_warrants(named: Sequence[NewWarrant], stamp: Stamp) -> Callable[[Revision], Written]:
    def work(revision: Revision) -> Script[WriteOutcome[Warrant]]:
        effects = yield from end(WARRANTS, map(warrant_key, named), revision)
        return WriteOutcome((), effects)

    return lambda head: write(head, stamp, tuple[Warrant, ...], work)


def delete_matches(found: Sequence[Warrant], stamp: Stamp) -> Callable[[Revision], Script[Snapshot[tuple[int, ...]]]]:
    def work(revision: Revision) -> Script[WriteOutcome[int]]:
        yield Execute(sql.END_NUMBERED_WARRANT, [(revision, warrant.number) for warrant in found])
        [rows] = yield Select(sql.NUMBERS_ENDED, [(revision,)])
        ended = {number for (number,) in rows}
        effects = [
            Effect("deleted", "warrant", (*warrant.names, policy_digest(warrant.policy)), warrant.policy or None, None)
            for warrant in found
            if warrant.number in ended
        ]
        return WriteOutcome((len(ended),), effects)

    return lambda head: write(head, stamp, tuple[int, ...], work)


def keep_patterns(rows: Iterable[Row], revision: Revision) -> Script[None]:
    """Stores the warrant patterns of these rows; a pattern that no warrant had before changes the model."""
    distinct = {(row[0], row[1] == WILDCARD, row[2], row[3], row[4] == WILDCARD, row[5]): row for row in rows}
    had: dict[Key, None] = {warrant_pattern(warrant_names(*row[:6])): None for row in distinct.values()}
    if had:
        [known] = yield Find(sql.FIND_PATTERN, sql.FIND_PATTERNS, list(had))
        new = [pattern for pattern in had if pattern not in known]
        yield Execute(sql.INSERT_PATTERN, new)
        yield Execute(sql.MOVE_MODEL, [(revision,)] if new else [])


def _create_missing(keys: Iterable[Key], stamp: Stamp, revision: Revision) -> Script[list[Effect]]:
    named = dict.fromkeys(keys)
    existing = yield from find(OBJECTS, named)
    missing: dict[Key, str | None] = {key: None for key in named if key not in existing}
    _, effects = yield from put(OBJECTS, missing, stamp, revision, fresh=missing)
    return effects


def objects_of(rows: Iterable[Row]) -> Iterable[Key]:
    for object_type, object_id, _, subject_type, subject_id, *_ in rows:
        if object_id != WILDCARD:
            yield object_type, object_id
        if subject_id != WILDCARD:
            yield subject_type, subject_id


def warrant_key(warrant: NewWarrant) -> Key:
    object, subject = warrant.object, warrant.subject
    digest = policy_digest(warrant.policy) if warrant.policy else ""
    group = subject.relation or ""
    return (*WarrantNames(object.type, object.id, warrant.relation, subject.type, subject.id, group), digest)


def render_key(key: Key) -> str:
    *names, digest = key
    names_text = warrant_names(*names).render()
    return f"{names_text}[{digest}]" if digest else names_text
