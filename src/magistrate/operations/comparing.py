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
from magistrate.operations.chunk import Chunk, ReadLine, Refuse, Refused
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.definitions import read_definition
from magistrate.operations.questions import Sample, questions_about
from magistrate.operations.source_lists import LISTS, Kind, SourceLists, WarrantServer
from magistrate.store.contract import Slice, WarrantFilter

PAGE_ROWS = 1_000
ASKED_AT_ONCE = 4
"""Checks in flight: as many as the old server decides at a time unless it is told otherwise."""

FAILED_OVER = (500, 504)
"""The status of a check that goes in circles, from the server or from a proxy before it. Of no other."""

UNANSWERED = "it gives no answer: there, groups and rules that lead back to themselves end in that"
BARE_SUBJECT = "it takes a bare subject for a group of its own, which a warrant names"
LEFT_OUT = "it rests on a row that was not taken over"
EXPIRES = "`expiresIn` never holds there"
RACE = "there, a missing object type is told although a warrant settles the question"

MISSING_HERE = "is there, but not here"
MISSING_THERE = "is here, but missing or refused there"
DEFINED_OTHERWISE = "is defined otherwise here"


@dataclass(frozen=True, slots=True)
class RowCounts:
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
    """A check that is answered differently, in written form; `reason` is None if it cannot be told, `is_answered` false
    if the server did not decide it."""

    claim: str
    theirs: str
    ours: str
    reason: str | None
    is_answered: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """`types`: by name, how those object types differ that are not the same on both sides. `answered`: how many of the
    checks that were asked the server decided."""

    counts: Sequence[RowCounts]
    types: Mapping[TypeName, str]
    asked: int
    answered: int
    differences: Sequence[Difference]

    @property
    def unknown_differences(self) -> int:
        return sum(difference.reason is None for difference in self.differences)

    @property
    def agree(self) -> bool:
        """Equal counts and object types, and no difference without a reason."""
        return self._holds_alike and not self.unknown_differences

    @property
    def may_agree(self) -> bool:
        """Whether nothing is known to differ: only answers of the server are missing, if any."""
        return self._holds_alike and not any(one.is_answered and one.reason is None for one in self.differences)

    @property
    def _holds_alike(self) -> bool:
        return all(counts.agree for counts in self.counts) and not self.types


@dataclass(frozen=True, slots=True)
class _CheckAnswer:
    """`said` is what is compared. `path`: rows it rests on, from the subject to the object."""

    said: str
    path: Sequence[Any] = ()

    @property
    def is_decided(self) -> bool:
        return self.said in (AUTHORIZED, DENIED, NO_TYPE)


AUTHORIZED = "authorized"
DENIED = "not authorized"
NO_TYPE = "unknown object type"


async def compare(
    ctx: Context, server: WarrantServer, read_line: ReadLine, sample_size: int, told: Callable[[int], None]
) -> Comparison:
    """`told` hears how many rows of the server were read so far. Raises what the server raises."""
    sample, theirs = Sample(sample_size), _Theirs(ctx, server, read_line)
    await theirs.read(sample, told)
    ours, definitions = await _count_ours(ctx)
    counts = [RowCounts(kind, theirs.counted[kind], theirs.refused[kind], ours[kind]) for kind, _, _ in LISTS]
    types = _differing_types(theirs.definitions, definitions)
    asking = _Asking(ctx, server, theirs)
    questions = questions_about(sample.warrants, _relations(theirs.definitions), sample_size)
    answered, differences = await asking.compare(questions)
    return Comparison(counts, types, len(questions), answered, differences)


class _Theirs:
    """What the server lists. `refused`: how many of the rows `counted` we do not take; `definitions`: its object types
    without these. Nothing in our store has a say in it: what is missing here must not count as refused."""

    def __init__(self, ctx: Context, server: WarrantServer, read_line: ReadLine) -> None:
        self._ctx = ctx
        self._server = server
        self._read_line = read_line
        self.counted, self.refused = _zeros(), _zeros()
        self.definitions: Mapping[TypeName, str] = {}

    async def read(self, sample: Sample, told: Callable[[int], None]) -> None:
        lists = SourceLists(self._server, PAGE_ROWS)

        def count_refused(line: Refused) -> None:
            self.refused[lists.kind] += 1

        read_row = lists.reader(self._read_line)
        while lines := await lists.next_lines():
            self.counted[lists.kind] += len(lines)
            chunk, self.definitions = await self._sift_lines(lines, read_row, count_refused)
            sample.show([*chunk.warrants.values()])
            told(lists.lines)

    async def refuses(self, rows: Sequence[Any]) -> bool:
        """Whether one of them is none that we take."""
        refused: list[Refused] = []
        await self._sift_lines([*map(msgspec.json.encode, rows)], self._read_line, refused.append)
        return bool(refused)

    async def _sift_lines(
        self, lines: Sequence[bytes], read_line: ReadLine, refuse: Refuse
    ) -> tuple[Chunk, Mapping[TypeName, str]]:
        chunk = await Chunk.read(self._ctx, dict(enumerate(lines, 1)), read_line, refuse)
        return chunk, chunk.sift(self.definitions, refuse)


