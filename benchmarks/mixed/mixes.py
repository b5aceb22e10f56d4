"""What a server answers under load: checks, batches of checks, lists, and writes among checks.

Warrants that are written meanwhile change no answer, so that answers stay known: they are about users of whom no check
is, or give a user what the checked user has without them, too.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks.datasets.dataset import AnsweredQuestion, Check, Dataset, WarrantRow
from benchmarks.mixed.asks import Ask, Verdict
from benchmarks.mixed.dialect import Dialect

QUESTIONS = 5_000
SEED = 1

CHECK, LIST, WRITE = "check", "list", "90% check, 5% write, 5% delete"
WRITE_CHECKED = "90% check, 5% write, 5% delete, of the checked pairs"
BATCHES = {"batch of 10": 10, "batch of 100": 100}

WRITTEN = 2_000
"""Warrants that are written and deleted, again and again."""
OUTSTANDING = 50
"""So many of them are there at any time, or half if they are fewer: each is deleted that many writes later, when it has
long been answered."""
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

    def is_of(self, question: Check) -> bool:
        return (question.object_type, question.relation) == (self.object_type, self.relation)

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
    checks = [check_ask(dialect, answered) for answered in pool]
    rows, checked_rows = written_rows(place, pool), rows_of_checked_pairs(dataset, place, pool)
    asks = {CHECK: checks}
    for name, size in BATCHES.items():
        if size <= dialect.max_checks:
            asks[name] = [batch_ask(dialect, pool[first : first + size]) for first in range(0, len(pool), size)]
    asks[LIST] = list_asks(dialect, place, pool)
    first = list[Ask]()
    for mix, written in ((WRITE, rows), (WRITE_CHECKED, checked_rows)):
        asks[mix] = list(_with_writes(dialect, checks, written))
        first += [Ask(dialect.write(row)) for row in written[-count_outstanding(written) :]]
    return Mixes([*checks, *asks[LIST]], first, {name: itertools.cycle(each) for name, each in asks.items()})


def written_rows(place: Place, pool: Sequence[AnsweredQuestion]) -> list[WarrantRow]:
    """On the objects that are checked, as often as they are."""
    objects = [one.question.object_id for one in pool if one.question.object_type == place.object_type]
    return [place.of_user(objects[number % len(objects)], f"writer-{number}") for number in range(WRITTEN)]


def rows_of_checked_pairs(dataset: Dataset, place: Place, pool: Sequence[AnsweredQuestion]) -> list[WarrantRow]:
    """Returns warrants that the data set lacks, each of a checked pair that is allowed without it."""
    pairs = [one.question for one in pool if one.allowed and place.is_of(one.question)]
    rows = dict.fromkeys(place.of_user(pair.object_id, pair.subject_id) for pair in pairs)
    for row in dataset.warrants():
        rows.pop(row, None)
    return list(rows)[:WRITTEN]


def count_outstanding(rows: Sequence[WarrantRow]) -> int:
    """Returns how many of the rows are there at any time: the last ones, before the first is written."""
    return min(OUTSTANDING, len(rows) // 2)


def _with_writes(dialect: Dialect, checks: Sequence[Ask], rows: Sequence[WarrantRow]) -> Iterator[Ask]:
    asked, outstanding = itertools.cycle(checks), count_outstanding(rows)
    for number, row in enumerate(rows):
        yield from itertools.islice(asked, CHECKS_BESIDE)
        yield Ask(dialect.write(row))
        yield from itertools.islice(asked, CHECKS_BESIDE)
        yield Ask(dialect.delete(rows[number - outstanding]))


def check_ask(dialect: Dialect, answered: AnsweredQuestion) -> Ask:
    return Ask(dialect.check(answered.question), partial(_judge_check, dialect, answered.allowed))


def batch_ask(dialect: Dialect, chunk: Sequence[AnsweredQuestion]) -> Ask:
    request = dialect.batch([answered.question for answered in chunk])
    return Ask(request, partial(_judge_batch, dialect, [answered.allowed for answered in chunk]))


def list_asks(dialect: Dialect, place: Place, pool: Sequence[AnsweredQuestion]) -> list[Ask]:
    """For each check of the place, what its user has access to; every check of the same user is compared
    with the list."""
    about = [one for one in pool if place.is_of(one.question)]
    known = _decisions_by_user(about)
    return [_list_ask(dialect, question, known) for question, _ in about]


def lists_of_users(dialect: Dialect, place: Place, pool: Sequence[AnsweredQuestion], most: int) -> Iterator[Ask]:
    """Yields one list for each of the first `most` users who are checked, of what `place` names, compared as by
    `list_asks`."""
    known = _decisions_by_user([one for one in pool if place.is_of(one.question)])
    users = dict.fromkeys(one.question.subject_id for one in pool)
    for user in itertools.islice(users, most):
        yield _list_ask(dialect, Check(place.object_type, "", place.relation, "user", user), known)


def _decisions_by_user(about: Sequence[AnsweredQuestion]) -> Mapping[str, Mapping[str, bool]]:
    known: dict[str, dict[str, bool]] = defaultdict(dict)
    for question, allowed in about:
        known[question.subject_id][question.object_id] = allowed
    return known


def _list_ask(dialect: Dialect, question: Check, known: Mapping[str, Mapping[str, bool]]) -> Ask:
    return Ask(dialect.list_objects(question), partial(_judge_list, dialect, known.get(question.subject_id, {})))


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
