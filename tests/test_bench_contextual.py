"""What a check with contextual warrants costs that no check had before, in instructions of the interpreter."""

from pathlib import Path

import pytest

from benchmarks.contextual_warrants import count_instructions

pytestmark = pytest.mark.anyio

MAX_OF_NONE = 4
MAX_OF_ONE = 1.1


async def test_a_hundred_new_contextual_warrants_take_about_as_many_instructions_as_one(tmp_path: Path) -> None:
    counted = await count_instructions(f"sqlite:///{tmp_path}/m.db")

    dearer = {number: counted[number] for number in (10, 100) if counted[number] > MAX_OF_ONE * counted[1]}
    assert dearer == {}, counted
    assert counted[100] <= MAX_OF_NONE * counted[0], counted
