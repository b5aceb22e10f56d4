"""Whoever writes many policies at once leaves others their turn."""

import json
import threading
from collections.abc import Awaitable
from functools import partial
from itertools import count

import pytest

from magistrate.api.calls import Call
from magistrate.api.endpoints import warrants
from magistrate.api.endpoints.warrant_lines import read_line
from magistrate.api.endpoints.warrants import SubjectBody, WarrantBody
from magistrate.engine.policy import policy
from magistrate.engine.policy.policy import MAX_BYTES, TextCache
from magistrate.errors import InvalidParameter
from magistrate.operations.context import Context
from magistrate.operations.importing.chunk import Chunk, line_refused
from magistrate.operations.keys.callers import ALL_SCOPES, Caller
from magistrate.operations.models.object_types import put_object_types
from magistrate.store.contract.store import Store
from magistrate.wiring.contexts import context_of
from tests.event_loop_turns import counted_turns
from tests.memory_source import model_of
from tests.running import settings_for

pytestmark = pytest.mark.anyio

LONG = " && a" * 800
FRESH = count()
"""Makes policies that nobody has read yet."""


@pytest.fixture
async def context(store: Store, database_url: str) -> Context:
    ctx = context_of(store, settings_for(database_url))
    types = model_of({"user": {}, "document": {"viewer": {}}}).types
    await put_object_types(ctx, list(types.values()), ctx.stamp("ann"))
    return ctx


async def turns_during(work: Awaitable[object]) -> int:
    """How often another task gets its turn before this is done."""
    with counted_turns() as turns:
        await work
    return turns.count


def body(**members: object) -> WarrantBody:
    subject = SubjectBody("user", "ann")
    return WarrantBody("document", "plan", "viewer", subject, **members)  # type: ignore[arg-type]  # checked there


async def create(ctx: Context, bodies: list[WarrantBody]) -> None:
    await warrants.create(Call(context=ctx, caller=Caller("ann", ALL_SCOPES), body=bodies))


async def refused(ctx: Context, bodies: list[WarrantBody]) -> None:
    """For its last element, before anything is waited for."""
    with pytest.raises(InvalidParameter) as caught:
        await create(ctx, bodies)
    assert caught.value.parameter == f"[{len(bodies) - 1}].policy"


WRONG = WarrantBody("document", "plan", "viewer", SubjectBody("user", "ann"), policy="a = 1")


async def test_other_requests_run_between_two_policies_of_a_request(context: Context) -> None:
    bodies = [body(policy=f"a != {next(FRESH)}{LONG}") for _ in range(99)]

    assert await turns_during(refused(context, [*bodies, WRONG])) >= 99


@pytest.mark.parametrize("cached_bytes", [1, MAX_BYTES])
async def test_long_policies_of_a_request_are_parsed_in_a_thread(
    context: Context, monkeypatch: pytest.MonkeyPatch, cached_bytes: int
) -> None:
    monkeypatch.setattr(policy, "_POLICIES", TextCache(cached_bytes))
    threads: list[int] = []
    compile_policy = policy.compile_policy

    def compile_and_note(text: str) -> policy.Policy:
        threads.append(threading.get_ident())
        return compile_policy(text)

    monkeypatch.setattr(policy, "compile_policy", compile_and_note)
    await create(context, [body(policy=f"a != {next(FRESH)}{LONG}") for _ in range(5)])

    assert len(threads) == 5
    assert threading.get_ident() not in threads


async def test_other_requests_run_between_two_contexts_of_a_request(context: Context) -> None:
    bodies = [body(context={"a": f"{next(FRESH)}" + "x" * 3_000}) for _ in range(99)]

    assert await turns_during(refused(context, [*bodies, WRONG])) >= 99


async def test_the_first_policy_that_is_wrong_is_reported(context: Context) -> None:
    bodies = [body(policy=f"a != {next(FRESH)}{LONG}" + " +" * (number >= 50)) for number in range(100)]

    with pytest.raises(InvalidParameter, match="unexpected token EOF") as caught:
        await create(context, bodies)

    assert caught.value.parameter == "[50].policy"


async def test_other_requests_run_between_the_policies_of_an_import(context: Context) -> None:
    subject = {"objectType": "user", "objectId": "ann"}
    line = {"objectType": "document", "objectId": "plan", "relation": "viewer", "subject": subject}
    texts = [json.dumps(line | {"policy": f"a == {next(FRESH)}{LONG}"}).encode() for _ in range(100)]

    work = Chunk.read(context, dict(enumerate(texts, 1)), partial(read_line, context, 20), line_refused)

    assert await turns_during(work) >= 100
