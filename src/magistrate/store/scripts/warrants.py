"""Writes warrants, as scripts.

A warrant is identified by its key, policy included. It is written once and ended, never changed: one that gets other
time limits is ended, and written again."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, filterfalse, islice, repeat
from operator import add, attrgetter, itemgetter
from typing import Any

import msgspec

from magistrate.engine.names import WILDCARD, Revision
from magistrate.engine.policy.policy import may_read_clock
from magistrate.engine.warrants.warrant import ChangedWarrant, Warrant, policy_digest, warrant_names
from magistrate.errors import NotFound, PreconditionFailed
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import (
    FIRST_REPLACEMENT,
    MAX_WARRANTS_IN_A_WRITE,
    NewWarrant,
    Stamp,
    ValidateTypes,
    build_new_warrant,
)
from magistrate.store.contract.revisions import RevisionId, WarrantChanges
from magistrate.store.database import NOTHING, Execute, Find, FindTogether, Row, Rows, Script, Select
from magistrate.store.scripts.objects import OBJECTS
from magistrate.store.scripts.versions import (
    Action,
    Effect,
    Key,
    Versioned,
    VersionedWrite,
    WriteOutcome,
    describe_expiry,
    end,
    find,
    has_expired,
    index_rows,
    put,
    write,
    write_effects,
    write_one,
)
from magistrate.store.sql.head import MOVE_MODEL
from magistrate.store.sql.models import FIND_PATTERN, INSERT_PATTERN, OBJECT_TYPE
from magistrate.store.sql.objects import OBJECT
from magistrate.store.sql.warrants import (
    END_EXPIRED_WARRANT,
    END_MATCHED_WARRANT,
    END_NUMBERED_WARRANT,
    EXPIRED_WARRANTS,
    FIND_NEXT_EXPIRY,
    INSERT_MISSING_WARRANT,
    KEEP_POLICY,
    NUMBERS_ENDED,
    WARRANT,
    WARRANTS_OF_NAMES,
)


def build_warrant(*row: Any) -> Warrant:
    """Builds a warrant from the columns (*key, number, starts_at, expires_at, text, created_at)."""
    number, starts_at, expires_at, text, created_at = row[7:]
    columns: Row = (*row[:6], text or "", created_at, number, starts_at, expires_at)
    return Warrant(*columns)


def build_warrant_of_page(*row: Any) -> Warrant:
    """Builds a warrant from the columns (*first six of the key, text, created_at, number, starts_at, expires_at)."""
    columns: Row = (*row[:6], row[6] or "", *row[7:])
    return Warrant(*columns)


def build_changes(rows: Rows, after: Revision, most: int) -> WarrantChanges:
    """Builds the changes after a revision from rows of LIST_WARRANT_CHANGES."""
    is_all = len(rows) <= most and after >= rows[0][1]
    # A join need not keep the order of its parts.
    in_order = sorted(rows, key=itemgetter(6, 7)) if len(rows) > 1 else rows
    changes = [read_change(*row[8:]) for row in in_order if row[8] is not None] if is_all else None
    return WarrantChanges(RevisionId(Revision(rows[0][0]), rows[0][2]), Revision(rows[0][5]), changes)


def read_change(key: str, action: str, starts_at: int | None, expires_at: int | None) -> ChangedWarrant:
    """Returns the change that a row of the change log describes."""
    *names, digest = _KEY.decode(key)
    is_known = not (digest or starts_at or expires_at) and action in ("created", "deleted")
    return ChangedWarrant(warrant_names(*names), action == "created" if is_known else None)


_KEY = msgspec.json.Decoder(tuple[str, ...])
_digest_of: Callable[[Row], str] = itemgetter(6)
_content_of = attrgetter("policy", "starts_at", "expires_at")
_NAMES = 6
"""Counts the columns with which a key begins: the names in a warrant."""

WARRANTS: Versioned[Warrant] = Versioned(
    kind="warrant",
    key_length=7,
    statements=WARRANT,
    stored=build_warrant,
    missing=lambda key: NotFound("Warrant", render_key(key)),
)


def put_warrants(
    head: Revision, new: Sequence[NewWarrant], validate: ValidateTypes, stamp: Stamp
) -> VersionedWrite[tuple[Warrant, ...]]:
    return write(head, stamp, tuple[Warrant, ...], _insert_and_build(new, validate, stamp, Revision(head + 1)))


def _insert_and_build(
    new: Sequence[NewWarrant], validate: ValidateTypes, stamp: Stamp, revision: Revision
) -> Script[WriteOutcome[Warrant]]:
    stored, effects = yield from insert_all(new, validate, stamp, revision)
    return WriteOutcome(tuple([build_warrant(*stored[warrant_key(warrant)]) for warrant in new]), effects)


def insert_all(
    new: Sequence[NewWarrant], validate: ValidateTypes, stamp: Stamp, revision: Revision, *, only_absent: bool = False
) -> Script[tuple[Mapping[Key, Row], list[Effect]]]:
    """Makes every warrant be stored with its time limits, and inserts the objects that are missing. Returns the row of
    every warrant, and what was changed: warrants first. With `only_absent`, raises PreconditionFailed, with the place
    in `new`, for the first that exists."""
    named = {warrant_key(warrant): warrant for warrant in new}
    patterns, objects = patterns_of(named), objects_of(named)
    # What is looked up for warrants that are stored already is rarely much, and one round trip is saved.
    types, warrants, known_patterns, known_objects = yield FindTogether(
        (
            Find(OBJECT_TYPE.find, [*{(warrant.object.type,): None for warrant in new}]),
            Find(WARRANT.find, [*named]),
            Find(FIND_PATTERN, patterns),
            Find(OBJECT.find, objects),
        )
    )
    validate({name: definition for name, definition, _ in types})
    stored = index_rows(WARRANTS, warrants)
    if only_absent and stored:
        _require_absent(new, stored, stamp.at)
    plan = _plan_writes(named, stored, stamp.at, revision)
    if len(plan.inserted) < len(named):
        patterns, objects = patterns_of(plan.inserted), objects_of(plan.inserted)
    if any(map(_digest_of, plan.inserted)):
        yield from keep_policies({row[6]: row[10] for row in plan.inserted.values() if row[10]})
    yield from insert_patterns(patterns, known_patterns, revision)
    if plan.replaced:
        yield _end_rows(END_NUMBERED_WARRANT, (revision,), plan.replaced)
    if plan.expired:
        yield _end_rows(END_EXPIRED_WARRANT, (revision, revision), plan.expired)
    if plan.rows:
        there = dict(zip(plan.inserted, zip(plan.inserted.values(), strict=True), strict=True))
        yield Execute(WARRANT.insert, plan.rows, {WARRANT.find: there})
    existing = set(map(itemgetter(slice(OBJECTS.key_length)), known_objects))
    missing: dict[Key, str | None] = dict.fromkeys(filterfalse(existing.__contains__, objects))
    stored.update(plan.inserted)
    if not missing:
        return stored, plan.effects
    _, created = yield from put(OBJECTS, missing, stamp, revision, fresh=missing)
    return stored, plan.effects + created


def _require_absent(new: Sequence[NewWarrant], stored: Mapping[Key, Row], at: int) -> None:
    for index, warrant in enumerate(new):
        row = stored.get(key := warrant_key(warrant))
        if row is not None and not has_expired(row, at):
            raise PreconditionFailed(index, f"the warrant {render_key(key)} exists")


def _end_rows(statement: str, values: Row, rows: Iterable[Row]) -> Execute:
    """Returns a step that ends warrants, given as rows with the columns of `build_warrant`, by their numbers."""
    ended = list(rows)
    return Execute(statement, [(*values, row[7]) for row in ended], {WARRANT.find: {row[:7]: [] for row in ended}})


@dataclass(slots=True)
class _WritePlan:
    """Holds the rows that a write ends and inserts, with the columns of `build_warrant`. Those that it inserts are also
    there as `rows` with the columns of the table."""

    inserted: dict[Key, Row] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    replaced: list[Row] = field(default_factory=list)
    expired: list[Row] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)


def _plan_writes(named: Mapping[Key, NewWarrant], stored: Mapping[Key, Row], at: int, revision: Revision) -> _WritePlan:
    """Returns what is to be written so that the wanted warrants are stored."""
    if not stored and not any(chain.from_iterable(map(_content_of, named.values()))):
        return _plan_creations(list(named), at, revision)
    plan = _WritePlan()
    first = revision * MAX_WARRANTS_IN_A_WRITE
    for key, new in named.items():
        former = stored.get(key)
        action: Action = "created"
        number, created_at = first + len(plan.inserted), at
        before, after, starts_at, expires_at = None, new.policy or None, new.starts_at, new.expires_at
        if former is not None and has_expired(former, at):
            plan.expired.append(former)
            plan.effects.append(describe_expiry(former))
        elif former is not None:
            is_over = new.lifetime is not None and former[-1] + new.lifetime <= at
            if not is_over and former[8:10] == (starts_at, expires_at):
                continue
            plan.replaced.append(former)
            number, created_at = number + FIRST_REPLACEMENT, at if is_over else former[-1]
            action, before = "updated", after
        plan.inserted[key] = (*key, number, starts_at, expires_at, after, created_at)
        plan.rows.append((*key, number, created_at, revision, starts_at, expires_at))
        plan.effects.append(
            Effect(action, "warrant", key, before=before, after=after, starts_at=starts_at, expires_at=expires_at)
        )
    return plan


def _plan_creations(keys: Sequence[Key], at: int, revision: Revision) -> _WritePlan:
    """Returns what is to be written so that warrants without policies and time limits are stored, none of which is. A
    large write mostly has such warrants; their rows are made in C."""
    numbers, nothing = range(first := revision * MAX_WARRANTS_IN_A_WRITE, first + len(keys)), repeat(None)
    written = zip(numbers, repeat(at), repeat(revision), nothing, nothing)  # the others do not end
    inserted = zip(numbers, nothing, nothing, nothing, repeat(at))
    return _WritePlan(
        inserted=dict(zip(keys, map(add, keys, inserted), strict=True)),
        rows=list(map(add, keys, written)),
        effects=[Effect("created", "warrant", key) for key in keys],
    )


def insert_warrants(rows: Iterable[Row], at: int, revision: Revision, only_missing: bool = False) -> Script[None]:
    """Inserts warrants, given as rows (*key, number, created_at or None for `at`, starts_at, expires_at). With
    `only_missing`, those that exist are left as they are."""
    inserted = [(*row[:8], at if row[8] is None else row[8], revision, *row[9:]) for row in rows]
    if inserted:
        statement = INSERT_MISSING_WARRANT if only_missing else WARRANT.insert
        yield Execute(statement, inserted, {WARRANT.find: {row[:7]: None for row in inserted}})


def end_expired(head: Revision, stamp: Stamp, most: int) -> Script[int]:
    [expired] = yield Select(EXPIRED_WARRANTS, [(stamp.at, most)])
    if expired:
        yield from write_effects(head, stamp, _end_expired(expired, Revision(head + 1)), is_called=False)
    yield Execute(FIND_NEXT_EXPIRY, [()], NOTHING)
    return len(expired)


def _end_expired(expired: Sequence[Row], revision: Revision) -> Script[list[Effect]]:
    yield _end_rows(END_EXPIRED_WARRANT, (revision, revision), expired)
    return list(map(describe_expiry, expired))


def delete_warrants(head: Revision, named: Sequence[NewWarrant], stamp: Stamp) -> Script[Revision]:
    return write_effects(head, stamp, end_named(named, stamp, Revision(head + 1)))


def end_named(
    named: Iterable[NewWarrant], stamp: Stamp, revision: Revision, ignores_missing: bool = False
) -> Script[list[Effect]]:
    """Ends these warrants. Raises NotFound for the first that is not stored or has expired, unless it
    `ignores_missing`."""
    keys: Iterable[Key] = map(warrant_key, named)
    if ignores_missing:
        keys = list(dict.fromkeys(keys))
        stored = yield from find(WARRANTS, keys)
        keys = [key for key in keys if key in stored and not has_expired(stored[key], stamp.at)]
    return (yield from end(WARRANTS, keys, revision, lambda row: not has_expired(row, stamp.at)))


def find_any_policy(named: Sequence[NewWarrant], at: int) -> Script[list[NewWarrant]]:
    """Returns the stored warrants that have the names of these, whatever their policies are, and have not expired. Of
    those without one, the given warrant is returned, which is not stored."""
    stored_rows = yield Select(WARRANTS_OF_NAMES, [warrant_key(warrant)[:_NAMES] for warrant in named])
    warrants: dict[NewWarrant, None] = {}
    for warrant, rows in zip(named, stored_rows, strict=True):
        stored = [build_warrant(*row) for row in rows if not has_expired(row, at)]
        warrants.update((build_new_warrant(each.names, each.policy), None) for each in stored)
        if not stored:
            warrants[warrant] = None
    return list(warrants)


def delete_matches(head: Revision, matches: Sequence[Warrant], stamp: Stamp) -> VersionedWrite[int]:
    effects = yield from _end_matches(matches, stamp, Revision(head + 1))
    if not effects:
        return Snapshot(head, 0)

    def work() -> Script[WriteOutcome[int]]:
        yield from ()
        return WriteOutcome((len(effects),), effects)

    return (yield from write_one(head, stamp, tuple[int, ...], work()))


def _end_matches(matches: Sequence[Warrant], stamp: Stamp, revision: Revision) -> Script[list[Effect]]:
    keys = [(*warrant.names, policy_digest(warrant.policy)) for warrant in matches]
    matched = [(revision, warrant.number, stamp.at) for warrant in matches]
    yield Execute(END_MATCHED_WARRANT, matched, {WARRANT.find: dict.fromkeys(keys)})
    [rows] = yield Select(NUMBERS_ENDED, [(revision,)])
    ended = {number for (number,) in rows}
    return [
        Effect("deleted", "warrant", key, before=warrant.policy or None)
        for key, warrant in zip(keys, matches, strict=True)
        if warrant.number in ended
    ]


def keep_policies(texts: Mapping[str, str]) -> Script[None]:
    """Stores the texts of policies by their digest."""
    rows = [(digest, text, int(may_read_clock(text))) for digest, text in texts.items()]
    yield Execute(KEEP_POLICY, rows, NOTHING)


# A write may have a thousand warrants, so these take their keys by columns, in C.
def patterns_of(rows: Iterable[Row]) -> list[Key]:
    """Returns the warrant patterns of rows that begin with the columns of the key, each once."""
    object_types, object_ids, relations, subject_types, subject_ids, groups = _name_columns(rows)
    columns = (object_types, _wildcards(object_ids), relations, subject_types, _wildcards(subject_ids), groups)
    patterns = zip(*columns, strict=True)
    if max(map(len, map(set, columns))) <= 1:
        return list(islice(patterns, 1))
    return list(dict.fromkeys(patterns))


def _wildcards(ids: Sequence[str]) -> list[str]:
    """Returns these ids as a warrant pattern has them."""
    return [WILDCARD if name == WILDCARD else "" for name in ids] if WILDCARD in ids else [""] * len(ids)


def objects_of(rows: Iterable[Row]) -> list[Key]:
    """Returns the objects and subjects of rows that begin with the columns of the key, each once, in order."""
    object_types, object_ids, _, subject_types, subject_ids, _ = _name_columns(rows)
    both = zip(zip(object_types, object_ids, strict=True), zip(subject_types, subject_ids, strict=True), strict=True)
    keys: list[Key] = [*dict.fromkeys(chain.from_iterable(both))]
    has_wildcard = WILDCARD in object_ids or WILDCARD in subject_ids
    return [key for key in keys if key[1] != WILDCARD] if has_wildcard else keys


def _name_columns(rows: Iterable[Row]) -> Sequence[Sequence[str]]:
    return list(zip(*rows, strict=True))[:_NAMES] or [()] * _NAMES


def keep_patterns(rows: Iterable[Row], revision: Revision) -> Script[None]:
    """Stores the warrant patterns of these rows; a pattern that no warrant had before changes the model."""
    patterns = patterns_of(rows)
    if patterns:
        [stored] = yield FindTogether([Find(FIND_PATTERN, patterns)])
        yield from insert_patterns(patterns, stored, revision)


def insert_patterns(patterns: Iterable[Key], stored: Rows, revision: Revision) -> Script[None]:
    """Stores those of the patterns that are not known."""
    new = [pattern for pattern in patterns if pattern not in stored]
    if new:
        yield Execute(INSERT_PATTERN, new, {FIND_PATTERN: {pattern: [pattern] for pattern in new}})
        yield Execute(MOVE_MODEL, [(revision,)], NOTHING)


def warrant_key(warrant: NewWarrant) -> Key:
    obj, subject = warrant.object, warrant.subject
    digest = policy_digest(warrant.policy) if warrant.policy else ""
    return obj.type, obj.id, warrant.relation, subject.type, subject.id, subject.relation, digest


def render_key(key: Key) -> str:
    *names, digest = key
    names_text = warrant_names(*names).render()
    return f"{names_text}[{digest}]" if digest else names_text
