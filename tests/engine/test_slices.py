"""No time slice of an evaluation is long, however many groups a group has, and whatever connects them."""

from collections.abc import Iterator, Sequence
from itertools import chain

import pytest

from magistrate.engine.check import Check
from magistrate.engine.evaluation import Evaluation
from magistrate.engine.facts import WARRANTS_BETWEEN_CHECKPOINTS, Facts
from magistrate.engine.read_requests import build_request
from magistrate.engine.terms import ObjectId, ObjectRef, RelationName, Subject, TypeName
from magistrate.engine.truth import FALSE
from magistrate.engine.warrant_reader import WarrantRead
from magistrate.engine.warrants import Warrant
from magistrate.engine.work import Work
from tests.calls import count_calls
from tests.memory_source import PLENTY, model_of
from tests.scenario_files import stored_warrant

MANY = 8_000
GROUP, USER = TypeName("group"), TypeName("user")
MEMBER = RelationName("member")
MOST_CALLS = 12_000
"""Limits the function calls between two looks at the clock."""


def always() -> bool:
    return True


def many_groups(pattern: str) -> list[str]:
    return [pattern.format(number) for number in range(MANY)]


def by_object(warrants: Sequence[Warrant], read: WarrantRead) -> list[Warrant]:
    wanted = {*(read.ids or ())}
    return [one for one in warrants if one.object_id in wanted and one.subject_relation]


@pytest.mark.parametrize(
    "warrants",
    [
        pytest.param(["group:{}#member@group:root#member", "group:root#member@group:{}#member"], id="in circles"),
        pytest.param(["group:root#member@group:{}#member"], id="without members"),
    ],
)
def test_each_time_slice_of_a_check_of_many_groups_makes_few_calls(warrants: list[str]) -> None:
    written = [*chain.from_iterable(map(many_groups, warrants))]
    stored = [stored_warrant(text, number, 0) for number, text in enumerate(written, 1)]
    model = model_of({"user": {}, "group": {"member": {}}}, stored)
    work = Work(PLENTY, is_time_up=always)
    evaluation = Evaluation(model, 0, work)
    node = evaluation.add_check(Check(ObjectRef(GROUP, ObjectId("root")), MEMBER, Subject(USER, ObjectId("ann"))))
    assert node is not None
    most = 0

    while node.value is None:
        work.pass_checkpoint()
        reads, calls = count_calls(evaluation.advance)
        most = max(most, calls)
        if reads:
            evaluation.take([by_object(stored, read) for read in reads])

    assert node.value is FALSE
    assert most < MOST_CALLS


def pauses_of(ids: int, warrants_each: int) -> Iterator[int]:
    """The work before each pause while so many rows are taken."""
    model = model_of({"user": {}, "group": {"member": {}}}, [stored_warrant("group:a#member@user:ann", 1, 0)])
    facts = Facts(model.counts)
    request = build_request(GROUP, model.patterns, USER)
    assert request is not None
    read = WarrantRead(request, tuple(ObjectId(str(number)) for number in range(ids)))
    rows = [stored_warrant(f"group:{id}#member@user:{n}", n, 0) for id in range(ids) for n in range(warrants_each)]
    return facts.take([read], [rows])


@pytest.mark.parametrize(("ids", "warrants_each"), [(1, 20_000), (2_000, 10)])
def test_rows_are_taken_in_steps(ids: int, warrants_each: int) -> None:
    assert len([*pauses_of(ids, warrants_each)]) >= ids * warrants_each // WARRANTS_BETWEEN_CHECKPOINTS
