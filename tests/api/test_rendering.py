"""Large answers are rendered in steps, to the same bytes as at once."""

import sys
from typing import Any

import msgspec
import pytest

from magistrate.api.endpoints.lists import ListAnswer
from magistrate.api.fga.views import FgaListAnswer, FgaListMetadata
from magistrate.api.http import json_values as render
from magistrate.api.http.json_values import ELEMENTS_AT_ONCE, render_in_steps, render_json
from tests.running import Client


class Misleading(msgspec.Struct):
    """Has what a caller wrote before the long array, which has its name."""

    context: dict[str, Any]
    results: list[Any]
    others: list[Any] = []


MANY = 3 * ELEMENTS_AT_ONCE + 7
ROWS = [{"a": '"results":[]', "b": [number, "ü"]} for number in range(MANY)]
METADATA = FgaListMetadata(None, "x")


def list_answers(rows: list[Any]) -> list[object]:
    return [
        rows,
        ListAnswer(rows),
        ListAnswer(rows, '"results":[]', "after"),
        FgaListAnswer(object="list", data=rows, list_metadata=METADATA),
        {"rows": rows},
        Misleading({"results": []}, rows),
        Misleading({"results": ["a"]}, rows, rows[:3]),
    ]


@pytest.mark.anyio
@pytest.mark.parametrize("count", [0, 1, ELEMENTS_AT_ONCE, ELEMENTS_AT_ONCE + 1, 2 * ELEMENTS_AT_ONCE, MANY])
async def test_an_answer_is_rendered_to_the_same_bytes(count: int) -> None:
    for value in list_answers(ROWS[:count]):
        assert bytes(await render_in_steps(value)) == render_json(value)


@pytest.mark.anyio
async def test_others_run_between_the_elements_of_a_long_array(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = [0]

    async def pass_checkpoint() -> None:
        turns.append(0)

    monkeypatch.setattr(render, "checkpoint", pass_checkpoint)
    monkeypatch.setattr(render, "is_time_up", lambda: True)

    await render_in_steps(ListAnswer(ROWS))

    assert len(turns) == -(-MANY // ELEMENTS_AT_ONCE)


@pytest.mark.parametrize("path", ["/v2/objects", "/v1/objects", "/v2/resource-events", "/fga/v1/resources"])
def test_a_large_page_arrives_as_it_was_rendered(client: Client, path: str) -> None:
    for start in range(0, 200, 100):
        meta = [{"text": "x" * 5_000, "number": number} for number in range(start, start + 100)]
        refs = [{"objectType": "doc", "objectId": f"o{one['number']:03}", "meta": one} for one in meta]
        client.post("/v2/objects", json=refs).raise_for_status()

    plain = {"Accept-Encoding": "identity"}
    large, small = (client.get(path, params={"limit": limit}, headers=plain) for limit in (100, 20))
    rows, few = (list_rows(answer.json()) for answer in (large, small))

    assert (len(rows), rows[:20]) == (100, few)
    assert int(large.headers["Content-Length"]) == len(large.content) > 100_000
    assert large.content.endswith(b"\n")


def list_rows(value: Any) -> list[Any]:
    rows: list[Any] = value if isinstance(value, list) else value.get("results", value.get("data"))
    return rows


def test_what_was_rendered_takes_no_memory_afterwards() -> None:
    value = {"code": 200, "result": "Authorized"}

    def measure() -> int:
        before = sys.getallocatedblocks()
        for _ in range(1_000):
            render_json(value)
        return sys.getallocatedblocks() - before

    assert min(measure() for _ in range(5)) < 100  # other threads of the process allocate, too
