"""What `./run bench --only gateways` counts: a cached decision of a gateway costs about what the same check does."""

from pathlib import Path

import pytest

from benchmarks.gateways import TARGET, count_instructions

pytestmark = pytest.mark.anyio


async def test_cached_decisions_take_about_as_many_instructions_as_the_same_checks(tmp_path: Path) -> None:
    counted = await count_instructions(f"sqlite:///{tmp_path}/m.db")

    assert len(counted) == 8
    dearer = {name: own / other for name, (own, other) in counted.items() if own > TARGET * other}
    assert dearer == {}
