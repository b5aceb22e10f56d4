"""What a server answers under load: checks, batches of checks, lists, and writes among checks.

Warrants that are written meanwhile are about users of whom no check is, so that answers stay known.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks.datasets.dataset import AnsweredQuestion, Dataset, WarrantRow
from benchmarks.mixed.asks import Ask, Verdict
from benchmarks.mixed.dialect import Dialect

QUESTIONS = 5_000
SEED = 1

CHECK, LIST, WRITE = "check", "list", "90% check, 5% write, 5% delete"
BATCHES = {"batch of 10": 10, "batch of 100": 100}

WRITTEN = 2_000
"""Warrants that are written and deleted, again and again."""
OUTSTANDING = 50
"""So many of them are there at any time: each is deleted that many writes later, when it has long been answered."""
CHECKS_BESIDE = 9
"""With each write, and with each delete."""


@dataclass(frozen=True, slots=True)
class Place:
    """A relation that users and groups are given in a data set: what is listed and written there. `subject_relation`:
    of a group as a subject. A group has members."""

    object_type: str
    relation: str
    group_type: str
    subject_relation: str

    def of_user(self, object_id: str, user: str) -> WarrantRow:
        return (self.object_type, object_id, self.relation, "user", user, "", "")

    def of_group(self, object_id: str, group: str) -> WarrantRow:
        return (self.object_type, object_id, self.relation, self.group_type, group, self.subject_relation, "")

    def member(self, group: str, user: str) -> WarrantRow:
        return (self.group_type, group, "member", "user", user, "", "")


PLACES = {
    "tenants": Place("permission", "member", "role", ""),
    "drive": Place("document", "editor", "group", "member"),
    "code-hosting": Place("repo", "writer", "team", "member"),
}


@dataclass(frozen=True, slots=True)
class Mixes:
    """`once`: every check and every list, to be made before anything is measured. `first`: what is to be written by
    then. `endless`: by name of the mix; each goes on where it stopped."""

    once: Sequence[Ask]
    first: Sequence[Ask]
    endless: Mapping[str, Iterator[Ask]]


def mixes_of(dataset: Dataset, dialect: Dialect, questions: int = QUESTIONS) -> Mixes:
    pool = dataset.answered_questions(questions, SEED)
    place = PLACES[dataset.name]
    checks = [_check(dialect, answered) for answered in pool]
    rows = written_rows(place, pool)
    asks = {CHECK: checks}
    for name, size in BATCHES.items():
        if size <= dialect.max_checks:
            asks[name] = [_batch(dialect, pool[first : first + size]) for first in range(0, len(pool), size)]
    asks[LIST] = list_asks(dialect, place, pool)
    asks[WRITE] = list(_with_writes(dialect, checks, rows))
    first = [Ask(dialect.write(row)) for row in rows[-OUTSTANDING:]]
    return Mixes([*checks, *asks[LIST]], first, {name: itertools.cycle(each) for name, each in asks.items()})


def written_rows(place: Place, pool: Sequence[AnsweredQuestion]) -> list[WarrantRow]:
    """On the objects that are checked, as often as they are."""
    objects = [one.question.object_id for one in pool if one.question.object_type == place.object_type]
    return [place.of_user(objects[number % len(objects)], f"writer-{number}") for number in range(WRITTEN)]


def _with_writes(dialect: Dialect, checks: Sequence[Ask], rows: Sequence[WarrantRow]) -> Iterator[Ask]:
    """The last OUTSTANDING rows are to be there before."""
    asked = itertools.cycle(checks)
    for number, row in enumerate(rows):
        yield from itertools.islice(asked, CHECKS_BESIDE)
        yield Ask(dialect.write(row))
        yield from itertools.islice(asked, CHECKS_BESIDE)
        yield Ask(dialect.delete(rows[number - OUTSTANDING]))


def _check(dialect: Dialect, answered: AnsweredQuestion) -> Ask:
    return Ask(dialect.check(answered.question), partial(_judge_check, dialect, answered.allowed))


def _batch(dialect: Dialect, chunk: Sequence[AnsweredQuestion]) -> Ask:
    request = dialect.batch([answered.question for answered in chunk])
    return Ask(request, partial(_judge_batch, dialect, [answered.allowed for answered in chunk]))


def list_asks(dialect: Dialect, place: Place, pool: Sequence[AnsweredQuestion]) -> list[Ask]:
    """For each check of the place, what its user has access to; every check of the same user is compared
    with the list."""
    about = [
        one for one in pool if (one.question.object_type, one.question.relation) == (place.object_type, place.relation)
    ]
    known: dict[str, dict[str, bool]] = defaultdict(dict)
    for question, allowed in about:
        known[question.subject_id][question.object_id] = allowed
    return [
        Ask(dialect.list_objects(question), partial(_judge_list, dialect, known[question.subject_id]))
        for question, _ in about
    ]


def _judge_check(dialect: Dialect, allowed: bool, body: bytes) -> Verdict:
    return Verdict(1, int(dialect.decision(body) != allowed))


def _judge_batch(dialect: Dialect, allowed: Sequence[bool], body: bytes) -> Verdict:
    decisions = dialect.decisions(body)
    missing = abs(len(allowed) - len(decisions))
    return Verdict(len(allowed), missing + sum(map(bool.__ne__, allowed, decisions)))


def _judge_list(dialect: Dialect, known: Mapping[str, bool], body: bytes) -> Verdict:
    """An object behind the end of the page is not compared."""
    listed = dialect.listed(body)
    compared = [
        document_id
        for document_id in known
        if document_id in listed.ids or listed.reaches is None or document_id <= listed.reaches
    ]
    return Verdict(len(compared), sum((document_id in listed.ids) != known[document_id] for document_id in compared))
