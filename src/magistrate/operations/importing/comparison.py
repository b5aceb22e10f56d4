"""Compares a store with a source server: all rows of both sides, and the answers to the same checks."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import starmap, zip_longest
from typing import Any

import msgspec

from magistrate.engine.evaluation.check import Check, Decision
from magistrate.engine.names import RelationName, TypeName
from magistrate.engine.policy.named_policies import NamedPolicy
from magistrate.errors import BudgetExceeded, NotFound
from magistrate.operations.checks.check import check
from magistrate.operations.checks.check_batch import ALL_NEEDED
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.importing.chunk import Chunk, ReadLine, Refuse, Refused
from magistrate.operations.importing.row_differences import (
    HERE,
    SOURCE,
    Category,
    ComparedRow,
    DifferingRows,
    RowDifferences,
    build_object_row,
    build_policy_row,
    build_warrant_row,
)
from magistrate.operations.importing.sampled_checks import LoopSearch, Sample, draw_checks
from magistrate.operations.importing.warrant_server import LISTS, Kind, SourceLists, WarrantServer
from magistrate.operations.models.definitions import read_definition, render_policy_definition
from magistrate.store.contract.lists import ObjectFilter, Slice, WarrantFilter
from magistrate.store.contract.new_rows import NewWarrant, build_new_warrant

PAGE_ROWS = 1_000
NAMED_ROWS = 20
"""Limits the rows that are named of each kind and category."""
CHECKS_AT_ONCE = 4
"""Limits the checks in flight to the number that the source server decides at a time by default."""

FAILED_OVER = (500, 504)
"""Lists the statuses of a check that may have run into a cycle, from the server or from a proxy before it. No other
status counts as that, and these only if the warrants here form a cycle."""

UNANSWERED = "it gives no answer: there, groups and rules that lead back to themselves end in that"
BARE_SUBJECT = "it takes a bare subject for a group of its own, which a warrant names"
LEFT_OUT = "it depends on a row that was not taken over"
EXPIRES = "`expiresIn` never holds there"
RACE = "there, a missing object type is an error although a warrant decides the check"

MISSING_HERE = "is there, but not here"
MISSING_THERE = "is here, but missing or refused there"
DEFINED_OTHERWISE = "is defined otherwise here"
OTHER_META = "has other meta here"
OTHER_AGE = "has another createdAt here"
_OTHER: Mapping[Kind, str] = {"named policy": DEFINED_OTHERWISE, "object": OTHER_META, "warrant": OTHER_AGE}


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Counts the rows of one kind: on the server, those of them that are not accepted here, and in the store.
    `differing` has the policies, objects or warrants that are not the same on both sides; object types are compared by
    name."""

    kind: Kind
    source: int
    refused: int
    store: int
    differing: Sequence[DifferingRows] = ()

    @property
    def agree(self) -> bool:
        return not self.differing and self.source - self.refused == self.store


def describe_category(kind: Kind, category: Category) -> str:
    if category == "missing":
        return MISSING_HERE
    if category == "extra":
        return MISSING_THERE
    return _OTHER[kind]


