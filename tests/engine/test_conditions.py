"""The work that policies make is charged, and others get their turn in between: in checks and in queries."""

from collections.abc import Callable, Sequence

import pytest

from magistrate.engine.evaluation.check import Check
from magistrate.engine.evaluation.conditions import POLICY_STEPS_FOR_A_NODE, PolicyEvaluator
from magistrate.engine.evaluation.evaluation import Evaluation
from magistrate.engine.lists.language import read_query
from magistrate.engine.lists.query_search import begin_search
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.policy.policy import read_policy
from magistrate.engine.policy.run import MAX_STEPS, STEPS_AT_ONCE
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import object_ref
from magistrate.engine.truth import TRUE, UNKNOWN
from magistrate.engine.warrants.reader import AnyRead
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import WORK_BETWEEN_CHECKPOINTS, Work
from magistrate.errors import BudgetExceeded
from tests.conftest import list_by_day
from tests.engine.policy.hostile import READABLE
from tests.memory_source import PLENTY, Relations, model_of, rows_of
from tests.scenario_files import stored_warrant

TYPES: dict[str, Relations] = {"user": {}, "document": {"viewer": {}, "editor": {}}}
LONG = "a" + " && a" * 800
LOOP = "all(1..100, # < a)"


def conditioned(written: str, policy: str, number: int) -> Warrant:
    return stored_warrant(f"{written}[{policy}]", number, 0)


def on_one_object(number: int) -> list[Warrant]:
    """Of one document, all with policies of their own."""
    return [conditioned("document:plan#viewer@user:ann", f"{LONG} && a != {n}", n) for n in range(number)]


def on_many_objects(number: int) -> list[Warrant]:
    return [conditioned(f"document:d{n}#viewer@user:ann", f"{LONG} || a == {n}", n) for n in range(number)]


def to_many_subjects(number: int) -> list[Warrant]:
    return [conditioned(f"document:plan#viewer@user:u{n}", f"{LONG} || {n} == a", n) for n in range(number)]


@pytest.mark.parametrize("policy", [LONG, "a" * 100, LOOP, READABLE["elements"], READABLE["sum"]])
def test_what_a_policy_runs_through_is_charged(policy: str) -> None:
    work = Work(PLENTY)
    [warrant] = [conditioned("document:plan#viewer@user:ann", policy, 1)]
    compiled = read_policy(policy)
    compiled.outcome({"a": True}, warrant, 0)  # compiles it for this type
    steps = compiled.outcome({"a": True}, warrant, 0).steps

    PolicyEvaluator({"a": True}, 0, work).value(warrant)

    assert work.cost == 1 + (compiled.weight + steps) // POLICY_STEPS_FOR_A_NODE


def test_many_short_policies_are_charged_one_by_one() -> None:
    work = Work(PLENTY)
    conditions = PolicyEvaluator({"a": 1}, 0, work)
    for number in range(100):
        read_policy("a == 1")
        conditions.value(conditioned(f"document:d{number}#viewer@user:ann", "a == 1", number))

    assert work.cost >= 100


def test_reading_a_policy_is_charged_by_its_length_and_ends_the_turn_if_it_is_long() -> None:
    work = Work(PLENTY)
    text = "unread == 1" + " " * (4_096 - 11)

    PolicyEvaluator({}, 0, work).value(conditioned("document:plan#viewer@user:ann", text, 1))

    assert 2_000 < work.cost < 2_200  # read as it was written, and then for the types of the context
    assert work.needs_checkpoint


def test_policies_that_are_too_much_work_end_the_check() -> None:
    warrants = on_one_object(200)

    with pytest.raises(BudgetExceeded):
        check_turns(warrants, {"a": False}, Work(2_000))


def test_a_policy_that_cannot_be_read_any_more_is_unknown_and_read_once() -> None:
    work = Work(PLENTY)
    conditions = PolicyEvaluator({}, 0, work)
    values = [conditions.value(conditioned("document:plan#viewer@user:ann", "unreadable = 1", n)) for n in range(5)]

    assert values == [UNKNOWN] * 5
    assert work.cost < 10


Turns = Callable[[Sequence[Warrant], dict[str, object], Work], int]


def check_turns(warrants: Sequence[Warrant], context: dict[str, object], work: Work) -> int:
    evaluation = Evaluation(model_of(TYPES, warrants), 0, work)
    ann = Subject(TypeName("user"), ObjectId("ann"))
    node = evaluation.add_check(Check(object_ref("document", "plan"), RelationName("viewer"), ann, context))
    assert node is not None
    turns = 0
    while node.value is None:
        turns += 1
        work.pass_checkpoint()
        reads = evaluation.advance()
        if reads:
            evaluation.take(rows(warrants, reads))
    return turns


