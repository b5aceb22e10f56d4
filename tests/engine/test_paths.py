"""Paths of checks that are long, wide, or too much for the budget."""

import pytest

from magistrate.engine.evaluation.check import Check
from magistrate.engine.evaluation.evaluation import Evaluation
from magistrate.engine.evaluation.nodes import CheckNode, EvaluationScope
from magistrate.engine.evaluation.paths import PathSearch
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work
from magistrate.errors import BudgetExceeded
from tests.memory_source import PLENTY, Relations, found_paths, model_of, rows_of

FOLDERS: dict[str, Relations] = {
    "user": {},
    "folder": {
        "parent": {},
        "owner": {},
        "viewer": {
            "inheritIf": "anyOf",
            "rules": [{"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}, {"inheritIf": "owner"}],
        },
    },
}
ASKED = Check(
    ObjectRef(TypeName("folder"), ObjectId("0")), RelationName("viewer"), Subject(TypeName("user"), ObjectId("ann"))
)


def warrant(number: int, object_id: str, relation: str, subject_type: str, subject: str) -> Warrant:
    folder, user = TypeName("folder"), TypeName(subject_type)
    return Warrant(folder, ObjectId(object_id), RelationName(relation), user, ObjectId(subject), "", "", 0, number)


def chain(length: int) -> list[Warrant]:
    """Folders in each other; ann owns the first and the last of them."""
    links = [warrant(number, str(number), "parent", "folder", str(number + 1)) for number in range(length)]
    return [
        *links,
        warrant(length, "0", "owner", "user", "ann"),
        warrant(length + 1, str(length), "owner", "user", "ann"),
    ]


def decided(warrants: list[Warrant], work: Work) -> tuple[Evaluation, CheckNode]:
    evaluation = Evaluation(model_of(FOLDERS, warrants), 0, work, EvaluationScope(with_paths=True))
    while (node := evaluation.add_check(ASKED)) is None:
        work.pass_checkpoint()
    while (reads := evaluation.advance()) != []:
        work.pass_checkpoint()
        if reads:
            evaluation.take([rows_of(warrants, read) for read in reads])
    return evaluation, node


def test_the_first_rule_is_followed_to_the_end_of_a_long_chain() -> None:
    warrants = chain(300)

    [path] = found_paths(model_of(FOLDERS, warrants), warrants, [ASKED])

    assert path == [warrants[-1], *reversed(warrants[:300])]


def test_finding_paths_is_charged_and_yields() -> None:
    work = Work(PLENTY)
    warrants = chain(300)
    evaluation, node = decided(warrants, work)
    before = work.left
    search = PathSearch(evaluation.model, [node], work)

    for _ in search.prepare():
        work.pass_checkpoint()
    for _ in search.find(node):
        work.pass_checkpoint()

    assert before - work.left >= 4 * 300


def test_a_path_that_costs_more_than_the_budget_is_not_found() -> None:
    evaluation, node = decided(chain(300), Work(PLENTY))

    with pytest.raises(BudgetExceeded):
        for _ in PathSearch(evaluation.model, [node], Work(300)).prepare():
            pass
