"""What `./run bench --only client` prints of the Python client."""

import re

import pytest

from benchmarks import client


def test_the_costs_of_the_client_are_printed_beside_their_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ROUNDS": 1, "CHECKS_IN_ROUND": 20, "MANY": 50, "IMPORTS": 1}.items():
        monkeypatch.setattr(client, name, value)

    table = client.measure_client(1)

    rows = re.findall(r"^\| (.+?) \| (-?[\d.]+ (?:µs|ms|s)) \| ?(\d+ (?:µs|ms|s))? ?\|$", table, re.MULTILINE)
    assert len(rows) == 6
    assert [target for _, _, target in rows if target] == ["120 µs", "150 µs", "1 s", "60 ms"]
