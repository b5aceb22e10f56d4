"""Relations that depend on each other for thousands of them: decided, found and described, with yields to others."""

from collections.abc import Callable
from typing import Protocol, TypeVar

import pytest

from magistrate.engine.evaluation.check import Check
from magistrate.engine.evaluation.evaluation import Evaluation
from magistrate.engine.evaluation.nodes import CheckNode
from magistrate.engine.lists.language import read_query
from magistrate.engine.lists.query_search import begin_search
from magistrate.engine.lists.results import Findings
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import Operation
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.steps import Run
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import FALSE, TRUE
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import WORK_BETWEEN_CHECKPOINTS, Work
from tests.calls import count_calls
from tests.chains import CHAINS, EVERY_CHAIN, WARRANTS, Chain, combined, on_parent, same
from tests.memory_source import PLENTY, found_paths, model_of, rows_of
from tests.scenario_files import stored_warrant

LONG = 2_500
MAX_CALLS = 300_000
"""In a time slice."""

T = TypeVar("T")

WIDE = Chain(lambda name, place: combined("anyOf", same(name), on_parent(name)))
"""Each relation has the links of all that come after it."""


class TurnRunner(Protocol):
    """How a time slice is run."""

    def __call__(self, turn: Callable[[], T]) -> T: ...


def plainly(turn: Callable[[], T]) -> T:
    return turn()


class CallsInTurns:
    """Of functions: `sum` in all turns that were run, `most` in one of them."""

    def __init__(self) -> None:
        self.sum = self.most = 0

    def __call__(self, turn: Callable[[], T]) -> T:
        outcome, calls = count_calls(turn)
        self.sum, self.most = self.sum + calls, max(self.most, calls)
        return outcome


def warrants_of(length: int) -> list[Warrant]:
    written = (f"doc:d#r{length}@user:ann", *WARRANTS)
    return [stored_warrant(one, number, 0) for number, one in enumerate(written, 1)]


def model_with(chain: Chain, length: int) -> Model:
    return model_of({"doc": chain.relations(length), "user": {}}, warrants_of(length))


def question(relation: str, user: str) -> Check:
    subject = Subject(TypeName("user"), ObjectId(user))
    return Check(ObjectRef(TypeName("doc"), ObjectId("d")), RelationName(relation), subject)


def decided(model: Model, asked: Check, warrants: list[Warrant], run: TurnRunner = plainly) -> CheckNode:
    work = Work(PLENTY)
    evaluation = Evaluation(model, 0, work)
    node = None
    while node is None or node.value is None:
        work.pass_checkpoint()
        if node is None:
            node = run(lambda: evaluation.add_check(asked))
        elif reads := run(evaluation.advance):
            evaluation.take([rows_of(warrants, read) for read in reads])
    return node


def searched(model: Model, text: str, warrants: list[Warrant], run: TurnRunner = plainly) -> Findings:
    search: Run[Findings] = begin_search(model, read_query(text), {}, 0, Work(10 * PLENTY))
    while (findings := search.outcome()) is None:
        if reads := run(search.advance):
            search.take([rows_of(warrants, read) for read in reads])
    return findings


def found(findings: Findings, wanted: str) -> set[str]:
    """The relations with which an id was found."""
    existing = [ObjectId("d"), ObjectId("ann"), ObjectId("bob")]
    listed = [one for one in findings.relation_results or () if one.type is not None]
    return {one.relation for one in listed if wanted in [*one.ids(existing)]}


@EVERY_CHAIN
def test_the_first_of_a_chain_is_decided_and_found_by_the_last(name: str) -> None:
    chain, warrants = CHAINS[name], warrants_of(LONG)
    model, holds = model_with(chain, LONG), "r0" in chain.holding(LONG)

    node = decided(model, question("r0", "ann"), warrants)
    objects = searched(model, "select doc where user:ann is r0", warrants)
    subjects = searched(model, "select r0 of type user for doc:d", warrants)

    assert node.value == (TRUE if holds else FALSE)
    assert (found(objects, "d"), found(subjects, "ann")) == (({"r0"}, {"r0"}) if holds else (set(), set()))
    if name in ("inheritIf", "allOf", "links"):
        [path] = found_paths(model, warrants, [question("r0", "ann")])
        assert path is not None
        assert path[0].relation == f"r{LONG}"
        assert decided(model, question("r0", "bob"), warrants).value == FALSE


@EVERY_CHAIN
def test_no_step_in_a_chain_is_long(name: str) -> None:
    chain, warrants, turns = CHAINS[name], warrants_of(1_000), CallsInTurns()

    decided(model_with(chain, 1_000), question("r0", "ann"), warrants, turns)
    for text in ("select doc where user:ann is *", "select * of type user for doc:d"):
        searched(model_with(chain, 1_000), text, warrants, turns)

    assert turns.most < MAX_CALLS


@EVERY_CHAIN
@pytest.mark.parametrize("text", ["select doc where user:ann is *", "select * of type user for doc:d"])
def test_all_relations_of_a_chain_are_found_with_work_that_grows_like_the_chain(name: str, text: str) -> None:
    chain = CHAINS[name]
    calls: dict[int, int] = {}

    for length in (200, 400):
        turns = CallsInTurns()
        findings = searched(model_with(chain, length), text, warrants_of(length), turns)
        calls[length] = turns.sum
        all_found = found(findings, "d" if text.startswith("select doc") else "ann")
        assert all_found - {"other", "parent"} == chain.holding(length)

    assert calls[400] < 2.4 * calls[200]


@pytest.mark.parametrize("chain", [CHAINS["inheritIf"], CHAINS["allOf"], WIDE], ids=["inheritIf", "allOf", "wide"])
def test_compiling_is_charged_and_grows_like_the_chain(chain: Chain) -> None:
    spent: dict[int, int] = {}
    calls: dict[int, int] = {}

    for length in (200, 400):
        model, work = model_with(chain, length), Work(PLENTY)
        calls[length] = count_calls(lambda: compile_all(model, length, work))[1]  # noqa: B023 - called at once
        spent[length] = work.cost

    assert calls[400] < 2.2 * calls[200]
    assert spent[400] < 2.2 * spent[200]
    assert calls[400] < 40 * spent[400]


def compile_all(model: Model, length: int, work: Work) -> None:
    for place in range(length):
        while not model.prepare(TypeName("doc"), RelationName(f"r{place}"), work):
            work.pass_checkpoint()


def test_compiling_goes_on_where_it_was_left() -> None:
    relations = {**{f"r{place}": {} for place in range(20_000)}, "all": combined("allOf", *map(same, names(20_000)))}
    model = model_of({"doc": relations})
    turns = 0
    done = False

    while not done:
        work = Work(WORK_BETWEEN_CHECKPOINTS)
        done = model.prepare(TypeName("doc"), RelationName("all"), work)
        turns += 1

    [gate] = model.plan(TypeName("doc"), RelationName("all")).branches
    assert turns > 2
    assert isinstance(gate, Operation)
    assert len(gate.branches) == 20_000


def names(count: int) -> list[str]:
    return [f"r{place}" for place in range(count)]
