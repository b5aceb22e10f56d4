"""Writes warrants, as scripts.

A warrant is identified by its key, policy included. It is written once and ended, never changed: one that gets other
time limits is ended, and written again."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Literal

import msgspec

from magistrate.engine.names import WarrantNames, warrant_names
from magistrate.engine.policy import may_read_clock
from magistrate.engine.terms import WILDCARD, Revision
from magistrate.engine.warrants import ChangedWarrant, Warrant, policy_digest, warrant_pattern
from magistrate.errors import NotFound
from magistrate.store import sql
from magistrate.store.contract import Judge, NewWarrant, Snapshot, Stamp
from magistrate.store.database import NOTHING, Execute, Find, FindTogether, Row, Rows, Script, Select
from magistrate.store.following import WarrantChanges
from magistrate.store.objects import OBJECTS
from magistrate.store.versioned import Effect, Key, Versioned, WriteOutcome, end, index_rows, put, write
from magistrate.store.warrant_numbers import FIRST_REPLACEMENT, MAX_WARRANTS_IN_A_WRITE


def build_warrant(row: Row) -> Warrant:
    """Builds a warrant from the columns (*key, number, starts_at, expires_at, text, created_at)."""
    number, starts_at, expires_at, text, created_at = row[7:]
    columns: Row = (*row[:6], text or "", created_at, number, starts_at, expires_at)
    return Warrant(*columns)


def build_warrant_of_page(row: Row) -> Warrant:
    """Builds a warrant from the columns (*first six of the key, text, created_at, number, starts_at, expires_at)."""
    columns: Row = (*row[:6], row[6] or "", *row[7:])
    return Warrant(*columns)


def build_changes(rows: Rows, after: Revision, most: int) -> WarrantChanges:
    """Builds the changes after a revision from rows of LIST_WARRANT_CHANGES."""
    is_all = len(rows) <= most and after >= rows[0][1]
    # A join need not keep the order of its parts.
    in_order = sorted(rows, key=itemgetter(3, 4)) if len(rows) > 1 else rows
    changes = [read_change(*row[5:]) for row in in_order if row[5] is not None] if is_all else None
    return WarrantChanges(Revision(rows[0][0]), Revision(rows[0][2]), changes)


def read_change(key: str, action: str, starts_at: int | None, expires_at: int | None) -> ChangedWarrant:
    """Returns the change that a row of the change log describes."""
    *names, digest = _KEY.decode(key)
    is_known = not (digest or starts_at or expires_at) and action in ("created", "deleted")
    return ChangedWarrant(warrant_names(*names), action == "created" if is_known else None)


_KEY = msgspec.json.Decoder(tuple[str, ...])

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
_ROWS = tuple[Warrant, ...]


def put_warrants(new: Sequence[NewWarrant], judge: Judge, stamp: Stamp) -> Callable[[Revision], Written]:
    return partial(write, stamp=stamp, answer=_ROWS, work=partial(_put, new, judge, stamp))


def _put(new: Sequence[NewWarrant], judge: Judge, stamp: Stamp, revision: Revision) -> Script[WriteOutcome[Warrant]]:
    stored, effects = yield from insert_all(new, judge, stamp, revision)
    return WriteOutcome(tuple([build_warrant(stored[warrant_key(warrant)]) for warrant in new]), effects)


def insert_all(
    new: Sequence[NewWarrant], judge: Judge, stamp: Stamp, revision: Revision
) -> Script[tuple[Mapping[Key, Row], list[Effect]]]:
    """Makes every warrant be stored with its time limits, and inserts the objects that are missing. Returns the row of
    every warrant, and what was changed: warrants first."""
    wanted = {warrant_key(warrant): warrant for warrant in new}
    # What is looked up for warrants that turn out to be stored already is rarely much, and one round trip is saved.
    types, warrants, patterns, objects = yield FindTogether(
        (
            Find(sql.FIND_OBJECT_TYPE, sql.FIND_OBJECT_TYPES, [*{(warrant.object.type,): None for warrant in new}]),
            Find(sql.FIND_WARRANT, sql.FIND_WARRANTS, [*wanted]),
            Find(sql.FIND_PATTERN, sql.FIND_PATTERNS, patterns_of(wanted)),
            Find(sql.FIND_OBJECT, sql.FIND_OBJECTS, [*dict.fromkeys(objects_of(wanted))]),
        )
    )
    judge({name: definition for name, definition, _ in types})
    stored = index_rows(WARRANTS, warrants)
    plan = _plan_writes(wanted, stored, stamp.at, revision)
    policies = {row[6]: row[10] for row in plan.inserted if row[10]}
    if policies:
        yield from keep_policies(policies)
    yield from insert_patterns(patterns_of(plan.inserted), patterns, revision)
    if plan.replaced:
        yield _end_rows(sql.END_NUMBERED_WARRANT, (revision,), plan.replaced)
    if plan.expired:
        yield _end_rows(sql.END_EXPIRED_WARRANT, (revision, revision), plan.expired)
    inserted = [(*row[:8], row[11], *row[8:10]) for row in plan.inserted]
    yield from insert_warrants(inserted, stamp.at, revision)
    existing = index_rows(OBJECTS, objects)
    missing: dict[Key, str | None] = {key: None for key in objects_of(plan.inserted) if key not in existing}
    stored.update((row[:7], row) for row in plan.inserted)
    if not missing:
        return stored, plan.effects
    _, created = yield from put(OBJECTS, missing, stamp, revision, fresh=missing)
    return stored, plan.effects + created


def _end_rows(statement: str, values: Row, rows: Iterable[Row]) -> Execute:
    """Returns a step that ends warrants, given as rows with the columns of `build_warrant`, by their numbers."""
    ended = list(rows)
    return Execute(statement, [(*values, row[7]) for row in ended], {sql.FIND_WARRANT: [row[:7] for row in ended]})


@dataclass(slots=True)
class _WritePlan:
    """Holds the rows that a write ends and inserts; each has the columns of `build_warrant`."""

    inserted: list[Row] = field(default_factory=list)
    replaced: list[Row] = field(default_factory=list)
    expired: list[Row] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)


def _plan_writes(
    wanted: Mapping[Key, NewWarrant], stored: Mapping[Key, Row], at: int, revision: Revision
) -> _WritePlan:
    """Returns what is to be written so that the wanted warrants are stored."""
    plan = _WritePlan()
    first = revision * MAX_WARRANTS_IN_A_WRITE
    for key, new in wanted.items():
        former = stored.get(key)
        number, created_at = first + len(plan.inserted), at
        if former is not None and has_expired(former, at):
            plan.expired.append(former)
            plan.effects.append(_effect("expired", former))
        elif former is not None:
            is_over = new.lifetime is not None and former[-1] + new.lifetime <= at
            if not is_over and former[8:10] == (new.starts_at, new.expires_at):
                continue
            plan.replaced.append(former)
            number, created_at = number + FIRST_REPLACEMENT, at if is_over else former[-1]
        row = (*key, number, new.starts_at, new.expires_at, new.policy or None, created_at)
        plan.inserted.append(row)
        plan.effects.append(_effect("created" if number < first + FIRST_REPLACEMENT else "updated", row))
    return plan


def has_expired(row: Row, at: int) -> bool:
    expires_at = row[9]
    return expires_at is not None and expires_at <= at


def _effect(action: Literal["created", "updated", "expired"], row: Row) -> Effect:
    """Returns the effect on a row; a warrant that is updated has the same policy before and after."""
    before, after = (row[10] if action != "created" else None), (row[10] if action != "expired" else None)
    return Effect(action, "warrant", row[:7], before, after, *row[8:10])


def insert_warrants(rows: Iterable[Row], at: int, revision: Revision, only_missing: bool = False) -> Script[None]:
    """Inserts warrants, given as rows (*key, number, created_at or None for `at`, starts_at, expires_at). With
    `only_missing`, those that exist are left as they are."""
    ordinary: list[Row] = []
    limited: list[Row] = []
    for row in rows:
        *columns, created_at, starts_at, expires_at = row
        stored = (*columns, at if created_at is None else created_at, revision)
        if starts_at or expires_at:
            limited.append((*stored, starts_at, expires_at))
        else:
            ordinary.append(stored)
    for inserted, statement, missing in (
        (ordinary, sql.INSERT_WARRANT, sql.INSERT_MISSING_WARRANT),
        (limited, sql.INSERT_LIMITED_WARRANT, sql.INSERT_MISSING_LIMITED_WARRANT),
    ):
        if inserted:
            changes = {sql.FIND_WARRANT: [row[:7] for row in inserted]}
            yield Execute(missing if only_missing else statement, inserted, changes)


def end_expired(stamp: Stamp, most: int) -> Callable[[Revision], Script[int]]:
    def script(head: Revision) -> Script[int]:
        [expired] = yield Select(sql.EXPIRED_WARRANTS, [(stamp.at, most)])
        if expired:
            yield from write(head, stamp, tuple[Warrant, ...], partial(_end_expired, expired))
        return len(expired)

    return script


def _end_expired(expired: Sequence[Row], revision: Revision) -> Script[WriteOutcome[Warrant]]:
    yield _end_rows(sql.END_EXPIRED_WARRANT, (revision, revision), expired)
    return WriteOutcome((), [_effect("expired", row) for row in expired])


def delete_warrants(named: Sequence[NewWarrant], stamp: Stamp) -> Callable[[Revision], Written]:
    return partial(write, stamp=stamp, answer=_ROWS, work=partial(_delete, named, stamp))


def _delete(named: Sequence[NewWarrant], stamp: Stamp, revision: Revision) -> Script[WriteOutcome[Warrant]]:
    return WriteOutcome((), (yield from end_named(named, stamp, revision)))


def end_named(named: Iterable[NewWarrant], stamp: Stamp, revision: Revision) -> Script[list[Effect]]:
    """Ends these warrants. Raises NotFound for the first that is not stored or has expired."""
    keys = map(warrant_key, named)
    return (yield from end(WARRANTS, keys, revision, lambda row: not has_expired(row, stamp.at)))


def delete_matches(found: Sequence[Warrant], stamp: Stamp) -> Callable[[Revision], Script[Snapshot[tuple[int, ...]]]]:
    def work(revision: Revision) -> Script[WriteOutcome[int]]:
        keys = [(*warrant.names, policy_digest(warrant.policy)) for warrant in found]
        matched = [(revision, warrant.number, stamp.at) for warrant in found]
        yield Execute(sql.END_MATCHED_WARRANT, matched, {sql.FIND_WARRANT: keys})
        [rows] = yield Select(sql.NUMBERS_ENDED, [(revision,)])
        ended = {number for (number,) in rows}
        effects = [
            Effect("deleted", "warrant", key, warrant.policy or None, None)
            for key, warrant in zip(keys, found, strict=True)
            if warrant.number in ended
        ]
        return WriteOutcome((len(ended),), effects)

    return lambda head: write(head, stamp, tuple[int, ...], work)


def keep_policies(texts: Mapping[str, str]) -> Script[None]:
    """Stores the texts of policies by their digest."""
    rows = [(digest, text, int(may_read_clock(text))) for digest, text in texts.items()]
    yield Execute(sql.KEEP_POLICY, rows, NOTHING)


def patterns_of(rows: Iterable[Row]) -> list[Key]:
    """Returns the warrant patterns of rows that begin with the columns of the key, each once."""
    distinct = {(row[0], row[1] == WILDCARD, row[2], row[3], row[4] == WILDCARD, row[5]): row for row in rows}
    return list({warrant_pattern(warrant_names(*row[:6])): None for row in distinct.values()})


def keep_patterns(rows: Iterable[Row], revision: Revision) -> Script[None]:
    """Stores the warrant patterns of these rows; a pattern that no warrant had before changes the model."""
    patterns = patterns_of(rows)
    if patterns:
        [known] = yield Find(sql.FIND_PATTERN, sql.FIND_PATTERNS, patterns)
        yield from insert_patterns(patterns, known, revision)


def insert_patterns(patterns: Iterable[Key], known: Rows, revision: Revision) -> Script[None]:
    """Stores those of the patterns that are not known."""
    new = [pattern for pattern in patterns if pattern not in known]
    if new:
        yield Execute(sql.INSERT_PATTERN, new, {sql.FIND_PATTERN: new})
        yield Execute(sql.MOVE_MODEL, [(revision,)], NOTHING)


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
