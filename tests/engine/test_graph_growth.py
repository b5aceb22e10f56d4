"""How the cost of checks in memory grows with the groups that a subject is in: in calls of functions and rounds of
reads, beside those of an evaluation of the same checks."""

import pytest

from magistrate.engine.cache.entry_reads import Fetch, MissingEntries
from magistrate.engine.names import ObjectId
from magistrate.engine.warrants.warrant import warrant_names
from magistrate.engine.work import WORK_BETWEEN_CHECKPOINTS, Work
from tests.engine.group_graphs import ANN, SHAPES, Case, Shape, chain, clique, loop, star, tree
from tests.memory_source import PLENTY
from tests.scenario_files import stored_warrant

TOUCHED = warrant_names("group", "1", "member", "user", "ann", "")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("subject", ["user:ann", "user:nobody"])
def test_the_graph_needs_no_more_rounds_of_reads_than_an_evaluation(shape: Shape, subject: str) -> None:
    """However many groups the subject is in, they are read beside what an evaluation would read."""
    for size in (5, 40):
        case = Case(shape, size, subject)

        case.walk()

        assert case.rounds <= case.evaluate()[1]


@pytest.mark.parametrize("shape", [chain, star, loop, tree])
def test_a_closure_goes_on_where_it_stopped_when_more_has_been_read(shape: Shape) -> None:
    """Twice as many groups cost twice as much, though they are found in as many rounds as they are deep."""
    assert Case(shape, 400).grow_closure() < 2.5 * Case(shape, 200).grow_closure()


def test_a_closure_looks_once_at_each_warrant_of_groups_that_are_all_in_each_other() -> None:
    """Twice as many groups have four times as many warrants."""
    assert Case(clique, 80).grow_closure() < 5 * Case(clique, 40).grow_closure()


def test_a_closure_stops_when_the_step_is_over() -> None:
    """The second subject has 3,600 warrants to look through that are in memory already."""
    case = Case(clique, 60)
    case.grow_closure()
    case.warrants.append(stored_warrant("group:1#member@user:bob", 100_000, 0))
    memberships, bob, work = case.graph.memberships(ANN.type), ObjectId("bob"), Work(PLENTY)
    [member] = memberships.closure(bob, work).missing
    missing = MissingEntries()
    missing.groups[ANN.type, member[0].number, bob] = None
    case.fetch(Fetch(case.graph, missing))

    turns, is_interrupted = 0, True
    while is_interrupted:
        work.pass_checkpoint()
        work.spend(WORK_BETWEEN_CHECKPOINTS - 20)
        closure = memberships.closure(bob, work)
        is_interrupted = closure.is_interrupted
        turns += 1

    assert not closure.is_open
    assert turns > 5


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("subject", ["user:ann", "user:nobody"])
def test_a_warm_check_costs_the_same_however_many_groups_there_are(shape: Shape, subject: str) -> None:
    def cost_when_warm(size: int) -> int:
        case = Case(shape, size, subject)
        for _ in range(size):
            case.walk()
        return case.walk()

    few = 10 if shape is clique else 60

    assert cost_when_warm(4 * few) < 1.5 * cost_when_warm(few)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_warm_check_costs_less_than_an_evaluation(shape: Shape) -> None:
    case = Case(shape, 60)
    case.walk()

    assert case.walk() < case.evaluate()[0] / 2
