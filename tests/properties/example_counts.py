"""How many examples a property is tested on that takes more time for each than most do."""

from hypothesis import settings


def scale_examples(count: int) -> int:
    """Returns `count` for the 100 examples of a run without options, and as much more or less as its profile has."""
    return max(1, count * settings().max_examples // 100)
