"""What an evaluation held is freed at once when it is released, and not by a garbage collection."""

import gc

import pytest

from magistrate.engine.evaluation.evaluation import Evaluation
from magistrate.engine.evaluation.nodes import CheckEdge, CheckNode
from magistrate.engine.work import Work
from tests.engine.group_graphs import TYPES, Shape, chain, clique
from tests.memory_source import PLENTY, model_of, rows_of
from tests.operations.stored_warrants import question
from tests.scenario_files import stored_warrant


def count_nodes() -> int:
    return sum(isinstance(one, CheckNode | CheckEdge) for one in gc.get_objects())


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("shape", [chain, clique])
def test_a_released_evaluation_leaves_no_node_behind(shape: Shape) -> None:
    written = [*shape(40), "document:1#viewer@group:0#member"]
    warrants = [stored_warrant(one, number, 0) for number, one in enumerate(written, 1)]
    before = count_nodes()

    evaluation = Evaluation(model_of(TYPES, warrants), 0, Work(PLENTY))
    root = evaluation.add_check(question("document:1#viewer@user:nobody"))
    while root is None or root.value is None:
        evaluation.work.pass_checkpoint()
        reads = evaluation.advance()
        if reads:
            evaluation.take([rows_of(warrants, read) for read in reads])
    while_held = count_nodes()
    root = None
    for _ in evaluation.release():
        pass

    assert while_held > before + 40
    assert count_nodes() == before
