"""Whether a store holds what a Warrant server has, and answers as it does: rows counted on both sides, and checks asked
of both."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from magistrate.engine.decision import Decision
from magistrate.engine.evaluation import Question
from magistrate.engine.terms import RelationName, TypeName
from magistrate.errors import BudgetSpent, NotFound
from magistrate.operations.check import check, none_is_last
from magistrate.operations.chunk import ReadLine, Refused
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.definitions import defined_type
from magistrate.operations.importing import LeaveOut, Sieve
from magistrate.operations.old_lists import LISTS, Kind, OldLists, WarrantServer
from magistrate.operations.questions import Sample, questions_about
from magistrate.store.contract import Slice, WarrantFilter

PAGE_ROWS = 1_000
ASKED_AT_ONCE = 4
"""Checks in flight: as many as the old server decides at a time unless it is told otherwise."""

UNANSWERED = "it gives no answer: there, groups and rules that lead back to themselves end in that"
BARE_SUBJECT = "it takes a bare subject for a group of its own, which a warrant names"
LEFT_OUT = "it rests on a row that was not taken over"
EXPIRES = "`expiresIn` never holds there"
RACE = "there, a missing object type is told although a warrant settles the question"


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows of one kind: on the server, how many of those we do not take, and in the store."""

    kind: Kind
    theirs: int
    refused: int
    ours: int

    @property
    def agree(self) -> bool:
        return self.theirs - self.refused == self.ours


@dataclass(frozen=True, slots=True)
class Difference:
    """A check that is answered differently, in written form; `reason` is None if it cannot be told."""

    claim: str
    theirs: str
    ours: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """`answered`: how many of the checks that were asked the server decided."""

    counts: Sequence[Counts]
    asked: int
    answered: int
    differences: Sequence[Difference]

    @property
    def unexplained(self) -> int:
        return sum(difference.reason is None for difference in self.differences)

    @property
    def agree(self) -> bool:
        """Equal counts, no difference without a reason, and answers at all if something was asked."""
        counted = all(counts.agree for counts in self.counts)
        return counted and not self.unexplained and (self.answered > 0 or self.asked == 0)


@dataclass(frozen=True, slots=True)
class _Answer:
    """`said` is what is compared. `path`: rows it rests on, from the subject to the object."""

    said: str
    path: Sequence[Any] = ()


AUTHORIZED = "authorized"
DENIED = "not authorized"
NO_TYPE = "unknown object type"


async def compare(
    ctx: Context, server: WarrantServer, read_line: ReadLine, sample_size: int, told: Callable[[int], None]
) -> Comparison:
    """`told` hears how many rows of the server were read so far. Raises what the server raises."""
    sample = Sample(sample_size)
    theirs, refused = await _count_theirs(ctx, server, read_line, sample, told)
    ours = await _count_ours(ctx)
    counts = [Counts(kind, theirs[kind], refused[kind], ours[kind]) for kind, _, _ in LISTS]
    asking = _Asking(ctx, server, read_line)
    questions = questions_about(sample.warrants, await _relations(ctx), sample_size)
    pairs: list[tuple[Question, _Answer, _Answer]] = []
    for start in range(0, len(questions), ASKED_AT_ONCE):
        pairs += await asyncio.gather(*map(asking.both, questions[start : start + ASKED_AT_ONCE]))
    answered = sum(theirs.said in (AUTHORIZED, DENIED, NO_TYPE) for _, theirs, _ in pairs)
    differences = [await asking.difference(*pair) for pair in pairs if pair[1].said != pair[2].said]
    return Comparison(counts, len(pairs), answered, differences)


async def _count_theirs(
    ctx: Context, server: WarrantServer, read_line: ReadLine, sample: Sample, told: Callable[[int], None]
) -> tuple[Mapping[Kind, int], Mapping[Kind, int]]:
    """How many there are, and how many of them we do not take."""
    lists = OldLists(server, PAGE_ROWS)
    counted, refused = _zeros(), _zeros()

    def count_refused(line: Refused) -> None:
        refused[lists.kind] += 1

    sieve = Sieve(ctx, lists.reader(read_line), LeaveOut(count_refused, goes_on=True))
    while lines := await lists.next_lines():
        counted[lists.kind] += len(lines)
        chunk = await sieve.read(dict(enumerate(lines, 1)))
        sample.show([*chunk.warrants.values()])
        told(lists.lines)
    return counted, refused


