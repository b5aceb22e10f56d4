"""Compiled policies are cached up to a capacity, however many of them are used."""

import pytest

from magistrate.engine.policy.policy import Policy, TextCache, compile_policy


def compiled_in_circles(kept: int, used: int, rounds: int) -> int:
    """How many policies are compiled when so many are used, one after the other, again and again."""
    cache: TextCache[str, Policy] = TextCache(kept * 10)
    compiled = 0
    for number in [*range(used)] * rounds:
        text = f"a == {number:5d}"
        if cache.find(text) is None:
            compiled += 1
            cache.keep(text, compile_policy(text), 10)
        assert cache.bytes <= kept * 10
    return compiled


def test_what_there_is_capacity_for_is_compiled_once() -> None:
    assert compiled_in_circles(kept=100, used=100, rounds=5) == 100


@pytest.mark.parametrize(("used", "most"), [(110, 0.25), (125, 0.5), (200, 0.85)])
def test_more_than_there_is_capacity_for_is_not_compiled_each_time(used: int, most: float) -> None:
    first, rounds = used, 20

    again = compiled_in_circles(kept=100, used=used, rounds=rounds) - first

    assert again < most * used * (rounds - 1)
