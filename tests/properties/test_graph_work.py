"""Groups in groups of many structures: checks with the graph cache answer what checks without it do, and never do
much more work for it. Work is counted, not timed."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.counting import CountingDatabase, counting_store
from benchmarks.fairness.shapes import SHAPES, TYPES, Groups
from magistrate.engine.cache.entry_reads import MAX_GROUPS_AT_FIRST
from magistrate.engine.cache.graph import MAX_EACH
from magistrate.engine.evaluation.check import Check
from magistrate.operations.checks.check import check_all
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.store.sql_store import SqlStore
from magistrate.wiring.contexts import context_of
from tests.operations.stored_warrants import define, grant, question
from tests.running import settings_for
from tests.working import Effort, measured_effort

TIMES = 2
"""With the graph: at most so many times the lines and statements without it, also in the check that fills the cache."""
TIMES_THE_ROWS = 4
"""Groups are read from both sides, and read again if the check is then decided without the graph."""
MIN_LINES, MIN_READS = 20_000, 20
"""What a small check may cost anyway."""
LINES_FOR_A_ROW = 40
"""What is read beyond what the check needs without the graph has to be cached besides, once."""
LINES_FOR_A_UNIT = 200
"""What is done for one node or warrant that is charged to a budget, or one row that is read, at the most."""
STRANGER = "nobody"


class Case(NamedTuple):
    """Checks of one batch: so many, of the user in the last group, or of an unknown user."""

    groups: Groups
    checks: int
    is_stranger: bool

    def questions(self) -> list[Check]:
        user = STRANGER if self.is_stranger else self.groups.user
        return [question(f"paper:{self.groups.document(number)}#viewer@user:{user}") for number in range(self.checks)]

    def warrants(self) -> list[str]:
        return [
            f"{object_type}:{object_id}#{relation}@{subject_type}:{subject_id}{'#' if group else ''}{group}"
            for object_type, object_id, relation, subject_type, subject_id, group, _ in self.groups.warrants()
        ]


class Asked(NamedTuple):
    """The same batch twice with the graph, and then without it."""

    answers: list[list[bool]]
    first: Effort
    again: Effort
    without: Effort


cases = st.builds(
    Case,
    st.builds(Groups, st.sampled_from(list(SHAPES)), st.integers(5, 120)),
    st.integers(1, 25),
    st.booleans(),
)
LARGE = [
    *[Case(Groups(shape, 400), 40, is_stranger=False) for shape in SHAPES],
    *[Case(Groups(shape, 100), 1, is_stranger=False) for shape in SHAPES],
    Case(Groups("loop", 100), 1_000, is_stranger=False),
    Case(Groups("chain", 1_000), 1_000, is_stranger=False),
    # These are about where the graph is given up and its work was wasted.
    Case(Groups("chain", 810), 1, is_stranger=False),
    Case(Groups("chain", 850), 20, is_stranger=False),
]


@given(cases)
@settings(max_examples=25)
def test_the_graph_answers_the_same_for_no_more_than_a_few_times_the_work(case: Case) -> None:
    expect_little_work(case)


@pytest.mark.parametrize("case", LARGE, ids=lambda case: f"{case.groups.name}-{case.checks}")
def test_the_same_of_groups_that_are_deep_or_many(case: Case) -> None:
    expect_little_work(case)


def expect_little_work(case: Case) -> None:
    asked = asyncio.run(ask(case))

    with_graph, again, without = asked.answers
    assert with_graph == again == without
    for effort in (asked.first, asked.again):
        assert effort.statements <= TIMES * asked.without.statements + MIN_READS, asked
        # The groups of the user are read beside what the checks need: of one member, up to so many.
        least_rows = MAX_EACH + MIN_READS * case.checks
        assert effort.rows <= TIMES_THE_ROWS * asked.without.rows + least_rows, asked
        more_rows = max(0, effort.rows - asked.without.rows)
        assert effort.lines <= TIMES * asked.without.lines + LINES_FOR_A_ROW * more_rows, asked
    for effort in (asked.first, asked.again, asked.without):
        units = effort.charged + effort.rows
        assert effort.lines - effort.freeing <= LINES_FOR_A_UNIT * units + MIN_LINES, (
            f"work that nobody charges: {asked}"
        )


async def ask(case: Case, warms_up: bool = False) -> Asked:
    """`warms_up` with a check of somebody else, after which the graph is at the newest revision."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder, 'm.db')}"
        store, database = await counting_store(url)
        try:
            await define(context(store, url, {}), TYPES)
            await grant(context(store, url, {}), *case.warrants())
            with_graph, without = context(store, url, {}), context(store, url, {"cache_bytes": 0})
            if warms_up:
                await check_all(with_graph, [question("paper:none#viewer@user:none")], NO_DEMAND)
            found = [await decide(ctx, database, case.questions()) for ctx in (with_graph, with_graph, without)]
        finally:
            await store.close()
    answers, (first, again, plain) = zip(*found, strict=True)
    return Asked(list(answers), first, again, plain)


def context(store: SqlStore, url: str, given: dict[str, int]) -> Context:
    return context_of(store, settings_for(url, **given))


async def decide(ctx: Context, database: CountingDatabase, questions: Sequence[Check]) -> tuple[list[bool], Effort]:
    await ctx.caches.models.get_known()  # that is not what is compared
    with measured_effort(database) as effort:
        found = await check_all(ctx, questions, NO_DEMAND)
    return [decision.is_authorized for decision in found.value], effort


@pytest.mark.parametrize("size", [MAX_EACH + 100, 5 * MAX_EACH])
def test_few_of_more_groups_than_are_kept_of_one_member_are_read(size: int) -> None:
    """The last group is a member of all others. They are not looked at again to see that they are too many."""
    asked = asyncio.run(ask(Case(Groups("fan", size), 1, is_stranger=False), warms_up=True))

    assert asked.answers == [[True]] * 3
    assert asked.first.rows <= MAX_GROUPS_AT_FIRST + 2 * MIN_READS
    assert asked.first.statements <= asked.without.statements + 1


@pytest.mark.parametrize("size", [MAX_GROUPS_AT_FIRST, MAX_GROUPS_AT_FIRST + 50, MAX_EACH])
def test_as_many_groups_as_are_kept_of_one_member_are_read_once(size: int) -> None:
    asked = asyncio.run(ask(Case(Groups("fan", size), 1, is_stranger=False), warms_up=True))

    assert asked.answers == [[True]] * 3
    assert asked.first.rows <= size + MAX_GROUPS_AT_FIRST + 2 * MIN_READS
    assert asked.again.rows == asked.again.statements == 0
