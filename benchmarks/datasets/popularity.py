"""Few are checked often, most hardly ever: Zipf's law with exponent 1.1.

Only products and quotients of floats are used, which IEEE 754 rounds alike on every machine; powers and logarithms of
the C library are not.
"""

from random import Random

from benchmarks.datasets.scatter import Scatter

CANDIDATES = 16
"""How many members of a crowd are looked at to choose one by popularity."""


def holds_with_power(ratio: float, generator: Random) -> bool:
    """True with the probability `ratio` ** 1.1: the tenth power of what is drawn is compared with the eleventh of
    `ratio`."""
    drawn, square = generator.random(), ratio * ratio
    fourth, drawn_square = square * square, drawn * drawn
    drawn_fourth = drawn_square * drawn_square
    return drawn_fourth * drawn_fourth * drawn_square < fourth * fourth * square * ratio


def zipf_rank(count: int, generator: Random) -> int:
    """A number from 1 to `count`, each `n` with a probability proportional to `n` ** -1.1.

    Drawn from the density `x` ** -1.1 above 1, by inversion; what of it is too much for the step that `x` lies on is
    rejected. That takes about five tries if `count` is a hundred, and three if it is a million.
    """
    while True:
        # 1.0 - random() is never 0.
        root = 1.0 / (1.0 - generator.random())
        square = root * root
        fourth = square * square
        x = fourth * fourth * square
        if x < count + 1 and holds_with_power(x / (2 * int(x)), generator):
            return int(x)


class Popularity:
    """How often each number below `count` is checked. The popular ones lie far apart."""

    __slots__ = ("_count", "_scatter")

    def __init__(self, count: int, salt: int) -> None:
        self._count = count
        self._scatter = Scatter(count, salt)

    def draw(self, generator: Random) -> int:
        return self._scatter.number_at(zipf_rank(self._count, generator) - 1)

    def draw_from(self, crowd: range, generator: Random) -> int:
        """One of CANDIDATES members drawn evenly, by their popularity; the crowd is not empty."""
        size = len(crowd)
        candidates = [crowd[int(generator.random() * size)] for _ in range(min(size, CANDIDATES))]
        ranks = [self._scatter.place_of(number) + 1 for number in candidates]
        first = min(ranks)
        while True:
            chosen = int(generator.random() * len(candidates))
            if holds_with_power(first / ranks[chosen], generator):
                return candidates[chosen]
