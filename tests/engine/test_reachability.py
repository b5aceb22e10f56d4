"""Which groups are given by warrants alone, and how much work it is to find them."""

from magistrate.engine.model.model import Model
from magistrate.engine.model.reachability import find_closed_plans, group_names
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work
from tests.memory_source import PLENTY, model_of
from tests.scenario_files import stored_warrant
from tests.working import counted_lines

FEW = 100


def chain_of_groups(size: int, *more: str) -> Model:
    """Each group has the members of the next one."""
    texts = [f"g:x#m{number}@g:y#m{number + 1}" for number in range(size)]
    stored: list[Warrant] = [stored_warrant(text, number, 0) for number, text in enumerate([*texts, *more], 1)]
    model = model_of({"user": {}, "g": {f"m{number}": {} for number in range(size + 1)}}, stored)
    for names in group_names(model):
        assert model.prepare(*names, Work(PLENTY))
    return model


def test_groups_of_groups_are_given_by_warrants_alone_unless_one_of_them_is_not() -> None:
    last = f"m{FEW}"

    assert len(find_closed_plans(chain_of_groups(FEW, f"g:x#{last}@user:ann"))) == FEW
    assert not find_closed_plans(chain_of_groups(FEW, f"g:*#{last}@user:ann"))
    apart = find_closed_plans(chain_of_groups(FEW, f"g:*#m{FEW // 2}@user:ann"))
    assert {plan.relation for plan in apart} == {f"m{number}" for number in range(FEW // 2 + 1, FEW + 1)}


def test_twice_as_many_groups_take_twice_the_work() -> None:
    lines = []
    for size in (FEW, 2 * FEW):
        model = chain_of_groups(size, f"g:*#m{size}@user:ann")
        with counted_lines() as counted:
            find_closed_plans(model)
        lines.append(counted.count)

    assert lines[1] < 2.5 * lines[0]
