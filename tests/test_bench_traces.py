"""What `./run bench --only observing` prints of traces."""

import re

import pytest

from benchmarks import traces


def test_the_costs_of_traces_are_printed_beside_their_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ROUNDS", "EXPORTS"):
        monkeypatch.setattr(traces, name, 2)

    table = traces.measure_traces()

    rows = re.findall(r"^\| (.+?) \| (-?[\d.]+) \| ?(?:≤ ([\d.]+))? ?\|$", table, re.MULTILINE)
    assert len(rows) == 7
    assert [float(target) for _, _, target in rows if target] == [0.1, 0.5, 100]
    without, looks = float(rows[0][1]), float(rows[1][1])
    assert 0 < looks < without / 20