async def _count_ours(ctx: Context) -> Mapping[Kind, int]:
    """At one revision."""
    model = await ctx.store.read_model()
    counted, at = _zeros(), model.revision
    if at == 0:
        return counted  # never written, and there is no revision to read
    counted["object type"] = len(model.value.definitions)
    after = None
    while names := (await ctx.store.list_names(None, after, PAGE_ROWS, at)).value:
        counted["object"] += len(names)
        after = names[-1]
    wanted = Slice("createdAt", PAGE_ROWS)
    while rows := (await ctx.store.list_warrants(wanted, WarrantFilter(), at)).value.rows:
        counted["warrant"] += len(rows)
        wanted = Slice("createdAt", PAGE_ROWS, boundary=(rows[-1].created_at, rows[-1].number))
    return counted


def _zeros() -> dict[Kind, int]:
    return {kind: 0 for kind, _, _ in LISTS}


async def _relations(ctx: Context) -> Mapping[TypeName, Sequence[RelationName]]:
    definitions = (await ctx.store.read_model()).value.definitions
    types = (defined_type(name, definition) for name, definition in definitions.items())
    return {of_type.name: [*of_type.relations] for of_type in types if of_type.relations}


class _Asking:
    def __init__(self, ctx: Context, server: WarrantServer, read_line: ReadLine) -> None:
        self._ctx = ctx
        self._server = server
        self._read_line = read_line

    async def both(self, question: Question) -> tuple[Question, _Answer, _Answer]:
        status, answer = await self._server.check(_claim(question))
        return question, _their_answer(status, answer), await self._our_answer(question)

    async def _our_answer(self, question: Question) -> _Answer:
        try:
            found = await check(self._ctx, [question], none_is_last, NO_DEMAND, with_path=True)
        except NotFound:
            return _Answer(NO_TYPE)
        except BudgetSpent as error:
            return _Answer(error.message)
        decision: Decision = found.value[0]
        return _Answer(AUTHORIZED, decision.path) if decision.is_authorized else _Answer(DENIED)

    async def difference(self, question: Question, theirs: _Answer, ours: _Answer) -> Difference:
        return Difference(question.written(), theirs.said, ours.said, await self._reason(question, theirs, ours))

    async def _reason(self, question: Question, theirs: _Answer, ours: _Answer) -> str | None:
        if theirs.said.startswith("no answer"):
            return UNANSWERED
        if theirs.said == AUTHORIZED and theirs.path:
            if _names_group(theirs.path[0], question):
                return BARE_SUBJECT
            return LEFT_OUT if await self._is_refused(theirs.path) else None
        if any("expiresIn" in warrant.policy for warrant in ours.path):
            return EXPIRES
        return RACE if theirs.said == NO_TYPE and ours.said == AUTHORIZED else None

    async def _is_refused(self, path: Sequence[Any]) -> bool:
        sieve = Sieve(self._ctx, self._read_line, LeaveOut(lambda line: None, goes_on=True))
        await sieve.read({number: msgspec.json.encode(row) for number, row in enumerate(path)})
        return sieve.refused > 0


def _claim(question: Question) -> dict[str, Any]:
    subject = {"objectType": question.subject.type, "objectId": question.subject.id}
    if question.subject.relation:
        subject["relation"] = question.subject.relation
    return {
        "objectType": question.object.type,
        "objectId": question.object.id,
        "relation": question.relation,
        "subject": subject,
        "context": question.context,
    }


def _their_answer(status: int, answer: Any) -> _Answer:
    members = answer if isinstance(answer, dict) else {}
    if status == 200 and members.get("result") == "Authorized":
        paths = members.get("decisionPath")
        path = next(iter(paths.values()), None) if isinstance(paths, dict) else None
        rows = path if isinstance(path, list) else []
        return _Answer(AUTHORIZED, [row for row in rows if isinstance(row, dict)])
    if status == 200:
        return _Answer(DENIED)
    if status == 404:
        return _Answer(NO_TYPE)
    return _Answer(f"no answer ({status})" if status >= 500 else f"{status}: {members.get('message')}")


def _names_group(row: Any, question: Question) -> bool:
    """Whether it is a warrant for a group on the very subject that was asked about without a relation."""
    named = row.get("subject")
    if not isinstance(named, dict):
        return False
    is_asked = (named.get("objectType"), named.get("objectId")) == (question.subject.type, question.subject.id)
    return is_asked and bool(named.get("relation")) and not question.subject.relation
