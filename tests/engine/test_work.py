"""A time slice is over after a fixed amount of work, or when a clock says that the time is up."""

from collections.abc import Callable

import pytest

from magistrate.engine.work import WORK_BETWEEN_CHECKPOINTS, WORK_BETWEEN_LOOKS, Work
from magistrate.errors import BudgetExceeded
from tests.memory_source import PLENTY


class Clock:
    """Says that the time is up after so many looks."""

    def __init__(self, looks: int) -> None:
        self.left = looks
        self.looks = 0

    def is_up(self) -> bool:
        self.looks += 1
        self.left -= 1
        return self.left < 0


def work_in_turn(work: Work, charge: Callable[[int], None], at_once: int = 1) -> int:
    """How much is done before the time slice is over."""
    done = 0
    while not work.needs_checkpoint:
        charge(at_once)
        done += at_once
    return done


@pytest.mark.parametrize("at_once", [1, 7, 150, WORK_BETWEEN_CHECKPOINTS, 10_000])
def test_without_a_clock_a_turn_is_a_fixed_amount_of_work(at_once: int) -> None:
    work = Work(PLENTY)

    for _ in range(3):
        done = work_in_turn(work, work.spend, at_once)
        assert WORK_BETWEEN_CHECKPOINTS <= done < WORK_BETWEEN_CHECKPOINTS + at_once
        assert work.needs_checkpoint
        work.pass_checkpoint()


def test_a_turn_ends_when_its_time_is_up() -> None:
    clock = Clock(looks=3)
    work = Work(PLENTY, clock.is_up)

    assert work_in_turn(work, work.spend) == 4 * WORK_BETWEEN_LOOKS


def test_a_clock_does_not_lengthen_a_turn() -> None:
    work = Work(PLENTY, Clock(looks=PLENTY).is_up)

    assert work_in_turn(work, work.spend) == WORK_BETWEEN_CHECKPOINTS


def test_the_clock_is_looked_at_once_for_some_work() -> None:
    clock = Clock(looks=PLENTY)
    work = Work(PLENTY, clock.is_up)

    for _ in range(WORK_BETWEEN_LOOKS - 1):
        work.spend(1)
        assert not work.needs_checkpoint

    assert clock.looks == 0


def test_work_that_is_charged_to_the_turn_alone_leaves_the_budget() -> None:
    work = Work(10)

    work_in_turn(work, work.hasten_checkpoint)

    assert work.left == 10


def test_a_part_has_its_own_budget_up_to_that_of_the_whole_and_the_same_clock() -> None:
    clock = Clock(looks=0)
    work = Work(1_000, clock.is_up)
    work.spend(400)

    part = work.split(10_000)

    assert part.left == 600
    assert work_in_turn(part, part.spend) == WORK_BETWEEN_LOOKS
    assert work.split(5).left == 5
    with pytest.raises(BudgetExceeded):
        work.split(5).spend(6)