def query_turns(text: str) -> Turns:
    def turns_of(warrants: Sequence[Warrant], context: dict[str, object], work: Work) -> int:
        search = begin_search(model_of(TYPES, warrants), read_query(text), context, 0, work)
        turns = 0
        while search.outcome() is None:
            turns += 1
            reads = search.advance()
            if reads:
                search.take(rows(warrants, reads))
        return turns

    return turns_of


def rows(warrants: Sequence[Warrant], reads: Sequence[AnyRead]) -> list[list[Warrant]]:
    return [rows_of(warrants, read) for read in reads]


@pytest.mark.parametrize(
    ("turns_of", "warrants"),
    list_by_day(
        [
            (check_turns, on_one_object),
            (query_turns("select document where user:ann is viewer"), on_many_objects),
            (query_turns("select viewer of type user for document:plan"), to_many_subjects),
        ],
        1,
    ),
)
def test_other_requests_run_between_policies(turns_of: Turns, warrants: Callable[[int], list[Warrant]]) -> None:
    """Cold, each of them ends a time slice or nearly so; warm, about twenty fit into one."""
    given = warrants(150)
    cold, warm = Work(PLENTY), Work(PLENTY)

    cold_turns = turns_of(given, {"a": False}, cold)
    warm_turns = turns_of(given, {"a": False}, warm)

    assert cold_turns >= 75
    assert warm_turns >= 5
    assert warm.cost >= 150 * 800 // POLICY_STEPS_FOR_A_NODE
    assert warm.cost <= (warm_turns + 1) * (WORK_BETWEEN_CHECKPOINTS + 100)


LONG_LOOP = "none(1..30000, # < a)"


def test_a_long_evaluation_ends_the_turn_and_is_left_to_a_thread() -> None:
    work = Work(PLENTY)
    conditions = PolicyEvaluator({"a": 0}, 0, work)
    warrant = conditioned("document:plan#viewer@user:ann", LONG_LOOP, 1)

    assert not conditions.attempt(warrant)
    assert work.needs_checkpoint
    step = work.take_offloaded_step()
    assert step is not None
    step()
    work.pass_checkpoint()

    assert conditions.attempt(warrant)
    assert conditions.value(warrant) is TRUE
    assert work.take_offloaded_step() is None
    assert work.cost > STEPS_AT_ONCE // POLICY_STEPS_FOR_A_NODE


def test_a_long_evaluation_that_no_thread_takes_is_completed_by_the_next_attempt() -> None:
    conditions = PolicyEvaluator({"a": 0}, 0, Work(PLENTY))
    warrant = conditioned("document:plan#viewer@user:ann", LONG_LOOP, 1)

    assert [conditions.attempt(warrant) for _ in range(2)] == [False, True]
    assert conditions.value(warrant) is TRUE


def test_an_evaluation_that_needs_more_than_all_steps_is_unknown_wherever_it_is_made() -> None:
    work = Work(PLENTY)
    conditions = PolicyEvaluator({"a": 0}, 0, work)
    warrant = conditioned("document:plan#viewer@user:ann", "none(1..1000, any(1..1000, # < a))", 1)

    attempts = [conditions.attempt(warrant) for _ in range(2)]

    assert attempts == [False, True]
    assert conditions.value(warrant) is UNKNOWN
    assert work.cost > MAX_STEPS // POLICY_STEPS_FOR_A_NODE


@pytest.mark.parametrize(
    ("turns_of", "text"),
    [
        (check_turns, "document:plan#viewer@user:ann"),
        (query_turns("select document where user:ann is viewer"), "document:plan#viewer@user:ann"),
        (query_turns("select viewer of type user for document:plan"), "document:plan#viewer@user:ann"),
        (query_turns("select viewer of type user for document:plan"), "document:plan#viewer@document:b#editor"),
    ],
)
def test_no_search_waits_for_a_long_evaluation(turns_of: Turns, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes a thread; here, the first step of the next turn does the same."""
    left: list[object] = []
    offload = Work.offload

    def note(work: Work, step: Callable[[], object]) -> None:
        left.append(step)
        offload(work, step)

    monkeypatch.setattr(Work, "offload", note)
    warrants = [conditioned(text, f"none(1..30000, # < a - {number})", number) for number in range(5)]

    turns = turns_of(warrants, {"a": 0}, Work(PLENTY))

    assert len(left) == 5
    assert turns > 5


def test_a_stored_policy_that_could_not_be_written_any_more_keeps_its_meaning() -> None:
    [warrant] = [conditioned("document:plan#viewer@user:ann", "limit ?? 10 > 5", 1)]

    assert PolicyEvaluator({}, 0, Work(PLENTY)).value(warrant) is TRUE
    assert PolicyEvaluator({"limit": 3}, 0, Work(PLENTY)).value(warrant) is not TRUE