async def _count_ours(ctx: Context) -> tuple[Mapping[Kind, int], Mapping[TypeName, str]]:
    """With the definitions of object types; all at one revision."""
    model = await ctx.store.read_model()
    definitions = model.value.definitions
    counted, at = _zeros(), model.revision
    if at == 0:
        return counted, definitions  # never written, and there is no revision to read
    counted["object type"] = len(definitions)
    after = None
    while names := (await ctx.store.list_names(None, after, PAGE_ROWS, at)).value:
        counted["object"] += len(names)
        after = names[-1]
    wanted = Slice("createdAt", PAGE_ROWS)
    while rows := (await ctx.store.list_warrants(wanted, WarrantFilter(), at)).value.rows:
        counted["warrant"] += len(rows)
        wanted = Slice("createdAt", PAGE_ROWS, boundary=(rows[-1].created_at, rows[-1].number))
    return counted, definitions


def _zeros() -> dict[Kind, int]:
    return {kind: 0 for kind, _, _ in LISTS}


def _differing_types(theirs: Mapping[TypeName, str], ours: Mapping[TypeName, str]) -> Mapping[TypeName, str]:
    told = {name: _type_difference(theirs.get(name), ours.get(name)) for name in sorted({*theirs, *ours})}
    return {name: difference for name, difference in told.items() if difference is not None}


def _type_difference(theirs: str | None, ours: str | None) -> str | None:
    if ours is None or theirs is None:
        return MISSING_HERE if ours is None else MISSING_THERE
    # Not as texts: the order of relations says nothing.
    return None if read_definition(theirs) == read_definition(ours) else DEFINED_OTHERWISE


def _relations(definitions: Mapping[TypeName, str]) -> Mapping[TypeName, Sequence[RelationName]]:
    names = {of_type: read_definition(definition).relations for of_type, definition in definitions.items()}
    return {of_type: [*map(RelationName, relations)] for of_type, relations in names.items() if relations}


class _Asking:
    def __init__(self, ctx: Context, server: WarrantServer, theirs: _Theirs) -> None:
        self._ctx = ctx
        self._server = server
        self._theirs = theirs

    async def compare(self, questions: Sequence[Question]) -> tuple[int, Sequence[Difference]]:
        """How many of them the server decided, and what is answered differently."""
        pairs: list[tuple[Question, _CheckAnswer, _CheckAnswer]] = []
        for start in range(0, len(questions), ASKED_AT_ONCE):
            pairs += await asyncio.gather(*map(self._both, questions[start : start + ASKED_AT_ONCE]))
        decided = [question for question, theirs, _ in pairs if theirs.is_decided]
        is_up = len(decided) == len(pairs) or await self._is_up(decided)
        differences = [await self._difference(*pair, is_up) for pair in pairs if pair[1].said != pair[2].said]
        return len(decided), differences

    async def _is_up(self, decided: Sequence[Question]) -> bool:
        """Whether the server still decides what it did: only then the others failed for what they ask."""
        if not decided:
            return False
        status, answer = await self._server.check(_claim(decided[0]))
        return _their_answer(status, answer).is_decided

    async def _both(self, question: Question) -> tuple[Question, _CheckAnswer, _CheckAnswer]:
        status, answer = await self._server.check(_claim(question))
        return question, _their_answer(status, answer), await self._our_answer(question)

    async def _our_answer(self, question: Question) -> _CheckAnswer:
        try:
            found = await check(self._ctx, [question], none_is_last, NO_DEMAND, with_path=True)
        except NotFound:
            return _CheckAnswer(NO_TYPE)
        except BudgetSpent as error:
            return _CheckAnswer(error.message)
        decision: Decision = found.value[0]
        return _CheckAnswer(AUTHORIZED, decision.path) if decision.is_authorized else _CheckAnswer(DENIED)

    async def _difference(
        self, question: Question, theirs: _CheckAnswer, ours: _CheckAnswer, is_up: bool
    ) -> Difference:
        reason = await self._reason(question, theirs, ours, is_up)
        return Difference(question.render(), theirs.said, ours.said, reason, theirs.is_decided)

    async def _reason(self, question: Question, theirs: _CheckAnswer, ours: _CheckAnswer, is_up: bool) -> str | None:
        if theirs.said.startswith("no answer"):
            return UNANSWERED if is_up else None
        if theirs.said == AUTHORIZED and theirs.path:
            if _names_group(theirs.path[0], question):
                return BARE_SUBJECT
            return LEFT_OUT if await self._theirs.refuses(theirs.path) else None
        if any("expiresIn" in warrant.policy for warrant in ours.path):
            return EXPIRES
        return RACE if theirs.said == NO_TYPE and ours.said == AUTHORIZED else None


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


def _their_answer(status: int, answer: Any) -> _CheckAnswer:
    members = answer if isinstance(answer, dict) else {}
    if status == 200 and members.get("result") == "Authorized":
        paths = members.get("decisionPath")
        path = next(iter(paths.values()), None) if isinstance(paths, dict) else None
        rows = path if isinstance(path, list) else []
        return _CheckAnswer(AUTHORIZED, [row for row in rows if isinstance(row, dict)])
    if status == 200:
        return _CheckAnswer(DENIED)
    if status == 404:
        return _CheckAnswer(NO_TYPE)
    return _CheckAnswer(f"no answer ({status})" if status in FAILED_OVER else f"{status}: {members.get('message')}")


def _names_group(row: Any, question: Question) -> bool:
    """Whether it is a warrant for a group on the very subject that was asked about without a relation."""
    named = row.get("subject")
    if not isinstance(named, dict):
        return False
    is_asked = (named.get("objectType"), named.get("objectId")) == (question.subject.type, question.subject.id)
    return is_asked and bool(named.get("relation")) and not question.subject.relation
