"""Policies that take long are evaluated in threads, so that other requests do not wait for them."""

import threading
from collections import Counter

import pytest

from magistrate.engine.evaluation.check import Check
from magistrate.engine.lists.language import read_query
from magistrate.engine.policy import policy
from magistrate.engine.policy.environment import Environment
from magistrate.engine.policy.node import PolicyNode
from magistrate.engine.policy.policy import MAX_BYTES, TextCache
from magistrate.engine.policy.run import STEPS_AT_ONCE, PolicyRun
from magistrate.operations.checks.check import check_all
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.lists.evaluators import QueryRequest
from magistrate.operations.lists.query import QUERY_LIST, list_page
from magistrate.operations.paging import read_page_request
from tests.operations.node import Node
from tests.operations.stored_warrants import question

pytestmark = pytest.mark.anyio

WRITTEN_LONG = " && ".join(["a != {0}", *(f"b != {number}" for number in range(300))])
LONG = "none(1..30000, # < a - {0})"
NUMBER = 3


class Steps:
    """Counts the steps of all evaluations, by thread."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.by_thread: Counter[int] = Counter()
        charge = PolicyRun.charge

        def count(run: PolicyRun, steps: int) -> None:
            self.by_thread[threading.get_ident()] += steps
            charge(run, steps)

        monkeypatch.setattr(PolicyRun, "charge", count)

    def of_this_thread(self) -> int:
        return self.by_thread[threading.get_ident()]


@pytest.fixture
async def granted(node: Node) -> Node:
    await node.grant(*(f"folder:f#viewer@user:ann[{LONG.format(number)}]" for number in range(NUMBER)))
    return node


async def test_a_check_evaluates_long_policies_in_a_thread(granted: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(monkeypatch)

    for context, is_allowed in (({"a": 100_000}, False), ({"a": 0}, True)):
        asked = question("folder:f#viewer@user:ann")
        found = await check_all(granted.ctx, [Check(asked.object, asked.relation, asked.subject, context)], NO_DEMAND)
        assert found.value[0].is_authorized is is_allowed

    assert steps.by_thread.total() - steps.of_this_thread() >= 30_000
    # Each policy is attempted with the graph and without.
    assert steps.of_this_thread() <= 2 * 2 * NUMBER * (STEPS_AT_ONCE + 10)


async def test_a_query_evaluates_long_policies_in_a_thread(granted: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(monkeypatch)

    wanted = read_page_request(QUERY_LIST, {}, granted.ctx.store.identity)
    request = QueryRequest(read_query("select folder where user:ann is viewer"), {"a": 0})
    page = (await list_page(granted.ctx, request, wanted, NO_DEMAND)).value

    assert [found.row.id for found in page.rows] == ["f"]
    assert steps.by_thread.total() - steps.of_this_thread() >= NUMBER * 30_000
    assert steps.of_this_thread() <= NUMBER * (STEPS_AT_ONCE + 10)


@pytest.fixture
async def compiled_in(node: Node, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The threads in which policies were parsed or compiled since three long ones were written and evicted."""
    policies = [WRITTEN_LONG.format(number) for number in range(NUMBER)]
    await node.grant(*(f"folder:f#viewer@user:ann[{text}]" for text in policies))
    for cache in ("_POLICIES", "_PROGRAMS"):
        monkeypatch.setattr(policy, cache, TextCache(MAX_BYTES))
    threads: list[int] = []
    compile_text = policy.compile_text

    def count(text: str, environment: Environment) -> PolicyNode:
        threads.append(threading.get_ident())
        return compile_text(text, environment)

    monkeypatch.setattr(policy, "compile_text", count)
    return threads


@pytest.mark.parametrize("is_query", [True, False])
async def test_long_policies_are_parsed_and_compiled_in_a_thread(
    node: Node, compiled_in: list[int], is_query: bool
) -> None:
    context = {"a": -1, "b": 299}  # of which all are false

    for _ in range(2):
        if is_query:
            wanted = read_page_request(QUERY_LIST, {}, node.ctx.store.identity)
            request = QueryRequest(read_query("select folder where user:ann is viewer"), context)
            assert (await list_page(node.ctx, request, wanted, NO_DEMAND)).value.rows == []
        else:
            asked = question("folder:f#viewer@user:ann")
            found = await check_all(node.ctx, [Check(asked.object, asked.relation, asked.subject, context)], NO_DEMAND)
            assert not found.value[0].is_authorized

    assert len(compiled_in) == 2 * NUMBER
    assert threading.get_ident() not in compiled_in
