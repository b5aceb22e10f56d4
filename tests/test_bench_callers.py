"""What `./run bench --only callers` counts: a check with a stored key costs what one with an operator's key does, and
little more if the key is limited to object types, or with a rate limit. Next to nothing of it is in the code of
limits."""

from pathlib import Path

import pytest

from benchmarks.callers import (
    KINDS,
    MAX_OF_RATE_LIMIT,
    RATE_LIMITED,
    TARGET,
    count_instructions,
    count_instructions_of_limits,
)
from benchmarks.limit_steps import LIMITS, MAX_OF_LIMITS, SOURCE

pytestmark = pytest.mark.anyio


async def test_a_cached_check_with_a_stored_key_is_as_cheap_as_with_an_operators_key(tmp_path: Path) -> None:
    counts = await count_instructions(f"sqlite:///{tmp_path}/m.db")

    operator, stored, limited = (counts[kind] for kind in KINDS)
    assert stored <= TARGET * operator
    assert limited <= TARGET * operator
    assert counts[RATE_LIMITED] <= operator + MAX_OF_RATE_LIMIT


async def test_of_a_cached_check_two_percent_at_most_are_in_the_code_of_limits(tmp_path: Path) -> None:
    total, of_limits = await count_instructions_of_limits(f"sqlite:///{tmp_path}/m.db")

    assert all((SOURCE / name).is_file() for name in LIMITS)
    assert 0 < of_limits <= MAX_OF_LIMITS * total