@dataclass(frozen=True, slots=True)
class Difference:
    """Describes a check that is answered differently, in written form. `reason` is None if it is unknown; `is_answered`
    is false if the server did not decide the check."""

    check: str
    source: str
    store: str
    reason: str | None
    is_answered: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Holds the result of a comparison. `types`: by name, how the object types differ that are not the same on both
    sides. `answered`: how many of the checks the server decided."""

    counts: Sequence[RowCounts]
    types: Mapping[TypeName, str]
    checks: int
    answered: int
    differences: Sequence[Difference]

    @property
    def unknown_differences(self) -> int:
        return sum(difference.reason is None for difference in self.differences)

    @property
    def agree(self) -> bool:
        """Returns whether counts and object types are equal and every difference has a known reason."""
        return self._holds_alike and not self.unknown_differences

    @property
    def may_agree(self) -> bool:
        """Returns whether no difference is known: at most, answers of the server are missing."""
        return self._holds_alike and not any(
            difference.is_answered and difference.reason is None for difference in self.differences
        )

    @property
    def _holds_alike(self) -> bool:
        return all(counts.agree for counts in self.counts) and not self.types


@dataclass(frozen=True, slots=True)
class _CheckAnswer:
    """Holds one side's answer to a check. `said` is what is compared. `path` has the rows it depends on, from the
    subject to the object."""

    said: str
    path: Sequence[Any] = ()

    @property
    def is_decided(self) -> bool:
        return self.said in (AUTHORIZED, DENIED, NO_TYPE)


AUTHORIZED = "authorized"
DENIED = "not authorized"
NO_TYPE = "unknown object type"


async def compare(
    ctx: Context,
    server: WarrantServer,
    read_line: ReadLine,
    sample_size: int,
    report_progress: Callable[[int], None],
    max_named: int = NAMED_ROWS,
) -> Comparison:
    """Returns the comparison of the store with the server, in which at most `max_named` rows of each kind and category
    are named. `report_progress` is called with the number of rows of the server that were read so far. Raises what the
    server raises, and StoreUnavailable if the disk has no space for the comparison of the rows."""
    with closing(RowDifferences()) as differences:
        source, store = _SourceRows(ctx, server, read_line, differences), _Ours(ctx, differences)
        samples = Sample(sample_size), Sample(sample_size, number=1)
        await source.read(samples[0], report_progress)
        await store.collect(samples[1])
        differences.compare()
        counts = [
            RowCounts(
                kind=kind,
                source=source.counted[kind],
                refused=source.refused[kind],
                store=store.counted[kind],
                differing=differences.list_differing(kind, max_named),
            )
            for kind, _, _ in LISTS
            if kind != "named policy" or source.has_policies  # what a server cannot have is not compared
        ]
    types = _differing_types(source.definitions, store.definitions)
    comparison = _CheckComparison(ctx, server, source, LoopSearch(ctx.store, store.definitions))
    sampled = _alternate(samples[0].warrants, samples[1].warrants)
    relations = _relations({**store.definitions, **source.definitions})
    checks = draw_checks(sampled, relations, sample_size)
    answered, differing = await comparison.compare(checks)
    return Comparison(counts=counts, types=types, checks=len(checks), answered=answered, differences=differing)


def _alternate(first: Sequence[NewWarrant], second: Sequence[NewWarrant]) -> list[NewWarrant]:
    return [warrant for pair in zip_longest(first, second) for warrant in pair if warrant is not None]


class _SourceRows:
    """Holds what the server lists. `refused`: how many of the rows in `counted` are not accepted here; `definitions`:
    its object types without these; `has_policies`: whether it has a list of named policies. The store's contents play
    no part: a row that is missing here must not count as refused."""

    def __init__(self, ctx: Context, server: WarrantServer, read_line: ReadLine, differences: RowDifferences) -> None:
        self._ctx = ctx
        self._server = server
        self._read_line = read_line
        self._differences = differences
        self.counted, self.refused = Counter[Kind](), Counter[Kind]()
        self.definitions: Mapping[TypeName, str] = {}
        self.has_policies = False

    async def read(self, sample: Sample, report_progress: Callable[[int], None]) -> None:
        lists = SourceLists(self._server, PAGE_ROWS)

        def count_refused(line: Refused) -> None:
            self.refused[lists.kind] += 1

        read_row = lists.reader(self._read_line)
        while lines := await lists.next_lines():
            self.counted[lists.kind] += len(lines)
            chunk, self.definitions = await self._filter_lines(lines, read_row, count_refused)
            self._differences.add(SOURCE, "named policy", map(_build_new_policy_row, chunk.policies.values()))
            self._differences.add(SOURCE, "object", map(build_object_row, chunk.objects.values()))
            self._differences.add(SOURCE, "warrant", map(build_warrant_row, chunk.warrants.values()))
            sample.show([*chunk.warrants.values()])
            report_progress(lists.lines)
        self.has_policies = lists.has_policies

    async def refuses(self, rows: Sequence[Any]) -> bool:
        """Returns whether any of the rows is not accepted here."""
        refused: list[Refused] = []
        await self._filter_lines([*map(msgspec.json.encode, rows)], self._read_line, refused.append)
        return bool(refused)

    async def _filter_lines(
        self, lines: Sequence[bytes], read_line: ReadLine, refuse: Refuse
    ) -> tuple[Chunk, Mapping[TypeName, str]]:
        chunk = await Chunk.read(self._ctx, dict(enumerate(lines, 1)), read_line, refuse)
        return chunk, chunk.filter_lines(self.definitions, refuse)


class _Ours:
    """Holds what the store contains, all at one revision: the number of rows, and the object types."""

    def __init__(self, ctx: Context, differences: RowDifferences) -> None:
        self._store = ctx.store
        self._differences = differences
        self.counted = Counter[Kind]()
        self.definitions: Mapping[TypeName, str] = {}

    async def collect(self, sample: Sample) -> None:
        model = await self._store.read_model()
        self.definitions, at = model.value.definitions, model.revision
        if at == 0:
            return  # the store was never written to, so there is no revision to read
        self.counted["object type"] = len(self.definitions)
        policies = model.value.policies
        self._add("named policy", starmap(build_policy_row, policies.items()), len(policies))
        by_name = Slice("objectType", PAGE_ROWS)
        while objects := (await self._store.list_objects(by_name, ObjectFilter(), at)).value.rows:
            self._add("object", map(build_object_row, objects), len(objects))
            by_name = Slice("objectType", PAGE_ROWS, boundary=(objects[-1].type, objects[-1].id))
        by_age = Slice("createdAt", PAGE_ROWS)
        while warrants := (await self._store.list_warrants(by_age, WarrantFilter(), at)).value.rows:
            new = [build_new_warrant(row.names, row.policy, created_at=row.created_at) for row in warrants]
            self._add("warrant", map(build_warrant_row, new), len(new))
            sample.show(new)
            by_age = Slice("createdAt", PAGE_ROWS, boundary=(warrants[-1].created_at, warrants[-1].number))

    def _add(self, kind: Kind, rows: Iterable[ComparedRow], count: int) -> None:
        self._differences.add(HERE, kind, rows)
        self.counted[kind] += count


def _build_new_policy_row(policy: NamedPolicy) -> ComparedRow:
    return build_policy_row(policy.name, render_policy_definition(policy))


def _differing_types(source: Mapping[TypeName, str], store: Mapping[TypeName, str]) -> Mapping[TypeName, str]:
    report_progress = {name: _type_difference(source.get(name), store.get(name)) for name in sorted({*source, *store})}
    return {name: difference for name, difference in report_progress.items() if difference is not None}


def _type_difference(source: str | None, store: str | None) -> str | None:
    if store is None or source is None:
        return MISSING_HERE if store is None else MISSING_THERE
    # Compared as definitions rather than strings: the order of relations has no meaning.
    return None if read_definition(source) == read_definition(store) else DEFINED_OTHERWISE


def _relations(definitions: Mapping[TypeName, str]) -> Mapping[TypeName, Sequence[RelationName]]:
    names = {of_type: read_definition(definition).relations for of_type, definition in definitions.items()}
    return {of_type: [*map(RelationName, relations)] for of_type, relations in names.items() if relations}


class _CheckComparison:
    def __init__(self, ctx: Context, server: WarrantServer, source: _SourceRows, loops: LoopSearch) -> None:
        self._ctx = ctx
        self._server = server
        self._source_rows = source
        self._loops = loops

    async def compare(self, checks: Sequence[Check]) -> tuple[int, Sequence[Difference]]:
        """Returns how many checks the server decided, and the differences between the answers."""
        pairs: list[tuple[Check, _CheckAnswer, _CheckAnswer]] = []
        for start in range(0, len(checks), CHECKS_AT_ONCE):
            pairs += await self._compare_at_once(checks[start : start + CHECKS_AT_ONCE])
        decided = [sampled for sampled, source, _ in pairs if source.is_decided]
        is_up = len(decided) == len(pairs) or await self._is_up(decided)
        differences = [await self._difference(*pair, is_up) for pair in pairs if pair[1].said != pair[2].said]
        return len(decided), differences

    async def _compare_at_once(self, checks: Sequence[Check]) -> Sequence[tuple[Check, _CheckAnswer, _CheckAnswer]]:
        """Raises the first failure once all have ended: a request that outlives the client leaves its connection
        open."""
        ended = await asyncio.gather(*map(self._both, checks), return_exceptions=True)
        pairs = [outcome for outcome in ended if not isinstance(outcome, BaseException)]
        for outcome in ended:
            if isinstance(outcome, BaseException):
                raise outcome
        return pairs

    async def _is_up(self, decided: Sequence[Check]) -> bool:
        """Returns whether the server still decides a check that it decided before; only then did the undecided checks
        fail because of their contents."""
        if not decided:
            return False
        status, answer = await self._server.check(_render_check(decided[0]))
        return _their_answer(status, answer).is_decided

    async def _both(self, sampled: Check) -> tuple[Check, _CheckAnswer, _CheckAnswer]:
        status, answer = await self._server.check(_render_check(sampled))
        return sampled, _their_answer(status, answer), await self._our_answer(sampled)

    async def _our_answer(self, sampled: Check) -> _CheckAnswer:
        try:
            decisions = await check(self._ctx, [sampled], ALL_NEEDED, NO_DEMAND, with_path=True)
        except NotFound:
            return _CheckAnswer(NO_TYPE)
        except BudgetExceeded as error:
            return _CheckAnswer(error.message)
        decision: Decision = decisions.value[0]
        return _CheckAnswer(AUTHORIZED, decision.path) if decision.is_authorized else _CheckAnswer(DENIED)

    async def _difference(self, sampled: Check, source: _CheckAnswer, store: _CheckAnswer, is_up: bool) -> Difference:
        reason = await self._reason(sampled, source, store, is_up)
        return Difference(
            check=sampled.render(), source=source.said, store=store.said, reason=reason, is_answered=source.is_decided
        )

    async def _reason(self, sampled: Check, source: _CheckAnswer, store: _CheckAnswer, is_up: bool) -> str | None:
        if source.said.startswith("no answer"):
            of_object = sampled.object
            in_loop = is_up and await self._loops.reaches_loop(of_object.type, of_object.id, sampled.relation)
            return UNANSWERED if in_loop else None
        if source.said == AUTHORIZED and source.path:
            if _names_group(source.path[0], sampled):
                return BARE_SUBJECT
            return LEFT_OUT if await self._source_rows.refuses(source.path) else None
        if any("expiresIn" in warrant.policy for warrant in store.path):
            return EXPIRES
        return RACE if source.said == NO_TYPE and store.said == AUTHORIZED else None


def _render_check(sampled: Check) -> dict[str, Any]:
    subject = {"objectType": sampled.subject.type, "objectId": sampled.subject.id}
    if sampled.subject.relation:
        subject["relation"] = sampled.subject.relation
    return {
        "objectType": sampled.object.type,
        "objectId": sampled.object.id,
        "relation": sampled.relation,
        "subject": subject,
        "context": sampled.context,
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


def _names_group(row: Any, sampled: Check) -> bool:
    """Returns whether the row is a warrant for a group on the very subject that was checked without a relation."""
    named = row.get("subject")
    if not isinstance(named, dict):
        return False
    is_same_subject = (named.get("objectType"), named.get("objectId")) == (sampled.subject.type, sampled.subject.id)
    return is_same_subject and bool(named.get("relation")) and not sampled.subject.relation
