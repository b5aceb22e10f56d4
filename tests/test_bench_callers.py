"""What `./run bench --only callers` counts: a check with a stored key costs what one with an operator's key does, and
little more if the key is limited to object types, or with a rate limit."""

from pathlib import Path

import pytest

from benchmarks.callers import KINDS, MOST_OF_RATE_LIMIT, RATE_LIMITED, TARGET, count_instructions

pytestmark = pytest.mark.anyio


async def test_a_cached_check_with_a_stored_key_is_as_cheap_as_with_an_operators_key(tmp_path: Path) -> None:
    counts = await count_instructions(f"sqlite:///{tmp_path}/m.db")

    operator, stored, limited = (counts[kind] for kind in KINDS)
    assert stored <= TARGET * operator
    assert limited <= TARGET * operator
    assert counts[RATE_LIMITED] <= operator + MOST_OF_RATE_LIMIT
