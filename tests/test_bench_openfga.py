"""What `./run bench --only openfga` counts: cached checks cost about what the same checks of /v2/check cost."""

from pathlib import Path

import pytest

from benchmarks.openfga import BATCH, MAX_INSTRUCTIONS, TARGET, count_instructions

pytestmark = pytest.mark.anyio


async def test_cached_checks_of_openfga_take_about_as_many_instructions_as_those_of_v2(tmp_path: Path) -> None:
    counted = await count_instructions(f"sqlite:///{tmp_path}/m.db")

    assert len(counted) == 3
    own, other = counted[f"batch of {BATCH}"]
    assert own <= MAX_INSTRUCTIONS * other
    checks = {name: each for name, each in counted.items() if "check" in name}
    assert {name: own / other for name, (own, other) in checks.items() if own > TARGET * other} == {}
