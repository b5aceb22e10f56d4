"""Who gets what in a data set, computed from numbers alone, so that no rows need to be remembered.

Everything is integer arithmetic, or `random.Random.random`, the one method whose sequence Python promises to keep
from version to version.
"""

import math
from collections.abc import Iterator
from random import Random

_64_BITS = (1 << 64) - 1


def salts(seed: int) -> Iterator[int]:
    """Numbers that keep the draws of one data set apart from each other: one for each kind of thing drawn."""
    generator = Random(seed)
    while True:
        yield int(generator.random() * (1 << 53))


def mixed(salt: int, number: int) -> int:
    """64 bits, every one of which depends on all of `salt` and `number`.

    The step and the finisher are those of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
    generators", 2014).
    """
    bits = (salt + number * 0x9E3779B97F4A7C15) & _64_BITS
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _64_BITS
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _64_BITS
    return bits ^ (bits >> 31)


def crowd(pool: range, bits: int, size: int) -> range:
    """`size` different members of the pool, evenly spaced from a drawn start on; all of it if it has no more.

    A range decides who is in it without being walked: crowds of thousands cost no more than crowds of two.
    """
    size = min(size, len(pool))
    if not size:
        return range(0)
    step = 1 + bits % (len(pool) // size)
    length = (size - 1) * step + 1
    start = (bits >> 32) % (len(pool) - length + 1)
    return pool[start : start + length : step]


class Scatter:
    """Another order of the numbers below `count`, in which neighbours are far apart."""

    __slots__ = ("_count", "_first", "_inverse", "_step")

    def __init__(self, count: int, salt: int) -> None:
        # The golden section of `count`: no step spreads the first few places more evenly, however many are taken.
        step = max(1, count * 618_034 // 1_000_000)
        while math.gcd(step, count) != 1:
            step += 1
        self._count = count
        self._step = step
        self._inverse = pow(step, -1, count)
        self._first = salt % count

    def number_at(self, place: int) -> int:
        return (self._first + place * self._step) % self._count

    def place_of(self, number: int) -> int:
        return (number - self._first) * self._inverse % self._count


class Dealing:
    """`things` dealt to the numbers below `count`: each gets as many as any other, or one more."""

    __slots__ = ("_each", "_one_more", "_scatter")

    def __init__(self, things: int, count: int, salt: int) -> None:
        self._each, self._one_more = divmod(things, count)
        self._scatter = Scatter(count, salt)

    def dealt_to(self, number: int) -> int:
        return self._each + (self._scatter.place_of(number) < self._one_more)


class Division:
    """The numbers below `count` divided into parts: a tenth to the first, the rest in turn to the others."""

    __slots__ = ("_count", "_first", "_others")

    def __init__(self, count: int, parts: int) -> None:
        """`parts` is at least 2."""
        self._count = count
        self._first = count // 10
        self._others = parts - 1

    def members(self, part: int) -> range:
        return range(self._first + part - 1, self._count, self._others) if part else range(self._first)

    def part_of(self, number: int) -> int:
        return 0 if number < self._first else 1 + (number - self._first) % self._others
